/* evaluate() with the unknowns drawn: the outcome and the 95 % interval of each of its numbers. */
#ifndef UPDRAFT_MODEL_SIMULATE_H
#define UPDRAFT_MODEL_SIMULATE_H

#include <stdint.h>

#include "model/evaluate.h"

/* The numbers of an outcome that carry an interval, as offsets in struct outcome: rows of
 * OUTCOME_NUMBERS(X), X(member). */
#define OUTCOME_NUMBERS(X)                                                                         \
    X(baseline_tokens_per_s)                                                                       \
    X(speculative_tokens_per_s)                                                                    \
    X(speedup)                                                                                     \
    X(tokens_per_cycle)                                                                            \
    X(baseline_step_us)                                                                            \
    X(cycle_us)                                                                                    \
    X(draft_us)                                                                                    \
    X(verify_compute_us)                                                                           \
    X(verify_allreduce_us)                                                                         \
    X(draft_allreduce_us)                                                                          \
    X(host_us)                                                                                     \
    X(allreduce_us)

struct simulation {
    struct outcome mean;      /* of the scenario as it stands, nothing drawn */
    struct outcome low, high; /* 2.5 % and 97.5 % quantiles of each number over the draws; the other
                               * members are unset */
    int draws;
    double p_speedup; /* share of the draws in which speculation pays (speedup > 1) */
};

/* Draws `draws` worlds (>= 20) on up to `threads` threads. STATUS_FAILED without memory. The result
 * depends on s, seed and draws alone. */
enum status simulate(const struct scenario *s, uint64_t seed, int draws, int threads,
                     struct simulation *out, struct err *err);

/* Quantile q of v[0..n-1], which is sorted, linear between order statistics (Hyndman and Fan 1996,
 * definition 7). */
double quantile_sorted(const double *v, int n, double q);

#endif
