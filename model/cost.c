#include "model/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double segments_us(const struct cost *c, double bytes)
{
    int i = 0;
    while (i + 1 < c->n_segments && bytes >= c->segments[i].to_bytes)
        i++;
    return c->segments[i].alpha_us + c->segments[i].beta_us_per_byte * bytes;
}

static double saturating_us(const struct cost *c, double bytes)
{
    const struct cost_segment *s = &c->segments[0];
    double denominator = bytes + c->half_bytes;
    return s->alpha_us + (denominator > 0 ? s->beta_us_per_byte * bytes * bytes / denominator : 0);
}

/* The knot at or before x, of those that have a successor. */
static int knot_before(const struct cost *c, double x)
{
    int lo = 0, hi = c->n_knots - 1;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (c->knot_x[mid] <= x)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Cubic Hermite between knots; straight in log-log outside. */
static double table_us(const struct cost *c, double bytes)
{
    double x = log2(bytes > 1 ? bytes : 1);
    int n = c->n_knots;
    if (x <= c->knot_x[0])
        /* Latency does not fall below the smallest message's. */
        return exp(c->knot_y[0]);
    if (x >= c->knot_x[n - 1])
        return exp(c->knot_y[n - 1] + c->knot_slope[n - 1] * (x - c->knot_x[n - 1]));
    int lo = knot_before(c, x), hi = lo + 1;
    double h = c->knot_x[hi] - c->knot_x[lo], t = (x - c->knot_x[lo]) / h;
    double y0 = c->knot_y[lo], y1 = c->knot_y[hi];
    double m0 = c->knot_slope[lo] * h, m1 = c->knot_slope[hi] * h;
    double t2 = t * t, t3 = t2 * t;
    return exp((2 * t3 - 3 * t2 + 1) * y0 + (t3 - 2 * t2 + t) * m0 + (-2 * t3 + 3 * t2) * y1 +
               (t3 - t2) * m1);
}

double cost_latency_us(const struct cost *c, double bytes)
{
    double us = c->form == COST_TABLE        ? table_us(c, bytes)
                : c->form == COST_SATURATING ? saturating_us(c, bytes)
                                             : segments_us(c, bytes);
    return us > 1e-3 ? us : 1e-3;
}

static double shape(const struct cost *c, double bytes)
{
    if (c->form != COST_TABLE || c->n_knots < 1 || !(c->knot_shape[0] > 0))
        return 1;
    double x = log2(bytes > 1 ? bytes : 1);
    int n = c->n_knots;
    if (n == 1 || x <= c->knot_x[0])
        return c->knot_shape[0];
    if (x >= c->knot_x[n - 1])
        return c->knot_shape[n - 1];
    int lo = knot_before(c, x);
    double t = (x - c->knot_x[lo]) / (c->knot_x[lo + 1] - c->knot_x[lo]);
    return c->knot_shape[lo] + t * (c->knot_shape[lo + 1] - c->knot_shape[lo]);
}

double cost_sigma(const struct cost *c, double bytes)
{
    double beyond = 0;
    if (bytes > c->max_bytes && c->max_bytes > 0)
        beyond = log2(bytes / c->max_bytes);
    else if (bytes < c->min_bytes)
        beyond = log2(c->min_bytes / (bytes > 1 ? bytes : 1));
    double extra = c->extrap_sigma * beyond;
    double point = c->point_sigma * shape(c, bytes);
    return sqrt(c->rel_sigma * c->rel_sigma + point * point + extra * extra);
}

void cost_ci95(const struct cost *c, double bytes, double *lo_us, double *hi_us)
{
    double us = cost_latency_us(c, bytes), s = 1.959964 * cost_sigma(c, bytes);
    *lo_us = us * exp(-s);
    *hi_us = us * exp(s);
}

enum cost_source cost_source_at(const struct cost *c, double bytes)
{
    if (c->source == COST_SYNTHESIZED)
        return COST_SYNTHESIZED;
    return bytes < c->min_bytes || bytes > c->max_bytes ? COST_EXTRAPOLATED : COST_MEASURED;
}

const char *cost_source_name(enum cost_source s)
{
    static const char *const names[] = {"measured", "extrapolated", "synthesized"};
    return names[s];
}

const char *cost_form_name(enum cost_form f)
{
    static const char *const names[] = {"segments", "saturating", "table"};
    return names[f];
}

int costs_add(struct costs *cs, const struct cost *c)
{
    if (cs->n == cs->cap) {
        size_t cap = cs->cap ? cs->cap * 2 : 8;
        struct cost *v = realloc(cs->v, cap * sizeof *v);
        if (v == NULL)
            return -1;
        cs->v = v;
        cs->cap = cap;
    }
    cs->v[cs->n++] = *c;
    return 0;
}

void costs_release(struct costs *cs)
{
    free(cs->v);
    *cs = (struct costs){0};
}

const struct cost *costs_find(const struct costs *cs, const char *collective, const char *impl,
                              int ranks)
{
    const struct cost *loose = NULL;
    size_t len = strlen(impl);
    for (size_t i = 0; i < cs->n; i++) {
        const struct cost *c = &cs->v[i];
        if ((ranks != 0 && c->ranks != ranks) || strcmp(c->collective, collective) != 0)
            continue;
        if (strcmp(c->impl, impl) == 0)
            return c;
        if (loose == NULL && strncmp(c->impl, impl, len) == 0 && c->impl[len] == ':')
            loose = c;
    }
    return loose;
}
