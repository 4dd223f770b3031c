#include "model/nccl_model.h"

#include <math.h>

/* ncclTunerConstantsDefaults, tuning.cc. Order LL, LL128, Simple. */
static const double base_us[NCCL_ALGOS][NCCL_PROTOS] = {{6.8, 14, 8.4}, {6.6, 14, 8.4}, {0, 0, 0}};
static const double hop_us[2][NCCL_ALGOS][NCCL_PROTOS] = {
    {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 0}},   /* PCI */
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}}, /* NVLink */
};

/* Caps by architecture, one node, GB/s. */
struct caps {
    int compute_capability; /* from this on */
    double ll, ring_ll128, tree_ll128, tree, nvls_efficiency;
};
static const struct caps architectures[] = {
    {100, 282, 40, 55.6, 70, 0.74},
    {90, 141, 36.7, 36.7, 38.7, 0.85},
    {80, 87.7, 20, 20, 24, 0},
    {0, 39, 20, 20, 26.5, 0},
};

/* treeCorrectionFactor: by log2(bytes / 64). */
enum { CORRECTIONS = 23 };
static const double tree_correction[NCCL_PROTOS][CORRECTIONS] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
};

static const struct caps *caps_of(const struct nccl_topology *t)
{
    int cc = t->compute_capability ? t->compute_capability : 90, i = 0;
    while (architectures[i].compute_capability > cc)
        i++;
    return &architectures[i];
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* Algorithm bandwidth, GB/s; 0: not used. */
static double bandwidth(const struct nccl_topology *t, enum nccl_algo a, enum nccl_proto p,
                        int forced)
{
    const struct caps *c = caps_of(t);
    double channels = t->search_channels, bus = channels * t->search_gb_per_s;
    double n = t->ranks, steps = 2 * (n - 1);
    if (p == NCCL_LL128 && !t->nvlink && !forced)
        return 0;
    switch (a) {
    case NCCL_RING:
        if (p == NCCL_LL)
            bus = lesser(c->ll, bus * 0.5);
        else if (p == NCCL_LL128)
            bus = lesser(bus * 0.92, channels * c->ring_ll128);
        return bus * n / steps;
    case NCCL_TREE:
        bus = lesser(bus * 0.92, channels * c->tree);
        if (p == NCCL_LL)
            bus = lesser(bus / 3.8, c->ll);
        else if (p == NCCL_LL128)
            bus = lesser(bus * 7 / 9, channels * c->tree_ll128);
        return bus * 0.5;
    default:
        if (!t->nvls || p != NCCL_SIMPLE || c->nvls_efficiency == 0)
            return 0;
        return bus * c->nvls_efficiency * n / steps;
    }
}

double nccl_model_us(const struct nccl_topology *t, enum nccl_algo a, enum nccl_proto p,
                     double bytes, int forced)
{
    double bw = bandwidth(t, a, p, forced);
    if (!(bw > 0))
        return -1;
    double hops = a == NCCL_NVLS ? 1 : 2.0 * (t->ranks - 1);
    double latency = base_us[a][p] + hops * hop_us[t->nvlink != 0][a][p];
    double size = floor(bytes / 64);
    int log = size >= 1 ? (int)log2(size) : -1;
    if (a == NCCL_TREE && log >= 0 && log < CORRECTIONS)
        bw *= tree_correction[p][log];
    return latency + bytes / (1000 * bw);
}

double nccl_model_choose(const struct nccl_topology *t, double bytes, enum nccl_algo *a,
                         enum nccl_proto *p)
{
    double best = -1;
    for (int i = 0; i < NCCL_ALGOS; i++)
        for (int j = 0; j < NCCL_PROTOS; j++) {
            double us = nccl_model_us(t, (enum nccl_algo)i, (enum nccl_proto)j, bytes, 0);
            if (us >= 0 && (best < 0 || us < best)) {
                best = us;
                *a = (enum nccl_algo)i;
                *p = (enum nccl_proto)j;
            }
        }
    return best;
}

void nccl_model_channels(const struct nccl_topology *t, enum nccl_algo a, enum nccl_proto p,
                         double bytes, int *channels, int *threads)
{
    /* Simple runs with half the threads where the whole ring gives no more than PCI_BW. */
    int slow = t->search_gb_per_s * t->search_channels <= 12;
    int nt = p == NCCL_LL128 ? 640 : p == NCCL_LL ? 512 : slow && a == NCCL_RING ? 256 : 512;
    int nc = t->channels > 0 ? t->channels : 2 * t->search_channels;
    double threshold = p == NCCL_SIMPLE ? 64 : 8;
    if (a == NCCL_RING && p == NCCL_LL)
        threshold *= t->ranks;
    while (nc > 1 && bytes < nc * nt * threshold)
        nc--;
    if (nc == 1)
        while (nt % 128 == 0 && bytes < nt * threshold)
            nt /= 2;
    if (p == NCCL_SIMPLE)
        nt += a == NCCL_TREE ? 128 : 32;
    if (nt < 96)
        nt = 96;
    if (a == NCCL_TREE)
        nt = 640;
    *channels = nc;
    *threads = nt;
}

const char *nccl_algo_name(enum nccl_algo a)
{
    static const char *const names[] = {"tree", "ring", "nvls"};
    return names[a];
}

const char *nccl_proto_name(enum nccl_proto p)
{
    static const char *const names[] = {"ll", "ll128", "simple"};
    return names[p];
}
