/* ledger: predictions and what came of them. Append-only JSON Lines. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/parallel.h"
#include "traces/outcome_io.h"
#include "traces/scenario_io.h"

/* One prediction with the outcome that came later. */
struct entry {
    char id[64], quantity[48], scenario[256];
    double predicted, low, high;
    double measured; /* NaN: nothing yet */
};

struct ledger {
    struct entry *v;
    size_t n, cap;
};

static struct entry *find(const struct ledger *l, const char *id)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].id, id) == 0)
            return &l->v[i];
    return NULL;
}

static enum status text_key(const struct json_doc *doc, const char *key, char *to, size_t room,
                            struct err *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(doc->root, key);
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= room || item->valuestring[0] == '\0')
        return err_set(err, STATUS_INPUT, "%s: \"%s\": a short string was expected", doc->name,
                       key);
    strcpy(to, item->valuestring);
    return STATUS_OK;
}

static enum status number_key(const struct json_doc *doc, const char *key, double *to,
                              struct err *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(doc->root, key);
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || item->valuedouble <= 0)
        return err_set(err, STATUS_INPUT, "%s: \"%s\": a number above 0 was expected", doc->name,
                       key);
    *to = item->valuedouble;
    return STATUS_OK;
}

static enum status read_entry(struct ledger *l, const struct json_doc *doc, struct err *err)
{
    struct entry e = {.measured = (double)NAN};
    enum status status = text_key(doc, "id", e.id, sizeof e.id, err);
    if (status != STATUS_OK)
        return status;
    struct entry *old = find(l, e.id);
    if (cJSON_HasObjectItem(doc->root, "measured")) {
        if (old == NULL)
            return err_set(err, STATUS_INPUT, "%s: a measurement of \"%s\", which nobody predicted",
                           doc->name, e.id);
        return number_key(doc, "measured", &old->measured, err);
    }
    if (old != NULL)
        return err_set(err, STATUS_INPUT, "%s: \"%s\" was predicted before", doc->name, e.id);
    status = text_key(doc, "quantity", e.quantity, sizeof e.quantity, err);
    if (status == STATUS_OK)
        status = text_key(doc, "scenario", e.scenario, sizeof e.scenario, err);
    if (status == STATUS_OK)
        status = number_key(doc, "predicted", &e.predicted, err);
    if (status == STATUS_OK)
        status = number_key(doc, "low", &e.low, err);
    if (status == STATUS_OK)
        status = number_key(doc, "high", &e.high, err);
    if (status != STATUS_OK)
        return status;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        struct entry *v = realloc(l->v, cap * sizeof *v);
        if (v == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = e;
    return STATUS_OK;
}

static const char begin[] = "{\"id\":"; /* of every line */

/* An absent file is an empty ledger. A last line without its newline is a write that was cut. */
static enum status ledger_read(struct ledger *l, const char *path, struct err *err)
{
    *l = (struct ledger){0};
    FILE *f = fopen(path, "rb");
    if (f == NULL && errno == ENOENT)
        return STATUS_OK;
    if (f == NULL)
        return err_set(err, STATUS_INPUT, "%s: %s", path, strerror(errno));
    char *line = NULL, head[sizeof begin];
    size_t cap = 0, look = fread(head, 1, sizeof begin - 1, f);
    enum status status = STATUS_OK;
    long number = 0;
    if (memcmp(head, begin, look) != 0)
        status = err_set(err, STATUS_INPUT, "%s:1: one JSON object a line was expected", path);
    rewind(f);
    for (ssize_t got; status == STATUS_OK && (got = getline(&line, &cap, f)) > 0;) {
        number++;
        if (line[got - 1] != '\n' || got == 1)
            continue;
        struct json_doc doc;
        char name[300];
        snprintf(name, sizeof name, "%.255s:%ld", path, number);
        status = json_doc_parse(&doc, name, line, (size_t)got, err);
        if (status == STATUS_OK) {
            status = read_entry(l, &doc, err);
            json_doc_release(&doc);
        } else {
            status = err_set(err, STATUS_INPUT, "%s: one JSON object a line was expected", name);
        }
    }
    if (ferror(f) && status == STATUS_OK)
        status = err_set(err, STATUS_INPUT, "%s: %s", path, strerror(errno));
    free(line);
    fclose(f);
    if (status != STATUS_OK)
        free(l->v);
    return status;
}

/* Cuts off what a crash left behind the last whole line. Returns -1 with errno. */
static int cut_torn_line(int fd)
{
    char c;
    off_t end = lseek(fd, 0, SEEK_END), keep = end;
    while (keep > 0 && pread(fd, &c, 1, keep - 1) == 1 && c != '\n')
        keep--;
    return end < 0 || (keep < end && ftruncate(fd, keep) != 0) ? -1 : 0;
}

/* One write, so that a crash costs at most this line. */
static enum status append(const char *path, cJSON *object, struct err *err)
{
    char *text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    if (text == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    size_t n = strlen(text);
    text[n] = '\n';
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    enum status status = STATUS_OK;
    if (fd < 0 || cut_torn_line(fd) != 0 || write(fd, text, n + 1) != (ssize_t)(n + 1) ||
        fsync(fd) != 0)
        status = err_set(err, STATUS_FAILED, "%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(text);
    return status;
}

static enum status add_measured(const struct invocation *inv, const char *path,
                                const struct ledger *l, const char *id, struct err *err)
{
    double measured = 0;
    enum status status = invocation_number(inv, "measured", 1e-12, 1e15, &measured, err);
    if (status != STATUS_OK)
        return status;
    struct entry *e = find(l, id);
    if (e == NULL)
        return err_set(err, STATUS_UNSUPPORTED,
                       "%s holds no prediction \"%s\": add one first, before measuring", path, id);
    if (!isnan(e->measured))
        return err_set(err, STATUS_UNSUPPORTED, "\"%s\" has its outcome already: %g", id,
                       e->measured);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "id", id);
    cJSON_AddNumberToObject(o, "measured", measured);
    cJSON_AddNumberToObject(o, "unix_time_s", (double)time(NULL));
    return append(path, o, err);
}

static enum status add_prediction(struct invocation *inv, const char *path, const char *id,
                                  struct err *err)
{
    struct scenario_file f;
    struct simulation sim;
    /* The scenario is the first positional argument of what scenario_file_open() sees. */
    struct invocation rest = *inv;
    rest.args++;
    rest.n_args--;
    enum status status = scenario_file_open(&f, &rest, inv->log, err);
    if (status != STATUS_OK)
        return status;
    status = simulate(&f.s, 1, 4000, parallel_default_threads(), &sim, err);
    int speculates = scenario_speculates(&f.s);
    scenario_file_release(&f);
    if (status != STATUS_OK)
        return status;
    cJSON *o = cJSON_CreateObject(), *edits = cJSON_CreateArray();
    cJSON_AddStringToObject(o, "id", id);
    cJSON_AddStringToObject(o, "scenario", rest.args[0]);
    for (int i = 0; i < inv->n_given; i++)
        if (strcmp(inv->given[i].name, "set") == 0)
            cJSON_AddItemToArray(edits, cJSON_CreateString(inv->given[i].value));
    cJSON_AddItemToObject(o, "set", edits);
    cJSON_AddStringToObject(o, "quantity",
                            speculates ? "speculative_tokens_per_s" : "baseline_tokens_per_s");
    const struct outcome *m = &sim.mean;
    double value = speculates ? m->speculative_tokens_per_s : m->baseline_tokens_per_s;
    double low = speculates ? sim.low.speculative_tokens_per_s : sim.low.baseline_tokens_per_s;
    double high = speculates ? sim.high.speculative_tokens_per_s : sim.high.baseline_tokens_per_s;
    cJSON_AddNumberToObject(o, "predicted", value);
    cJSON_AddNumberToObject(o, "low", low);
    cJSON_AddNumberToObject(o, "high", high);
    cJSON_AddNumberToObject(o, "unix_time_s", (double)time(NULL));
    status = append(path, o, err);
    if (status == STATUS_OK)
        fprintf(inv->log, "%s: %.4g tok/s [%.4g, %.4g] predicted\n", id, value, low, high);
    return status;
}

static enum status do_add(struct invocation *inv, const char *path, const struct ledger *l,
                          struct err *err)
{
    const char *id = invocation_value(inv, "id");
    if (id == NULL || id[0] == '\0' || strlen(id) >= sizeof l->v->id)
        return err_set(err, STATUS_USAGE, "ledger add needs --id NAME, at most 63 bytes");
    if (invocation_has(inv, "measured"))
        return add_measured(inv, path, l, id, err);
    if (inv->n_args < 2)
        return err_set(err, STATUS_USAGE,
                       "ledger add --id NAME: a SCENARIO to predict, or --measured "
                       "VALUE for what came, was expected");
    if (find(l, id) != NULL)
        return err_set(
            err, STATUS_UNSUPPORTED,
            "\"%s\" was predicted before; a prediction is never changed: choose another id", id);
    return add_prediction(inv, path, id, err);
}

static enum status do_list(struct invocation *inv, const char *path, const struct ledger *l,
                           struct err *err)
{
    if (inv->json) {
        cJSON *o = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(o, "entries");
        cJSON_AddStringToObject(o, "ledger", path);
        for (size_t i = 0; i < l->n; i++) {
            const struct entry *e = &l->v[i];
            double pair[] = {e->low, e->high};
            cJSON *item = cJSON_CreateObject();
            cJSON_AddStringToObject(item, "id", e->id);
            cJSON_AddStringToObject(item, "scenario", e->scenario);
            cJSON_AddStringToObject(item, "quantity", e->quantity);
            cJSON_AddNumberToObject(item, "predicted", e->predicted);
            cJSON_AddItemToObject(item, "ci95", cJSON_CreateDoubleArray(pair, 2));
            if (!isnan(e->measured))
                cJSON_AddNumberToObject(item, "measured", e->measured);
            cJSON_AddItemToArray(array, item);
        }
        return print_json(inv->out, o, err);
    }
    fprintf(inv->out, "%-24s %9s %19s %9s %8s\n", "id", "predicted", "95 % interval", "measured",
            "error");
    for (size_t i = 0; i < l->n; i++) {
        const struct entry *e = &l->v[i];
        char range[48];
        snprintf(range, sizeof range, "[%.4g, %.4g]", e->low, e->high);
        fprintf(inv->out, "%-24s %9.4g %19s ", e->id, e->predicted, range);
        if (isnan(e->measured))
            fprintf(inv->out, "%9s %8s\n", "-", "-");
        else
            fprintf(inv->out, "%9.4g %+7.1f%%\n", e->measured,
                    100 * (e->predicted / e->measured - 1));
    }
    return STATUS_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum status do_score(struct invocation *inv, const char *path, const struct ledger *l,
                            struct err *err)
{
    double *error = calloc(l->n + 1, sizeof *error);
    size_t n = 0, inside = 0;
    double sum = 0, squares = 0;
    if (error == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (size_t i = 0; i < l->n; i++) {
        const struct entry *e = &l->v[i];
        if (isnan(e->measured))
            continue;
        double log_ratio = log(e->predicted / e->measured);
        sum += log_ratio;
        squares += log_ratio * log_ratio;
        inside += e->measured >= e->low && e->measured <= e->high;
        error[n++] = fabs(e->predicted / e->measured - 1);
    }
    if (n == 0) {
        free(error);
        return err_set(err, STATUS_UNSUPPORTED,
                       "%s: no prediction has its outcome yet (ledger add "
                       "--id NAME --measured VALUE)",
                       path);
    }
    qsort(error, n, sizeof *error, compare);
    double bias = sum / (double)n;
    double sd =
        n > 1 ? sqrt(fmax(0, squares / (double)n - bias * bias) * (double)n / (double)(n - 1)) : 0;
    double half =
        n > 1 ? gsl_cdf_tdist_Pinv(0.975, (double)(n - 1)) * sd / sqrt((double)n) : (double)NAN;
    double median = quantile_sorted(error, (int)n, 0.5), p90 = quantile_sorted(error, (int)n, 0.9);
    free(error);
    if (inv->json) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "ledger", path);
        cJSON_AddNumberToObject(o, "predictions", (double)l->n);
        cJSON_AddNumberToObject(o, "outcomes", (double)n);
        cJSON_AddNumberToObject(o, "median_rel_error", median);
        cJSON_AddNumberToObject(o, "p90_rel_error", p90);
        cJSON_AddNumberToObject(o, "bias", expm1(bias));
        if (n > 1) {
            double pair[] = {expm1(bias - half), expm1(bias + half)};
            cJSON *ci = cJSON_AddObjectToObject(o, "ci95");
            cJSON_AddItemToObject(ci, "bias", cJSON_CreateDoubleArray(pair, 2));
        }
        cJSON_AddNumberToObject(o, "interval_coverage", (double)inside / (double)n);
        return print_json(inv->out, o, err);
    }
    fprintf(inv->out, "%zu of %zu predictions have their outcome\n", n, l->n);
    fprintf(inv->out, "  median error   %5.1f %%\n  90th percentile %4.1f %%\n", 100 * median,
            100 * p90);
    fprintf(inv->out, "  bias           %+5.1f %%", 100 * expm1(bias));
    if (n > 1)
        fprintf(inv->out, "  [%+.1f, %+.1f]", 100 * expm1(bias - half), 100 * expm1(bias + half));
    fprintf(inv->out, "\n  inside the 95 %% interval: %zu of %zu\n", inside, n);
    if (n > 1 && fabs(bias) > half)
        fprintf(inv->out, "  predictions are %s throughout: calibrate the scenario\n",
                bias > 0 ? "too high" : "too low");
    return STATUS_OK;
}

static enum status run(struct invocation *inv, struct err *err)
{
    static const struct {
        const char *verb;
        enum status (*fn)(struct invocation *inv, const char *path, const struct ledger *l,
                          struct err *err);
    } verbs[] = {{"add", do_add}, {"list", do_list}, {"score", do_score}};
    const char *path = invocation_value(inv, "ledger");
    struct ledger l;
    if (path == NULL)
        path = "updraft-ledger.jsonl";
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i].verb, inv->args[0]) != 0)
            continue;
        enum status status = ledger_read(&l, path, err);
        if (status == STATUS_OK) {
            status = verbs[i].fn(inv, path, &l, err);
            free(l.v);
        }
        return status;
    }
    return err_set(err, STATUS_USAGE, "ledger %s: add, list or score was expected", inv->args[0]);
}

static const struct command_option options[] = {
    {"id", "NAME", 0, "what the experiment is called"},
    {"measured", "VALUE", 0, "what came of it, tokens per second"},
    {"set", "KEY=VALUE", 1, "the experiment, as an edit of the scenario"},
    {"costs", "FILE", 1, "a trace or model that prices collectives"},
    {"ledger", "FILE", 0, "the ledger (updraft-ledger.jsonl)"},
    {0},
};

const struct command cmd_ledger = {
    .name = "ledger",
    .synopsis = "add --id NAME SCENARIO [--set KEY=VALUE]... | add --id NAME --measured VALUE\n"
                "         | list | score",
    .summary = "predictions and what came of them",
    .details =
        "add writes down what a scenario with these edits will give, before it is tried; add\n"
        "--measured, what came. score says how far off the predictions were, whether they lean to\n"
        "one side, and how often the 95 % interval held.",
    .min_args = 1,
    .max_args = 2,
    .options = options,
    .run = run,
};
