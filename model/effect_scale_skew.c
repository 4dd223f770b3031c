#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->allreduce.skew_us.value *= d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    snprintf(text, size, "wait for the slowest rank x %.3g: %.3g us become %.3g", e->amount.value,
             s->allreduce.skew_us.value, s->allreduce.skew_us.value * e->amount.value);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 0, 1000,
     "factor on the wait for the slowest rank"},
    {0},
};

const struct effect_type effect_scale_skew = {
    .name = "scale_skew",
    .doc = "the last rank is late by a factor of what it was",
    .fields = fields,
    .terms = TERM_WIRE,
    .apply = apply,
    .explain = explain,
};
