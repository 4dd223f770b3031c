/* Hockney: alpha + beta * n, one straight line (R. Hockney, Parallel Computing 20, 389 (1994)). */
#include "model/fit.h"

static enum status fit(const struct point *p, int n, struct cost *c, double cov[3], struct err *err)
{
    double alpha, beta;
    enum status status = fit_line(p, n, &alpha, &beta, cov, err);
    if (status != STATUS_OK)
        return status;
    c->form = COST_SEGMENTS;
    c->n_segments = 1;
    c->segments[0] = (struct cost_segment){p[0].bytes, p[n - 1].bytes, alpha, beta};
    return STATUS_OK;
}

const struct fit_form fit_form_hockney = {
    .id = "hockney",
    .doc = "one straight line, alpha + beta n",
    .min_sizes = 2,
    .fit = fit,
};
