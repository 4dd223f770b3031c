/* Backends: ways to run and time an allreduce. One const struct each, at the bottom of its own
 * measure/backend_ID.c; a row of backends.def makes it exist (docs/measuring.md, "Adding a
 * backend").
 *
 * Who calls what, and where. The campaign process itself never touches a device: it forks a child
 * for scout(), for load() and for every session, so that a hang, a crash or a cached environment
 * costs one variant. All functions but impl() run in such a child, single-threaded when called, and
 * may start threads and processes of their own (which must die with it: prctl(PR_SET_PDEATHSIG)).
 * A call that takes longer than the watchdog's patience is ended by SIGKILL to the process group.
 * Nothing here prints; messages go through struct err.
 *
 * A session's life:   open -> { verify(size) -> time(size, ...)* }* -> close
 * verify comes before the first time() of every size. Sizes vary freely and rise and fall.
 */
#ifndef UPDRAFT_MEASURE_BACKEND_H
#define UPDRAFT_MEASURE_BACKEND_H

#include <stdint.h>

#include "model/err.h"

enum { MAX_RANKS = 16, MAX_GPUS = 16 };

enum dtype {
#define DTYPE(id, bytes) DTYPE_##id,
#include "measure/dtypes.def"
#undef DTYPE
    DTYPE_COUNT
};

enum method {
#define METHOD(id, doc) METHOD_##id,
#include "measure/methods.def"
#undef METHOD
    METHOD_COUNT
};

/* What became of a call. Anything but OUTCOME_OK has filled *err; the record's state says it. */
enum outcome {
    OUTCOME_OK,
    OUTCOME_OOM,         /* memory ran out: state "oom" */
    OUTCOME_UNSUPPORTED, /* this variant, size or method cannot run here: state "skipped" */
    OUTCOME_FAILED,      /* any other error, state "failed"; the session is closed */
};

/* A KEY=VALUE of --option, for the backend to understand. */
struct backend_option {
    const char *key, *value;
};

/* What scout() found. Plain data: it crosses a pipe. */
struct backend_host {
    int n_gpus; /* 0 for backends that use none */
    struct backend_gpu {
        char name[96], pci[20]; /* "NVIDIA H200", "0000:1b:00.0" (lower case, as in sysfs) */
        int cc_major, cc_minor; /* compute capability */
        int64_t memory_bytes;
        int sm_count;
    } gpu[MAX_GPUS];
    /* peer[i][j] 1: data that i wrote to j and data that i read from j arrived whole. Found by
     * moving data, not from a flag. peer[i][i] is 1. */
    unsigned char peer_write[MAX_GPUS][MAX_GPUS], peer_read[MAX_GPUS][MAX_GPUS];
    int max_ranks;     /* how many ranks can run here, sharing GPUs where there are fewer */
    char version[160]; /* "CUDA 13.0, driver 580.95", "NCCL 2.30.7 (/usr/lib/libnccl.so.2)" */
    char label[96];    /* a name for the box in records, "8x NVIDIA L40S" */
};

/* An implementation that a backend offers. */
struct backend_impl {
    char name[128]; /* CONTRACT name with its settings: "nccl/ring/ll:channels=2" */
    int min_ranks, max_ranks;
    unsigned dtypes;   /* bit 1u << DTYPE_x */
    unsigned methods;  /* bit 1u << METHOD_x */
    int64_t max_bytes; /* largest size, 0: no limit */
    int quick;         /* 1: part of --plan quick */
};

/* What one session is set up for. */
struct variant {
    char impl[128];
    int ranks;
    enum dtype dtype;
    int in_place;
    int blocks, threads; /* 0: the backend searches or chooses, and says in struct result */
    int64_t max_bytes;   /* no verify or time will ask for more: size the buffers by it */
    int gpu[MAX_RANKS];  /* rank r runs on device gpu[r]; several ranks may share one */
    uint64_t seed;       /* for data and delays: fresh for every session */
    int n_options;
    const struct backend_option *options;
};

/* What to time. The sample count asked for is `iterations`. */
struct timing {
    enum method method;
    int64_t size_bytes; /* per rank; a multiple of the dtype's size */
    int iterations;
    int warmup;        /* iterations before the first sample, at least */
    int chain;         /* calls in a graph or dependent chain (122 in the reference model) */
    double compute_us; /* dependent: length of the compute before each call */
    double skew_us;    /* skewed: largest delay, uniform in [0, skew_us] */
    double budget_us;  /* stop sampling after so long (at least 3 samples are taken); 0: no limit */
};

/* What verify() and time() report. The caller initialises it with result_init(); a backend fills
 * what it knows. Memory for samples is the caller's: room for `cap` samples. */
struct result {
    int n, cap;
    double *samples;        /* microseconds per allreduce, maximum over ranks, in the order taken */
    int64_t checked, wrong; /* verify: elements compared over all ranks, and those found wrong */
    char kernel[128];       /* the kernel that really ran; "" unknown */
    int blocks, threads, channels; /* 0 unknown; blocks and threads are the winners of a search */
    int64_t memory_bytes; /* device memory the session has taken so far, rank 0's GPU; -1 unknown */
    double predicted_us;  /* what the library itself predicted for this size; NaN none */
    double compute_us;    /* dependent: the compute as calibrated; NaN none */
    char note[160];       /* goes into the record's note; "" none */
};
void result_init(struct result *r, double *samples, int cap);

struct backend {
    const char *id, *summary;
    const char *options_doc; /* "alpha_us=NUMBER, ..."; NULL none */
    /* What is here. STATUS_MISSING where hardware, driver or library is absent: the message says
     * what to do about it. STATUS_USAGE where an option is wrong. */
    enum status (*scout)(struct backend_host *host, int n_options,
                         const struct backend_option *options, struct err *err);
    /* Implementation number `index`; 0 past the last. Pure; runs in the campaign process. `host` is
     * scout()'s answer: offer only what can run on it. */
    int (*impl)(int index, const struct backend_host *host, struct backend_impl *out);
    /* The implementation of that name where impl() does not list it but any combination of settings
     * can be had; 0 where there is none. May be NULL. */
    int (*named)(const char *name, const struct backend_host *host, struct backend_impl *out);
    enum outcome (*open)(void **session, const struct variant *v, struct err *err);
    /* One allreduce of fresh random data (zeros, -0 and unequal magnitudes among them) against an
     * oracle of its own; fills checked, wrong. OUTCOME_OK with wrong > 0 is a wrong result. */
    enum outcome (*verify)(void *session, int64_t size_bytes, struct result *r, struct err *err);
    enum outcome (*time)(void *session, const struct timing *t, struct result *r, struct err *err);
    void (*close)(void *session); /* safe after a failed call */
    /* Keeps GPU, bus and clocks busy for about `ms`, so that the link's state under load can be
     * read meanwhile. May be NULL. */
    enum outcome (*load)(int ms, struct err *err);
};

/* All backends in the order of backends.def, ended by NULL. */
extern const struct backend *const backends[];
const struct backend *backend_find(const char *id); /* NULL: none of that name */

const char *dtype_name(enum dtype d);
int dtype_bytes(enum dtype d);
enum dtype dtype_find(const char *name); /* DTYPE_COUNT: none */
const char *method_name(enum method m);
enum method method_find(const char *name); /* METHOD_COUNT: none */

/* The last value of an option, or NULL. */
const char *backend_option(int n, const struct backend_option *options, const char *key);
/* STATUS_USAGE where an option is not among `keys` (ended by NULL) or has no number where `*value`
 * wants one; *value keeps what it held where the option is absent. */
enum status backend_options_known(int n, const struct backend_option *options,
                                  const char *const *keys, const char *backend, struct err *err);
enum status backend_option_number(int n, const struct backend_option *options, const char *key,
                                  double min, double max, double *value, struct err *err);

#endif
