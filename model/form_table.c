/* A table through every size that is not an outlier: monotone cubics in log-log (Steffen, Astron.
 * Astrophys. 239, 443 (1990)), with knots between measured sizes where three guesses are weighed
 * (fit_between). It never smooths a real step away: it passes through both of its sides.
 */
#include "model/fit.h"

static enum status fit(const struct point *p, int n, struct cost *c, double cov[3], struct err *err)
{
    (void)err;
    (void)cov;
    fit_knots(p, n, c);
    return STATUS_OK;
}

const struct fit_form fit_form_table = {
    .id = "table",
    .doc = "through every size, monotone between them",
    .min_sizes = 3,
    .fit = fit,
};
