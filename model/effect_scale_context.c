#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->pass.context_scale.value *= d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    (void)s;
    snprintf(text, size, "bytes of KV cache x %.3g [%.3g, %.3g]", e->amount.value, e->amount.low,
             e->amount.high);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 0, 1000,
     "factor on the bytes of KV cache"},
    {0},
};

const struct effect_type effect_scale_context = {
    .name = "scale_context",
    .doc = "the KV cache takes a factor of its bytes, as with an 8-bit cache",
    .fields = fields,
    .terms = TERM_COMPUTE,
    .apply = apply,
    .explain = explain,
};
