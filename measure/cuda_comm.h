/* Ranks on GPUs: buffers, graphs and timed replays for the allreduce kernels. Ranks on one GPU that
 * are neighbours form a group: one launch, one stream, and where there are several groups one host
 * thread each. All functions run in one process; the first call makes the CUDA contexts.
 */
#ifndef UPDRAFT_MEASURE_CUDA_COMM_H
#define UPDRAFT_MEASURE_CUDA_COMM_H

#include <cuda_runtime_api.h>

#include "kernels/kernels.h"
#include "measure/backend.h"

/* What a communicator is made for. */
struct cuda_setup {
    const struct kernel *kernel;
    int host; /* 1: exchange through pinned host memory */
    int islands;
    int ranks;
    int gpu[MAX_RANKS];
    enum dtype dtype;
    int in_place;
    int64_t max_bytes;      /* the largest message, a rank */
    int64_t capacity_bytes; /* of the exchange; longer messages go in parts. 0: a default */
    int misalign;           /* elements by which in and out miss their 16-byte alignment */
    uint64_t seed;
};

struct cuda_grid {
    int blocks, threads;
};

/* What a graph is made of. */
enum cuda_node_kind {
    CUDA_CALLS,          /* chain x allreduce */
    CUDA_SKEWED,         /* chain x allreduce, ranks delayed at random */
    CUDA_DEPENDENT,      /* chain x (compute, allreduce) */
    CUDA_COMPUTE_ONLY,   /* chain x compute */
    CUDA_CHECKED,        /* chain x (fresh data, allreduce, check) */
    CUDA_CHECKED_SKEWED, /* the same, ranks delayed at random */
};

struct cuda_group {
    int gpu, first, ranks;
    cudaStream_t stream;
    cudaEvent_t start, end;
    uint64_t *turn;            /* device: number of fresh data */
    unsigned long long *wrong; /* device: wrong elements so far */
    uint32_t *skew;            /* device: delays in cycles */
    cudaGraphExec_t exec;
    double cycles_per_us;
};

struct cuda_comm {
    struct cuda_setup setup;
    struct kernels_layout layout;
    int n_groups;
    struct cuda_group group[MAX_RANKS];
    char *in[MAX_RANKS], *out[MAX_RANKS]; /* as allocated, without the misalignment */
    void *exchange[MAX_RANKS], *control[MAX_RANKS];
    void *host_exchange;
    int64_t memory_bytes;  /* device memory of rank 0's exchange and control */
    char kernel_name[128]; /* of the last graph captured */
    int parts;             /* launches a call in the last graph captured */
    uint64_t host_checks;
};

enum outcome cuda_comm_open(struct cuda_comm *c, const struct cuda_setup *setup, struct err *err);
void cuda_comm_close(struct cuda_comm *c); /* safe on zero-initialised and after failure */

/* Captures a graph on every group, for cuda_comm_replay(). OUTCOME_UNSUPPORTED: the grid cannot be
 * resident. compute_us only matters to the kinds with compute. */
enum outcome cuda_comm_capture(struct cuda_comm *c, enum cuda_node_kind kind, int64_t size_bytes,
                               struct cuda_grid grid, int chain, double compute_us,
                               struct err *err);
/* Replays the captured graph; microseconds of the whole replay, the maximum over groups. */
enum outcome cuda_comm_replay(struct cuda_comm *c, double *us, struct err *err);
/* As replay, but of `calls` launches from the host, one after the other, no graph. */
enum outcome cuda_comm_eager(struct cuda_comm *c, int64_t size_bytes, struct cuda_grid grid,
                             int calls, double *us, struct err *err);
/* Delays for the skewed kinds: uniform in [0, skew_us], from the seed. */
enum outcome cuda_comm_set_skew(struct cuda_comm *c, double skew_us, uint64_t seed,
                                struct err *err);
/* Wrong elements counted by the checked graphs since the last call of this function. */
enum outcome cuda_comm_wrong(struct cuda_comm *c, int64_t *wrong, struct err *err);
/* One eager call on data made and checked by the host's oracle; adds to *checked and *wrong. */
enum outcome cuda_comm_check_on_host(struct cuda_comm *c, int64_t size_bytes, struct cuda_grid grid,
                                     int64_t *checked, int64_t *wrong, struct err *err);

/* Before the process's first CUDA call: loads kernels at the start. Loaded at first use, a kernel
 * may wait for those that run, while these wait for it. */
void cuda_load_eagerly(void);

/* The outcome of a CUDA error, and a message saying what was done. */
enum outcome cuda_error(struct err *err, int e, const char *doing);
/* Returns from the calling function, which must hold nothing that needs to be released. */
#define CUDA_TRY(call)                                                                             \
    do {                                                                                           \
        int cuda_try_error = (int)(call);                                                          \
        if (cuda_try_error != 0)                                                                   \
            return cuda_error(err, cuda_try_error, #call);                                         \
    } while (0)

#endif
