/* Every allowed set of options in every drawn world.
 *
 * A cycle is a sum of terms, and a term depends only on the options that touch it. So each world
 * evaluates a term once for every distinct choice among those, and a set's throughput is a few
 * table look-ups and one division, eight worlds at a time. Effects that act on a term by one number
 * (a factor on the latency) are applied to the evaluated term instead of being evaluated again.
 * tests/unit/test_search.c compares with evaluate() on edited scenarios.
 *
 * The result depends on the seed and the number of draws, not on the number of threads: sets are
 * shared among threads, and each adds up its worlds in their order.
 */
#ifndef UPDRAFT_MODEL_SEARCH_H
#define UPDRAFT_MODEL_SEARCH_H

#include "model/option.h"

enum { SEARCH_MAX_OPTIONS = 20, SEARCH_LANES = 8 };

/* Sets of options are masks of bits: bit i is options[i]. */
struct search_params {
    const struct scenario *mean; /* bound and anchored */
    const struct option *options[SEARCH_MAX_OPTIONS];
    int n;
    uint32_t excludes[SEARCH_MAX_OPTIONS], needs[SEARCH_MAX_OPTIONS];
    uint64_t seed;
    size_t draws; /* a multiple of SEARCH_LANES */
    int threads;
    const uint32_t *keep; /* allowed sets of which every world's throughput is kept */
    size_t n_keep;
    void (*progress)(void *ctx, double done); /* 0..1; may be NULL */
    void *progress_ctx;
};

struct search {
    size_t n_sets, draws;
    uint32_t *sets;     /* allowed ones, ascending; sets[0] is 0, today */
    double *mean;       /* throughput of each, tokens per second, over all worlds */
    uint32_t *best_set; /* per world */
    double *best;       /* its throughput */
    double *kept;       /* [n_keep][draws] */
    size_t evaluated;   /* scenarios evaluated per world, for reports */
};

enum status search_run(struct search *r, const struct search_params *p, struct err *err);
void search_release(struct search *r);

/* Whether no two of the set exclude each other and everything needed is there. */
int search_allowed(const struct search_params *p, uint32_t set);
/* The mean of an allowed set, NaN for others. */
double search_mean(const struct search *r, uint32_t set);

/* Throughput of `set` in world `index` by editing and evaluating, tokens per second: the plain way.
 */
double search_world(const struct search_params *p, uint32_t set, uint64_t index);
/* The same for several sets of one world, which is drawn once. */
void search_worlds(const struct search_params *p, const uint32_t *sets, size_t n, uint64_t index,
                   double *tokens_per_s);

#endif
