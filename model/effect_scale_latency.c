#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->allreduce.latency_scale.value *= d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    (void)s;
    snprintf(text, size, "latency of each allreduce x %.3g [%.3g, %.3g]", e->amount.value,
             e->amount.low, e->amount.high);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 0, 1000,
     "factor on the latency of an allreduce"},
    {0},
};

const struct effect_type effect_scale_latency = {
    .name = "scale_latency",
    .doc = "every allreduce takes a factor of what it took",
    .fields = fields,
    .terms = TERM_WIRE,
    .affine = AFFINE_WIRE_SCALE,
    .apply = apply,
    .explain = explain,
};
