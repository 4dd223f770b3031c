/* crossover: the sizes at which the best implementation changes, on a fabric or in a model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "model/crossover.h"
#include "model/synth.h"
#include "traces/command.h"
#include "traces/fabric_io.h"
#include "traces/model_io.h"

enum { MOST_IMPLS = 64 };

/* Where latencies come from: a fabric (f set), or costs. */
struct contest {
    struct fabric *f;
    struct synth *s;
    int ranks, n;
    const int *placement;
    char name[MOST_IMPLS][128];
    struct cost *cost[MOST_IMPLS]; /* owned by costs */
    struct costs costs;
};

static void price(struct contest *c, int i, double bytes, struct synth_estimate *e)
{
    struct synth_query q = {c->name[i], c->ranks, bytes, c->placement};
    if (synth_price(c->s, c->f, &q, e, NULL) != STATUS_OK) {
        memset(e, 0, sizeof *e); /* out of memory only: all else was checked before */
        e->us = INFINITY;
    }
}

static double us_of(void *context, int i, double bytes)
{
    struct contest *c = context;
    if (c->cost[i] != NULL)
        return cost_latency_us(c->cost[i], bytes);
    struct synth_estimate e;
    price(c, i, bytes, &e);
    return e.us;
}

/* Two prices share the box's parameters, so what is unsure about them moves together: a parameter
 * counts by the difference of its effects. The model's own errors are taken as independent. */
static double sigma_of(void *context, int i, int j, double bytes)
{
    struct contest *c = context;
    if (c->cost[i] != NULL || c->cost[j] != NULL)
        return hypot(cost_sigma(c->cost[i], bytes), cost_sigma(c->cost[j], bytes));
    struct synth_estimate a, b;
    double variance = 0;
    price(c, i, bytes, &a);
    price(c, j, bytes, &b);
    for (int p = 0; p < FABRIC_PARAM_COUNT; p++) {
        double d = sqrt(a.variance[p]) - sqrt(b.variance[p]);
        variance += p == FABRIC_model_sigma ? a.variance[p] + b.variance[p] : d * d;
    }
    return sqrt(variance);
}

static enum status list_params(struct invocation *inv, const struct fabric *f, struct err *err)
{
    if (inv->json)
        return print_json(inv->out, fabric_json(f), err);
    fprintf(inv->out, "%s\n%-26s %9s  %-20s %-9s %s\n", f->name, "parameter", "value",
            "95 % interval", "from", "what");
    for (int p = 0; p < FABRIC_PARAM_COUNT; p++) {
        const struct fabric_quantity *q = &f->param[p];
        char interval[48];
        snprintf(interval, sizeof interval, "[%.4g, %.4g]", q->low, q->high);
        fprintf(inv->out, "%-26s %9.4g  %-20s %-9s %s\n", fabric_param_name((enum fabric_param)p),
                q->value, interval, q->from == FABRIC_MEASURED ? "measured" : "assumed",
                fabric_param_doc((enum fabric_param)p));
    }
    return STATUS_OK;
}

/* The contestants: those asked for, else all that can be had. */
static enum status choose(struct contest *c, const struct invocation *inv, struct err *err)
{
    for (int i = 0; i < inv->n_given && c->n < MOST_IMPLS; i++)
        if (strcmp(inv->given[i].name, "impl") == 0)
            snprintf(c->name[c->n++], sizeof c->name[0], "%s", inv->given[i].value);
    if (c->f != NULL) {
        if (c->n == 0) {
            struct synth_name all[SYNTH_MAX_IMPLS];
            c->n = synth_impls(c->f, c->ranks, all, SYNTH_MAX_IMPLS);
            for (int i = 0; i < c->n; i++)
                memcpy(c->name[i], all[i].name, sizeof all[i].name);
        }
        for (int i = 0; i < c->n; i++) {
            struct synth_query q = {c->name[i], c->ranks, 1024, c->placement};
            struct synth_estimate e;
            enum status status = synth_price(c->s, c->f, &q, &e, err);
            if (status != STATUS_OK)
                return status;
        }
        return STATUS_OK;
    }
    const char *label = invocation_value(inv, "label");
    int asked = c->n;
    for (size_t k = 0; k < c->costs.n; k++) {
        struct cost *cost = &c->costs.v[k];
        if (strcmp(cost->collective, "allreduce") != 0 || (c->ranks && cost->ranks != c->ranks) ||
            (label != NULL && strcmp(cost->label, label) != 0))
            continue;
        if (c->ranks == 0)
            c->ranks = cost->ranks;
        int i = 0;
        while (i < c->n && strcmp(c->name[i], cost->impl) != 0)
            i++;
        if (i == c->n && (asked || c->n == MOST_IMPLS))
            continue;
        if (i == c->n)
            snprintf(c->name[c->n++], sizeof c->name[0], "%s", cost->impl);
        if (c->cost[i] == NULL)
            c->cost[i] = cost;
    }
    for (int i = 0; i < c->n; i++)
        if (c->cost[i] == NULL)
            return err_set(err, STATUS_UNSUPPORTED, "%s: %s was never measured at %d ranks%s%s",
                           inv->args[0], c->name[i], c->ranks, label ? " with the label " : "",
                           label ? label : "");
    return STATUS_OK;
}

static cJSON *numbers(double a, double b)
{
    const double v[2] = {a, b};
    return cJSON_CreateDoubleArray(v, 2);
}

static enum status print(struct invocation *inv, const struct contest *c,
                         const struct crossover_segment *s, int n, struct err *err)
{
    if (inv->json) {
        cJSON *o = cJSON_CreateObject(), *runs, *edges;
        cJSON_AddNumberToObject(o, "ranks", c->ranks);
        cJSON_AddStringToObject(o, "source", c->f ? "synthesized" : "measured");
        cJSON_AddItemToObject(o, "segments", runs = cJSON_CreateArray());
        cJSON_AddItemToObject(o, "crossovers", edges = cJSON_CreateArray());
        for (int i = 0; i < n; i++) {
            cJSON *r = cJSON_CreateObject();
            cJSON_AddItemToArray(runs, r);
            cJSON_AddStringToObject(r, "impl", c->name[s[i].best]);
            cJSON_AddNumberToObject(r, "from_bytes", floor(s[i].from_bytes));
            cJSON_AddNumberToObject(r, "to_bytes", floor(s[i].to_bytes));
            cJSON_AddNumberToObject(r, "from_latency_us", s[i].from_us);
            cJSON_AddNumberToObject(r, "to_latency_us", s[i].to_us);
            if (s[i].second >= 0) {
                cJSON_AddStringToObject(r, "runner_up", c->name[s[i].second]);
                cJSON_AddNumberToObject(r, "lead", 1 - s[i].best_us / s[i].second_us);
                cJSON_AddNumberToObject(r, "p_best", s[i].p_best);
            }
            if (i + 1 == n)
                break;
            cJSON_AddItemToArray(edges, r = cJSON_CreateObject());
            cJSON_AddStringToObject(r, "below", c->name[s[i].best]);
            cJSON_AddStringToObject(r, "above", c->name[s[i + 1].best]);
            cJSON_AddNumberToObject(r, "bytes", floor(s[i].to_bytes));
            cJSON_AddItemToObject(r, "ci95", numbers(floor(s[i].low_bytes), ceil(s[i].high_bytes)));
        }
        return print_json(inv->out, o, err);
    }
    fprintf(inv->out, "%d ranks, %s\n%12s %12s  %-24s %19s  %-24s %6s %7s\n", c->ranks,
            c->f ? "synthesized" : "measured", "from bytes", "to bytes", "best", "latency us",
            "runner-up, middle", "lead", "p(best)");
    for (int i = 0; i < n; i++) {
        char span[40];
        snprintf(span, sizeof span, "%.1f to %.1f", s[i].from_us, s[i].to_us);
        fprintf(inv->out, "%12.0f %12.0f  %-24s %19s  %-24s", floor(s[i].from_bytes),
                floor(s[i].to_bytes), c->name[s[i].best], span,
                s[i].second >= 0 ? c->name[s[i].second] : "-");
        if (s[i].second >= 0)
            fprintf(inv->out, " %5.0f%% %7.2f", 100 * (1 - s[i].best_us / s[i].second_us),
                    s[i].p_best);
        fprintf(inv->out, "\n");
    }
    for (int i = 0; i + 1 < n; i++)
        fprintf(inv->out, "%s gives way to %s at %.0f bytes [%.0f, %.0f]\n", c->name[s[i].best],
                c->name[s[i + 1].best], floor(s[i].to_bytes), floor(s[i].low_bytes),
                ceil(s[i].high_bytes));
    return STATUS_OK;
}

/* A model or a trace with allreduces is compared as measured, all else is a fabric. */
static enum status open_input(struct contest *c, const struct invocation *inv, struct err *err)
{
    const char *path = inv->args[0];
    struct err other = {STATUS_OK, ""};
    enum status status = STATUS_OK;
    if (!invocation_has(inv, "measured")) {
        c->f = malloc(sizeof *c->f);
        c->s = synth_new();
        if (c->f == NULL || c->s == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        status = fabric_load(c->f, path, NULL, err);
        if (status == STATUS_OK)
            return STATUS_OK;
        free(c->f);
        c->f = NULL;
        if (status == STATUS_USAGE || fabric_is_file(path))
            return status;
    }
    enum status costs = costs_load(&c->costs, path, inv->log, &other);
    if (costs == STATUS_OK && c->costs.n > 0)
        return STATUS_OK;
    if (status != STATUS_OK)
        return status;
    if (costs != STATUS_OK)
        return err_set(err, costs, "%s", other.msg);
    return err_set(err, STATUS_UNSUPPORTED, "%s: no allreduce was measured", path);
}

static enum status run(struct invocation *inv, struct err *err)
{
    int64_t ranks = 0, from = 1024, to = 16 << 20;
    int placement[FABRIC_MAX_GPUS], placed = 0;
    struct crossover_segment *segments = calloc(CROSSOVER_MAX_SEGMENTS, sizeof *segments);
    struct contest *c = calloc(1, sizeof *c);
    enum status status = STATUS_OK;
    if (c == NULL || segments == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK)
        status = invocation_integer(inv, "ranks", 2, FABRIC_MAX_GPUS, &ranks, err);
    if (status == STATUS_OK)
        status = invocation_bytes(inv, "from", &from, err);
    if (status == STATUS_OK)
        status = invocation_bytes(inv, "to", &to, err);
    if (status == STATUS_OK && (from < 1 || to <= from))
        status = err_set(err, STATUS_USAGE, "--from %lld --to %lld: an empty range",
                         (long long)from, (long long)to);
    if (status == STATUS_OK)
        status = open_input(c, inv, err);
    if (status != STATUS_OK)
        goto out;
    if (c->f != NULL && invocation_has(inv, "params")) {
        status = list_params(inv, c->f, err);
        goto out;
    }
    const char *text = invocation_value(inv, "placement");
    if (text != NULL) {
        if (c->f == NULL)
            status = err_set(err, STATUS_USAGE, "--placement needs a fabric");
        else
            status = fabric_placement(c->f, text, placement, &placed, err);
        if (status == STATUS_OK && ranks != 0 && ranks != placed)
            status = err_set(err, STATUS_USAGE, "--ranks %lld, but --placement has %d",
                             (long long)ranks, placed);
        c->placement = placement;
    }
    c->ranks = placed ? placed : ranks ? (int)ranks : c->f ? c->f->n_gpus : 0;
    if (status == STATUS_OK && c->f && !placed && c->ranks > c->f->n_gpus)
        fprintf(inv->log, "updraft: note: %d ranks on %d GPUs: some share one\n", c->ranks,
                c->f->n_gpus);
    if (status == STATUS_OK)
        status = choose(c, inv, err);
    if (status == STATUS_OK && c->n < 2)
        status = err_set(err, STATUS_UNSUPPORTED, "%s: %d implementation%s: a crossover needs two",
                         inv->args[0], c->n, c->n == 1 ? "" : "s");
    if (status == STATUS_OK) {
        struct crossover x = {c->n, (double)from, (double)to, c, us_of, sigma_of};
        status = print(inv, c, segments, crossover_find(&x, segments), err);
    }
out:
    if (c != NULL) {
        costs_release(&c->costs);
        synth_free(c->s);
        free(c->f);
    }
    free(c);
    free(segments);
    return status;
}

static const struct command_option options[] = {
    {"ranks", "R", 0, "number of ranks (as many as GPUs)"},
    {"impl", "I", 1, "compare these only"},
    {"from", "N", 0, "smallest size (1 KiB)"},
    {"to", "N", 0, "largest size (16 MiB)"},
    {"placement", "G,G,...", 0, "the GPU of each rank"},
    {"label", "L", 0, "of a model: the curves with this label"},
    {"measured", NULL, 0,
     "compare the measured curves of a trace, not a fabric made of its probes"},
    {"params", NULL, 0, "list the fabric's parameters; with --json, the whole fabric as its file"},
    {0},
};

const struct command cmd_crossover = {
    .name = "crossover",
    .synopsis = "FABRIC|MODEL [--ranks R] [--impl I]... [--from N] [--to N] [--placement G,G,...]",
    .summary = "the sizes at which the best implementation changes",
    .details =
        "FABRIC is a preset, a fabric's JSON file, or a trace with probes; the allreduces are "
        "then\npriced from their schedules. MODEL is a model file that fit wrote, or a trace "
        "of allreduces.\n",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .run = run,
};
