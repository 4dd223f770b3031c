/* A table through the medians of neighbouring sizes, for curves whose sizes lie closer than their
 * noise lets one tell apart: points within half an octave become one.
 */
#include <math.h>
#include <stdlib.h>

#include "model/fit.h"

enum { BINS_AN_OCTAVE = 2 };

static int compare(const void *va, const void *vb)
{
    double a = *(const double *)va, b = *(const double *)vb;
    return (a > b) - (a < b);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static enum status fit(const struct point *p, int n, struct cost *c, double cov[3], struct err *err)
{
    (void)cov;
    struct point binned[FIT_MAX_SIZES];
    int bins = 0;
    for (int i = 0; i < n && bins < FIT_MAX_SIZES;) {
        double x[FIT_MAX_SIZES], y[FIT_MAX_SIZES];
        int m = 0;
        double first = log2(p[i].bytes);
        for (; i < n && m < FIT_MAX_SIZES && log2(p[i].bytes) < first + 1.0 / BINS_AN_OCTAVE; i++) {
            x[m] = log(p[i].bytes);
            y[m++] = log(p[i].us);
        }
        binned[bins] = (struct point){.bytes = exp(median(x, m)), .us = exp(median(y, m))};
        bins++;
    }
    if (bins < 3 || bins > n * 2 / 3)
        return err_set(err, STATUS_UNSUPPORTED, "the sizes lie too far apart to be gathered");
    fit_knots(binned, bins, c);
    return STATUS_OK;
}

const struct fit_form fit_form_smooth = {
    .id = "smooth",
    .doc = "a table through the medians of half octaves, for dense and noisy sizes",
    .min_sizes = 6,
    .fit = fit,
};
