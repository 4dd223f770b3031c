/* One robust straight line with relative errors.
 *
 * What is minimised is the bisquare of log(us) - log(alpha + beta n). Its Gauss-Newton step is a
 * linear problem in the change of (alpha, beta) with rows (1, n) / f and right side log(us / f), f
 * being the current line; each is solved by gsl_multifit_robust (iteratively reweighted, Tukey's
 * bisquare: Holland and Welsch, Commun. Stat. A6, 813 (1977)). The first line is the closed form
 * for relative errors. Latencies and times a byte are not negative: a line that would be is
 * replaced by the best on the boundary.
 */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdlib.h>

#include "model/fit.h"

static void closed_form(const struct point *p, int n, double scale, double ab[2])
{
    double s11 = 0, s12 = 0, s22 = 0, t1 = 0, t2 = 0;
    for (int i = 0; i < n; i++) {
        double u = 1 / p[i].us, v = p[i].bytes / scale / p[i].us;
        s11 += u * u;
        s12 += u * v;
        s22 += v * v;
        t1 += u;
        t2 += v;
    }
    double det = s11 * s22 - s12 * s12;
    if (det > 1e-14 * s11 * s22) {
        ab[0] = (t1 * s22 - t2 * s12) / det;
        ab[1] = (s11 * t2 - s12 * t1) / det;
    } else {
        ab[0] = t1 / s11;
        ab[1] = 0;
    }
    if (ab[1] < 0) {
        ab[0] = t1 / s11;
        ab[1] = 0;
    } else if (ab[0] < 0) {
        ab[0] = 0;
        ab[1] = t2 / s22;
    }
}

/* One step; 0, or -1 where the solver gave up. cov of the scaled parameters. */
static int step(const struct point *p, int n, double scale, double ab[2], double cov[3],
                gsl_multifit_robust_workspace *w, gsl_matrix *x, gsl_vector *y, gsl_vector *c,
                gsl_matrix *m)
{
    for (int i = 0; i < n; i++) {
        double f = ab[0] + ab[1] * (p[i].bytes / scale);
        if (!(f > 0))
            return -1;
        gsl_matrix_set(x, (size_t)i, 0, 1 / f);
        gsl_matrix_set(x, (size_t)i, 1, p[i].bytes / scale / f);
        gsl_vector_set(y, (size_t)i, log(p[i].us / f));
    }
    int code = gsl_multifit_robust(x, y, c, m, w);
    if (code != GSL_SUCCESS && code != GSL_EMAXITER)
        return -1;
    double a = ab[0] + gsl_vector_get(c, 0), b = ab[1] + gsl_vector_get(c, 1);
    if (!isfinite(a) || !isfinite(b) || a < 0 || b < 0 || !(a + b > 0))
        return -1;
    ab[0] = a;
    ab[1] = b;
    cov[0] = gsl_matrix_get(m, 0, 0);
    cov[1] = gsl_matrix_get(m, 0, 1);
    cov[2] = gsl_matrix_get(m, 1, 1);
    return 0;
}

enum status fit_line(const struct point *p, int n, double *alpha_us, double *beta_us_per_byte,
                     double cov[3], struct err *err)
{
    if (n < 1)
        return err_set(err, STATUS_UNSUPPORTED, "no sizes to fit a line to");
    gsl_set_error_handler_off(); /* the default one aborts; errors are values here */
    double scale = p[n - 1].bytes, ab[2], scaled_cov[3] = {NAN, NAN, NAN};
    closed_form(p, n, scale, ab);
    enum { MIN_ROBUST = 4, STEPS = 3 };
    if (n >= MIN_ROBUST) {
        gsl_multifit_robust_workspace *w =
            gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, (size_t)n, 2);
        gsl_matrix *x = gsl_matrix_alloc((size_t)n, 2), *m = gsl_matrix_alloc(2, 2);
        gsl_vector *y = gsl_vector_alloc((size_t)n), *c = gsl_vector_alloc(2);
        if (w != NULL && x != NULL && m != NULL && y != NULL && c != NULL)
            for (int i = 0; i < STEPS; i++)
                if (step(p, n, scale, ab, scaled_cov, w, x, y, c, m) != 0)
                    break;
        if (w != NULL)
            gsl_multifit_robust_free(w);
        gsl_matrix_free(x);
        gsl_matrix_free(m);
        gsl_vector_free(y);
        gsl_vector_free(c);
    }
    *alpha_us = ab[0];
    *beta_us_per_byte = ab[1] / scale;
    if (cov != NULL) {
        cov[0] = scaled_cov[0];
        cov[1] = scaled_cov[1] / scale;
        cov[2] = scaled_cov[2] / (scale * scale);
    }
    if (!isfinite(ab[0]) || !isfinite(ab[1]) || !(ab[0] + ab[1] > 0))
        return err_set(err, STATUS_FAILED, "the fit of a line did not end");
    return STATUS_OK;
}
