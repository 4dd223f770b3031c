/* The row law: a verify pass of m rows for each of B requests costs what a plain decode step of B m
 * requests costs, cliffs included. Here: the plain step at any number of rows from the plain batch
 * curves that were measured. Free of GSL.
 */
#ifndef UPDRAFT_MODEL_ROWLAW_H
#define UPDRAFT_MODEL_ROWLAW_H

#include "model/scenario.h"

/* How the law goes on where nothing was measured; fitted, or these priors. */
struct rowlaw {
    /* Beyond the last row of a curve the step grows as rows^(growth * e), with e the exponent of
     * its last factor of 4; each doubling of the ranks that share the context adds growth_split. */
    double growth, growth_split;
    /* Where a context was measured up to a batch B and the curve without context goes further, what
     * the context adds at B grows with the rows as (rows / B)^(1 - fixed / split): a part of the
     * cost is there however few rows read. */
    double fixed;
    /* A curve of a single point says nothing of its slope: the step then grows as rows^single. */
    double single;
};

/* Mean and standard deviation of each before any fit. */
extern const struct rowlaw rowlaw_prior_mean, rowlaw_prior_sd;

/* The plain step of `rows` rows on a curve (n >= 1): log-log between its points, below the first
 * one as there, beyond the last as above. *beyond = 1 where it lies outside. */
double rowlaw_curve_us(const struct rowlaw *law, const struct qty_curve *c, double rows,
                       double split, int *beyond);

/* The plain step of `rows` rows at a context. `own`: the curve at that context; `zero`: the one
 * without context, used where `own` ends before it (NULL: there is none). split: ranks that
 * share the context (decode context parallelism), 1 for none. */
double rowlaw_step_us(const struct rowlaw *law, const struct qty_curve *own,
                      const struct qty_curve *zero, double rows, double split, int *beyond);

#endif
