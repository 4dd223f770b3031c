/* Two to four straight lines with jumps between them. Where the breaks are is found exactly, by
 * dynamic programming over all placements (two sizes a segment at least) of the sum of squared
 * relative residuals; how many there are by the Bayesian information criterion (Schwarz, Ann. Stat.
 * 6, 461 (1978)) with a floor of 2 % for the noise; then each segment is refitted robustly.
 */
#include <math.h>
#include <string.h>

#include "model/fit.h"

static const double noise_floor = 0.02;

struct sums {
    double w, wx, wxx, wy, wxy, wyy;
};

static double residual(const struct sums *s, double *alpha, double *beta)
{
    double det = s->w * s->wxx - s->wx * s->wx;
    double b = det > 1e-12 * s->w * s->wxx ? (s->w * s->wxy - s->wx * s->wy) / det : 0;
    if (b < 0)
        b = 0;
    double a = (s->wy - b * s->wx) / s->w;
    if (a < 0) {
        a = 0;
        b = s->wxx > 0 ? s->wxy / s->wxx : 0;
    }
    *alpha = a;
    *beta = b;
    double r =
        s->wyy - 2 * (a * s->wy + b * s->wxy) + a * a * s->w + 2 * a * b * s->wx + b * b * s->wxx;
    return r > 0 ? r : 0;
}

/* Where the left line ends and the right begins, between two measured sizes: at their crossing if
 * that lies there, else in the geometric middle. */
static double boundary(const struct cost_segment *l, const struct cost_segment *r, double lo,
                       double hi)
{
    double slope = l->beta_us_per_byte - r->beta_us_per_byte;
    double cross = slope != 0 ? (r->alpha_us - l->alpha_us) / slope : 0;
    return cross > lo && cross <= hi ? cross : sqrt(lo * hi);
}

static enum status fit(const struct point *p, int n, struct cost *c, double cov[3], struct err *err)
{
    static const double huge = 1e300;
    double best[COST_MAX_SEGMENTS + 1][FIT_MAX_SIZES + 1];
    short from[COST_MAX_SEGMENTS + 1][FIT_MAX_SIZES + 1];
    double cost[FIT_MAX_SIZES + 1][FIT_MAX_SIZES + 1], a, b;
    for (int i = 0; i < n; i++) {
        struct sums s = {0};
        for (int j = i; j < n; j++) {
            double u = 1 / p[j].us, x = p[j].bytes;
            s.w += u * u;
            s.wx += u * u * x;
            s.wxx += u * u * x * x;
            s.wy += u;
            s.wxy += u * x;
            s.wyy += 1;
            cost[i][j + 1] = residual(&s, &a, &b);
        }
    }
    for (int k = 0; k <= COST_MAX_SEGMENTS; k++)
        for (int j = 0; j <= n; j++) {
            best[k][j] = k == 0 && j == 0 ? 0 : huge;
            from[k][j] = 0;
            for (int i = 0; k > 0 && i + 2 <= j; i++)
                if (best[k - 1][i] + cost[i][j] < best[k][j]) {
                    best[k][j] = best[k - 1][i] + cost[i][j];
                    from[k][j] = (short)i;
                }
        }
    int choice = 0;
    double choice_bic = huge;
    for (int k = 1; k <= COST_MAX_SEGMENTS; k++) {
        if (best[k][n] >= huge)
            break;
        double rss = best[k][n] + n * noise_floor * noise_floor;
        double bic = n * log(rss / n) + (3 * k - 1) * log(n);
        if (bic < choice_bic) {
            choice_bic = bic;
            choice = k;
        }
    }
    if (choice == 0)
        return err_set(err, STATUS_UNSUPPORTED, "too few sizes for segments");
    c->form = COST_SEGMENTS;
    c->n_segments = choice;
    for (int k = choice, end = n; k > 0; k--) {
        int begin = from[k][end];
        double segment_cov[3];
        enum status status = fit_line(p + begin, end - begin, &a, &b, segment_cov, err);
        if (status != STATUS_OK)
            return status;
        c->segments[k - 1] = (struct cost_segment){p[begin].bytes, p[end - 1].bytes, a, b};
        if (k < choice) {
            double edge =
                boundary(&c->segments[k - 1], &c->segments[k], p[end - 1].bytes, p[end].bytes);
            c->segments[k - 1].to_bytes = c->segments[k].from_bytes = edge;
        }
        if (k == 1 && cov != NULL)
            memcpy(cov, segment_cov, sizeof segment_cov);
        end = begin;
    }
    return STATUS_OK;
}

const struct fit_form fit_form_piecewise = {
    .id = "piecewise",
    .doc = "two to four straight lines with jumps between them",
    .min_sizes = 4,
    .fit = fit,
};
