#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    struct qty_list *p = &s->draft.accept_rate;
    for (int i = 0; i < p->n; i++) {
        p->v[i] *= d->amount;
        if (p->v[i] > 1)
            p->v[i] = 1;
    }
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    const struct qty_list *p = &s->draft.accept_rate;
    snprintf(text, size, "acceptance x %.3g [%.3g, %.3g]: the first draft's %.3g becomes %.3g",
             e->amount.value, e->amount.low, e->amount.high, p->n ? p->v[0] : 0,
             p->n ? p->v[0] * e->amount.value : 0);
}

static const struct effect_field fields[] = {
    {"factor", EFFECT_QTY, offsetof(struct effect, amount), 1, 0, 10,
     "factor on the probability that a draft is accepted"},
    {0},
};

const struct effect_type effect_scale_accept = {
    .name = "scale_accept",
    .doc = "drafts are accepted with a factor of today's probability",
    .fields = fields,
    .terms = TERM_TOKENS,
    .apply = apply,
    .explain = explain,
};
