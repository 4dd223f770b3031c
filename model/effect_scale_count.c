#include "model/effect.h"

#include <math.h>
#include <stdio.h>

/* A count is a whole number, so two of these round after each other; the order of the catalogue is
 * the order in which they are applied. */
static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->allreduce.count = (int)lround(scenario_allreduce_count(s) * d->amount);
    if (s->allreduce.count < 0)
        s->allreduce.count = 0;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    int now = scenario_allreduce_count(s);
    snprintf(text, size, "allreduces of a verify pass: %d become %.0f", now, now * e->amount.value);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 0, 100,
     "factor on the number of allreduces of a target pass"},
    {0},
};

const struct effect_type effect_scale_count = {
    .name = "scale_count",
    .doc = "a target pass has a factor of its allreduces",
    .fields = fields,
    .terms = TERM_WIRE,
    .apply = apply,
    .explain = explain,
};
