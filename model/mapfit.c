#include "model/mapfit.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>

/* The problem as GSL sees it: parameters in units of their priors' deviations, the data's residuals
 * times the square roots of their weights, then one residual a prior. */
struct scaled {
    const struct mapfit_problem *p;
    const double *root_weight; /* n_obs */
    double *residuals;         /* n_obs, room to work */
};

static void unscale(const struct mapfit_problem *p, const gsl_vector *x, double *params)
{
    for (int i = 0; i < p->n_params; i++)
        params[i] = p->prior_mean[i] + p->prior_sd[i] * gsl_vector_get(x, (size_t)i);
}

static int residuals(const gsl_vector *x, void *context, gsl_vector *f)
{
    const struct scaled *s = context;
    const struct mapfit_problem *p = s->p;
    double params[MAPFIT_MAX_PARAMS];
    unscale(p, x, params);
    p->residuals(p->context, params, s->residuals);
    for (size_t i = 0; i < p->n_obs; i++) {
        double r = s->residuals[i];
        if (!isfinite(r))
            return GSL_EDOM;
        gsl_vector_set(f, i, r * s->root_weight[i]);
    }
    for (int i = 0; i < p->n_params; i++)
        gsl_vector_set(f, p->n_obs + (size_t)i, gsl_vector_get(x, (size_t)i));
    return GSL_SUCCESS;
}

static void read_covariance(const struct mapfit_problem *p, const gsl_matrix *c, struct mapfit *fit)
{
    for (int i = 0; i < p->n_params; i++) {
        double v = gsl_matrix_get(c, (size_t)i, (size_t)i);
        fit->sd[i] = p->prior_sd[i] * sqrt(v);
        fit->learned[i] = v < 1 ? 1 - v : 0;
        for (int j = 0; j < p->n_params; j++)
            fit->correlation[i][j] = gsl_matrix_get(c, (size_t)i, (size_t)j) /
                                     sqrt(v * gsl_matrix_get(c, (size_t)j, (size_t)j));
    }
}

enum status mapfit_solve(const struct mapfit_problem *p, struct mapfit *fit, struct err *err)
{
    gsl_set_error_handler_off(); /* the default one aborts; errors are values here */
    enum status status = STATUS_OK;
    const size_t n = p->n_obs + (size_t)p->n_params;
    const int passes = p->robust ? 12 : 1;
    double *room = malloc((2 * p->n_obs + 1) * sizeof *room);
    gsl_vector *x = gsl_vector_calloc((size_t)p->n_params);
    gsl_matrix *cov = gsl_matrix_alloc((size_t)p->n_params, (size_t)p->n_params);
    gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *w =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options, n, (size_t)p->n_params);
    if (room == NULL || x == NULL || cov == NULL || w == NULL) {
        status = err_set(err, STATUS_FAILED, "no memory for a fit of %zu measurements", p->n_obs);
        goto out;
    }
    double *root_weight = room + p->n_obs;
    struct scaled s = {p, root_weight, room};
    for (size_t i = 0; i < p->n_obs; i++)
        root_weight[i] = 1;
    gsl_multifit_nlinear_fdf fdf = {.f = residuals, .n = n, .p = (size_t)p->n_params, .params = &s};
    *fit = (struct mapfit){.n_params = p->n_params};
    for (int pass = 0; pass < passes; pass++) {
        int info = 0;
        int code = gsl_multifit_nlinear_init(x, &fdf, w);
        if (code == GSL_SUCCESS)
            code = gsl_multifit_nlinear_driver(100, 1e-9, 1e-9, 0, NULL, NULL, &info, w);
        /* No progress at the smallest step is what a minimum looks like from inside. */
        if (code != GSL_SUCCESS && code != GSL_EMAXITER && code != GSL_ENOPROG) {
            status = err_set(err, STATUS_UNSUPPORTED, "the measurements cannot be fitted: %s",
                             gsl_strerror(code));
            goto out;
        }
        fit->iterations += (int)gsl_multifit_nlinear_niter(w);
        double moved = 0;
        const gsl_vector *at = gsl_multifit_nlinear_position(w);
        for (size_t i = 0; i < (size_t)p->n_params; i++)
            moved = fmax(moved, fabs(gsl_vector_get(at, i) - gsl_vector_get(x, i)));
        gsl_vector_memcpy(x, at);
        if (pass + 1 == passes || (pass > 0 && moved < 1e-6))
            break;
        unscale(p, x, fit->value);
        p->residuals(p->context, fit->value, room);
        for (size_t i = 0; i < p->n_obs; i++)
            root_weight[i] = 1 / sqrt(1 + 0.25 * room[i] * room[i]);
    }
    gsl_multifit_nlinear_covar(gsl_multifit_nlinear_jac(w), 0, cov);
    read_covariance(p, cov, fit);
    unscale(p, x, fit->value);
    p->residuals(p->context, fit->value, room);
    for (size_t i = 0; i < p->n_obs; i++)
        fit->rms += room[i] * room[i];
    fit->rms = p->n_obs > 0 ? sqrt(fit->rms / (double)p->n_obs) : 0;
out:
    free(room);
    gsl_vector_free(x);
    gsl_matrix_free(cov);
    gsl_multifit_nlinear_free(w);
    return status;
}
