/* Dependent loads, one after the other: own memory, peers' memory, host memory. */
#include <stdio.h>

#include "measure/gpu_probe.h"

static int spec_at(int index, const struct backend_host *host, int *gpu, int *memory)
{
    for (int g = 0; g < host->n_gpus; g++)
        for (int m = GPU_HOST; m < host->n_gpus; m++) {
            if (m >= 0 && !host->peer_read[g][m])
                continue;
            if (index-- == 0) {
                *gpu = g;
                *memory = m;
                return 1;
            }
        }
    return 0;
}

static int case_at(int index, const struct backend_host *host, struct probe_case *out)
{
    int gpu, memory;
    if (!spec_at(index, host, &gpu, &memory))
        return 0;
    out->quick = gpu == 0;
    out->record.what = WHAT_p2p_read_latency;
    out->record.size_bytes = 8;
    gpu_placement(out->record.placement, sizeof out->record.placement, gpu, memory);
    snprintf(out->record.method, sizeof out->record.method, "chase");
    return 1;
}

static enum outcome run(void *context, const struct probe_case *c, int iterations, struct result *r,
                        struct err *err)
{
    int gpu, memory;
    enum outcome outcome = OUTCOME_OK;
    if (!spec_at(c->index, gpu_probe_host(context), &gpu, &memory))
        return OUTCOME_UNSUPPORTED;
    for (int i = 0; i < iterations && r->n < r->cap && outcome == OUTCOME_OK; i++) {
        outcome = gpu_chase(context, gpu, memory, &r->samples[r->n], err);
        r->n += outcome == OUTCOME_OK;
    }
    return outcome;
}

const struct probe probe_chase = {
    .id = "chase",
    .summary = "dependent loads: own, peers' and host memory",
    .backend = "cuda",
    .case_at = case_at,
    .begin = gpu_probe_begin,
    .run = run,
    .end = gpu_probe_end,
};
