/* Lines of latency against size: what the plots latency and crossover draw. */
#ifndef UPDRAFT_PLOTS_SERIES_H
#define UPDRAFT_PLOTS_SERIES_H

#include "plots/plot.h"
#include "traces/model_io.h"

enum { SERIES_MAX = 7 }; /* as many colours as can be told apart */

/* One line of a picture; everything borrowed. */
struct series {
    const struct cost *cost;
    const struct curve *curve; /* its measurements, NULL where only the model is there */
    const struct fit *fit;     /* NULL likewise */
};

struct series_range {
    double low, high;
};
static const struct series_range series_range_empty = {1e300, 0};
/* Makes the range hold x, where that is positive and finite. */
void series_widen(struct series_range *r, double x);

/* The measurements behind a fit of fs, or NULL. */
const struct curve *series_curve_of(const struct fits *fs, const struct cost *c);

/* Table "points", an index a series: bytes, us, low, high, outlier. */
void series_write_points(FILE *program, const struct series *s, int n, struct series_range *y);
/* Table "curve", an index a series: bytes, us, low95, high95, 1 where measured. */
void series_write_curves(FILE *program, const struct series *s, int n, const struct series_range *x,
                         struct series_range *y);
/* Array "series_name" and "n_series": what tells the series apart and nothing else. */
void series_write_names(FILE *program, const struct series *s, int n);
/* "x_min", "x_max", "x_step": the size axis. */
void series_write_axis(FILE *program, const struct series_range *x);

#endif
