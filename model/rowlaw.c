#include "model/rowlaw.h"

#include <math.h>
#include <stddef.h>

const struct rowlaw rowlaw_prior_mean = {
    .growth = 1.2, .growth_split = 0.1, .fixed = 0.4, .single = 0.3};
const struct rowlaw rowlaw_prior_sd = {
    .growth = 0.3, .growth_split = 0.1, .fixed = 0.3, .single = 0.1};

double rowlaw_curve_us(const struct rowlaw *law, const struct qty_curve *c, double rows,
                       double split, int *beyond)
{
    const int last = c->n - 1;
    *beyond |= rows > c->x[last] || rows < c->x[0];
    if (rows <= c->x[0])
        return c->y[0];
    if (c->n == 1)
        return c->y[0] * pow(rows / c->x[0], law->single);
    if (rows > c->x[last]) {
        int from = last - 1;
        while (from > 0 && c->x[from] * 4 > c->x[last])
            from--;
        double e = log(c->y[last] / c->y[from]) / log(c->x[last] / c->x[from]);
        double growth = law->growth + law->growth_split * log2(split);
        return c->y[last] * pow(rows / c->x[last], fmax(e, 0) * growth);
    }
    int i = 0;
    while (rows > c->x[i + 1])
        i++;
    if (rows == c->x[i + 1])
        return c->y[i + 1];
    double t = log(rows / c->x[i]) / log(c->x[i + 1] / c->x[i]);
    return c->y[i] * pow(c->y[i + 1] / c->y[i], t);
}

double rowlaw_step_us(const struct rowlaw *law, const struct qty_curve *own,
                      const struct qty_curve *zero, double rows, double split, int *beyond)
{
    const double last = own->x[own->n - 1];
    if (zero == NULL || zero == own || (own->n > 1 && rows <= last) || zero->x[zero->n - 1] <= last)
        return rowlaw_curve_us(law, own, rows, split, beyond);
    int ignored = 0;
    double at = rowlaw_curve_us(law, zero, last, split, &ignored);
    double context = fmax(own->y[own->n - 1] - at, 0);
    *beyond = 1;
    return rowlaw_curve_us(law, zero, rows, split, &ignored) +
           context * pow(rows / last, 1 - law->fixed / split);
}
