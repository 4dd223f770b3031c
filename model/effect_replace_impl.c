/* Another implementation of the allreduce. Its cost is, in this order: measured at these ranks;
 * what the catalogue believes (curve_us with its spread). Beyond cutoff_bytes the engine goes back
 * to large_impl, or to what it uses today. */
#include "model/effect.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum status check(const struct effect *e, struct err *err)
{
    for (int i = 0; i < e->curve.n; i++)
        if (!(e->curve.y[i] > 0))
            return err_set(err, STATUS_INPUT, "curve_us: latencies must be above 0");
    if (e->curve.n > 0 && !(e->spread >= 1))
        return err_set(err, STATUS_INPUT, "spread: a factor of at least 1 was expected");
    return STATUS_OK;
}

/* The believed curve as a cost: log-log lines between its points. */
static void make_prior(struct effect *e, int ranks)
{
    struct cost *c = &e->prior;
    *c = (struct cost){.ranks = ranks, .form = COST_TABLE, .source = COST_SYNTHESIZED};
    strcpy(c->impl, e->impl);
    strcpy(c->collective, "allreduce");
    strcpy(c->label, "believed by the catalogue");
    c->n_knots = e->curve.n;
    for (int i = 0; i < e->curve.n; i++) {
        c->knot_x[i] = log2(e->curve.x[i]);
        c->knot_y[i] = log(e->curve.y[i]);
    }
    /* Between few points the mean of the neighbouring slopes; 0 where they turn. */
    for (int i = 0; i < c->n_knots; i++) {
        double left =
            i > 0 ? (c->knot_y[i] - c->knot_y[i - 1]) / (c->knot_x[i] - c->knot_x[i - 1]) : 0;
        double right = i + 1 < c->n_knots
                           ? (c->knot_y[i + 1] - c->knot_y[i]) / (c->knot_x[i + 1] - c->knot_x[i])
                           : 0;
        if (i == 0)
            left = right;
        if (i + 1 == c->n_knots)
            right = left;
        double least = fabs(left) < fabs(right) ? left : right, mean = 0.5 * (left + right);
        c->knot_slope[i] = left * right <= 0 ? 0 : fabs(mean) < 2 * fabs(least) ? mean : 2 * least;
    }
    c->min_bytes = e->curve.x[0];
    c->max_bytes = e->curve.x[e->curve.n - 1];
    c->rel_sigma = log(e->spread) / 1.959963984540054;
    c->extrap_sigma = 0.1;
    c->points = e->curve.n;
}

static enum status bind(struct effect *e, const struct scenario *s, const struct costs *costs,
                        struct err *err)
{
    e->small = costs == NULL ? NULL : costs_find(costs, "allreduce", e->impl, s->ranks);
    e->large = NULL;
    if (e->small == NULL && e->curve.n > 0) {
        make_prior(e, s->ranks);
        e->small = &e->prior;
    }
    if (e->small == NULL)
        return err_set(
            err, STATUS_UNSUPPORTED,
            "%s was never measured at %d ranks and nothing prices it: measure it, or give "
            "the effect a curve_us",
            e->impl, s->ranks);
    if (e->cutoff_bytes > 0) {
        const char *large = e->large_impl[0] ? e->large_impl : s->allreduce.impl;
        e->large = costs == NULL ? NULL : costs_find(costs, "allreduce", large, s->ranks);
        if (e->large == NULL)
            e->large = s->cost.small;
    }
    return STATUS_OK;
}

/* Today's curves keep the draw they have: the option is compared with the same luck. */
static double factor_of(const struct cost *c, double drawn, const struct scenario *s)
{
    if (c == s->ref.cost.small)
        return s->ref.cost.small_factor;
    if (c == s->ref.cost.large)
        return s->ref.cost.large_factor;
    return drawn;
}

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    strcpy(s->allreduce.impl, e->impl);
    s->cost.small = e->small;
    s->cost.small_factor = factor_of(e->small, d->small_factor, s);
    s->allreduce.latency_us.set = 0;
    s->allreduce.cutoff_bytes = e->cutoff_bytes;
    s->cost.large = e->large;
    if (e->large != NULL)
        s->cost.large_factor = factor_of(e->large, d->large_factor, s);
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    const double bytes = (double)s->batch * scenario_verify_tokens(s) * s->model.hidden *
                         s->model.dtype_bytes * s->allreduce.bytes_scale;
    const struct cost *c =
        e->large != NULL && e->cutoff_bytes > 0 && bytes > e->cutoff_bytes ? e->large : e->small;
    double lo, hi;
    if (c == NULL) {
        snprintf(text, size, "allreduce by %s, which nothing prices", e->impl);
        return;
    }
    cost_ci95(c, bytes, &lo, &hi);
    snprintf(text, size, "allreduce by %s: %.3g us [%.3g, %.3g] at %.0f bytes (%s%s)", c->impl,
             cost_latency_us(c, bytes), lo, hi, bytes,
             c == &e->prior ? "believed" : cost_source_name(cost_source_at(c, bytes)),
             c == e->large ? ", beyond its cutoff" : "");
}

static const struct effect_field fields[] = {
    {"impl", EFFECT_TEXT, offsetof(struct effect, impl), 1, 0, 0, "the implementation's name"},
    {"cutoff_bytes", EFFECT_NUMBER, offsetof(struct effect, cutoff_bytes), 0, 0, 1e12,
     "largest message that it takes"},
    {"large_impl", EFFECT_TEXT, offsetof(struct effect, large_impl), 0, 0, 0,
     "implementation beyond the cutoff; absent: today's"},
    {"curve_us", EFFECT_CURVE, offsetof(struct effect, curve), 0, 0, 1e12,
     "believed latency where it was never measured: [bytes, us]"},
    {"spread", EFFECT_NUMBER, offsetof(struct effect, spread), 0, 1, 100,
     "95 % of what is believed lies within a factor of this"},
    {0},
};

const struct effect_type effect_replace_impl = {
    .name = "replace_impl",
    .doc = "another implementation of the allreduce",
    .fields = fields,
    .sets = "allreduce.impl",
    .terms = TERM_WIRE,
    .check = check,
    .bind = bind,
    .apply = apply,
    .explain = explain,
};
