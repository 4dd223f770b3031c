/* How long a store takes to be seen: flags between two blocks of a GPU, two GPUs, a GPU and the
 * host, through device and host memory. */
#include <stdio.h>

#include "measure/gpu_probe.h"

struct spec {
    int a, b, through_host;
};

static int spec_at(int index, const struct backend_host *host, struct spec *s)
{
    for (int a = 0; a < host->n_gpus; a++) {
        const struct spec own[] = {{a, a, 0}, {a, a, 1}, {a, GPU_CPU, 1}};
        for (int k = 0; k < 3; k++)
            if (index-- == 0) {
                *s = own[k];
                return 1;
            }
        for (int b = a + 1; b < host->n_gpus; b++)
            for (int through_host = 0; through_host < 2; through_host++) {
                if (!through_host && !(host->peer_write[a][b] && host->peer_write[b][a]))
                    continue;
                if (index-- == 0) {
                    *s = (struct spec){a, b, through_host};
                    return 1;
                }
            }
    }
    return 0;
}

static int case_at(int index, const struct backend_host *host, struct probe_case *out)
{
    struct spec s;
    if (!spec_at(index, host, &s))
        return 0;
    out->quick = s.a == 0;
    out->record.what = WHAT_p2p_write_latency;
    out->record.size_bytes = 4;
    out->record.ranks = 2;
    if (s.through_host && s.b >= 0)
        snprintf(out->record.placement, sizeof out->record.placement,
                 s.a == s.b ? "%d>host" : "%d>host>%d", s.a, s.b);
    else
        gpu_placement(out->record.placement, sizeof out->record.placement, s.a, s.b);
    snprintf(out->record.method, sizeof out->record.method, "ping-pong");
    return 1;
}

static enum outcome run(void *context, const struct probe_case *c, int iterations, struct result *r,
                        struct err *err)
{
    struct spec s;
    enum outcome outcome = OUTCOME_OK;
    if (!spec_at(c->index, gpu_probe_host(context), &s))
        return OUTCOME_UNSUPPORTED;
    for (int i = 0; i < iterations && r->n < r->cap && outcome == OUTCOME_OK; i++) {
        outcome = gpu_pingpong(context, s.a, s.b, s.through_host, &r->samples[r->n], err);
        r->n += outcome == OUTCOME_OK;
    }
    return outcome;
}

const struct probe probe_pingpong = {
    .id = "pingpong",
    .summary = "flag ping-pong: a store until the other side sees it",
    .backend = "cuda",
    .case_at = case_at,
    .begin = gpu_probe_begin,
    .run = run,
    .end = gpu_probe_end,
};
