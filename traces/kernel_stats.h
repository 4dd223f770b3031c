/* Kernel durations of a profile, gathered by kernel: a profile has a million launches and a hundred
 * kernels. One kernel_time record each, with median, quantiles and count. */
#ifndef UPDRAFT_TRACES_KERNEL_STATS_H
#define UPDRAFT_TRACES_KERNEL_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "traces/import.h"

struct kernel_stats;

/* One launch. Unknown numbers are 0 (size_bytes: -1). */
struct kernel_launch {
    const char *name;
    const char *dtype; /* our name of the element type, "" if unknown */
    int64_t size_bytes;
    int ranks, blocks, threads;
    double us;
    int64_t line;
};

struct kernel_stats *kernel_stats_new(void); /* NULL without memory */
void kernel_stats_free(struct kernel_stats *ks);
/* 0, or -1 where memory ran out or there are too many different kernels (it then says which). */
int kernel_stats_add(struct kernel_stats *ks, const struct kernel_launch *launch);
/* Puts the records out, most time first, and counts them as rows. */
void kernel_stats_flush(struct kernel_stats *ks, struct import *im, const char *method);

/* The implementation that a collective's kernel belongs to: "nccl/auto" (the protocol in NCCL's
 * kernel names is not the one that ran), "custom/oneshot", ...; "" where it is no collective's. */
const char *kernel_impl(const char *name);
/* A name worth keeping: template arguments and parameters cut off, demangled as far as that needs.
 */
void kernel_short_name(const char *name, char *to, size_t cap);

#endif
