#include "model/effect.h"

#include <stdio.h>

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    (void)e;
    s->engine.workspace_bytes += d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    (void)s;
    snprintf(text, size, "%.4g MiB of device memory on every rank", e->amount.value / 1048576);
}

static const struct effect_field fields[] = {
    {"bytes", EFFECT_QTY, offsetof(struct effect, amount), 1, 0, 1e13, "bytes on every rank"},
    {0},
};

const struct effect_type effect_workspace = {
    .name = "workspace",
    .doc = "device memory that every rank gives to it",
    .fields = fields,
    .terms = 0,
    .apply = apply,
    .explain = explain,
};
