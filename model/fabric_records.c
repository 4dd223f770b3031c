/* A fabric from what was seen: topology records give the graph, probes give the parameters. */
#include "model/fabric.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_END = -2, HOST_END = -1, MOST_SAMPLES = 1024 };

enum medium { LOCAL, PEER, HOST, MEDIA };

/* Where a probe ran: the first "A>B" of its placement, A and B being "3", "gpu3" or "host"; or
 * words: "host" anywhere is host memory, else one GPU alone or "device" is its own memory. */
struct way {
    int from, to;
    enum medium medium;
};

static int end_before(const char *text, const char *at)
{
    const char *p = at;
    while (p > text && p[-1] == ' ')
        p--;
    const char *last = p;
    while (p > text && isdigit((unsigned char)p[-1]))
        p--;
    if (p < last)
        return (int)strtol(p, NULL, 10);
    while (p > text && isalpha((unsigned char)p[-1]))
        p--;
    return last - p == 4 && strncmp(p, "host", 4) == 0 ? HOST_END : NO_END;
}

static int end_after(const char *at)
{
    while (*at == ' ')
        at++;
    if (strncmp(at, "host", 4) == 0)
        return HOST_END;
    while (isalpha((unsigned char)*at))
        at++;
    return isdigit((unsigned char)*at) ? (int)strtol(at, NULL, 10) : NO_END;
}

static struct way way_of(const struct record *r)
{
    struct way w = {NO_END, NO_END, PEER};
    const char *arrow = strchr(r->placement, '>');
    if (arrow != NULL) {
        w.from = end_before(r->placement, arrow);
        w.to = end_after(arrow + 1);
    } else {
        const char *p = r->placement;
        while (*p != '\0' && !isdigit((unsigned char)*p))
            p++;
        if (*p != '\0')
            w.from = w.to = (int)strtol(p, NULL, 10);
    }
    if (strstr(r->placement, "host") || w.from == HOST_END || w.to == HOST_END)
        w.medium = HOST;
    else if ((w.from >= 0 && w.from == w.to) || strstr(r->placement, "device"))
        w.medium = LOCAL;
    return w;
}

/* Samples of one parameter: the records' medians, and the widest quantiles beside them. */
struct samples {
    int n;
    double v[MOST_SAMPLES], low, high;
    double most_blocks, at_most_blocks; /* the largest number of blocks, and the sample there */
};

static void add(struct samples *s, double v, double low, double high)
{
    if (!(v > 0) || !isfinite(v) || s->n == MOST_SAMPLES)
        return;
    if (s->n == 0)
        s->low = INFINITY, s->high = 0;
    s->v[s->n++] = v;
    s->low = fmin(s->low, low > 0 ? fmin(low, v) : v);
    s->high = fmax(s->high, high > 0 && isfinite(high) ? fmax(high, v) : v);
}

static void add_record(struct samples *s, const struct record *r)
{
    add(s, r->value, r->p10, r->p90);
    if (r->field[FIELD_blocks] > s->most_blocks) {
        s->most_blocks = r->field[FIELD_blocks];
        s->at_most_blocks = r->value;
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(struct samples *s, double q)
{
    qsort(s->v, (size_t)s->n, sizeof *s->v, ascending);
    double at = q * (s->n - 1);
    int i = (int)at;
    return i + 1 < s->n ? s->v[i] + (at - i) * (s->v[i + 1] - s->v[i]) : s->v[i];
}

/* Quantile q of the samples becomes the parameter; 3 % at least are left as doubt. */
static void settle(struct fabric *f, enum fabric_param p, struct samples *s, double q)
{
    if (s->n == 0)
        return;
    double v = quantile(s, q);
    double low = fmin(fmax(s->low, v / 1.5), v / 1.03),
           high = fmax(fmin(s->high, v * 1.5), v * 1.03);
    fabric_measured(f, p, v, low, high);
}

/* --- The graph ------------------------------------------------------------------------------- */

/* How near two GPUs are: what nvidia-smi calls it. */
enum nearness {
    NEAR_SELF,
    NEAR_NV,
    NEAR_PIX,
    NEAR_PXB,
    NEAR_PHB,
    NEAR_NODE,
    NEAR_SYS,
    NEAR_UNKNOWN
};

static enum nearness nearness_of(const char *name)
{
    static const char *const names[] = {"X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"};
    for (int i = 0; i < NEAR_UNKNOWN; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return (enum nearness)i;
    return NEAR_UNKNOWN;
}

struct seen {
    int n_gpus;
    int topology;           /* records of it */
    int pairs, without_p2p; /* bandwidths of pairs, and those that say there is no P2P */
    unsigned char near[FABRIC_MAX_GPUS][FABRIC_MAX_GPUS], nvlinks[FABRIC_MAX_GPUS][FABRIC_MAX_GPUS];
    double pair_gb[FABRIC_MAX_GPUS][FABRIC_MAX_GPUS], off_gb[FABRIC_MAX_GPUS][FABRIC_MAX_GPUS];
};

/* Groups of GPUs that are at most so far from each other; returns how many. */
static int group(const struct seen *s, enum nearness at_most, int *of)
{
    int n = 0;
    for (int g = 0; g < s->n_gpus; g++) {
        of[g] = -1;
        for (int h = 0; h < g && of[g] < 0; h++)
            if (s->near[g][h] <= at_most && s->near[g][h] != NEAR_NV)
                of[g] = of[h];
        if (of[g] < 0)
            of[g] = n++;
    }
    return n;
}

static enum status build_graph(struct fabric *f, const struct seen *s, struct err *err)
{
    int socket_of[FABRIC_MAX_GPUS], chip_of[FABRIC_MAX_GPUS], switch_of[FABRIC_MAX_GPUS];
    int socket[FABRIC_MAX_GPUS], chip_switch[FABRIC_MAX_GPUS], last_switch[FABRIC_MAX_GPUS];
    int gpu[FABRIC_MAX_GPUS], ok = 1, nv_pairs = 0;
    char name[32];
    int sockets = group(s, NEAR_NODE, socket_of);
    group(s, NEAR_PXB, chip_of);
    int switches = group(s, NEAR_PIX, switch_of);
    if (sockets > FABRIC_MAX_SOCKETS) {
        /* Only distances through NVLink are known, or all are far: one socket then. */
        memset(socket_of, 0, sizeof socket_of);
        sockets = 1;
    }
    for (int i = 0; i < sockets; i++) {
        snprintf(name, sizeof name, "socket%d", i);
        socket[i] = fabric_add_node(f, FABRIC_SOCKET, name);
        snprintf(name, sizeof name, "memory%d", i);
        ok &= fabric_add_link(f, socket[i], fabric_add_node(f, FABRIC_MEMORY, name),
                              FABRIC_LINK_dram, 0) >= 0;
        for (int j = 0; j < i; j++)
            ok &= fabric_add_link(f, socket[j], socket[i], FABRIC_LINK_socket, 0) >= 0;
    }
    for (int i = 0; i < s->n_gpus; i++)
        chip_switch[i] = last_switch[i] = -1;
    for (int i = 0; i < switches; i++) {
        int members = 0, first = -1;
        for (int g = s->n_gpus - 1; g >= 0; g--)
            if (switch_of[g] == i)
                members++, first = g;
        snprintf(name, sizeof name, "root%d", i);
        int root = fabric_add_node(f, FABRIC_ROOT, name), under = root;
        ok &= fabric_add_link(f, root, socket[socket_of[first]], FABRIC_LINK_root, 0) >= 0;
        if (members > 1) {
            snprintf(name, sizeof name, "switch%d", i);
            under = fabric_add_node(f, FABRIC_SWITCH, name);
            ok &= fabric_add_link(f, under, root, FABRIC_LINK_uplink, 0) >= 0;
            int c = chip_of[first];
            if (chip_switch[c] >= 0)
                ok &= fabric_add_link(f, chip_switch[c], under, FABRIC_LINK_chip, 0) >= 0;
            chip_switch[c] = under;
        }
        last_switch[i] = under;
    }
    int nvswitch = -1;
    for (int g = 0; g < s->n_gpus; g++)
        for (int h = 0; h < g; h++)
            nv_pairs += s->near[g][h] == NEAR_NV;
    if (s->n_gpus > 2 && nv_pairs == s->n_gpus * (s->n_gpus - 1) / 2)
        nvswitch = fabric_add_node(f, FABRIC_NVSWITCH, "nvswitch");
    for (int g = 0; g < s->n_gpus; g++) {
        snprintf(name, sizeof name, "gpu%d", g);
        gpu[g] = fabric_add_node(f, FABRIC_GPU, name);
        ok &= fabric_add_link(f, gpu[g], last_switch[switch_of[g]], FABRIC_LINK_pcie, 0) >= 0;
        if (nvswitch >= 0)
            ok &= fabric_add_link(f, gpu[g], nvswitch, FABRIC_LINK_nvlink, 0) >= 0;
        for (int h = 0; h < g && nvswitch < 0; h++)
            if (s->near[g][h] == NEAR_NV)
                ok &= fabric_add_link(f, gpu[h], gpu[g], FABRIC_LINK_nvlink,
                                      22.0 * s->nvlinks[g][h]) >= 0;
    }
    return ok ? STATUS_OK
              : err_set(err, STATUS_INPUT, "more than %d nodes or %d links", FABRIC_MAX_NODES,
                        FABRIC_MAX_LINKS);
}

/* Without topology: GPUs whose pair is clearly slower than the fastest pair sit on other sockets.
 */
static void guess_sockets(struct seen *s)
{
    double most = 0;
    for (int g = 0; g < s->n_gpus; g++)
        for (int h = 0; h < s->n_gpus; h++)
            if (g != h)
                most = fmax(most, s->pair_gb[g][h]);
    for (int g = 0; g < s->n_gpus; g++)
        for (int h = 0; h < s->n_gpus; h++) {
            double both = fmin(s->pair_gb[g][h], s->pair_gb[h][g]);
            if (g != h && both > 120) { /* more than any PCIe */
                s->near[g][h] = NEAR_NV;
                s->nvlinks[g][h] = (unsigned char)fmin(both / 22, 99);
                continue;
            }
            s->near[g][h] = g == h                           ? NEAR_SELF
                            : both > 0 && both < 0.88 * most ? NEAR_SYS
                                                             : NEAR_NODE;
        }
}

static void see(struct seen *s, const struct record *r)
{
    struct way w = way_of(r);
    int from = w.from, to = w.to;
    if (from >= FABRIC_MAX_GPUS || to >= FABRIC_MAX_GPUS)
        return;
    if (from >= s->n_gpus)
        s->n_gpus = from + 1;
    if (to >= s->n_gpus)
        s->n_gpus = to + 1;
    if (from < 0 || to < 0)
        return;
    if (r->what == WHAT_topology) {
        enum nearness near = nearness_of(r->note);
        if (near == NEAR_UNKNOWN)
            return;
        s->topology++;
        s->near[from][to] = s->near[to][from] = (unsigned char)near;
        if (near == NEAR_NV) {
            long links = strtol(r->note + 2, NULL, 10);
            s->nvlinks[from][to] = s->nvlinks[to][from] =
                (unsigned char)(links > 0 && links < 100 ? links : 1);
        }
    } else if (r->what == WHAT_bandwidth && from != to && w.medium == PEER && record_usable(r)) {
        if (strstr(r->method, "bidirectional"))
            return;
        int off = strstr(r->method, "disabled") != NULL;
        double *pair = off ? &s->off_gb[from][to] : &s->pair_gb[from][to];
        *pair = fmax(*pair, r->value);
        s->without_p2p += strstr(r->note, "no P2P") != NULL;
        s->pairs += !off;
    }
}

/* --- The parameters -------------------------------------------------------------------------- */

static int is_method(const struct record *r, const char *word)
{
    return strstr(r->method, word) != NULL;
}

/* Everything that the records say, sorted by parameter. Blocks: the best of all block counts
 * counts, since a kernel may choose them. */
struct probes {
    struct samples latency[3][MEDIA]; /* write, read, fence */
    struct samples node, work;
    struct samples host_store, host_load, host_both, host_streams, local_store, local_load;
    struct samples peer, peer_load, duplex, all_to_all, two_destinations;
};

/* How near: over block counts the kernel's own choice of them is wide; over pairs of GPUs only the
 * near ones tell what a GPU's own link gives. */
static const double BY_BLOCKS = 0.75, BY_PAIRS = 0.9;

/* The plateau: the median of the samples that come as near the best as `share`. One lone best may
 * be an artefact, as of stores that are still under way when the clock stops. */
static double plateau(struct samples *s, double share)
{
    int first = 0;
    double best = quantile(s, 1.0); /* sorts */
    while (s->v[first] < share * best)
        first++;
    return s->v[first + (s->n - 1 - first) / 2];
}

static void settle_best(struct fabric *f, enum fabric_param p, struct samples *s, double share)
{
    if (s->n == 0)
        return;
    double v = plateau(s, share);
    fabric_measured(f, p, v, v / 1.05, fmax(fmin(quantile(s, 1.0), v * 1.3), v * 1.03));
}

/* A device's own memory takes all of its blocks to fill. Where the largest number of blocks that
 * was tried is small and gave the most, the best sample is only a lower bound. */
static void settle_local(struct fabric *f, enum fabric_param p, struct samples *s)
{
    enum { ENOUGH_BLOCKS = 64 };
    struct fabric_quantity old = f->param[p];
    settle_best(f, p, s, BY_BLOCKS);
    if (s->n == 0 || s->most_blocks >= ENOUGH_BLOCKS || s->at_most_blocks < quantile(s, 1.0))
        return;
    double low = f->param[p].value;
    double v = fmax(low, old.value);
    fabric_assumed(f, p, v, low, fmax(v, old.high));
}

/* All to all: what a port keeps of its bandwidth beside f - 1 other destinations. */
static void settle_fanout(struct fabric *f, struct samples *all_to_all, int gpus, int nvlink)
{
    if (all_to_all->n == 0 || gpus < 3)
        return;
    enum fabric_param port = nvlink ? FABRIC_nvlink_gb_per_s : FABRIC_pcie_gb_per_s;
    double per_gpu = quantile(all_to_all, 0.5) * (gpus - 1);
    double loss = (f->param[port].value / per_gpu - 1) / (gpus - 2);
    loss = loss > 0 ? loss : 0;
    fabric_measured(f, nvlink ? FABRIC_nvlink_fanout_loss : FABRIC_fanout_loss, loss, loss * 0.9,
                    loss * 1.1 + 0.005);
}

/* The record of the same probe without something: same place, threads and blocks. */
static const struct record *beside(const struct records *rs, const struct record *r,
                                   const char *method)
{
    for (size_t i = 0; i < rs->n; i++) {
        const struct record *o = &rs->v[i];
        if (o->what == r->what && record_usable(o) && strcmp(o->method, method) == 0 &&
            strcmp(o->placement, r->placement) == 0 &&
            o->field[FIELD_threads] == r->field[FIELD_threads] &&
            o->field[FIELD_blocks] == r->field[FIELD_blocks] && o->ranks == r->ranks)
            return o;
    }
    return NULL;
}

/* A latency record: store until seen, dependent load, or what a fence adds to its stores. */
static void collect_latency(struct probes *p, const struct records *rs, const struct record *r)
{
    enum medium medium = way_of(r).medium;
    /* A matrix of copies times the issue of a store, a host thread's side is no way between GPUs.
     */
    if (strstr(r->placement, "threads") || strstr(r->placement, "cpu") || is_method(r, "p2p-"))
        return;
    if (r->what == WHAT_fence_latency) {
        const struct record *without = beside(rs, r, "stores");
        if (strcmp(r->method, "stores") == 0)
            return;
        double base = without ? without->value : 0;
        add(&p->latency[2][medium], r->value - base, r->p10 - base, r->p90 - base);
    } else {
        add_record(&p->latency[r->what == WHAT_p2p_read_latency][medium], r);
    }
}

static void collect_node(struct probes *p, const struct records *rs, const struct record *r)
{
    if (r->size_bytes <= 0) {
        add_record(&p->node, r);
    } else if (r->size_bytes <= 64) {
        const struct record *empty = beside(rs, r, "empty");
        if (empty != NULL)
            add(&p->work, r->value - empty->value, NAN, NAN);
    }
}

static void collect_bandwidth(struct probes *p, const struct records *rs, const struct record *r)
{
    struct way w = way_of(r);
    int kernel = is_method(r, "stores") || is_method(r, "loads");
    int both = is_method(r, "stores and loads");
    if (strstr(r->note, "no P2P") || is_method(r, "disabled"))
        return;
    if (is_method(r, "bidirectional")) {
        for (size_t i = 0; i < rs->n && w.medium == PEER; i++)
            if (rs->v[i].what == WHAT_bandwidth && is_method(&rs->v[i], "unidirectional") &&
                strcmp(rs->v[i].placement, r->placement) == 0 && rs->v[i].value > 0 &&
                !is_method(&rs->v[i], "disabled"))
                add(&p->duplex, fmin(2, fmax(1, r->value / rs->v[i].value)), NAN, NAN);
    } else if (w.medium == HOST && kernel) {
        add_record(both                    ? &p->host_both
                   : is_method(r, "loads") ? &p->host_load
                                           : &p->host_store,
                   r);
    } else if (w.medium == LOCAL && kernel && !both) {
        add_record(is_method(r, "loads") ? &p->local_load : &p->local_store, r);
    } else if (w.medium == PEER && !both) {
        int load = is_method(r, "load") || is_method(r, "copy in") ||
                   (is_method(r, "read") && is_method(r, "sm"));
        add_record(load ? &p->peer_load : &p->peer, r);
    }
}

static void collect_contention(struct probes *p, const struct record *r)
{
    int stores = !is_method(r, "load");
    double flows = r->field[FIELD_flows];
    if (strncmp(r->placement, "all-to-all", 10) == 0 && stores)
        add_record(&p->all_to_all, r);
    else if ((strncmp(r->placement, "two destinations", 16) == 0 || strstr(r->placement, "root")) &&
             stores)
        add_record(&p->two_destinations, r);
    else if (strstr(r->placement, "on 0>host, as many the other way") && flows > 0)
        add(&p->host_streams, r->value * flows, r->p10 * flows, r->p90 * flows);
    else if (strncmp(r->placement, "pair ", 5) == 0 && strstr(r->placement, "<>") && p->peer.n > 0)
        add(&p->duplex, fmin(2, fmax(1, 2 * r->value / plateau(&p->peer, BY_PAIRS))), NAN, NAN);
}

static void settle_probes(struct fabric *f, const struct records *rs, int gpus, int nvlink)
{
    static const enum fabric_param latency[3][MEDIA] = {
        {FABRIC_local_write_us, FABRIC_peer_write_us, FABRIC_host_write_us},
        {FABRIC_local_read_us, FABRIC_peer_read_us, FABRIC_host_read_us},
        {FABRIC_local_fence_us, FABRIC_peer_fence_us, FABRIC_host_fence_us},
    };
    struct probes *p = calloc(1, sizeof *p);
    if (p == NULL)
        return; /* the assumptions stay, and say so */
    for (int contention = 0; contention < 2; contention++)
        for (size_t i = 0; i < rs->n; i++) {
            const struct record *r = &rs->v[i];
            if (!record_usable(r) || (r->what == WHAT_contention) != contention)
                continue;
            if (contention)
                collect_contention(p, r);
            else if (r->what == WHAT_node_gap)
                collect_node(p, rs, r);
            else if (r->what == WHAT_bandwidth)
                collect_bandwidth(p, rs, r);
            else if (r->what == WHAT_p2p_write_latency || r->what == WHAT_p2p_read_latency ||
                     r->what == WHAT_fence_latency)
                collect_latency(p, rs, r);
        }
    /* Between peers the nearest pair is the base, to which hops add. */
    for (int k = 0; k < 3; k++)
        for (int m = 0; m < MEDIA; m++)
            settle(f, latency[k][m], &p->latency[k][m], m == PEER ? 0.1 : 0.5);
    settle(f, FABRIC_node_us, &p->node, 0.5);
    settle(f, FABRIC_work_us, &p->work, 0.5);
    settle_best(f, FABRIC_host_store_gb_per_s, &p->host_store, BY_BLOCKS);
    settle_best(f, FABRIC_host_load_gb_per_s, &p->host_load, BY_BLOCKS);
    /* An allreduce's threads store and load in turn, as one kernel that does both; streams of
     * several kernels beside each other get more through. */
    settle_best(f, FABRIC_host_both_gb_per_s, p->host_both.n > 0 ? &p->host_both : &p->host_streams,
                BY_BLOCKS);
    settle_local(f, FABRIC_local_store_gb_per_s, &p->local_store);
    settle_local(f, FABRIC_local_load_gb_per_s, &p->local_load);
    settle_best(f, nvlink ? FABRIC_nvlink_gb_per_s : FABRIC_pcie_gb_per_s, &p->peer, BY_PAIRS);
    if (!nvlink)
        settle(f, FABRIC_duplex_ratio, &p->duplex, 0.5);
    if (p->peer.n > 0 && p->peer_load.n > 0) {
        double ratio = plateau(&p->peer_load, BY_PAIRS) / plateau(&p->peer, BY_PAIRS);
        fabric_measured(f, FABRIC_read_ratio, ratio, ratio * 0.97, ratio * 1.03);
    }
    settle_fanout(f, &p->all_to_all, gpus, nvlink);
    if (p->two_destinations.n > 0 && p->peer.n > 0) {
        double left = 2 * quantile(&p->two_destinations, 0), alone = quantile(&p->peer, 0.5);
        int collapsed = left < 0.4 * alone;
        fabric_measured(f, FABRIC_collapse_sources, 2 * collapsed, 2 * collapsed, 2 * collapsed);
        if (collapsed)
            fabric_measured(f, FABRIC_collapse_gb_per_s, left, left * 0.7, left * 1.3);
    }
    free(p);
}

/* Pairs of different sockets set what an uplink or root port gives at least. */
static void settle_far(struct fabric *f, const struct seen *s)
{
    double far = 0;
    int n_far = 0;
    for (int g = 0; g < s->n_gpus; g++)
        for (int h = 0; h < s->n_gpus; h++) {
            if (g == h || !(s->pair_gb[g][h] > 0))
                continue;
            if (s->near[g][h] == NEAR_SYS)
                far += s->pair_gb[g][h], n_far++;
        }
    if (n_far == 0)
        return;
    far /= n_far;
    double bound = f->param[FABRIC_pcie_gb_per_s].value;
    if (far > bound)
        bound = far;
    fabric_measured(f, FABRIC_root_gb_per_s, far, far * 0.95, bound * 1.02);
    if (f->param[FABRIC_uplink_gb_per_s].value > far)
        fabric_measured(f, FABRIC_uplink_gb_per_s, far, far * 0.95, bound * 1.02);
    if (f->param[FABRIC_socket_gb_per_s].value < far)
        fabric_assumed(f, FABRIC_socket_gb_per_s, far, far, 4 * far);
}

/* The generation of PCIe that the fastest pair speaks for sets what is assumed of all else. */
static void assume_generation(struct fabric *f, const struct seen *s)
{
    static const double most[] = {0, 4, 8, 17, 34, 70, 140, 280}; /* GB/s of generation 1 to 7 */
    double best = 0;
    for (int g = 0; g < s->n_gpus; g++)
        for (int h = 0; h < s->n_gpus; h++)
            if (g != h && s->near[g][h] != NEAR_NV)
                best = fmax(best, s->pair_gb[g][h]);
    int generation = 1;
    while (generation < 7 && best > most[generation])
        generation++;
    if (best > 0)
        fabric_assume_pcie(f, generation);
}

/* The importer marks pairs on which peer access changes nothing; if these are all, there is none.
 */
static int no_peer_access(const struct seen *s)
{
    return s->pairs > 0 && s->without_p2p == s->pairs;
}

enum status fabric_from_records(struct fabric *f, const struct records *rs, struct err *err)
{
    struct seen *s = calloc(1, sizeof *s);
    if (s == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    fabric_init(f, rs->n > 0 && rs->v[0].label[0] ? rs->v[0].label : "records");
    memset(s->near, NEAR_SYS, sizeof s->near);
    int probes = 0;
    for (size_t i = 0; i < rs->n; i++) {
        enum record_what what = rs->v[i].what;
        if (what != WHAT_topology && what != WHAT_bandwidth && what != WHAT_contention &&
            what != WHAT_p2p_write_latency && what != WHAT_p2p_read_latency &&
            what != WHAT_fence_latency && what != WHAT_node_gap)
            continue;
        if (strcmp(rs->v[i].placement, "host threads") != 0)
            probes++;
        see(s, &rs->v[i]);
    }
    enum status status = STATUS_OK;
    if (probes == 0)
        status = err_set(err, STATUS_UNSUPPORTED,
                         "no topology and no probes in it: a fabric needs topology, bandwidth or "
                         "latency records (updraft measure, or import of nvidia-smi topo -m, "
                         "p2pBandwidthLatencyTest, nvbandwidth)");
    if (s->n_gpus == 0)
        s->n_gpus = 1;
    if (s->topology == 0)
        guess_sockets(s);
    if (status == STATUS_OK)
        status = build_graph(f, s, err);
    if (status == STATUS_OK) {
        status = fabric_route(f, err);
        if (status == STATUS_OK) {
            assume_generation(f, s);
            int nvlink = s->n_gpus > 1 && f->nvlinked[0] && f->nvlinked[1];
            settle_probes(f, rs, s->n_gpus, nvlink);
            settle_far(f, s);
            if (no_peer_access(s)) {
                f->peer_access = 0;
                fabric_measured(f, FABRIC_nccl_p2p, 0, 0, 0);
            }
            status = fabric_route(f, err);
        }
    }
    free(s);
    return status;
}
