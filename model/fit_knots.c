/* What lies between two measured sizes, and tables made of it.
 *
 * Three guesses: the line through the two sizes to the left, continued; the line through the two to
 * the right, continued back; the chord between the neighbours. Where the curve is straight (alpha +
 * beta n, which in log-log is bent) all three agree. Where a protocol switches in the gap, the
 * truth is one of the continuations, and nothing in the curve tells which: the middle of the three
 * is weighed equally with the chord, and their disagreement widens the interval.
 */
#include <math.h>

#include "model/fit.h"

static const double smooth_log = 0.02; /* guesses that agree this well call the curve smooth */

static double line_at(const struct point *a, const struct point *b, double bytes)
{
    return a->us + (b->us - a->us) * ((bytes - a->bytes) / (b->bytes - a->bytes));
}

static double clamp(double v, double lo, double hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static double middle(double a, double b, double c)
{
    double lo = a < b ? a : b, hi = a < b ? b : a;
    return clamp(c, lo, hi);
}

void fit_between(const struct point *p, int n, int i, double bytes, double *log_us,
                 double *half_range)
{
    const struct point *l = &p[i], *r = &p[i + 1];
    double chord = line_at(l, r, bytes);
    double lo = 0.5 * (l->us < r->us ? l->us : r->us), hi = 2 * (l->us > r->us ? l->us : r->us);
    double left = i > 0 ? line_at(l - 1, l, bytes) : l->us;
    double right = i + 2 < n ? line_at(r, r + 1, bytes) : r->us;
    left = log(clamp(left, lo, hi));
    right = log(clamp(right, lo, hi));
    chord = log(chord);
    *log_us = 0.5 * (chord + middle(left, right, chord));
    *half_range = 0.5 * (fmax(fmax(left, right), chord) - fmin(fmin(left, right), chord));
}

/* Steffen's slopes: monotone between knots, at rest at a local extremum. */
static void slopes(struct cost *c)
{
    int n = c->n_knots;
    for (int i = 1; i + 1 < n; i++) {
        double h0 = c->knot_x[i] - c->knot_x[i - 1], h1 = c->knot_x[i + 1] - c->knot_x[i];
        double s0 = (c->knot_y[i] - c->knot_y[i - 1]) / h0;
        double s1 = (c->knot_y[i + 1] - c->knot_y[i]) / h1;
        double parabola = (s0 * h1 + s1 * h0) / (h0 + h1);
        double least = fmin(fmin(fabs(s0), fabs(s1)), 0.5 * fabs(parabola));
        c->knot_slope[i] = s0 * s1 > 0 ? copysign(2 * least, s0) : 0;
    }
    c->knot_slope[0] = (c->knot_y[1] - c->knot_y[0]) / (c->knot_x[1] - c->knot_x[0]);
    c->knot_slope[n - 1] =
        (c->knot_y[n - 1] - c->knot_y[n - 2]) / (c->knot_x[n - 1] - c->knot_x[n - 2]);
}

/* doubt: what the guesses and the repeats at this size differ by (log). Of a gathered point the
 * doubt is its surroundings' scatter, and all of it. */
static void add_knot(struct cost *c, double log2_bytes, double log_us, double doubt, int gathered)
{
    c->knot_x[c->n_knots] = log2_bytes;
    c->knot_y[c->n_knots] = log_us;
    c->knot_shape[c->n_knots] = (gathered ? 0.1 : 1) + doubt / smooth_log;
    c->n_knots++;
}

void fit_knots(const struct point *p, int n, struct cost *c)
{
    /* As many knots between two sizes as there is room for. */
    int between = n <= 32 ? 3 : n <= 64 ? 1 : 0;
    c->form = COST_TABLE;
    c->n_knots = 0;
    for (int i = 0; i < n; i++) {
        double x = log2(p[i].bytes);
        double noise = p[i].spread > 0 ? p[i].spread : 0;
        add_knot(c, x, log(p[i].us), noise, p[i].gathered);
        double gap = i + 1 < n ? log2(p[i + 1].bytes) - x : 0;
        for (int j = 1; j <= between && gap > 0.05; j++) {
            double at = x + gap * j / (between + 1), y, range;
            fit_between(p, n, i, exp2(at), &y, &range);
            add_knot(c, at, y, range + noise, p[i].gathered);
        }
    }
    slopes(c);
    /* Beyond the last size: along the line through the last two, never faster than in proportion.
     */
    const struct point *a = &p[n - 2], *b = &p[n - 1];
    double slope = (b->us - a->us) / (b->bytes - a->bytes) * b->bytes / b->us;
    c->knot_slope[c->n_knots - 1] = clamp(slope, 0, 1) * log(2);
}
