/* Kernels of the probes: what the fabric and the launch path can do, in parts. Plain C; conventions
 * as in kernels.h (enqueue on `stream`, cudaError_t as int). Pointers are valid on the launching
 * device: its own memory, a peer's, or pinned host memory.
 */
#ifndef UPDRAFT_KERNELS_PROBES_H
#define UPDRAFT_KERNELS_PROBES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a probe kernel reports, in memory that device and host can reach. */
struct probes_report {
    unsigned long long elapsed_ns; /* by the GPU's global timer */
    unsigned long long bytes;      /* moved; streams only */
};

/* Ping-pong of a flag: the side `first` stores round k to *theirs and waits for k in *mine; the
 * other waits, then stores. With `both`, one launch runs both sides as two blocks (the second with
 * mine and theirs exchanged). Flags start at 0. *report (of the first side) is written at the end.
 */
int probes_pingpong(uint32_t *mine, uint32_t *theirs, int rounds, int first, int both,
                    struct probes_report *report, void *stream);

/* `steps` dependent loads along a chain: p = *(uint64_t *)(base + p), from p = 0. */
int probes_chase(const void *base, int steps, struct probes_report *report, void *stream);

/* `rounds` times: every thread of one block stores 16 bytes to target, stores_each times, then,
 * where `fence`, one system-scope fence by each thread. */
int probes_fence(void *target, int threads, int stores_each, int rounds, int fence,
                 struct probes_report *report, void *stream);

/* A kernel that does nothing, or (bytes > 0) copies `bytes` (a multiple of 16) from in to out in
 * each of its y rows: what is left of an allreduce without its peers. */
int probes_node(int blocks, int rows, int threads, const void *in, void *out, int bytes,
                void *stream);

/* Occupies `blocks` blocks for `cycles` of the GPU's clock. Where data is given, reads and writes
 * `bytes` of it first. */
int probes_compute(int blocks, unsigned cycles, void *data, int bytes, void *stream);

enum probes_stream_kind {
    PROBES_STORE, /* registers to `memory` */
    PROBES_LOAD,  /* `memory` to registers */
    PROBES_BOTH,  /* even blocks store to its first half, odd blocks load from its second */
};

/* A stream of 16-byte accesses by every thread, over and over `bytes` of memory (each block its own
 * part, a multiple of 32 KiB a block). Waits until *go is not 0, then runs for window_us, or with
 * window_us 0 until *stop is not 0 (or five seconds are over). go and stop are in pinned host
 * memory; either may be NULL. *report must be zero before; blocks add to it. */
struct probes_stream {
    enum probes_stream_kind kind;
    void *memory;
    size_t bytes;
    int blocks, threads;
    unsigned window_us;
    const volatile uint32_t *go, *stop;
    struct probes_report *report; /* device memory or pinned host memory */
};
int probes_stream(const struct probes_stream *s, void *stream);

#ifdef __cplusplus
}
#endif
#endif
