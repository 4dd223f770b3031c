#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->pass.scale.value *= d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    (void)s;
    snprintf(text, size, "compute of the verify pass x %.3g [%.3g, %.3g]", e->amount.value,
             e->amount.low, e->amount.high);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 1e-3, 1000,
     "factor on the compute of a pass"},
    {0},
};

const struct effect_type effect_scale_compute = {
    .name = "scale_compute",
    .doc = "the compute of a target pass takes a factor of its time",
    .fields = fields,
    .terms = TERM_COMPUTE,
    .affine = AFFINE_COMPUTE_SCALE,
    .apply = apply,
    .explain = explain,
};
