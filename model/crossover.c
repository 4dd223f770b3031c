#include "model/crossover.h"

#include <math.h>

enum { STEPS_PER_DOUBLING = 8 };

static int best_at(const struct crossover *x, double bytes, int except)
{
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < x->n; i++) {
        if (i == except)
            continue;
        double us = x->us(x->context, i, bytes);
        if (us < least)
            least = us, best = i;
    }
    return best;
}

/* The border between `a`, best at lo, and what comes after it: bisection in log(bytes). */
static double border(const struct crossover *x, int a, double lo, double hi)
{
    while (log2(hi / lo) > 1e-3) {
        double middle = sqrt(lo * hi);
        if (best_at(x, middle, -1) == a)
            lo = middle;
        else
            hi = middle;
    }
    return hi;
}

/* How many standard deviations separate i from j. */
static double distance(const struct crossover *x, int i, int j, double bytes)
{
    double log_ratio = log(x->us(x->context, j, bytes) / x->us(x->context, i, bytes));
    double sigma = x->sigma ? x->sigma(x->context, i, j, bytes) : 0;
    if (sigma > 0)
        return log_ratio / sigma;
    return log_ratio > 0 ? INFINITY : log_ratio < 0 ? -INFINITY : 0;
}

static double reach(const struct crossover *x, int i, int j, double at, double to)
{
    double step = (to > at ? 1.0 : -1.0) / STEPS_PER_DOUBLING, size = at;
    while (fabs(distance(x, i, j, size)) < 1.959964) {
        size *= exp2(step);
        if ((step > 0 && size >= to) || (step < 0 && size <= to))
            return to;
    }
    return size;
}

int crossover_find(const struct crossover *x, struct crossover_segment *s)
{
    int n = 0;
    double at = x->from_bytes;
    s[0] = (struct crossover_segment){.best = best_at(x, at, -1), .from_bytes = at};
    for (double prev = at; at < x->to_bytes && n < CROSSOVER_MAX_SEGMENTS - 1; prev = at) {
        at = fmin(prev * exp2(1.0 / STEPS_PER_DOUBLING), x->to_bytes);
        int now = best_at(x, at, -1);
        if (now == s[n].best)
            continue;
        double edge = border(x, s[n].best, prev, at);
        s[n].to_bytes = edge;
        s[n].low_bytes = reach(x, s[n].best, now, edge, x->from_bytes);
        s[n].high_bytes = reach(x, s[n].best, now, edge, x->to_bytes);
        s[++n] = (struct crossover_segment){.best = now, .from_bytes = edge};
    }
    s[n].to_bytes = x->to_bytes;
    for (int i = 0; i <= n; i++) {
        double middle = sqrt(s[i].from_bytes * s[i].to_bytes);
        s[i].from_us = x->us(x->context, s[i].best, s[i].from_bytes);
        s[i].to_us = x->us(x->context, s[i].best, s[i].to_bytes);
        s[i].second = best_at(x, middle, s[i].best);
        s[i].best_us = x->us(x->context, s[i].best, middle);
        s[i].p_best = 1;
        if (s[i].second >= 0) {
            s[i].second_us = x->us(x->context, s[i].second, middle);
            s[i].p_best = 0.5 * erfc(-distance(x, s[i].best, s[i].second, middle) / sqrt(2));
        }
    }
    return n + 1;
}
