/* Alpha-beta with a bandwidth that saturates: alpha + beta n^2 / (n + h). Messages far smaller than
 * h cost alpha alone, far larger ones move at 1 / beta. For each h it is a straight line in
 * n^2 / (n + h), so h is the minimum of a one-dimensional function: bracketed on a logarithmic grid
 * and refined by GSL's Brent.
 */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_min.h>
#include <math.h>

#include "model/fit.h"

struct problem {
    const struct point *p;
    int n;
};

/* Sum of squared relative residuals of the best non-negative line for this h; the line in ab. */
static double line_for(const struct problem *q, double h, double ab[2])
{
    double s11 = 0, s12 = 0, s22 = 0, t1 = 0, t2 = 0;
    for (int i = 0; i < q->n; i++) {
        double x = q->p[i].bytes * (q->p[i].bytes / (q->p[i].bytes + h)), y = q->p[i].us;
        double u = 1 / y, v = x / y;
        s11 += u * u;
        s12 += u * v;
        s22 += v * v;
        t1 += u;
        t2 += v;
    }
    double det = s11 * s22 - s12 * s12;
    ab[0] = det > 0 ? (t1 * s22 - t2 * s12) / det : t1 / s11;
    ab[1] = det > 0 ? (s11 * t2 - s12 * t1) / det : 0;
    if (ab[1] < 0) {
        ab[1] = 0;
        ab[0] = t1 / s11;
    } else if (ab[0] < 0) {
        ab[0] = 0;
        ab[1] = t2 / s22;
    }
    double sum = 0;
    for (int i = 0; i < q->n; i++) {
        double x = q->p[i].bytes * (q->p[i].bytes / (q->p[i].bytes + h));
        double r = (ab[0] + ab[1] * x) / q->p[i].us - 1;
        sum += r * r;
    }
    return sum;
}

static double objective(double log_h, void *params)
{
    double ab[2];
    return line_for(params, exp(log_h), ab);
}

static double refine(struct problem *q, double lo, double best, double hi)
{
    gsl_function f = {.function = objective, .params = q};
    gsl_min_fminimizer *m = gsl_min_fminimizer_alloc(gsl_min_fminimizer_brent);
    if (m == NULL)
        return best;
    if (gsl_min_fminimizer_set(m, &f, best, lo, hi) == GSL_SUCCESS)
        for (int i = 0; i < 20 && gsl_min_fminimizer_iterate(m) == GSL_SUCCESS; i++) {
            best = gsl_min_fminimizer_x_minimum(m);
            if (gsl_min_fminimizer_x_upper(m) - gsl_min_fminimizer_x_lower(m) < 1e-2)
                break;
        }
    gsl_min_fminimizer_free(m);
    return best;
}

/* Covariance of alpha and beta with h free: the inverse of J'J of the relative residuals, times
 * their variance. Where h hardly matters (far below all sizes) J'J is singular, and h is taken as
 * known. */
static void covariance(const struct problem *q, double h, const double ab[2], double cov[3])
{
    double m[3][3] = {{0}}, sum = 0;
    for (int i = 0; i < q->n; i++) {
        double n = q->p[i].bytes, x = n * (n / (n + h)), f = ab[0] + ab[1] * x;
        double j[3] = {1 / f, x / f, -ab[1] * x / (n + h) / f};
        double r = log(q->p[i].us / f);
        sum += r * r;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                m[a][b] += j[a] * j[b];
    }
    int free_h = q->n > 3;
    if (free_h) { /* Schur complement: what is left of alpha's and beta's block once h is fitted */
        double schur[2][2], det = 0;
        for (int a = 0; a < 2; a++)
            for (int b = 0; b < 2; b++)
                schur[a][b] = m[a][b] - (m[2][2] > 0 ? m[a][2] * m[2][b] / m[2][2] : 0);
        det = schur[0][0] * schur[1][1] - schur[0][1] * schur[1][0];
        free_h = m[2][2] > 0 && det > 1e-9 * m[0][0] * m[1][1];
        for (int a = 0; a < 2 && free_h; a++)
            for (int b = 0; b < 2; b++)
                m[a][b] = schur[a][b];
    }
    double det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    double variance = sum / (q->n - 2 - free_h > 0 ? q->n - 2 - free_h : 1);
    if (!(det > 0))
        return;
    cov[0] = variance * m[1][1] / det;
    cov[1] = -variance * m[0][1] / det;
    cov[2] = variance * m[0][0] / det;
}

static enum status fit(const struct point *p, int n, struct cost *c, double cov[3], struct err *err)
{
    struct problem q = {p, n};
    double lo = log(p[0].bytes), hi = log(p[n - 1].bytes), ab[2];
    enum { GRID = 16 };
    double value[GRID + 1], step = (hi - lo) / GRID;
    int best = 0;
    if (!(step > 0))
        return err_set(err, STATUS_UNSUPPORTED, "one size cannot show a bandwidth that saturates");
    for (int i = 0; i <= GRID; i++) {
        value[i] = objective(lo + step * i, &q);
        if (value[i] < value[best])
            best = i;
    }
    double log_h = lo + step * best;
    if (best > 0 && best < GRID)
        log_h = refine(&q, log_h - step, log_h, log_h + step);
    line_for(&q, exp(log_h), ab);
    if (!(ab[0] + ab[1] > 0))
        return err_set(err, STATUS_UNSUPPORTED, "no positive latency fits");
    c->form = COST_SATURATING;
    c->n_segments = 1;
    c->segments[0] = (struct cost_segment){p[0].bytes, p[n - 1].bytes, ab[0], ab[1]};
    c->half_bytes = exp(log_h);
    if (cov != NULL) {
        cov[0] = cov[1] = cov[2] = NAN;
        covariance(&q, exp(log_h), ab, cov);
    }
    return STATUS_OK;
}

const struct fit_form fit_form_saturating = {
    .id = "saturating",
    .doc = "alpha + beta n^2/(n + h), a bandwidth that saturates",
    .min_sizes = 4,
    .fit = fit,
};
