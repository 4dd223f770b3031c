/* What probes of GPUs are made of. Pure C for the probes' files; measure/cuda_probe.c does the work
 * where there is CUDA, measure/gpu_probe.c says that there is none.
 *
 * A memory is a GPU's number, or GPU_HOST for pinned host memory. Placements are written
 * "INITIATOR>MEMORY": "0>host" is GPU 0 storing to, or loading from, host memory; "0>0" its own
 * memory, "0>1" that of GPU 1.
 */
#ifndef UPDRAFT_MEASURE_GPU_PROBE_H
#define UPDRAFT_MEASURE_GPU_PROBE_H

#include <stddef.h>

#include "measure/probe.h"

enum { GPU_HOST = -1, GPU_CPU = -2, GPU_MAX_FLOWS = 64 };

/* For probe.begin and probe.end. */
enum outcome gpu_probe_begin(void **context, const struct backend_host *host, struct err *err);
void gpu_probe_end(void *context);
/* The host that begin() was told of: probes find their case by its index again. */
const struct backend_host *gpu_probe_host(const void *context);

/* Writes "0>host". */
void gpu_placement(char *text, size_t size, int gpu, int memory);

/* One way of a flag between `a` and `b`, microseconds: half a round trip. b is a GPU, which may be
 * a itself (two blocks), or GPU_CPU (a thread of the host). The flags are in the memory of the side
 * that waits, or in host memory where through_host. */
enum outcome gpu_pingpong(void *context, int a, int b, int through_host, double *us,
                          struct err *err);
/* One dependent load by `gpu`, microseconds. */
enum outcome gpu_chase(void *context, int gpu, int memory, double *us, struct err *err);
/* Stores of 16 bytes by `threads` threads of one block, then, where `fence`, a system-scope fence
 * by each; microseconds a round. */
enum outcome gpu_fence(void *context, int gpu, int memory, int threads, int fence, double *us,
                       struct err *err);
/* A node of a replayed graph of `chain`: `ranks` rows of blocks x threads that do nothing, or copy
 * size_bytes a row; microseconds a node. */
enum outcome gpu_node(void *context, int gpu, int blocks, int threads, int ranks, int size_bytes,
                      int chain, double *us, struct err *err);
/* One launch of an empty kernel, microseconds: in a stream of many, or until the host knows that it
 * is done. */
enum outcome gpu_launch(void *context, int gpu, int until_done, double *us, struct err *err);

enum gpu_flow_kind {
    GPU_STORES,
    GPU_LOADS,
    GPU_STORES_AND_LOADS, /* half the blocks each */
    GPU_COPY_OUT,         /* copy engine, gpu's memory to `memory` */
    GPU_COPY_IN,          /* copy engine, `memory` to gpu's memory */
};

struct gpu_flow {
    enum gpu_flow_kind kind;
    int gpu, memory;
    int blocks, threads; /* of the kernels */
    int64_t size_bytes;  /* of the memory gone over again and again */
};

/* Runs the flows together for about a millisecond and a half; 10^9 bytes per second of each. */
enum outcome gpu_flows(void *context, const struct gpu_flow *flows, int n, double *gb_per_s,
                       struct err *err);

#endif
