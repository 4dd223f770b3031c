#include "measure/stats.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

void record_quantiles(struct record *r, double *samples, size_t n)
{
    gsl_sort(samples, 1, n);
    r->value = gsl_stats_median_from_sorted_data(samples, 1, n);
    r->p10 = gsl_stats_quantile_from_sorted_data(samples, 1, n, 0.10);
    r->p90 = gsl_stats_quantile_from_sorted_data(samples, 1, n, 0.90);
    r->p99 = gsl_stats_quantile_from_sorted_data(samples, 1, n, 0.99);
    r->min = samples[0];
    r->max = samples[n - 1];
    r->count = (int64_t)n;
}

double median_of(double *samples, size_t n)
{
    gsl_sort(samples, 1, n);
    return gsl_stats_median_from_sorted_data(samples, 1, n);
}

double relative_difference(double a, double b)
{
    return fabs(log(a / b));
}

double noise_floor(double *differences, size_t n)
{
    if (n == 0)
        return NAN;
    gsl_sort(differences, 1, n);
    if (n >= 20)
        return gsl_stats_quantile_from_sorted_data(differences, 1, n, 0.95);
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += differences[i] * differences[i];
    return gsl_cdf_tdist_Pinv(0.975, (double)n) * sqrt(squares / (double)n);
}
