#include "model/option.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/draw.h"
#include "model/evaluate.h"

int version_compare(const char *a, const char *b)
{
    while (*a != '\0' || *b != '\0') {
        char *end_a, *end_b;
        unsigned long x = strtoul(a, &end_a, 10), y = strtoul(b, &end_b, 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = end_a + strcspn(end_a, ".");
        b = end_b + strcspn(end_b, ".");
        a += *a == '.';
        b += *b == '.';
    }
    return 0;
}

static double number_of(const struct scenario *s, const struct scenario_key *key)
{
    const void *p = scenario_member_const(s, key);
    switch (key->type) {
    case KEY_TYPE_INT:
    case KEY_TYPE_BOOL:
        return *(const int *)p;
    case KEY_TYPE_NUM:
        return *(const double *)p;
    case KEY_TYPE_QTY:
        return ((const struct qty *)p)->value;
    case KEY_TYPE_LIST:
        return ((const struct qty_list *)p)->v[0];
    case KEY_TYPE_TEXT:
    case KEY_TYPE_CURVE:
        break;
    }
    return (double)NAN;
}

static int text_holds(const struct condition *c, const char *text)
{
    if (text[0] == '\0')
        return CONDITION_UNKNOWN;
    int found = c->n_words == 0;
    for (int i = 0; i < c->n_words; i++)
        found |= strcmp(text, c->words[i]) == 0;
    if (c->version_min[0] && version_compare(text, c->version_min) < 0)
        return CONDITION_NO;
    if (c->version_below[0] && version_compare(text, c->version_below) >= 0)
        return CONDITION_NO;
    return found ? CONDITION_YES : CONDITION_NO;
}

int condition_holds(const struct condition *c, const struct scenario *s)
{
    if (c->key == NULL)
        return CONDITION_YES;
    if (c->key->type == KEY_TYPE_TEXT)
        return text_holds(c, scenario_member_const(s, c->key));
    double x = number_of(s, c->key);
    /* A number that is 0 where 0 makes no sense was not given. */
    if (x == 0 && c->key->type == KEY_TYPE_NUM)
        return CONDITION_UNKNOWN;
    int found = c->n_numbers == 0;
    for (int i = 0; i < c->n_numbers; i++)
        found |= x == c->numbers[i];
    return found && (!c->has_min || x >= c->min) && (!c->has_max || x <= c->max) ? CONDITION_YES
                                                                                 : CONDITION_NO;
}

void condition_text(const struct condition *c, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "%s", c->key->path);
#define ADD(...)                                                                                   \
    do {                                                                                           \
        if (n < size)                                                                              \
            n += (size_t)snprintf(text + n, size - n, __VA_ARGS__);                                \
    } while (0)
    if (c->has_min)
        ADD(" at least %g", c->min);
    if (c->has_max)
        ADD("%s at most %g", c->has_min ? " and" : "", c->max);
    for (int i = 0; i < c->n_numbers; i++)
        ADD("%s%g", i ? " or " : " = ", c->numbers[i]);
    for (int i = 0; i < c->n_words; i++)
        ADD("%s%s", i ? " or " : " = ", c->words[i]);
    if (c->version_min[0])
        ADD(" at least %s", c->version_min);
    if (c->version_below[0])
        ADD("%s below %s", c->version_min[0] ? " and" : "", c->version_below);
#undef ADD
}

void catalogue_release(struct catalogue *c)
{
    free(c->v);
    *c = (struct catalogue){0};
}

int catalogue_find(const struct catalogue *c, const char *id)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->v[i].id, id) == 0)
            return i;
    return -1;
}

static int set_same_key(const struct option *a, const struct option *b)
{
    for (int i = 0; i < a->n_effects; i++)
        for (int j = 0; j < b->n_effects; j++) {
            const char *x = effect_sets(&a->effects[i]), *y = effect_sets(&b->effects[j]);
            if (x != NULL && y != NULL && strcmp(x, y) == 0)
                return 1;
        }
    return 0;
}

void catalogue_close(struct catalogue *c)
{
    for (int i = 0; i < c->n; i++)
        for (int j = 0; j < c->n; j++)
            if (i != j && ((c->v[j].excludes >> i & 1) || set_same_key(&c->v[i], &c->v[j])))
                c->v[i].excludes |= (uint64_t)1 << j;
}

/* Everything that option i needs, through others too. */
static uint64_t all_needs(const struct catalogue *c, int i)
{
    uint64_t needs = c->v[i].needs, last;
    do {
        last = needs;
        for (int j = 0; j < c->n; j++)
            if (needs >> j & 1)
                needs |= c->v[j].needs;
    } while (needs != last);
    return needs;
}

int catalogue_cycle(const struct catalogue *c)
{
    for (int i = 0; i < c->n; i++)
        if (all_needs(c, i) >> i & 1)
            return i;
    return -1;
}

int catalogue_contradiction(const struct catalogue *c)
{
    for (int i = 0; i < c->n; i++) {
        uint64_t needs = all_needs(c, i);
        if (needs & c->v[i].excludes)
            return i;
        for (int j = 0; j < c->n; j++)
            if ((needs >> j & 1) && (needs & c->v[j].excludes))
                return i;
    }
    return -1;
}

/* Whether the scenario that it makes is today's: nothing that prediction or memory reads differs.
 */
static int changes_nothing(const struct option *o, const struct scenario *s)
{
    struct option_draw d;
    struct scenario after = *s;
    option_mean(o, &d);
    for (int i = 0; i < o->n_effects; i++) {
        const struct effect *e = &o->effects[i];
        /* An uncertain effect may change something even where its middle does not. */
        if (e->amount.low < e->amount.high || e->other.low < e->other.high)
            return 0;
    }
    option_apply(o, &d, &after);
    for (size_t i = 0; i < scenario_n_keys; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        const void *a = scenario_member_const(s, key), *b = scenario_member_const(&after, key);
        if (key->type == KEY_TYPE_CURVE)
            continue; /* no effect edits one */
        if (key->type == KEY_TYPE_TEXT ? strcmp(a, b) != 0
                                       : number_of(s, key) != number_of(&after, key))
            return 0;
        if (key->type == KEY_TYPE_QTY &&
            ((const struct qty *)a)->set != ((const struct qty *)b)->set)
            return 0;
        if (key->type == KEY_TYPE_LIST && memcmp(a, b, sizeof(struct qty_list)) != 0)
            return 0;
    }
    return s->cost.small == after.cost.small && s->cost.large == after.cost.large;
}

int option_possible(struct option *o, const struct scenario *s, const struct costs *costs,
                    char *reason, size_t size)
{
    for (int i = 0; i < o->n_requirements; i++) {
        const struct requirement *r = &o->requirements[i];
        if (condition_holds(&r->when, s) != CONDITION_YES)
            continue;
        int holds = condition_holds(&r->must, s);
        if (holds == CONDITION_YES)
            continue;
        char need[200], have[SCENARIO_TEXT + 8];
        condition_text(&r->must, need, sizeof need);
        if (holds == CONDITION_UNKNOWN)
            snprintf(have, sizeof have, "not given");
        else if (r->must.key->type == KEY_TYPE_TEXT)
            snprintf(have, sizeof have, "%s", (const char *)scenario_member_const(s, r->must.key));
        else
            snprintf(have, sizeof have, "%g", number_of(s, r->must.key));
        snprintf(reason, size, "needs %s, it is %s%s%s", need, have, r->why[0] ? ": " : "", r->why);
        return 0;
    }
    for (int i = 0; i < o->n_effects; i++) {
        struct err err;
        if (effect_bind(&o->effects[i], s, costs, &err) != STATUS_OK) {
            snprintf(reason, size, "%s", err.msg);
            return 0;
        }
    }
    if (changes_nothing(o, s)) {
        snprintf(reason, size, "already in place: it would change nothing");
        return 0;
    }
    return 1;
}

unsigned option_terms(const struct option *o)
{
    unsigned terms = 0;
    for (int i = 0; i < o->n_effects; i++)
        terms |= effect_terms(&o->effects[i]);
    return terms;
}

static uint64_t hash(const char *kind, const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *p = kind; *p != '\0'; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    for (const char *p = name; *p != '\0'; p++)
        h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return h;
}

/* The luck of an implementation: the same in every option that uses it. */
static double impl_normal(const struct cost *c, uint64_t seed, uint64_t index)
{
    if (c == NULL)
        return 0;
    struct rng r;
    rng_init(&r, seed ^ hash("implementation ", c->impl), index);
    return rng_normal(&r);
}

/* Triangular between low and high with its mode at likely. */
static double effort_quantile(const struct option *o, double u)
{
    double low = o->effort_low, high = o->effort_high, mode = o->effort_likely;
    if (!(low < high))
        return mode;
    double at = (mode - low) / (high - low);
    return u < at ? low + sqrt(u * (high - low) * (mode - low))
                  : high - sqrt((1 - u) * (high - low) * (high - mode));
}

double option_mean_effort(const struct option *o)
{
    return (o->effort_low + o->effort_likely + o->effort_high) / 3;
}

void option_sample(const struct option *o, const struct scenario *mean, uint64_t seed,
                   uint64_t index, struct option_draw *d)
{
    struct rng r;
    rng_init(&r, seed ^ hash("option ", o->id), index);
    double message = (double)mean->batch * scenario_verify_tokens(mean) * mean->model.hidden *
                     mean->model.dtype_bytes;
    d->works = rng_uniform(&r) < o->p_works;
    d->effort_days = effort_quantile(o, rng_uniform(&r));
    for (int i = 0; i < o->n_effects; i++) {
        const struct effect *e = &o->effects[i];
        double z_amount = rng_normal(&r), z_other = rng_normal(&r);
        d->effect[i] = effect_sample(e, z_amount, z_other, impl_normal(e->small, seed, index),
                                     impl_normal(e->large, seed, index), message);
    }
}

void option_mean(const struct option *o, struct option_draw *d)
{
    d->works = 1;
    d->effort_days = option_mean_effort(o);
    for (int i = 0; i < o->n_effects; i++)
        d->effect[i] = effect_mean(&o->effects[i]);
}

void option_apply(const struct option *o, const struct option_draw *d, struct scenario *s)
{
    if (!d->works)
        return;
    for (int i = 0; i < o->n_effects; i++)
        o->effects[i].type->apply(&o->effects[i], &d->effect[i], s);
}
