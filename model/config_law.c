#include "model/config_law.h"

#include <math.h>

const double config_law_prior_mean[CONFIG_LAW_PARAMS] = {1.0, 0.08, 0.1, 0.02, 0.7, 0.3};
const double config_law_prior_sd[CONFIG_LAW_PARAMS] = {0.3, 0.06, 0.15, 0.04, 0.4, 0.4};

double config_law_us(const double *p, const struct config_law_run *r)
{
    double q = p[CONFIG_LAW_OWN] * (r->plain_us - r->step_us) +
               p[CONFIG_LAW_OTHERS] * r->step_us * r->excess;
    double cycle = p[CONFIG_LAW_BASE] + p[CONFIG_LAW_DRAFT] * r->num_steps;
    if (r->topk > 1)
        cycle += p[CONFIG_LAW_TREE] + p[CONFIG_LAW_TREE_DRAFT] * r->num_steps;
    return fmax(q + r->step_us * cycle / r->tau, 1e-3 * r->step_us);
}
