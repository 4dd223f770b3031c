#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->draft.tensor_parallel = 0;
    s->draft.scale.value *= d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    snprintf(text, size,
             "no collectives in %d draft passes and the extend pass (%d allreduces); draft passes "
             "x %.3g "
             "[%.3g, %.3g]",
             s->draft.num_steps > 0 ? s->draft.num_steps - 1 : 0,
             s->draft.num_steps * s->draft.allreduces_per_pass, e->amount.value, e->amount.low,
             e->amount.high);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 0, 1000,
     "factor on the draft's passes: each rank reads all of its weights"},
    {0},
};

const struct effect_type effect_draft_local = {
    .name = "draft_local",
    .doc = "every rank runs the whole draft: no collectives in it, more weights to read",
    .fields = fields,
    .sets = "draft.tensor_parallel",
    .terms = TERM_DRAFT | TERM_WIRE,
    .apply = apply,
    .explain = explain,
};
