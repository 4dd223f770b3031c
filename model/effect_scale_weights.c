#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->pass.weight_scale.value *= d->amount;
    s->pass.scale.value *= d->other;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    (void)s;
    snprintf(text, size, "bytes of weights x %.3g, compute x %.3g [%.3g, %.3g]", e->amount.value,
             e->other.value, e->other.low, e->other.high);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 1e-3, 1000,
     "factor on the bytes of weights"},
    {"compute_factor", EFFECT_QTY, offsetof(struct effect, other), 0, 1e-3, 1000,
     "factor on the compute of a pass that comes with it"},
    {0},
};

const struct effect_type effect_scale_weights = {
    .name = "scale_weights",
    .doc = "the weights that a pass reads take a factor of their bytes, as with 4-bit weights",
    .fields = fields,
    .terms = TERM_COMPUTE,
    .apply = apply,
    .explain = explain,
};
