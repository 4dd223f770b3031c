#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->allreduce.bytes_scale *= d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    snprintf(text, size, "message x %.3g: %.0f bytes a row become %.0f", e->amount.value,
             s->model.hidden * s->model.dtype_bytes,
             s->model.hidden * s->model.dtype_bytes * e->amount.value);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 1e-3, 1000,
     "factor on the bytes of an allreduce"},
    {0},
};

const struct effect_type effect_scale_bytes = {
    .name = "scale_bytes",
    .doc = "messages of a factor of their size, as for a quantised allreduce",
    .fields = fields,
    .terms = TERM_WIRE,
    .apply = apply,
    .explain = explain,
};
