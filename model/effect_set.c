#include "model/effect.h"

#include <stdio.h>
#include <string.h>

static enum status check(const struct effect *e, struct err *err)
{
    if (e->key == NULL)
        return err_set(err, STATUS_INPUT, "\"key\" is missing");
    if (!e->key->what_if)
        return err_set(err, STATUS_INPUT, "%s restates what was measured, so no option can set it",
                       e->key->path);
    if (e->key->type == KEY_TYPE_TEXT || e->key->type == KEY_TYPE_CURVE)
        return err_set(err, STATUS_INPUT, "%s is no number (replace_impl sets an implementation)",
                       e->key->path);
    if (strcmp(e->key->path, "ranks") == 0)
        return err_set(err, STATUS_INPUT,
                       "other ranks need other costs: ask with --set ranks=N instead");
    struct scenario s;
    scenario_init(&s);
    enum status status = STATUS_OK;
    if (!e->amount.set)
        return err_set(err, STATUS_INPUT, "\"value\" is missing");
    if (e->amount.low < e->amount.high &&
        (e->key->type == KEY_TYPE_INT || e->key->type == KEY_TYPE_BOOL))
        return err_set(err, STATUS_INPUT, "%s is a whole number and takes no interval",
                       e->key->path);
    const double ends[] = {e->amount.low, e->amount.value, e->amount.high};
    for (int i = 0; i < 3 && status == STATUS_OK; i++)
        status = scenario_set_number(&s, e->key, ends[i], err);
    return status == STATUS_OK ? STATUS_OK : STATUS_INPUT;
}

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    double value = d->amount;
    if (value < e->key->min)
        value = e->key->min;
    if (value > e->key->max)
        value = e->key->max;
    /* Checked above, so it cannot fail. */
    (void)scenario_set_number(s, e->key, value, NULL);
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    const void *now = scenario_member_const(s, e->key);
    double from = 0;
    if (e->key->type == KEY_TYPE_INT || e->key->type == KEY_TYPE_BOOL)
        from = *(const int *)now;
    else if (e->key->type == KEY_TYPE_NUM)
        from = *(const double *)now;
    else if (e->key->type == KEY_TYPE_QTY)
        from = ((const struct qty *)now)->value;
    else
        from = ((const struct qty_list *)now)->v[0];
    snprintf(text, size, "%s: %.6g becomes %.6g", e->key->path, from, e->amount.value);
}

static const struct effect_field fields[] = {
    {"key", EFFECT_KEY, offsetof(struct effect, key), 1, 0, 0,
     "a scenario key that asks what if, by its dotted path"},
    {"value", EFFECT_QTY, offsetof(struct effect, amount), 1, -1e15, 1e15, "its new value"},
    {0},
};

const struct effect_type effect_set = {
    .name = "set",
    .doc = "sets a key of the scenario",
    .fields = fields,
    .check = check,
    .apply = apply,
    .explain = explain,
};
