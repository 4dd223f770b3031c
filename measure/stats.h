/* Samples into what a record keeps. */
#ifndef UPDRAFT_MEASURE_STATS_H
#define UPDRAFT_MEASURE_STATS_H

#include <stddef.h>

#include "model/record.h"

/* Sorts the n > 0 samples and fills value (the median), p10, p90, p99, min, max and count.
 * Quantiles interpolate between order statistics (Hyndman and Fan's type 7). */
void record_quantiles(struct record *r, double *samples, size_t n);

/* The median of n > 0 samples, which it sorts. */
double median_of(double *samples, size_t n);

/* |ln(a / b)| of two positive numbers: the relative difference, the same whichever comes first. */
double relative_difference(double a, double b);

/* The noise floor: below which two results are not different, in 95 of 100 cases. `differences` are
 * those of n A/A pairs, which it sorts. From 20 pairs on their 95 % quantile; of fewer, what
 * Student's t allows for a spread known from so few: t(0.975, n) times their root mean square. NaN
 * for none. */
double noise_floor(double *differences, size_t n);

#endif
