#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->host.step_us.value *= d->amount;
    s->host.speculative_us.value *= d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    snprintf(text, size, "exposed host time x %.3g: %.3g us become %.3g", e->amount.value,
             s->host.step_us.value + s->host.speculative_us.value,
             (s->host.step_us.value + s->host.speculative_us.value) * e->amount.value);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 0, 1000,
     "factor on exposed host time"},
    {0},
};

const struct effect_type effect_scale_host = {
    .name = "scale_host",
    .doc = "the host time that a cycle exposes takes a factor of its value",
    .fields = fields,
    .terms = TERM_HOST,
    .apply = apply,
    .explain = explain,
};
