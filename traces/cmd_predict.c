/* predict: the latency of one allreduce, with interval and source. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "traces/command.h"
#include "traces/model_io.h"
#include "traces/predict_fabric.h"

struct question {
    const char *impl, *collective, *label;
    int ranks; /* 0: any, where there is one */
    int64_t bytes;
};

static int matches(const struct question *q, const struct cost *c, int any_impl)
{
    size_t n = strlen(q->impl);
    return strcmp(c->collective, q->collective) == 0 &&
           (q->label == NULL || strcmp(q->label, c->label) == 0) &&
           (any_impl || strcmp(c->impl, q->impl) == 0 ||
            (strncmp(c->impl, q->impl, n) == 0 && c->impl[n] == ':'));
}

static void append(char *list, size_t cap, const char *text)
{
    size_t n = strlen(list);
    if (n + strlen(text) + 3 < cap)
        snprintf(list + n, cap - n, "%s%s", n ? ", " : "", text);
    else if (n + 5 < cap && (n < 3 || strcmp(list + n - 3, "...") != 0))
        snprintf(list + n, cap - n, ", ...");
}

static int listed(const char *list, const char *text)
{
    size_t n = strlen(text);
    for (const char *p = list; (p = strstr(p, text)) != NULL; p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == '\0' || p[n] == ','))
            return 1;
    return 0;
}

/* What there is, for the message that says what there is not. */
static enum status not_measured(const struct question *q, const struct costs *cs, const char *path,
                                struct err *err)
{
    char list[600] = "", one[160];
    int same_impl = 0, several = 0, ranks = 0;
    for (size_t i = 0; i < cs->n; i++)
        same_impl |= matches(q, &cs->v[i], 0);
    for (size_t i = 0; i < cs->n; i++) {
        const struct cost *c = &cs->v[i];
        if (!matches(q, c, !same_impl))
            continue;
        several |= ranks != 0 && ranks != c->ranks;
        ranks = c->ranks;
        if (same_impl)
            snprintf(one, sizeof one, "%d", c->ranks);
        else
            snprintf(one, sizeof one, "%s (%d ranks)", c->impl, c->ranks);
        if (!listed(list, one))
            append(list, sizeof list, one);
    }
    if (same_impl && q->ranks == 0 && several)
        return err_set(err, STATUS_USAGE,
                       "%s: %s was measured at several rank counts; say --ranks "
                       "with one of %s",
                       path, q->impl, list);
    if (same_impl)
        return err_set(err, STATUS_UNSUPPORTED,
                       "%s: %s at %d ranks was never measured; at ranks %s "
                       "it was",
                       path, q->impl, q->ranks, list);
    if (list[0] != '\0')
        return err_set(err, STATUS_UNSUPPORTED, "%s: %s was never measured; there are %s", path,
                       q->impl, list);
    return err_set(err, STATUS_UNSUPPORTED, "%s: no %s%s%s was measured", path, q->collective,
                   q->label ? " with the label " : "", q->label ? q->label : "");
}

/* Whether another label would have answered too. */
static int several_labels(const struct question *q, const struct costs *cs, const struct cost *c)
{
    for (size_t i = 0; i < cs->n; i++)
        if (matches(q, &cs->v[i], 0) && cs->v[i].ranks == c->ranks &&
            strcmp(cs->v[i].label, c->label) != 0)
            return 1;
    return 0;
}

/* The cost that answers, or NULL. *n_matching is how many curves would. */
static const struct cost *find(const struct question *q, const struct costs *cs, int *n_matching)
{
    const struct cost *exact = NULL, *loose = NULL;
    int ranks = q->ranks;
    *n_matching = 0;
    for (size_t i = 0; i < cs->n; i++) {
        const struct cost *c = &cs->v[i];
        if (!matches(q, c, 0) || (ranks != 0 && c->ranks != ranks))
            continue;
        if (q->ranks == 0 && *n_matching > 0 && c->ranks != (exact ? exact->ranks : loose->ranks)) {
            *n_matching = 0;
            return NULL; /* several rank counts and none was asked for */
        }
        int is_exact = strcmp(c->impl, q->impl) == 0;
        if (is_exact && exact == NULL)
            exact = c;
        else if (!is_exact && loose == NULL)
            loose = c;
        ++*n_matching;
    }
    return exact ? exact : loose;
}

static enum status print(struct invocation *inv, const struct question *q, const struct cost *c,
                         int n_matching, struct err *err)
{
    double bytes = (double)q->bytes, lo, hi, us = cost_latency_us(c, bytes);
    cost_ci95(c, bytes, &lo, &hi);
    enum cost_source source = cost_source_at(c, bytes);
    if (inv->json) {
        cJSON *o = cJSON_CreateObject();
        double ci[] = {lo, hi};
        cJSON_AddStringToObject(o, "impl", c->impl);
        cJSON_AddNumberToObject(o, "ranks", c->ranks);
        cJSON_AddNumberToObject(o, "bytes", bytes);
        cJSON_AddNumberToObject(o, "latency_us", us);
        cJSON_AddItemToObject(o, "ci95", cJSON_CreateDoubleArray(ci, 2));
        cJSON_AddStringToObject(o, "source", cost_source_name(source));
        cJSON_AddStringToObject(o, "collective", c->collective);
        cJSON_AddStringToObject(o, "label", c->label);
        cJSON_AddNumberToObject(o, "curves_matching", n_matching);
        return print_json(inv->out, o, err);
    }
    fprintf(inv->out, "%.4g us [%.4g, %.4g]  %s of %.0f bytes, %s, %d ranks%s%s; %s\n", us, lo, hi,
            c->collective, bytes, c->impl, c->ranks, c->label[0] ? ", " : "", c->label,
            cost_source_name(source));
    if (source == COST_EXTRAPOLATED)
        fprintf(inv->out, "measured from %.0f to %.0f bytes: this is an extrapolation\n",
                c->min_bytes, c->max_bytes);
    return STATUS_OK;
}

static enum status run(struct invocation *inv, struct err *err)
{
    struct question q = {
        .impl = invocation_value(inv, "impl"),
        .collective = invocation_value(inv, "collective"),
        .label = invocation_value(inv, "label"),
    };
    int64_t ranks = 0;
    q.bytes = -1;
    enum status status = invocation_bytes(inv, "bytes", &q.bytes, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "ranks", 1, 1000000, &ranks, err);
    if (status != STATUS_OK)
        return status;
    if (q.impl == NULL || q.bytes < 0)
        return err_set(err, STATUS_USAGE,
                       "predict: --impl and --bytes are needed, as in "
                       "--impl nccl/ring/ll --bytes 43008");
    if (q.collective == NULL)
        q.collective = "allreduce";
    q.ranks = (int)ranks;
    int fabric = invocation_has(inv, "fabric");
    if (fabric && strcmp(q.collective, "allreduce") != 0)
        return err_set(err, STATUS_UNSUPPORTED, "--fabric prices allreduces, not %s", q.collective);
    if (!fabric && invocation_has(inv, "placement"))
        return err_set(err, STATUS_USAGE, "--placement needs --fabric");
    if (inv->n_args == 0)
        return fabric ? predict_on_fabric(inv, q.impl, q.ranks, q.bytes, err)
                      : err_set(err, STATUS_USAGE, "predict: a MODEL or --fabric is needed");
    struct costs cs = {0};
    const char *path = inv->args[0];
    status = costs_load(&cs, path, inv->log, err);
    if (status == STATUS_OK) {
        int n_matching;
        const struct cost *c = find(&q, &cs, &n_matching);
        if (c == NULL && fabric) /* what was measured wins; what was not is priced */
            status = predict_on_fabric(inv, q.impl, q.ranks, q.bytes, err);
        else if (c == NULL)
            status = not_measured(&q, &cs, path, err);
        else
            status = print(inv, &q, c, n_matching, err);
        if (status == STATUS_OK && c != NULL && n_matching > 1 && q.label == NULL)
            fprintf(inv->log, "updraft: note: %d curves match; this is %s%s%s%s%s%s%s\n",
                    n_matching, c->label[0] ? c->label : "without a label", c->dtype[0] ? ", " : "",
                    c->dtype, c->method[0] ? ", " : "", c->method, c->in_place ? ", in place" : "",
                    several_labels(&q, &cs, c) ? " (--label chooses)" : "");
    }
    costs_release(&cs);
    return status;
}

static const struct command_option options[] = {
    {"impl", "I", 0, "implementation, as in nccl/ring/ll"},
    {"bytes", "N", 0, "message size: 43008, 64K, 1MiB"},
    {"ranks", "R", 0, "number of ranks; may be left out where only one was measured"},
    {"label", "L", 0, "the curve with this label, where several match"},
    {"collective", "C", 0, "the operation (allreduce)"},
    {"fabric", "F", 0, "price what MODEL does not hold on this fabric: a preset, a file, a trace"},
    {"placement", "G,G,...", 0, "on the fabric: the GPU of each rank"},
    {0},
};

const struct command cmd_predict = {
    .name = "predict",
    .synopsis = "[MODEL] [--fabric F] --impl I --bytes N [--ranks R] [--label L] [--collective C]",
    .summary = "the latency of one allreduce, with its interval and where it comes from",
    .details = "MODEL is a model file that fit wrote, or a trace, which is then fitted. With "
               "--fabric, an\nallreduce that was not measured is priced from its schedule and the "
               "fabric's parameters.\n",
    .min_args = 0,
    .max_args = 1,
    .options = options,
    .run = run,
};
