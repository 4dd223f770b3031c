/* CUDA device code behind plain C: allreduce kernels, their reference, and the probes' kernels
 * (probes.h). Nothing here needs CUDA's headers; streams are cudaStream_t as void *, and int
 * results are cudaError_t.
 *
 * An allreduce runs on `ranks` ranks. The ranks [first_rank, first_rank + local_ranks) are launched
 * by one call as one grid (y is the rank): all of them where all share a GPU, one each where every
 * rank has its own. Ranks on other GPUs are launched by calls of their own, with the same numbers
 * otherwise. The kernels wait for each other, so all blocks of all ranks must be able to run at the
 * same time: kernels_enqueue() refuses a grid that does not fit, and two allreduces must not share
 * a GPU at the same time unless both fit.
 *
 * Every rank owns an exchange buffer, which peers write (or read), and a control block. Both live
 * through calls. The number of the call is counted in the control block by the kernel itself, so a
 * captured graph may be replayed. docs/kernels.md has the protocols and why they are safe.
 *
 * Sums are taken in fp32 in the order of the ranks and rounded once, to nearest even, so that all
 * ranks and all kernels give the same bits; only `hier` adds up sums of islands instead (in the
 * order of the islands, in fp32).
 */
#ifndef UPDRAFT_KERNELS_KERNELS_H
#define UPDRAFT_KERNELS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    KERNELS_MAX_RANKS = 16,
    KERNELS_MAX_BLOCKS = 96,   /* a rank */
    KERNELS_MAX_THREADS = 512, /* a block; a multiple of 32 */
    KERNELS_CONTROL_BYTES = KERNELS_MAX_BLOCKS * 16 + KERNELS_MAX_RANKS * 8,
    KERNELS_PACK_BYTES = 16, /* the unit of data: one vector load */
};

enum kernels_dtype { KERNELS_BF16, KERNELS_FP16, KERNELS_FP32 };

/* What the exchange buffers are laid out for; fixed while they live, equal on all ranks. */
struct kernels_layout {
    int ranks;
    int islands;            /* hier: 1 to ranks islands of neighbouring ranks; others ignore it */
    int shared;             /* 1: all ranks use one exchange buffer, in host memory that all map;
                               a rank then writes once what several will read */
    int64_t capacity_bytes; /* larger messages are sent in parts; a multiple of 16 */
};

struct kernels_call {
    struct kernels_layout layout;
    int first_rank, local_ranks;
    enum kernels_dtype dtype;
    int64_t count; /* elements a rank; 0 does nothing */
    /* By rank; only those of the local ranks are used, and must be valid on the launching device.
     * in and out of a rank may be equal, may not overlap otherwise, and need only their type's
     * alignment (16 bytes are faster). */
    const void *in[KERNELS_MAX_RANKS];
    void *out[KERNELS_MAX_RANKS];
    void *control[KERNELS_MAX_RANKS]; /* made by kernels_reset_control() */
    int blocks, threads; /* a rank, and a block; equal on all ranks; may vary between calls */
    /* Delays that ranks wait before they begin, in GPU clock cycles: call e of rank r waits
     * skew[(e * ranks + r) % skew_len]. NULL: none. On the launching device. */
    const uint32_t *skew;
    int skew_len; /* less than 65536 */
};

/* What a kernel cuts a message into. */
enum kernels_cut {
    KERNELS_WHOLE,      /* nothing: every rank sums all of it */
    KERNELS_BY_RANKS,   /* a shard for every rank to sum */
    KERNELS_BY_MEMBERS, /* a shard for every member of the smallest island; sums islands first, so
                           its rounding depends on layout.islands */
};

struct kernel_code {
    /* Size of one exchange buffer: each rank's, or the one of all where layout->shared. */
    size_t (*exchange_bytes)(const struct kernels_layout *layout);
    /* Enqueues a part of at most the capacity; use kernels_enqueue(). */
    int (*enqueue)(const struct kernels_call *call, void *stream);
};

struct kernel {
    const char *name;
    enum kernels_cut cut;
    const struct kernel_code *code;
};

/* All kernels in the order of kernels.def, ended by one without a name. */
extern const struct kernel kernels[];

/* Fills new exchange memory (with layout.shared: once for all ranks), and a rank's control block of
 * KERNELS_CONTROL_BYTES of device memory, which keeps where the exchange buffers of all `ranks`
 * are. A control block belongs to one kernel and one layout. */
int kernels_reset_exchange(void *exchange, size_t bytes, void *stream);
int kernels_reset_control(void *control, void *const *exchange, int ranks, void *stream);

/* Enqueues one allreduce of the local ranks. cudaErrorInvalidValue where the call breaks a rule
 * above, cudaErrorCooperativeLaunchTooLarge where the blocks cannot all run at the same time. */
int kernels_enqueue(const struct kernel *kernel, const struct kernels_call *call, void *stream);

/* The name of a kernel by its handle (as a graph's node has it), "updraft::oneshot<8, ...>" without
 * its parameters, into text. "" where the driver does not say. */
void kernels_name(const void *function, char *text, size_t size);

/* --- The reference: data from a counter, and the sum without communication ----------------------
 * Elements are the same function of (seed, rank, index) as measure/oracle.h's FLOAT data, computed
 * here a second time on the device. The seed of a turn is random_at(seed, *turn), also as there;
 * *turn is in device memory, so a replayed graph makes fresh data each time. */
struct kernels_data {
    enum kernels_dtype dtype;
    uint64_t seed;
    const uint64_t *turn;
    int ranks;
    int islands; /* as in hier's order; 1 for all others */
    int64_t count;
};
int kernels_fill(const struct kernels_data *d, int rank, void *out, void *stream);
/* Adds to *wrong (device memory) the number of elements of `got` that are not the sum, -0 and 0
 * being equal and NaN wrong; then spoils `got`, so that the next call must write every element. */
int kernels_count_wrong(const struct kernels_data *d, void *got, unsigned long long *wrong,
                        void *stream);
int kernels_next_turn(uint64_t *turn, void *stream);

#ifdef __cplusplus
}
#endif
#endif
