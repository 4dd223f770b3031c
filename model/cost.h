/* What one operation takes: a fitted curve of latency against size, ready to evaluate.
 *
 * Plain data, copyable, free of GSL: whoever embeds evaluate() needs no more than this. Fits are
 * made in model/fit.h. All sizes in bytes, all times in microseconds.
 */
#ifndef UPDRAFT_MODEL_COST_H
#define UPDRAFT_MODEL_COST_H

#include <stddef.h>

#include "model/err.h"

enum { COST_MAX_KNOTS = 128, COST_MAX_SEGMENTS = 4 };

enum cost_form { COST_SEGMENTS, COST_SATURATING, COST_TABLE };
enum cost_source { COST_MEASURED, COST_EXTRAPOLATED, COST_SYNTHESIZED };

/* latency = alpha_us + beta_us_per_byte * bytes, for from_bytes <= bytes < to_bytes. */
struct cost_segment {
    double from_bytes, to_bytes, alpha_us, beta_us_per_byte;
};

struct cost {
    char impl[128]; /* CONTRACT name, "nccl/ring/ll" */
    char label[160];
    char collective[24]; /* "allreduce", "all_gather" */
    char dtype[16];      /* of the records behind it; "" unknown or of no matter */
    char method[32];     /* how they were timed; "" unknown */
    int ranks;
    int in_place;
    enum cost_form form;
    enum cost_source source; /* COST_MEASURED or COST_SYNTHESIZED; evaluation marks extrapolation */
    double min_bytes, max_bytes; /* the fitted range */

    /* COST_SEGMENTS: n_segments rows, ascending. A step between segments is a real step.
     * COST_SATURATING: segments[0] with beta reached at half_bytes:
     *   alpha + beta * bytes^2 / (bytes + half_bytes).
     * The segment of the smallest sizes is also what `fit --json` reports as alpha and beta. */
    int n_segments;
    struct cost_segment segments[COST_MAX_SEGMENTS];
    double half_bytes;

    /* COST_TABLE: log2(bytes) -> log(us) with slope at each knot, monotone cubic between knots that
     * are not broken by a step (Steffen, A&A 239, 443 (1990)); linear in log-log outside. */
    int n_knots;
    double knot_x[COST_MAX_KNOTS], knot_y[COST_MAX_KNOTS], knot_slope[COST_MAX_KNOTS];

    /* Uncertainty: standard deviation of the relative error of a new measurement at a size inside
     * the range (rel_sigma: shared by the whole curve, it moves as one) and of the single point
     * (point_sigma). In a table the latter is multiplied by knot_shape, straight between knots:
     * near 1 where the curve is smooth, more where a step hides between two sizes. Extrapolation
     * widens it by extrap_sigma per factor of two beyond the range. All 0 shapes mean 1. */
    double rel_sigma, point_sigma, extrap_sigma;
    double knot_shape[COST_MAX_KNOTS];

    int points;           /* records behind it */
    double max_rel_error; /* of the fit, in sample */
    double median_rel_error;
    double cv_median_rel_error, cv_mean_rel_error; /* leave one size out */
};

/* Latency at `bytes` (>= 0), microseconds, > 0 for any valid cost. */
double cost_latency_us(const struct cost *c, double bytes);

/* 95 % interval of a measurement at `bytes`; *lo > 0. */
void cost_ci95(const struct cost *c, double bytes, double *lo_us, double *hi_us);

/* Standard deviation of log latency at `bytes`, everything included. */
double cost_sigma(const struct cost *c, double bytes);

/* COST_MEASURED inside the fitted range, COST_EXTRAPOLATED outside, or COST_SYNTHESIZED. */
enum cost_source cost_source_at(const struct cost *c, double bytes);

const char *cost_source_name(enum cost_source s);
const char *cost_form_name(enum cost_form f);

/* A growing array of costs. Zero-initialised is empty. */
struct costs {
    struct cost *v;
    size_t n, cap;
};
int costs_add(struct costs *cs, const struct cost *c); /* 0, or -1 without memory */
void costs_release(struct costs *cs);

/* The cost of an implementation at a rank count, or NULL. An exact impl name wins; a name without
 * settings ("nccl/ring/ll") also matches one with settings where there is no exact one. ranks 0
 * matches any. */
const struct cost *costs_find(const struct costs *cs, const char *collective, const char *impl,
                              int ranks);

#endif
