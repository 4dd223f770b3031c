/* Outliers: points off the curve, where the curve returns on both sides.
 *
 * A point is suspected where it differs from both the chord and the log-log line between its
 * neighbours, and lies outside what they span. It is convicted where, without it, each of its four
 * neighbours lies on the curve that the others make, three times more closely. At a step that
 * fails: leave out the first size after a jump and its right neighbour becomes the odd one. Two
 * points within three sizes of each other are tried together, with a higher threshold. The first
 * size is cold where it alone is slower than the two that follow, though smaller.
 */
#include <math.h>
#include <string.h>

#include "model/fit.h"

static const double lone_log = 0.2, pair_log = 0.6, cold_log = 0.4, outside_log = 0.1;
static const double conviction = 3;
enum { PAIR_REACH = 4 };

/* Indices of the points that are not marked, in order. */
static int kept(const unsigned char *off, int n, int *index)
{
    int m = 0;
    for (int i = 0; i < n; i++)
        if (!off[i])
            index[m++] = i;
    return m;
}

/* log(measured / straight line between the nearest kept points), the smaller of the chord's and the
 * log-log line's; 0 where there are none on one side. k: position within index. */
static double departure(const struct point *p, const int *index, int m, int k, double *expected_us)
{
    if (k <= 0 || k >= m - 1)
        return 0;
    const struct point *l = &p[index[k - 1]], *q = &p[index[k]], *r = &p[index[k + 1]];
    double chord = l->us + (r->us - l->us) * ((q->bytes - l->bytes) / (r->bytes - l->bytes));
    double t = log(q->bytes / l->bytes) / log(r->bytes / l->bytes);
    double loglog = log(l->us) + t * log(r->us / l->us);
    double a = log(q->us / chord), b = log(q->us) - loglog;
    if (expected_us != NULL)
        *expected_us = chord;
    if (a * b < 0)
        return 0;
    return fabs(a) < fabs(b) ? a : b;
}

/* The largest departure among the two kept neighbours on each side of position k of the kept list
 * `index` (in which the suspects do not occur; k is where the first would stand). */
static double neighbours(const struct point *p, const int *index, int m, int k)
{
    double worst = 0;
    int judged = 0;
    for (int j = k - 2; j <= k + 1; j++) {
        if (j <= 0 || j >= m - 1)
            continue;
        worst = fmax(worst, fabs(departure(p, index, m, j, NULL)));
        judged++;
    }
    return judged >= 2 ? worst : HUGE_VAL;
}

static int outside(const struct point *p, const int *index, int m, int k)
{
    if (k <= 0 || k >= m - 1)
        return 0;
    double y = log(p[index[k]].us), l = log(p[index[k - 1]].us), r = log(p[index[k + 1]].us);
    return y - fmax(l, r) > outside_log || fmin(l, r) - y > outside_log;
}

/* Marks the point farthest off; 1 where there was one. */
static int mark_lone(const struct point *p, int n, unsigned char *off, double *expected_us)
{
    int index[FIT_MAX_SIZES], rest[FIT_MAX_SIZES], best = -1;
    int m = kept(off, n, index);
    double best_r = 0, best_expected = 0;
    for (int k = 1; k + 1 < m; k++) {
        double expected, r = fabs(departure(p, index, m, k, &expected));
        if (r < lone_log || r <= best_r || !outside(p, index, m, k))
            continue;
        memcpy(rest, index, (size_t)k * sizeof *rest);
        memcpy(rest + k, index + k + 1, (size_t)(m - k - 1) * sizeof *rest);
        if (neighbours(p, rest, m - 1, k) * conviction > r)
            continue;
        best = index[k];
        best_r = r;
        best_expected = expected;
    }
    if (best < 0)
        return 0;
    off[best] = 1 + FIT_LONE;
    expected_us[best] = best_expected;
    return 1;
}

static int mark_pair(const struct point *p, int n, unsigned char *off, double *expected_us)
{
    int index[FIT_MAX_SIZES], rest[FIT_MAX_SIZES];
    int m = kept(off, n, index);
    for (int k = 1; k + 2 < m; k++)
        for (int l = k + 1; l <= k + PAIR_REACH && l + 1 < m; l++) {
            int w = 0;
            for (int i = 0; i < m; i++)
                if (i != k && i != l)
                    rest[w++] = index[i];
            int with_k[FIT_MAX_SIZES], with_l[FIT_MAX_SIZES], at_l = l - 1;
            memcpy(with_k, rest, (size_t)k * sizeof *rest);
            with_k[k] = index[k];
            memcpy(with_k + k + 1, rest + k, (size_t)(w - k) * sizeof *rest);
            memcpy(with_l, rest, (size_t)at_l * sizeof *rest);
            with_l[at_l] = index[l];
            memcpy(with_l + at_l + 1, rest + at_l, (size_t)(w - at_l) * sizeof *rest);
            double ek, el;
            double rk = departure(p, with_k, w + 1, k, &ek);
            double rl = departure(p, with_l, w + 1, at_l, &el);
            double least = fmin(fabs(rk), fabs(rl));
            if (least < pair_log || (l == k + 1 && rk * rl < 0) || !outside(p, with_k, w + 1, k) ||
                !outside(p, with_l, w + 1, at_l))
                continue;
            if (neighbours(p, rest, w, k) * conviction > least ||
                neighbours(p, rest, w, at_l) * conviction > least)
                continue;
            off[index[k]] = off[index[l]] = l == k + 1 ? 1 + FIT_PAIR : 1 + FIT_LONE;
            expected_us[index[k]] = ek;
            expected_us[index[l]] = el;
            return 1;
        }
    return 0;
}

void fit_find_outliers(const struct point *p, int n, unsigned char *off, double *expected_us)
{
    memset(off, 0, (size_t)n);
    if (n < 5 || n > FIT_MAX_SIZES)
        return;
    int most = n / 5;
    if (most > FIT_MAX_OUTLIERS)
        most = FIT_MAX_OUTLIERS;
    int found = 0;
    if (log(p[0].us / fmax(p[1].us, p[2].us)) > cold_log) {
        off[0] = 1 + FIT_COLD;
        expected_us[0] = p[1].us;
        found++;
    }
    while (found < most && mark_lone(p, n, off, expected_us))
        found++;
    while (found + 2 <= most && mark_pair(p, n, off, expected_us))
        found += 2;
}

static const struct {
    const char *name, *doc;
} kinds[] = {
    [FIT_LONE] = {"lone",
                  "off the curve, which returns on both sides: a disturbed measurement rather "
                  "than a step; not fitted, measure it again"},
    [FIT_PAIR] = {"pair",
                  "two neighbours off the curve, which returns on both sides: disturbed, or a "
                  "bad choice of protocol just there; not fitted, measure them again"},
    [FIT_COLD] = {"cold", "the first size alone is slow: a cold start; not fitted"},
};

const char *fit_outlier_name(enum fit_outlier_kind kind)
{
    return kinds[kind].name;
}

const char *fit_outlier_doc(enum fit_outlier_kind kind)
{
    return kinds[kind].doc;
}
