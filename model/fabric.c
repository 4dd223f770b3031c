#include "model/fabric.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *doc;
    double value, low, high;
} params[] = {
#define FABRIC_PARAM(id, value, low, high, doc) {#id, doc, value, low, high},
#include "model/fabric_params.def"
#undef FABRIC_PARAM
};

static const struct {
    const char *name;
    enum fabric_param capacity, hop, duplex;
} kinds[] = {
#define FABRIC_LINK(id, capacity, hop, duplex, doc)                                                \
    {#id, FABRIC_##capacity, FABRIC_##hop, FABRIC_##duplex},
#include "model/fabric_links.def"
#undef FABRIC_LINK
};

const char *fabric_param_name(enum fabric_param p)
{
    return params[p].name;
}

const char *fabric_param_doc(enum fabric_param p)
{
    return params[p].doc;
}

enum fabric_param fabric_param_find(const char *name)
{
    int p = 0;
    while (p < FABRIC_PARAM_COUNT && strcmp(params[p].name, name) != 0)
        p++;
    return (enum fabric_param)p;
}

const char *fabric_link_name(enum fabric_link_kind k)
{
    return kinds[k].name;
}

enum fabric_link_kind fabric_link_find(const char *name)
{
    int k = 0;
    while (k < FABRIC_LINK_KINDS && strcmp(kinds[k].name, name) != 0)
        k++;
    return (enum fabric_link_kind)k;
}

enum fabric_param fabric_link_capacity(enum fabric_link_kind k)
{
    return kinds[k].capacity;
}

enum fabric_param fabric_link_hop(enum fabric_link_kind k)
{
    return kinds[k].hop;
}

enum fabric_param fabric_link_duplex(enum fabric_link_kind k)
{
    return kinds[k].duplex;
}

const char *fabric_node_kind_name(enum fabric_node_kind k)
{
    static const char *const names[] = {"gpu", "switch", "root", "socket", "memory", "nvswitch"};
    return names[k];
}

void fabric_init(struct fabric *f, const char *name)
{
    memset(f, 0, sizeof *f);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->peer_access = 1;
    for (int p = 0; p < FABRIC_PARAM_COUNT; p++)
        fabric_assumed(f, (enum fabric_param)p, params[p].value, params[p].low, params[p].high);
}

void fabric_measured(struct fabric *f, enum fabric_param p, double value, double low, double high)
{
    f->param[p] = (struct fabric_quantity){value, low, high, FABRIC_MEASURED};
}

void fabric_assumed(struct fabric *f, enum fabric_param p, double value, double low, double high)
{
    f->param[p] = (struct fabric_quantity){value, low, high, FABRIC_ASSUMED};
}

int fabric_add_node(struct fabric *f, enum fabric_node_kind kind, const char *name)
{
    if (f->n_nodes == FABRIC_MAX_NODES || (kind == FABRIC_GPU && f->n_gpus == FABRIC_MAX_GPUS) ||
        (kind == FABRIC_MEMORY && f->n_memories == FABRIC_MAX_SOCKETS))
        return -1;
    struct fabric_node *n = &f->nodes[f->n_nodes];
    n->kind = kind;
    n->end = -1;
    snprintf(n->name, sizeof n->name, "%s", name);
    f->n_gpus += kind == FABRIC_GPU;
    f->n_memories += kind == FABRIC_MEMORY;
    return f->n_nodes++;
}

int fabric_add_link(struct fabric *f, int a, int b, enum fabric_link_kind kind, double gb_per_s)
{
    if (f->n_links == FABRIC_MAX_LINKS || a < 0 || b < 0 || a >= f->n_nodes || b >= f->n_nodes)
        return -1;
    f->links[f->n_links] = (struct fabric_link){a, b, kind, gb_per_s};
    return f->n_links++;
}

double fabric_link_gb_per_s(const struct fabric *f, int link)
{
    const struct fabric_link *l = &f->links[link];
    return l->gb_per_s > 0 ? l->gb_per_s : f->param[kinds[l->kind].capacity].value;
}

double fabric_hops_us(const struct fabric *f, int from, int to)
{
    double us = 0;
    for (int h = 0; h < f->hops[from][to]; h++) {
        enum fabric_param hop = kinds[f->links[f->route[from][to][h] / 2].kind].hop;
        if (hop != FABRIC_none)
            us += f->param[hop].value;
    }
    return us;
}

/* Shortest ways from one end to all, breadth first, of equally short ones that over NVLink; GPUs
 * and memories are never passed through. */
static void route_from(struct fabric *f, int from, const int *first, const int *next)
{
    int via[FABRIC_MAX_NODES], queue[FABRIC_MAX_NODES], head = 0, tail = 0;
    for (int i = 0; i < f->n_nodes; i++)
        via[i] = -1;
    int start = f->end_node[from];
    via[start] = -2;
    queue[tail++] = start;
    while (head < tail) {
        int at = queue[head++];
        enum fabric_node_kind kind = f->nodes[at].kind;
        if (at != start && (kind == FABRIC_GPU || kind == FABRIC_MEMORY))
            continue;
        for (int nvlink = 1; nvlink >= 0; nvlink--)
            for (int d = first[at]; d >= 0; d = next[d]) {
                const struct fabric_link *l = &f->links[d / 2];
                int to = d & 1 ? l->a : l->b;
                if ((l->kind == FABRIC_LINK_nvlink) == nvlink && via[to] == -1) {
                    via[to] = d;
                    queue[tail++] = to;
                }
            }
    }
    for (int to = 0; to < f->n_gpus + f->n_memories; to++) {
        short back[FABRIC_MAX_HOPS];
        int n = 0, at = f->end_node[to];
        f->hops[from][to] = -1;
        if (to == from || via[at] == -1)
            continue;
        for (; at != start && n < FABRIC_MAX_HOPS; n++) {
            back[n] = (short)via[at];
            at = via[at] & 1 ? f->links[via[at] / 2].b : f->links[via[at] / 2].a;
        }
        if (at != start)
            continue; /* longer than FABRIC_MAX_HOPS */
        f->hops[from][to] = (short)n;
        for (int i = 0; i < n; i++)
            f->route[from][to][i] = back[n - 1 - i];
    }
}

/* The memory that the fewest links reach, and the first root port (else switch, else socket) there.
 */
static void find_above(struct fabric *f, int end)
{
    int best = -1;
    for (int m = f->n_gpus; m < f->n_gpus + f->n_memories; m++)
        if (m != end && f->hops[end][m] >= 0 && (best < 0 || f->hops[end][m] < f->hops[end][best]))
            best = m;
    f->socket_of[end] = (short)(end >= f->n_gpus ? end - f->n_gpus
                                : best < 0       ? -1
                                                 : best - f->n_gpus);
    f->root_of[end] = (short)f->end_node[end];
    if (end >= f->n_gpus || best < 0)
        return;
    for (int h = 0; h < f->hops[end][best]; h++) {
        int d = f->route[end][best][h];
        int node = d & 1 ? f->links[d / 2].a : f->links[d / 2].b;
        f->root_of[end] = (short)node;
        if (f->nodes[node].kind == FABRIC_ROOT)
            break;
    }
}

static enum status check_params(const struct fabric *f, struct err *err)
{
    for (int p = 0; p < FABRIC_PARAM_COUNT; p++) {
        const struct fabric_quantity *q = &f->param[p];
        if (!isfinite(q->value) || !isfinite(q->low) || !isfinite(q->high) || q->value < 0 ||
            q->low < 0 || q->low > q->value || q->high < q->value || q->high > 1e9)
            return err_set(err, STATUS_INPUT,
                           "%s: %s = %g with interval [%g, %g]: expected 0 <= low <= value <= high",
                           f->name, params[p].name, q->value, q->low, q->high);
    }
    for (int k = 0; k < FABRIC_LINK_KINDS; k++)
        if (!(f->param[kinds[k].capacity].low > 0))
            return err_set(err, STATUS_INPUT, "%s: %s must be above 0", f->name,
                           params[kinds[k].capacity].name);
    return STATUS_OK;
}

enum status fabric_route(struct fabric *f, struct err *err)
{
    if (f->n_gpus < 1)
        return err_set(err, STATUS_INPUT, "%s: a fabric needs at least one GPU", f->name);
    enum status status = check_params(f, err);
    if (status != STATUS_OK)
        return status;
    int gpu = 0, memory = 0;
    for (int i = 0; i < f->n_nodes; i++) {
        struct fabric_node *n = &f->nodes[i];
        n->end = n->kind == FABRIC_GPU      ? gpu++
                 : n->kind == FABRIC_MEMORY ? f->n_gpus + memory++
                                            : -1;
        if (n->end >= 0)
            f->end_node[n->end] = i;
    }
    int local[FABRIC_MAX_GPUS];
    memset(local, -1, sizeof local);
    memset(f->nvlinked, 0, sizeof f->nvlinked);
    int first[FABRIC_MAX_NODES], next[2 * FABRIC_MAX_LINKS];
    memset(first, -1, sizeof first);
    for (int i = f->n_links - 1; i >= 0; i--) {
        const struct fabric_link *l = &f->links[i];
        if (l->a == l->b && l->kind == FABRIC_LINK_local && f->nodes[l->a].kind == FABRIC_GPU) {
            local[f->nodes[l->a].end] = i;
            continue;
        }
        if (l->a == l->b || l->kind == FABRIC_LINK_local)
            return err_set(err, STATUS_INPUT, "%s: a %s link from %s to %s makes no sense", f->name,
                           kinds[l->kind].name, f->nodes[l->a].name, f->nodes[l->b].name);
        if (l->kind == FABRIC_LINK_nvlink) {
            const struct fabric_node *a = &f->nodes[l->a], *b = &f->nodes[l->b];
            if (a->kind == FABRIC_GPU)
                f->nvlinked[a->end] = 1;
            if (b->kind == FABRIC_GPU)
                f->nvlinked[b->end] = 1;
        }
        next[2 * i] = first[l->a], first[l->a] = 2 * i;
        next[2 * i + 1] = first[l->b], first[l->b] = 2 * i + 1;
    }
    int ends = f->n_gpus + f->n_memories;
    for (int e = 0; e < ends; e++)
        route_from(f, e, first, next);
    for (int e = 0; e < f->n_gpus; e++) {
        if (local[e] < 0)
            local[e] = fabric_add_link(f, f->end_node[e], f->end_node[e], FABRIC_LINK_local, 0);
        if (local[e] < 0)
            return err_set(err, STATUS_INPUT, "%s: more than %d links", f->name, FABRIC_MAX_LINKS);
        f->hops[e][e] = 1;
        f->route[e][e][0] = (short)(local[e] * 2);
        for (int to = 0; to < ends; to++)
            if (f->hops[e][to] < 0)
                return err_set(err, STATUS_INPUT,
                               "%s: no way from %s to %s in %d links: check \"links\"", f->name,
                               f->nodes[f->end_node[e]].name, f->nodes[f->end_node[to]].name,
                               FABRIC_MAX_HOPS);
    }
    for (int e = 0; e < ends; e++)
        find_above(f, e);
    return STATUS_OK;
}

void fabric_assume_pcie(struct fabric *f, int generation)
{
    static const enum fabric_param of_pcie[] = {FABRIC_pcie_gb_per_s,
                                                FABRIC_uplink_gb_per_s,
                                                FABRIC_root_gb_per_s,
                                                FABRIC_host_store_gb_per_s,
                                                FABRIC_host_load_gb_per_s,
                                                FABRIC_host_both_gb_per_s,
                                                FABRIC_nccl_ll_channel_gb_per_s,
                                                FABRIC_nccl_ll_total_gb_per_s,
                                                FABRIC_nccl_search_gb_per_s};
    /* What a copy between two GPUs gets, over what one gets at generation 5. */
    static const double share[] = {0, 0.056, 0.11, 0.22, 0.49, 1, 2, 4};
    double s = share[generation];
    for (size_t i = 0; i < sizeof of_pcie / sizeof *of_pcie; i++) {
        struct fabric_quantity *q = &f->param[of_pcie[i]];
        fabric_assumed(f, of_pcie[i], q->value * s, q->low * s, q->high * s);
    }
}

/* What differs where all GPUs sit on NVSwitches. */
static void assume_nvlink(struct fabric *f, int compute_capability)
{
    static const struct {
        enum fabric_param p;
        double value, low, high;
    } assumed[] = {
        {FABRIC_peer_write_us, 0.55, 0.4, 0.8},     {FABRIC_peer_us, 0.1, 0.03, 0.25},
        {FABRIC_peer_load_us, 0.1, 0.03, 0.25},     {FABRIC_peer_fence_us, 0.4, 0.2, 0.8},
        {FABRIC_nccl_base_us, 4.0, 2.5, 8.0},       {FABRIC_nccl_ll_step_us, 0.3, 0.1, 0.5},
        {FABRIC_nccl_ll128_step_us, 0.3, 0.1, 0.8}, {FABRIC_nccl_channels, 16, 8, 32},
        {FABRIC_nccl_search_channels, 16, 8, 24},
    };
    for (size_t i = 0; i < sizeof assumed / sizeof *assumed; i++)
        fabric_assumed(f, assumed[i].p, assumed[i].value, assumed[i].low, assumed[i].high);
    double gb = compute_capability >= 100 ? 660 : compute_capability >= 90 ? 340 : 200;
    fabric_assumed(f, FABRIC_nvlink_gb_per_s, gb, gb * 0.85, gb * 1.2);
}

static enum status grow(struct fabric *f, const struct fabric_shape *s, struct err *err)
{
    char name[32];
    int sockets = s->sockets ? s->sockets : 1, chips = s->switches;
    int virtuals = s->virtual_switches ? s->virtual_switches : 1;
    int socket[FABRIC_MAX_SOCKETS], under[FABRIC_MAX_GPUS];
    int ok = 1;
    for (int i = 0; i < sockets; i++) {
        snprintf(name, sizeof name, "socket%d", i);
        socket[i] = fabric_add_node(f, FABRIC_SOCKET, name);
        snprintf(name, sizeof name, "memory%d", i);
        int memory = fabric_add_node(f, FABRIC_MEMORY, name);
        ok &= fabric_add_link(f, socket[i], memory, FABRIC_LINK_dram, 0) >= 0;
        for (int j = 0; j < i; j++)
            ok &= fabric_add_link(f, socket[j], socket[i], FABRIC_LINK_socket, 0) >= 0;
    }
    int ports = chips ? chips * virtuals : s->gpus;
    for (int i = 0; i < ports; i++) {
        snprintf(name, sizeof name, "root%d", i);
        int root = fabric_add_node(f, FABRIC_ROOT, name);
        int group = chips ? i / virtuals : i, groups = chips ? chips : s->gpus;
        ok &= fabric_add_link(f, root, socket[group * sockets / groups], FABRIC_LINK_root, 0) >= 0;
        under[i] = root;
        if (chips) {
            snprintf(name, sizeof name, "switch%d", i);
            under[i] = fabric_add_node(f, FABRIC_SWITCH, name);
            ok &= fabric_add_link(f, under[i], root, FABRIC_LINK_uplink, 0) >= 0;
            for (int j = group * virtuals; j < i; j++)
                ok &= fabric_add_link(f, under[j], under[i], FABRIC_LINK_chip, 0) >= 0;
        }
    }
    int nvswitch = s->nvswitch ? fabric_add_node(f, FABRIC_NVSWITCH, "nvswitch") : -1, before = -1;
    for (int i = 0; i < s->gpus; i++) {
        snprintf(name, sizeof name, "gpu%d", i);
        int gpu = fabric_add_node(f, FABRIC_GPU, name);
        ok &= fabric_add_link(f, gpu, under[i * ports / s->gpus], FABRIC_LINK_pcie, 0) >= 0;
        if (nvswitch >= 0)
            ok &= fabric_add_link(f, gpu, nvswitch, FABRIC_LINK_nvlink, 0) >= 0;
        if (s->nvlink_pairs && i % 2 == 1)
            ok &= fabric_add_link(f, before, gpu, FABRIC_LINK_nvlink, 0) >= 0;
        before = gpu;
    }
    return ok ? STATUS_OK
              : err_set(err, STATUS_INPUT, "%s: more than %d nodes or %d links", f->name,
                        FABRIC_MAX_NODES, FABRIC_MAX_LINKS);
}

enum status fabric_build(struct fabric *f, const char *name, const struct fabric_shape *s,
                         struct err *err)
{
    fabric_init(f, name);
    if (s->gpus < 1 || s->gpus > FABRIC_MAX_GPUS)
        return err_set(err, STATUS_INPUT, "%s: %d GPUs: 1 to %d can be priced", name, s->gpus,
                       FABRIC_MAX_GPUS);
    if (s->sockets < 0 || s->sockets > FABRIC_MAX_SOCKETS)
        return err_set(err, STATUS_INPUT, "%s: %d sockets: expected 1 to %d", name, s->sockets,
                       FABRIC_MAX_SOCKETS);
    if (s->switches < 0 || s->virtual_switches < 0 || s->virtual_switches > FABRIC_MAX_GPUS ||
        s->switches * (s->virtual_switches ? s->virtual_switches : 1) > s->gpus)
        return err_set(err, STATUS_INPUT, "%s: %d switches of %d: expected at most one a GPU", name,
                       s->switches, s->virtual_switches);
    if (s->pcie_generation != 0 && (s->pcie_generation < 1 || s->pcie_generation > 7))
        return err_set(err, STATUS_INPUT, "%s: PCIe generation %d: expected 1 to 7", name,
                       s->pcie_generation);
    f->compute_capability = s->compute_capability;
    f->peer_access = !s->no_peer_access;
    f->multicast = s->multicast;
    fabric_assume_pcie(f, s->pcie_generation ? s->pcie_generation : 5);
    if (s->no_peer_access)
        fabric_assumed(f, FABRIC_nccl_p2p, 0, 0, 0);
    if (s->nvswitch)
        assume_nvlink(f, s->compute_capability);
    enum status status = grow(f, s, err);
    return status == STATUS_OK ? fabric_route(f, err) : status;
}

#define FABRIC_PRESET(id, doc, ...) {id, doc, {__VA_ARGS__}},
const struct fabric_preset fabric_presets[] = {
#include "model/fabric_presets.def"
};
#undef FABRIC_PRESET
const int fabric_preset_count = sizeof fabric_presets / sizeof *fabric_presets;

enum status fabric_preset(struct fabric *f, const char *id, int gpus, struct err *err)
{
    char list[512] = "";
    for (int i = 0; i < fabric_preset_count; i++) {
        const struct fabric_preset *p = &fabric_presets[i];
        if (strcmp(p->id, id) == 0) {
            struct fabric_shape shape = p->shape;
            if (gpus > 0)
                shape.gpus = gpus;
            return fabric_build(f, id, &shape, err);
        }
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "", p->id);
    }
    return err_set(err, STATUS_USAGE, "no fabric \"%s\": a file, or one of %s", id, list);
}
