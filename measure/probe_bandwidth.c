/* One stream alone: stores, loads and both by number of blocks, and the copy engines one way and
 * both, between a GPU and its own memory, each peer's, and the host's. */
#include <stdio.h>

#include "measure/gpu_probe.h"

static const int block_counts[] = {1, 2, 4, 8, 16, 32, 64, 128};
enum {
    BLOCK_COUNTS = sizeof block_counts / sizeof block_counts[0],
    THREADS = 512,
    FAR_BYTES = 32 << 20,
    OWN_BYTES = 8 << 20, /* stays in the L2 of any data-centre GPU, as an exchange buffer does */
};

/* The flows of a case, f[0] and perhaps f[1], run together. Returns how many; 0: no such case. */
static int spec_at(int index, const struct backend_host *host, struct gpu_flow f[2])
{
    for (int g = 0; g < host->n_gpus; g++)
        for (int m = GPU_HOST; m < host->n_gpus; m++) {
            if (m >= 0 && (!host->peer_write[g][m] || !host->peer_read[g][m]))
                continue;
            for (int kind = GPU_STORES; kind <= GPU_STORES_AND_LOADS; kind++)
                for (int b = kind == GPU_STORES_AND_LOADS; b < BLOCK_COUNTS; b++)
                    if (index-- == 0) {
                        f[0] = (struct gpu_flow){
                            (enum gpu_flow_kind)kind, g,       m,
                            block_counts[b],          THREADS, m == g ? OWN_BYTES : FAR_BYTES};
                        return 1;
                    }
            for (int kind = GPU_COPY_OUT; kind <= GPU_COPY_IN && m != g; kind++)
                if (index-- == 0) {
                    f[0] = (struct gpu_flow){(enum gpu_flow_kind)kind, g, m, 0, 0, FAR_BYTES};
                    return 1;
                }
            if (m != g && index-- == 0) {
                f[0] = (struct gpu_flow){GPU_COPY_OUT, g, m, 0, 0, FAR_BYTES};
                f[1] = (struct gpu_flow){GPU_COPY_IN, g, m, 0, 0, FAR_BYTES};
                return 2;
            }
        }
    return 0;
}

static int case_at(int index, const struct backend_host *host, struct probe_case *out)
{
    static const char *const methods[] = {"stores", "loads", "stores and loads", "copy out",
                                          "copy in"};
    struct gpu_flow flows[2], f;
    int n = spec_at(index, host, flows);
    if (n == 0)
        return 0;
    f = flows[0];
    out->quick = f.gpu == 0 && (f.blocks == 1 || f.blocks == 16 || f.blocks == 0);
    out->record.what = WHAT_bandwidth;
    out->record.size_bytes = f.size_bytes;
    out->record.field[FIELD_flows] = n;
    if (f.blocks > 0) {
        out->record.field[FIELD_blocks] = f.blocks;
        out->record.field[FIELD_threads] = f.threads;
    }
    gpu_placement(out->record.placement, sizeof out->record.placement, f.gpu, f.memory);
    snprintf(out->record.method, sizeof out->record.method, "%s",
             n == 2 ? "copy out and in" : methods[f.kind]);
    return 1;
}

static enum outcome run(void *context, const struct probe_case *c, int iterations, struct result *r,
                        struct err *err)
{
    struct gpu_flow f[2];
    double gb_per_s[2] = {0, 0};
    enum outcome outcome = OUTCOME_OK;
    int n = spec_at(c->index, gpu_probe_host(context), f);
    if (n == 0)
        return OUTCOME_UNSUPPORTED;
    for (int i = 0; i < iterations && r->n < r->cap && outcome == OUTCOME_OK; i++) {
        outcome = gpu_flows(context, f, n, gb_per_s, err);
        if (outcome == OUTCOME_OK)
            r->samples[r->n++] = gb_per_s[0] + gb_per_s[1]; /* both ways: the sum */
    }
    return outcome;
}

const struct probe probe_bandwidth = {
    .id = "bandwidth",
    .summary = "stores, loads and copy engines, alone and both ways, by number of blocks",
    .backend = "cuda",
    .case_at = case_at,
    .begin = gpu_probe_begin,
    .run = run,
    .end = gpu_probe_end,
};
