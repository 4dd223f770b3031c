#include "model/scenario.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct scenario_key scenario_keys[] = {
#define KEY(path, member, type, min, max, what_if, doc)                                            \
    {path, KEY_TYPE_##type, offsetof(struct scenario, member), min, max, what_if, doc},
#include "model/scenario_keys.def"
#undef KEY
};
const size_t scenario_n_keys = sizeof scenario_keys / sizeof scenario_keys[0];

const struct scenario_key *scenario_key_find(const char *path)
{
    for (size_t i = 0; i < scenario_n_keys; i++)
        if (strcmp(scenario_keys[i].path, path) == 0)
            return &scenario_keys[i];
    return NULL;
}

void *scenario_member(struct scenario *s, const struct scenario_key *key)
{
    return (char *)s + key->offset;
}

const void *scenario_member_const(const struct scenario *s, const struct scenario_key *key)
{
    return (const char *)s + key->offset;
}

static struct qty exact(double value)
{
    return (struct qty){.value = value, .low = value, .high = value};
}

void scenario_init(struct scenario *s)
{
    memset(s, 0, sizeof *s);
    s->ranks = s->batch = s->baseline.batch = 1;
    s->model.dtype_bytes = s->logits.dtype_bytes = 2;
    s->model.allreduces_per_layer = 2;
    s->model.embedding_allreduce = 1;
    strcpy(s->draft.method, "none");
    s->draft.topk = 1;
    s->draft.layers = 1;
    s->draft.tensor_parallel = 1;
    s->draft.allreduces_per_pass = 3;
    s->draft.scale = exact(1);
    s->draft.tree_scale = (struct qty){.value = 1, .low = 0.78, .high = 1.28, .assumed = 1};
    s->draft.accept_decay = (struct qty){.value = 0.95, .low = 0.91, .high = 0.99, .assumed = 1};
    s->allreduce.count = -1;
    s->allreduce.bytes_scale = 1;
    s->allreduce.latency_scale = s->allreduce.box_scale = exact(1);
    /* The spread of served over predicted savings in public step-by-step reports. */
    s->allreduce.insitu = (struct qty){.value = 1, .low = 0.65, .high = 1.74, .assumed = 1};
    s->logits.all_gather = 1;
    s->pass.bandwidth_efficiency =
        (struct qty){.value = 0.6, .low = 0.35, .high = 0.85, .assumed = 1};
    s->pass.scale = s->pass.weight_scale = s->pass.context_scale = exact(1);
    s->serve.prefill_chunk_tokens = 8192;
    s->measured.noise = 0.035;
    s->engine.memory_fraction = 0.9;
    s->hardware.p2p = 1;
    s->nccl.communicators = 1;
    s->cost.small_factor = s->cost.large_factor = s->cost.gather_factor = 1;
}

static enum status out_of_range(const struct scenario_key *key, double value, struct err *err)
{
    return err_set(err, STATUS_UNSUPPORTED, "%s = %g: a value from %g to %g was expected (%s)",
                   key->path, value, key->min, key->max, key->doc);
}

enum status scenario_set_number(struct scenario *s, const struct scenario_key *key, double value,
                                struct err *err)
{
    if (!isfinite(value) || ((value < key->min || value > key->max) && key->type != KEY_TYPE_TEXT))
        return out_of_range(key, value, err);
    void *p = scenario_member(s, key);
    switch (key->type) {
    case KEY_TYPE_INT:
    case KEY_TYPE_BOOL:
        if (value != floor(value))
            return err_set(err, STATUS_UNSUPPORTED, "%s = %g: a whole number was expected",
                           key->path, value);
        *(int *)p = (int)value;
        return STATUS_OK;
    case KEY_TYPE_NUM:
        *(double *)p = value;
        return STATUS_OK;
    case KEY_TYPE_QTY:
        *(struct qty *)p = (struct qty){value, value, value, 1, 0};
        return STATUS_OK;
    case KEY_TYPE_LIST:
        *(struct qty_list *)p = (struct qty_list){.n = 1, .v = {value}, .uniform = 1};
        return STATUS_OK;
    case KEY_TYPE_TEXT:
    case KEY_TYPE_CURVE:
        break;
    }
    return err_set(err, STATUS_USAGE, "%s is not a number", key->path);
}

static enum status set_list(struct scenario *s, const struct scenario_key *key, const char *text,
                            struct err *err)
{
    struct qty_list list = {0};
    for (const char *p = text;;) {
        char *end;
        double x = strtod(p, &end);
        if (end == p || (*end != ',' && *end != '\0') || !isfinite(x))
            return err_set(err, STATUS_USAGE, "%s=%s: a number or a list as 0.8,0.7 was expected",
                           key->path, text);
        if (x < key->min || x > key->max)
            return out_of_range(key, x, err);
        if (list.n == SCENARIO_MAX_LIST)
            return err_set(err, STATUS_UNSUPPORTED, "%s: more than %d numbers", key->path,
                           SCENARIO_MAX_LIST);
        list.v[list.n++] = x;
        if (*end == '\0')
            break;
        p = end + 1;
    }
    list.uniform = list.n == 1;
    *(struct qty_list *)scenario_member(s, key) = list;
    return STATUS_OK;
}

enum status scenario_set(struct scenario *s, const char *path, const char *text, struct err *err)
{
    const struct scenario_key *key = scenario_key_find(path);
    if (key == NULL)
        return err_set(err, STATUS_USAGE,
                       "no scenario key \"%.80s\" (updraft scenario --keys lists them)", path);
    if (key->type == KEY_TYPE_TEXT) {
        if (strlen(text) >= SCENARIO_TEXT)
            return err_set(err, STATUS_USAGE, "%s: the text is too long", path);
        strcpy(scenario_member(s, key), text);
        return STATUS_OK;
    }
    if (key->type == KEY_TYPE_LIST)
        return set_list(s, key, text, err);
    if (key->type == KEY_TYPE_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
        return scenario_set_number(s, key, strcmp(text, "true") == 0, err);
    char *end;
    errno = 0;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || errno == ERANGE || !isfinite(x) ||
        key->type == KEY_TYPE_CURVE)
        return err_set(err, STATUS_USAGE, "%s=%.80s: a number was expected", path, text);
    return scenario_set_number(s, key, x, err);
}

int scenario_speculates(const struct scenario *s)
{
    return s->draft.num_steps > 0 && strcmp(s->draft.method, "none") != 0;
}

int scenario_verify_tokens(const struct scenario *s)
{
    if (!scenario_speculates(s))
        return 1;
    int k = s->draft.num_steps, topk = s->draft.topk;
    if (topk == 1)
        return k + 1;
    int budget = s->draft.num_draft_tokens > 0 ? s->draft.num_draft_tokens : k + 1;
    /* Each step keeps topk branches and proposes topk children of each. */
    long size = 1L + topk + (long)(k - 1) * topk * topk;
    return budget < size ? budget : (int)size;
}

int scenario_allreduce_count(const struct scenario *s)
{
    if (s->allreduce.count >= 0)
        return s->allreduce.count;
    if (s->ranks < 2)
        return 0;
    return s->model.layers * s->model.allreduces_per_layer + (s->model.embedding_allreduce ? 1 : 0);
}

static enum status check_qty(const struct scenario_key *key, const struct qty *q, struct err *err)
{
    if (!(q->low <= q->value && q->value <= q->high))
        return err_set(err, STATUS_UNSUPPORTED, "%s: low %g, value %g, high %g are not in order",
                       key->path, q->low, q->value, q->high);
    return STATUS_OK;
}

enum status scenario_check(const struct scenario *s, struct err *err)
{
    for (size_t i = 0; i < scenario_n_keys; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        if (key->type != KEY_TYPE_QTY)
            continue;
        enum status status = check_qty(key, scenario_member_const(s, key), err);
        if (status != STATUS_OK)
            return status;
    }
    if (s->model.layers < 1 || s->model.hidden < 1)
        return err_set(err, STATUS_UNSUPPORTED,
                       "model.layers and model.hidden are needed: they give "
                       "the number and the size of the allreduces");
    if (s->model.experts > 0 && s->model.experts_per_token > s->model.experts)
        return err_set(err, STATUS_UNSUPPORTED,
                       "model.experts_per_token %d exceeds model.experts %d",
                       s->model.experts_per_token, s->model.experts);
    if (scenario_speculates(s) && s->draft.accept_rate.n == 0)
        return err_set(err, STATUS_UNSUPPORTED,
                       "draft.accept_rate is needed where draft.num_steps > 0");
    if (s->pass.curve.n == 0 && !s->pass.fixed_us.set && !s->baseline.tokens_per_s.set)
        return err_set(err, STATUS_UNSUPPORTED,
                       "the compute of a pass is unknown: give pass.curve (plain step by rows), "
                       "baseline.tokens_per_s or pass.fixed_us");
    if (s->baseline.tokens_per_s.set && s->baseline.tokens_per_s.low <= 0)
        return err_set(err, STATUS_UNSUPPORTED, "baseline.tokens_per_s must be above 0");
    return STATUS_OK;
}

static enum status find(const struct costs *costs, const char *impl, int ranks,
                        const struct cost **found, struct err *err)
{
    *found = costs == NULL ? NULL : costs_find(costs, "allreduce", impl, ranks);
    if (*found != NULL)
        return STATUS_OK;
    char list[512] = "";
    for (size_t i = 0; costs != NULL && i < costs->n; i++) {
        size_t n = strlen(list);
        int again = 0; /* another way of timing it */
        for (size_t k = 0; k < i && !again; k++)
            again = strcmp(costs->v[k].collective, "allreduce") == 0 &&
                    costs->v[k].ranks == costs->v[i].ranks &&
                    strcmp(costs->v[k].impl, costs->v[i].impl) == 0;
        if (!again && strcmp(costs->v[i].collective, "allreduce") == 0 && n + 2 < sizeof list)
            snprintf(list + n, sizeof list - n, "%s%s at %d ranks", n ? ", " : "", costs->v[i].impl,
                     costs->v[i].ranks);
    }
    return err_set(
        err, STATUS_UNSUPPORTED,
        "allreduce \"%s\" at %d ranks was never measured; there are: %s. Measure it, or set "
        "allreduce.latency_us",
        impl, ranks, list[0] ? list : "none");
}

enum status scenario_bind(struct scenario *s, const struct costs *costs, struct err *err)
{
    s->cost.small = s->cost.large = s->cost.gather = NULL;
    if (s->ranks < 2)
        return STATUS_OK;
    if (costs != NULL)
        s->cost.gather = costs_find(costs, "all_gather", s->allreduce.impl, s->ranks);
    const int must = !s->allreduce.latency_us.set;
    struct err ignored;
    enum status status =
        find(costs, s->allreduce.impl, s->ranks, &s->cost.small, must ? err : &ignored);
    if (status != STATUS_OK && must)
        return status;
    if (s->allreduce.large_impl[0] != '\0' && s->allreduce.cutoff_bytes > 0) {
        status =
            find(costs, s->allreduce.large_impl, s->ranks, &s->cost.large, must ? err : &ignored);
        if (status != STATUS_OK && must)
            return status;
    }
    return STATUS_OK;
}

void scenario_anchor(struct scenario *s)
{
    s->ref = (struct scenario_reference){
        .set = 1,
        .ranks = s->ranks,
        .batch = s->baseline.batch,
        .count = scenario_allreduce_count(s),
        .context_tokens = s->context_tokens,
        .bytes_scale = s->allreduce.bytes_scale,
        .cutoff_bytes = s->allreduce.cutoff_bytes,
        .latency_us = s->allreduce.latency_us.set ? s->allreduce.latency_us.value : (double)NAN,
        .latency_scale = s->allreduce.latency_scale.value,
        .extra_us = s->allreduce.extra_us.value,
        .skew_us = s->allreduce.skew_us.value,
        .all_gather = s->logits.all_gather,
        .argmax = s->logits.argmax,
        .logits_latency_us = s->logits.latency_us.set ? s->logits.latency_us.value : (double)NAN,
        .host_step_us = s->host.step_us.value,
        .weight_scale = s->pass.weight_scale.value,
        .context_scale = s->pass.context_scale.value,
        .cost = s->cost,
    };
}
