/* Streams together: what every flow of a pattern keeps. Patterns between GPUs need peer access; the
 * patterns through host memory need one GPU. A sample is the mean over the flows; the slowest
 * flow's share is in the note. */
#include <stdio.h>

#include "measure/gpu_probe.h"

enum { BLOCKS = 4, THREADS = 512, BYTES = 16 << 20 };

struct pattern {
    char name[64];
    int n;
    struct gpu_flow flows[GPU_MAX_FLOWS];
};

static void flow(struct pattern *p, int kind, int gpu, int memory)
{
    if (p->n < GPU_MAX_FLOWS)
        p->flows[p->n++] =
            (struct gpu_flow){(enum gpu_flow_kind)kind, gpu, memory, BLOCKS, THREADS, BYTES};
}

/* k stores (or loads) at a time by GPU 0 and host memory, with as many the other way, or with a
 * copy engine beside them. */
enum { ALONE, AGAINST, WITH_COPY_OUT, WITH_COPY_IN, BESIDES };

static int host_pattern(int *index, struct pattern *p)
{
    static const int counts[] = {1, 2, 4, 8};
    static const char *const besides[BESIDES] = {"", ", as many the other way", ", copy engine out",
                                                 ", copy engine in"};
    for (int kind = GPU_STORES; kind <= GPU_LOADS; kind++)
        for (int b = 0; b < BESIDES; b++)
            for (int c = 0; c < 4; c++) {
                if ((b >= WITH_COPY_OUT && counts[c] != 2) || (b == AGAINST && kind == GPU_LOADS) ||
                    (*index)-- != 0)
                    continue;
                p->n = 0;
                for (int i = 0; i < counts[c]; i++)
                    flow(p, kind, 0, GPU_HOST);
                for (int i = 0; i < counts[c] && b == AGAINST; i++)
                    flow(p, GPU_LOADS, 0, GPU_HOST);
                if (b >= WITH_COPY_OUT)
                    flow(p, b == WITH_COPY_OUT ? GPU_COPY_OUT : GPU_COPY_IN, 0, GPU_HOST);
                snprintf(p->name, sizeof p->name, "%d on 0>host%s", counts[c], besides[b]);
                return 1;
            }
    return 0;
}

static int all_peers(const struct backend_host *h)
{
    for (int i = 0; i < h->n_gpus; i++)
        for (int j = 0; j < h->n_gpus; j++)
            if (!h->peer_write[i][j] || !h->peer_read[i][j])
                return 0;
    return h->n_gpus > 1;
}

/* Patterns between all GPUs, for stores, then loads. */
static int peer_pattern(int *index, const struct backend_host *h, struct pattern *p)
{
    int n = h->n_gpus;
    for (int kind = GPU_STORES; kind <= GPU_LOADS && all_peers(h); kind++) {
        for (int a = 0; a < n; a++) /* every pair, both ways */
            for (int b = a + 1; b < n; b++)
                if ((*index)-- == 0) {
                    flow(p, kind, a, b);
                    flow(p, kind, b, a);
                    snprintf(p->name, sizeof p->name, "pair %d<>%d", a, b);
                    return 1;
                }
        if ((*index)-- == 0) { /* pairs at the same time */
            for (int a = 0; a + n / 2 < n / 2 * 2; a++)
                flow(p, kind, a, a + n / 2);
            snprintf(p->name, sizeof p->name, "pairs i>i+%d", n / 2);
            return 1;
        }
        if ((*index)-- == 0) {
            for (int a = 1; a < n; a++)
                flow(p, kind, a, 0);
            snprintf(p->name, sizeof p->name, "same destination");
            return 1;
        }
        if ((*index)-- == 0) {
            for (int b = 1; b < n; b++)
                flow(p, kind, 0, b);
            snprintf(p->name, sizeof p->name, "same source");
            return 1;
        }
        /* Two neighbours to two destinations: where these stand behind two root ports, stores of
         * some switches collapse. */
        for (int b = 2; b < n; b++)
            for (int c = b + 1; c < n; c++)
                if ((*index)-- == 0) {
                    flow(p, kind, 0, b);
                    flow(p, kind, 1, c);
                    snprintf(p->name, sizeof p->name, "two destinations 0>%d 1>%d", b, c);
                    return 1;
                }
        if ((*index)-- == 0) {
            for (int a = 0; a < n; a++)
                flow(p, kind, a, (a + 1) % n);
            snprintf(p->name, sizeof p->name, "ring");
            return 1;
        }
        if (n <= 8 && (*index)-- == 0) {
            for (int d = 1; d < n; d++)
                for (int a = 0; a < n; a++)
                    flow(p, kind, a, (a + d) % n);
            snprintf(p->name, sizeof p->name, "all-to-all");
            return 1;
        }
        for (int k = 2; k <= 8; k *= 2)
            if ((*index)-- == 0) {
                for (int i = 0; i < k; i++)
                    flow(p, kind, 0, 1);
                snprintf(p->name, sizeof p->name, "%d on 0>1", k);
                return 1;
            }
        if ((*index)-- == 0) { /* every GPU with the host at once */
            for (int a = 0; a < n; a++)
                flow(p, kind, a, GPU_HOST);
            snprintf(p->name, sizeof p->name, "all>host");
            return 1;
        }
    }
    return 0;
}

static int pattern_at(int index, const struct backend_host *host, struct pattern *p)
{
    p->n = 0;
    return host->n_gpus > 0 && (host_pattern(&index, p) || peer_pattern(&index, host, p));
}

static int case_at(int index, const struct backend_host *host, struct probe_case *out)
{
    static const char *const methods[] = {"stores", "loads"};
    struct pattern p;
    if (!pattern_at(index, host, &p))
        return 0;
    out->quick = p.n > 2;
    out->record.what = WHAT_contention;
    out->record.size_bytes = BYTES;
    out->record.field[FIELD_flows] = p.n;
    out->record.field[FIELD_blocks] = BLOCKS;
    out->record.field[FIELD_threads] = THREADS;
    snprintf(out->record.placement, sizeof out->record.placement, "%s", p.name);
    snprintf(out->record.method, sizeof out->record.method, "%s", methods[p.flows[0].kind]);
    return 1;
}

static enum outcome run(void *context, const struct probe_case *c, int iterations, struct result *r,
                        struct err *err)
{
    struct pattern p;
    double each[GPU_MAX_FLOWS], slowest = 0, last = 0;
    if (!pattern_at(c->index, gpu_probe_host(context), &p))
        return OUTCOME_UNSUPPORTED;
    for (int i = 0; i < iterations && r->n < r->cap; i++) {
        enum outcome outcome = gpu_flows(context, p.flows, p.n, each, err);
        if (outcome != OUTCOME_OK)
            return outcome;
        double sum = 0;
        slowest = each[0];
        for (int k = 0; k < p.n; k++) {
            sum += each[k];
            slowest = each[k] < slowest ? each[k] : slowest;
        }
        last = each[p.n - 1];
        r->samples[r->n++] = sum / p.n;
    }
    snprintf(r->note, sizeof r->note, "slowest flow %.1f GB/s, last flow %.1f GB/s", slowest, last);
    return OUTCOME_OK;
}

const struct probe probe_contention = {
    .id = "contention",
    .summary = "streams together: pairs, one destination, two, ring, all to all, one link shared",
    .backend = "cuda",
    .case_at = case_at,
    .begin = gpu_probe_begin,
    .run = run,
    .end = gpu_probe_end,
};
