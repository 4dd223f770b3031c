/* What a kernel costs without its work: an empty node of a replayed graph, a node that copies a
 * message from own memory to own memory (what remains of an allreduce without its peers), and a
 * launch from the host. */
#include <stdio.h>

#include "measure/gpu_probe.h"

enum { CHAIN = 122, LAUNCH = -1, LAUNCH_UNTIL_DONE = -2 };

static const struct spec {
    int blocks, threads, ranks, size_bytes;
} specs[] = {
    {1, 32, 1, 0},      {1, 32, 8, 0},
    {8, 256, 1, 0},     {16, 192, 8, 0},
    {1, 32, 8, 16},     {16, 192, 8, 43008},
    {8, 352, 2, 43008}, {16, 512, 8, 1 << 20},
    {1, 32, 1, LAUNCH}, {1, 32, 1, LAUNCH_UNTIL_DONE},
};
enum { SPECS = sizeof specs / sizeof specs[0] };

static int case_at(int index, const struct backend_host *host, struct probe_case *out)
{
    if (index >= SPECS * host->n_gpus)
        return 0;
    const struct spec *s = &specs[index % SPECS];
    out->quick = index < SPECS;
    out->record.what = s->size_bytes < 0 ? WHAT_launch : WHAT_node_gap;
    out->record.ranks = s->ranks;
    out->record.size_bytes = s->size_bytes < 0 ? 0 : s->size_bytes;
    out->record.field[FIELD_blocks] = s->blocks;
    out->record.field[FIELD_threads] = s->threads;
    snprintf(out->record.placement, sizeof out->record.placement, "%d", index / SPECS);
    snprintf(out->record.method, sizeof out->record.method, "%s",
             s->size_bytes == LAUNCH              ? "in a stream"
             : s->size_bytes == LAUNCH_UNTIL_DONE ? "until done"
             : s->size_bytes == 0                 ? "empty"
                                                  : "local copy");
    return 1;
}

static enum outcome run(void *context, const struct probe_case *c, int iterations, struct result *r,
                        struct err *err)
{
    const struct spec *s = &specs[c->index % SPECS];
    int gpu = c->index / SPECS;
    enum outcome outcome = OUTCOME_OK;
    for (int i = 0; i < iterations && r->n < r->cap && outcome == OUTCOME_OK; i++) {
        double *us = &r->samples[r->n];
        outcome = s->size_bytes < 0
                      ? gpu_launch(context, gpu, s->size_bytes == LAUNCH_UNTIL_DONE, us, err)
                      : gpu_node(context, gpu, s->blocks, s->threads, s->ranks, s->size_bytes,
                                 CHAIN, us, err);
        r->n += outcome == OUTCOME_OK;
    }
    return outcome;
}

const struct probe probe_node = {
    .id = "node",
    .summary = "kernel nodes of a graph, and launches, without work",
    .backend = "cuda",
    .case_at = case_at,
    .begin = gpu_probe_begin,
    .run = run,
    .end = gpu_probe_end,
};
