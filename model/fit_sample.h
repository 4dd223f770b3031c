/* What the forms see of a curve. For fit.c. */
#ifndef UPDRAFT_MODEL_FIT_SAMPLE_H
#define UPDRAFT_MODEL_FIT_SAMPLE_H

#include "model/fit.h"

/* At most FIT_MAX_SIZES points, outliers taken out. */
struct sample {
    int n;
    struct point p[FIT_MAX_SIZES];
    int n_off;
    struct fit_outlier off[FIT_MAX_OUTLIERS];
};

/* The points without the one at `skip` (n: none), gathered into bins of equal width on the
 * logarithmic axis where there are more than FIT_MAX_SIZES, and without outliers. STATUS_FAILED
 * without memory. */
enum status sample_make(struct sample *s, const struct point *p, size_t n, size_t skip,
                        struct err *err);

/* The median of n numbers, which it sorts; NaN for none. And the q-th smallest (1-based, clamped).
 */
double sample_median(double *v, int n);
double sample_ranked(double *v, int n, int q);

#endif
