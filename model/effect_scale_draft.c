#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->draft.scale.value *= d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    (void)s;
    snprintf(text, size, "draft passes x %.3g [%.3g, %.3g]", e->amount.value, e->amount.low,
             e->amount.high);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 0, 1000,
     "factor on the draft's passes"},
    {0},
};

const struct effect_type effect_scale_draft = {
    .name = "scale_draft",
    .doc = "the draft's passes take a factor of their time",
    .fields = fields,
    .terms = TERM_DRAFT,
    .apply = apply,
    .explain = explain,
};
