#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    (void)d;
    s->logits.argmax = 1;
    s->logits.latency_us.set = 0;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    (void)e;
    snprintf(text, size, "logits exchange of %.0f bytes a row becomes %d",
             s->model.vocab * s->logits.dtype_bytes, 8 * s->ranks);
}

static const struct effect_field fields[] = {
    {0},
};

const struct effect_type effect_gather_argmax = {
    .name = "gather_argmax",
    .doc = "the ranks exchange their best entry of each row instead of the logits",
    .fields = fields,
    .sets = "logits.argmax",
    .terms = TERM_WIRE,
    .apply = apply,
    .explain = explain,
};
