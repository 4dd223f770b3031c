/* The box, its links, and where the traffic of an allreduce runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/synth.h"
#include "plots/plot.h"
#include "traces/fabric_io.h"

enum { MANY_GPUS = 16 };

struct box {
    struct fabric f;
    struct synth_estimate estimate;
    double x[FABRIC_MAX_NODES], y[FABRIC_MAX_NODES];
    double load[2 * FABRIC_MAX_LINKS]; /* fractions of the message, by direction */
    char impl[128];
    double bytes;
    int ranks;
};

/* Rows of the picture, top down: memories, sockets, root ports, switches, GPUs, NVSwitches. */
static double row_of(enum fabric_node_kind kind)
{
    static const double rows[FABRIC_NODE_KINDS] = {
        [FABRIC_GPU] = 1,    [FABRIC_SWITCH] = 2, [FABRIC_ROOT] = 3,
        [FABRIC_SOCKET] = 4, [FABRIC_MEMORY] = 5, [FABRIC_NVSWITCH] = -0.7};
    return rows[kind];
}

/* Visits a tree of links downwards, giving GPUs their places from left to right. */
static void place_gpus(struct box *b, int node, int from_row, int *next, unsigned char *seen)
{
    const struct fabric *f = &b->f;
    seen[node] = 1;
    if (f->nodes[node].kind == FABRIC_GPU) {
        b->x[node] = (*next)++;
        return;
    }
    for (int l = 0; l < f->n_links; l++) {
        const struct fabric_link *link = &f->links[l];
        int other = link->a == node ? link->b : link->b == node ? link->a : -1;
        if (other < 0 || seen[other] || link->kind == FABRIC_LINK_nvlink)
            continue;
        if (row_of(f->nodes[other].kind) < from_row)
            place_gpus(b, other, (int)row_of(f->nodes[other].kind), next, seen);
    }
}

/* The mean place of what hangs below a node, NaN where nothing does. */
static double mean_below(const struct box *b, int node)
{
    const struct fabric *f = &b->f;
    double sum = 0;
    int n = 0;
    for (int l = 0; l < f->n_links; l++) {
        const struct fabric_link *link = &f->links[l];
        int other = link->a == node ? link->b : link->b == node ? link->a : -1;
        if (other < 0 || other == node || isnan(b->x[other]))
            continue;
        if (row_of(f->nodes[other].kind) < row_of(f->nodes[node].kind) &&
            f->nodes[other].kind != FABRIC_NVSWITCH) {
            sum += b->x[other];
            n++;
        }
    }
    return n > 0 ? sum / n : (double)NAN;
}

static void lay_out(struct box *b)
{
    const struct fabric *f = &b->f;
    unsigned char seen[FABRIC_MAX_NODES] = {0};
    int next = 0, nvswitches = 0, nvswitch = 0;
    for (int i = 0; i < f->n_nodes; i++) {
        b->x[i] = NAN;
        b->y[i] = row_of(f->nodes[i].kind);
        nvswitches += f->nodes[i].kind == FABRIC_NVSWITCH;
    }
    /* From every socket down, then from whatever was not below one. */
    for (int i = 0; i < f->n_nodes; i++)
        if (f->nodes[i].kind == FABRIC_SOCKET)
            place_gpus(b, i, 4, &next, seen);
    for (int kind = 3; kind >= 1; kind--)
        for (int i = 0; i < f->n_nodes; i++)
            if ((int)row_of(f->nodes[i].kind) == kind && !seen[i])
                place_gpus(b, i, kind, &next, seen);
    for (int row = 2; row <= 5; row++)
        for (int i = 0; i < f->n_nodes; i++)
            if ((int)b->y[i] == row)
                b->x[i] = mean_below(b, i);
    for (int i = 0; i < f->n_nodes; i++) {
        if (f->nodes[i].kind == FABRIC_NVSWITCH)
            b->x[i] = (nvswitch++ + 0.5) * next / nvswitches - 0.5;
        if (isnan(b->x[i]))
            b->x[i] = next++;
    }
}

static double heavier(const struct box *b, int link)
{
    return fmax(b->load[2 * link], b->load[2 * link + 1]);
}

/* Time that a link's busier direction needs for its share of the message, relative units. */
static double busy(const struct box *b, int link)
{
    return heavier(b, link) / fabric_link_gb_per_s(&b->f, link);
}

/* A GPU's own memory is no link of the box. */
static int is_shown(const struct box *b, int link)
{
    return b->f.links[link].kind != FABRIC_LINK_local;
}

static void write_links(FILE *program, const struct box *b)
{
    const struct fabric *f = &b->f;
    double busiest = 0;
    char text[64], figure[32];
    int rows = 0;
    for (int l = 0; l < f->n_links; l++)
        if (is_shown(b, l))
            busiest = fmax(busiest, busy(b, l));
    plot_table(program, "links");
    for (int l = 0; l < f->n_links; l++) {
        const struct fabric_link *link = &f->links[l];
        if (!is_shown(b, l))
            continue;
        double heat = busiest > 0 ? busy(b, l) / busiest : 0;
        plot_cell(program, b->x[link->a]);
        plot_cell(program, b->y[link->a]);
        plot_cell(program, b->x[link->b]);
        plot_cell(program, b->y[link->b]);
        /* 1 idle, 2 below half of the busiest, 3 below nine tenths, 4 the bottleneck */
        plot_cell(program, heat <= 0 ? 1 : heat < 0.5 ? 2 : heat < 0.9 ? 3 : 4);
        snprintf(text, sizeof text, "%sn", plot_figure(figure, sizeof figure, heavier(b, l)));
        plot_cell_text(program, heat > 0 && f->n_gpus <= MANY_GPUS ? text : "");
        plot_row_end(program);
        rows++;
    }
    plot_table_end(program);
    plot_integer(program, "n_links", rows);
    /* For terminals: one line a link. */
    plot_array(program, "link_text", rows > 0 ? rows : 1);
    plot_array(program, "link_heat", rows > 0 ? rows : 1);
    for (int l = 0, i = 1; l < f->n_links; l++) {
        const struct fabric_link *link = &f->links[l];
        char name[40], both[2][32];
        if (!is_shown(b, l))
            continue;
        snprintf(name, sizeof name, "link_text[%d]", i);
        plot_textf(program, name, "%-10.10s %-10.10s %-7s %5.4g GB/s  %5sn %5sn",
                   f->nodes[link->a].name, f->nodes[link->b].name, fabric_link_name(link->kind),
                   fabric_link_gb_per_s(f, l), plot_figure(both[0], sizeof both[0], b->load[2 * l]),
                   plot_figure(both[1], sizeof both[1], b->load[2 * l + 1]));
        snprintf(name, sizeof name, "link_heat[%d]", i++);
        plot_number(program, name, busiest > 0 ? busy(b, l) / busiest : 0);
    }
}

static void write_nodes(FILE *program, const struct box *b)
{
    const struct fabric *f = &b->f;
    plot_table(program, "nodes");
    for (int i = 0; i < f->n_nodes; i++) {
        plot_cell(program, b->x[i]);
        plot_cell(program, b->y[i]);
        plot_cell(program, (double)f->nodes[i].kind + 1);
        plot_cell_text(program, f->n_gpus <= MANY_GPUS ? f->nodes[i].name : "");
        plot_row_end(program);
    }
    plot_table_end(program);
}

/* "pcie 51, uplink 51": the capacities of the kinds of link that the box has. */
static void write_capacities(FILE *program, const struct box *b)
{
    char text[400] = "capacity in one direction [GB/s]:";
    char figure[32];
    int shown[FABRIC_LINK_KINDS] = {0};
    size_t len = strlen(text);
    for (int l = 0; l < b->f.n_links; l++) {
        int kind = (int)b->f.links[l].kind;
        if (!is_shown(b, l) || shown[kind] || len + 48 > sizeof text)
            continue;
        shown[kind] = 1;
        len += (size_t)snprintf(text + len, sizeof text - len, "  %s %s",
                                fabric_link_name((enum fabric_link_kind)kind),
                                plot_figure(figure, sizeof figure, fabric_link_gb_per_s(&b->f, l)));
    }
    plot_text(program, "capacities", text);
}

static void write_data(FILE *program, const struct box *b)
{
    const struct synth_estimate *e = &b->estimate;
    char size[32], figure[3][32];
    double right = 0;
    for (int i = 0; i < b->f.n_nodes; i++)
        right = fmax(right, b->x[i]);
    plot_textf(program, "title", "%s of n = %s over %d ranks: %s µs [%s, %s]", b->impl,
               plot_bytes(size, sizeof size, b->bytes), b->ranks,
               plot_figure(figure[0], sizeof figure[0], e->us),
               plot_figure(figure[1], sizeof figure[1], e->low_us),
               plot_figure(figure[2], sizeof figure[2], e->high_us));
    plot_text(program, "subtitle", b->f.name);
    plot_number(program, "x_max", right);
    int has_nvswitch = 0, has_memory = 0;
    for (int i = 0; i < b->f.n_nodes; i++) {
        has_nvswitch |= b->f.nodes[i].kind == FABRIC_NVSWITCH;
        has_memory |= b->f.nodes[i].kind == FABRIC_MEMORY;
    }
    plot_number(program, "y_min", has_nvswitch ? -0.7 : 1);
    plot_number(program, "y_max", has_memory ? 5 : 4);
    write_capacities(program, b);
    write_links(program, b);
    write_nodes(program, b);
}

static enum status read_options(struct box *b, const struct plot_request *request, struct err *err)
{
    int64_t bytes = 43008, ranks = b->f.n_gpus;
    const char *impl = invocation_value(request->inv, "impl");
    enum status status = invocation_bytes(request->inv, "bytes", &bytes, err);
    if (status == STATUS_OK && bytes < 1)
        status =
            err_set(err, STATUS_USAGE, "--bytes %lld: at least 1 was expected", (long long)bytes);
    if (status == STATUS_OK)
        status = invocation_integer(request->inv, "ranks", 2, FABRIC_MAX_GPUS, &ranks, err);
    if (impl == NULL)
        impl = b->f.peer_access ? "custom/oneshot" : "host/oneshot";
    snprintf(b->impl, sizeof b->impl, "%s", impl);
    b->bytes = (double)bytes;
    b->ranks = (int)ranks;
    return status;
}

static enum status write_plot(const struct plot_request *request, FILE *program,
                              struct plot_size *size, struct err *err)
{
    struct box *b = calloc(1, sizeof *b);
    struct synth *synth = synth_new();
    enum status status = STATUS_OK;
    if (b == NULL || synth == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK)
        status = fabric_load(&b->f, request->input, request->inv->log, err);
    if (status == STATUS_OK)
        status = read_options(b, request, err);
    if (status == STATUS_OK) {
        struct synth_query q = {b->impl, b->ranks, b->bytes, NULL};
        status = synth_price(synth, &b->f, &q, &b->estimate, err);
        if (status == STATUS_OK)
            status = synth_link_load(synth, &b->f, &q, b->load, err);
    }
    if (status == STATUS_OK) {
        lay_out(b);
        write_data(program, b);
        int links = 0;
        for (int l = 0; l < b->f.n_links; l++)
            links += is_shown(b, l);
        if (b->f.n_gpus > 8)
            size->width = b->f.n_gpus < MANY_GPUS ? 110 * b->f.n_gpus : 110 * MANY_GPUS;
        size->rows = (links > 40 ? 40 : links) + 9;
    }
    synth_free(synth);
    free(b);
    return status;
}

const struct plot_kind plot_fabric = {
    .name = "fabric",
    .summary = "the box, its links, and the traffic of an allreduce (--impl, --bytes)",
    .input = "FABRIC|TRACE",
    .size = {900, 560, 34},
    .write = write_plot,
};
