/* A system-scope fence after stores, by what was stored and where. A case with the method "stores"
 * is the same loop without the fence. */
#include <stdio.h>

#include "measure/gpu_probe.h"

static const int thread_counts[] = {1, 32, 512};

static int spec_at(int index, const struct backend_host *host, struct gpu_flow *s, int *fence)
{
    for (int g = 0; g < host->n_gpus; g++)
        for (int m = GPU_HOST; m < host->n_gpus; m++)
            for (int t = 0; t < 3; t++)
                for (*fence = 1; *fence >= 0; --*fence) {
                    if (m >= 0 && !host->peer_write[g][m])
                        continue;
                    if (index-- == 0) {
                        *s = (struct gpu_flow){.gpu = g, .memory = m, .threads = thread_counts[t]};
                        return 1;
                    }
                }
    return 0;
}

static int case_at(int index, const struct backend_host *host, struct probe_case *out)
{
    struct gpu_flow s;
    int fence;
    if (!spec_at(index, host, &s, &fence))
        return 0;
    out->quick = s.gpu == 0 && fence && s.threads != 32;
    out->record.what = WHAT_fence_latency;
    out->record.size_bytes = 16 * s.threads;
    out->record.field[FIELD_blocks] = 1;
    out->record.field[FIELD_threads] = s.threads;
    gpu_placement(out->record.placement, sizeof out->record.placement, s.gpu, s.memory);
    snprintf(out->record.method, sizeof out->record.method, fence ? "stores, fence" : "stores");
    return 1;
}

static enum outcome run(void *context, const struct probe_case *c, int iterations, struct result *r,
                        struct err *err)
{
    struct gpu_flow s;
    int fence;
    enum outcome outcome = OUTCOME_OK;
    if (!spec_at(c->index, gpu_probe_host(context), &s, &fence))
        return OUTCOME_UNSUPPORTED;
    for (int i = 0; i < iterations && r->n < r->cap && outcome == OUTCOME_OK; i++) {
        outcome = gpu_fence(context, s.gpu, s.memory, s.threads, fence, &r->samples[r->n], err);
        r->n += outcome == OUTCOME_OK;
    }
    return outcome;
}

const struct probe probe_fence = {
    .id = "fence",
    .summary = "a system-scope fence after stores",
    .backend = "cuda",
    .case_at = case_at,
    .begin = gpu_probe_begin,
    .run = run,
    .end = gpu_probe_end,
};
