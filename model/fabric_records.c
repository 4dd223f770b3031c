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
    int topology; /* records of it */
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
        int off = strstr(r->method, "disabled") != NULL || strstr(r->note, "isabled") != NULL;
        double *pair = off ? &s->off_gb[from][to] : &s->pair_gb[from][to];
        *pair = fmax(*pair, r->value);
    }
}

/* --- The parameters -------------------------------------------------------------------------- */

/* Streams to host memory and back, and within the device: the best of all block counts counts,
 * since a kernel may choose them. */
static void settle_best(struct fabric *f, enum fabric_param p, struct samples *s)
{
    if (s->n == 0)
        return;
    double v = quantile(s, 1.0);
    fabric_measured(f, p, v, v / 1.05, fmax(fmin(s->high, v * 1.1), v * 1.03));
}

static int is_method(const struct record *r, const char *word)
{
    return strstr(r->method, word) != NULL;
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

static void settle_probes(struct fabric *f, const struct records *rs, int gpus, int nvlink)
{
    static const enum fabric_param latency[3][MEDIA] = {
        {FABRIC_local_write_us, FABRIC_peer_write_us, FABRIC_host_write_us},
        {FABRIC_local_read_us, FABRIC_peer_read_us, FABRIC_host_read_us},
        {FABRIC_local_fence_us, FABRIC_peer_fence_us, FABRIC_host_fence_us},
    };
    struct samples *s = calloc(24, sizeof *s);
    if (s == NULL)
        return; /* the assumptions stay, and say so */
    struct samples(*lat)[MEDIA] = (void *)s;
    struct samples *node = s + 9, *store = s + 10, *load = s + 11, *both = s + 12, *local = s + 13,
                   *peer = s + 14, *peer_load = s + 15, *all = s + 16, *two_roots = s + 17;
    for (size_t i = 0; i < rs->n; i++) {
        const struct record *r = &rs->v[i];
        if (!record_usable(r))
            continue;
        struct way w = way_of(r);
        int copy = is_method(r, "copy") || is_method(r, "disabled") || strstr(r->note, "isabled");
        switch (r->what) {
        case WHAT_node_gap:
            if (r->size_bytes <= 0)
                add_record(node, r);
            break;
        case WHAT_p2p_write_latency:
        case WHAT_p2p_read_latency:
        case WHAT_fence_latency:
            if (strcmp(r->placement, "host threads") != 0)
                add_record(&lat[r->what == WHAT_p2p_write_latency  ? 0
                                : r->what == WHAT_p2p_read_latency ? 1
                                                                   : 2][w.medium],
                           r);
            break;
        case WHAT_bandwidth:
            if (w.medium == HOST && !copy)
                add_record(is_method(r, "both") ? both : is_method(r, "load") ? load : store, r);
            else if (w.medium == LOCAL)
                add_record(local, r);
            else if (w.medium == PEER && !strstr(r->note, "isabled") && !is_method(r, "disabled") &&
                     !is_method(r, "both") && !is_method(r, "bidirectional"))
                add_record(is_method(r, "load") || is_method(r, "read") ? peer_load : peer, r);
            break;
        case WHAT_contention:
            if (strstr(r->placement, "all"))
                add_record(all, r);
            else if (strstr(r->placement, "root") && !is_method(r, "load"))
                add_record(two_roots, r);
            break;
        default:
            break;
        }
    }
    for (int k = 0; k < 3; k++)
        for (int m = 0; m < MEDIA; m++)
            settle(f, latency[k][m], &lat[k][m], m == PEER ? 0.1 : 0.5);
    settle(f, FABRIC_node_us, node, 0.5);
    settle_best(f, FABRIC_host_store_gb_per_s, store);
    settle_best(f, FABRIC_host_load_gb_per_s, load);
    settle_best(f, FABRIC_host_both_gb_per_s, both);
    settle_best(f, FABRIC_local_gb_per_s, local);
    enum fabric_param port = nvlink ? FABRIC_nvlink_gb_per_s : FABRIC_pcie_gb_per_s;
    settle_best(f, port, peer);
    if (peer->n > 0 && peer_load->n > 0) {
        double ratio = quantile(peer_load, 1) / quantile(peer, 1);
        fabric_measured(f, FABRIC_read_ratio, ratio, ratio * 0.97, ratio * 1.03);
    }
    settle_fanout(f, all, gpus, nvlink);
    if (two_roots->n > 0 && peer->n > 0) {
        double left = 2 * quantile(two_roots, 0.5), alone = quantile(peer, 0.5);
        int collapsed = left < 0.4 * alone;
        fabric_measured(f, FABRIC_collapse_sources, 2 * collapsed, 2 * collapsed, 2 * collapsed);
        if (collapsed)
            fabric_measured(f, FABRIC_collapse_gb_per_s, left, left * 0.7, left * 1.3);
    }
    free(s);
}

/* Pairs of different sockets that are slower than near ones set what an uplink or root port gives.
 */
static void settle_far(struct fabric *f, const struct seen *s)
{
    double near = 0, far = 0;
    int n_near = 0, n_far = 0;
    for (int g = 0; g < s->n_gpus; g++)
        for (int h = 0; h < s->n_gpus; h++) {
            if (g == h || !(s->pair_gb[g][h] > 0))
                continue;
            if (s->near[g][h] == NEAR_SYS)
                far += s->pair_gb[g][h], n_far++;
            else if (s->near[g][h] != NEAR_NV)
                near += s->pair_gb[g][h], n_near++;
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

/* Peer access that changes nothing is none: with and without it every pair runs the same. */
static int no_peer_access(const struct seen *s)
{
    int pairs = 0, faster = 0;
    for (int g = 0; g < s->n_gpus; g++)
        for (int h = 0; h < s->n_gpus; h++)
            if (g != h && s->pair_gb[g][h] > 0 && s->off_gb[g][h] > 0) {
                pairs++;
                double ratio = s->pair_gb[g][h] / s->off_gb[g][h];
                faster += ratio > 1.06 || ratio < 0.94;
            }
    return pairs > 0 && faster == 0;
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
