#include "measure/gpu_probe.h"

#include <stdio.h>

void gpu_placement(char *text, size_t size, int gpu, int memory)
{
    if (memory == GPU_HOST)
        snprintf(text, size, "%d>host", gpu);
    else if (memory == GPU_CPU)
        snprintf(text, size, "%d>cpu", gpu);
    else
        snprintf(text, size, "%d>%d", gpu, memory);
}

#ifndef HAVE_CUDA

static enum outcome none(struct err *err)
{
    err_set(err, STATUS_MISSING,
            "probes of GPUs: this build has no CUDA; make CUDA=yes with the CUDA toolkit");
    return OUTCOME_UNSUPPORTED;
}

enum outcome gpu_probe_begin(void **context, const struct backend_host *host, struct err *err)
{
    (void)context, (void)host;
    return none(err);
}

void gpu_probe_end(void *context)
{
    (void)context;
}

const struct backend_host *gpu_probe_host(const void *context)
{
    return context;
}

enum outcome gpu_pingpong(void *context, int a, int b, int through_host, double *us,
                          struct err *err)
{
    (void)context, (void)a, (void)b, (void)through_host, (void)us;
    return none(err);
}

enum outcome gpu_chase(void *context, int gpu, int memory, double *us, struct err *err)
{
    (void)context, (void)gpu, (void)memory, (void)us;
    return none(err);
}

enum outcome gpu_fence(void *context, int gpu, int memory, int threads, int fence, double *us,
                       struct err *err)
{
    (void)context, (void)gpu, (void)memory, (void)threads, (void)fence, (void)us;
    return none(err);
}

enum outcome gpu_node(void *context, int gpu, int blocks, int threads, int ranks, int size_bytes,
                      int chain, double *us, struct err *err)
{
    (void)context, (void)gpu, (void)blocks, (void)threads, (void)ranks, (void)size_bytes;
    (void)chain, (void)us;
    return none(err);
}

enum outcome gpu_launch(void *context, int gpu, int until_done, double *us, struct err *err)
{
    (void)context, (void)gpu, (void)until_done, (void)us;
    return none(err);
}

enum outcome gpu_flows(void *context, const struct gpu_flow *flows, int n, double *gb_per_s,
                       struct err *err)
{
    (void)context, (void)flows, (void)n, (void)gb_per_s;
    return none(err);
}

#endif
