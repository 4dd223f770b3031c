/* Small nonlinear fits with priors: the parameters that best explain a few measurements without
 * straying from what is known beforehand. Levenberg-Marquardt of GSL over the residuals and the
 * priors' own; Cauchy weights where a few measurements may be wrong.
 */
#ifndef UPDRAFT_MODEL_MAPFIT_H
#define UPDRAFT_MODEL_MAPFIT_H

#include <stddef.h>

#include "model/err.h"

enum { MAPFIT_MAX_PARAMS = 64 };

struct mapfit_problem {
    int n_params;
    const double *prior_mean, *prior_sd; /* n_params of each; sd > 0 */
    size_t n_obs;
    /* Writes n_obs residuals, each (predicted - measured) / its standard deviation. Finite. */
    void (*residuals)(void *context, const double *params, double *out);
    void *context;
    int robust; /* 1: residuals far beyond 2 standard deviations lose weight */
};

struct mapfit {
    int n_params;
    double value[MAPFIT_MAX_PARAMS], sd[MAPFIT_MAX_PARAMS]; /* of the posterior */
    /* Share of the prior's variance that the data removed: 0 nothing was learned, 1 the data alone
     * decide. */
    double learned[MAPFIT_MAX_PARAMS];
    double correlation[MAPFIT_MAX_PARAMS][MAPFIT_MAX_PARAMS];
    double rms; /* of the data's residuals, in standard deviations */
    int iterations;
};

/* STATUS_UNSUPPORTED where the residuals are not finite at the prior's mean or GSL finds no
 * descent; STATUS_FAILED without memory. No observation: the prior comes back. */
enum status mapfit_solve(const struct mapfit_problem *p, struct mapfit *fit, struct err *err);

#endif
