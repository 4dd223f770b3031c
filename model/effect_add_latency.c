#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->allreduce.extra_us.value += d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    snprintf(text, size, "%+.3g us [%+.3g, %+.3g] on each of %d allreduces", e->amount.value,
             e->amount.low, e->amount.high, scenario_allreduce_count(s));
}

static const struct effect_field fields[] = {
    {"us", EFFECT_QTY, offsetof(struct effect, amount), 1, -1e5, 1e5,
     "microseconds, negative where it saves"},
    {0},
};

const struct effect_type effect_add_latency = {
    .name = "add_latency",
    .doc = "microseconds added to every allreduce: quantising, or, negative, what a fusion saves "
           "beside it",
    .fields = fields,
    .terms = TERM_WIRE,
    .affine = AFFINE_WIRE_ADD,
    .apply = apply,
    .explain = explain,
};
