#include "traces/serve_io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "model/evaluate.h"
#include "traces/csv.h"

int serve_wanted(const struct invocation *inv)
{
    static const char *const names[] = {"serve",    "concurrency",   "rate",
                                        "arrivals", "prompt-tokens", "output-tokens"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (invocation_has(inv, names[i]))
            return 1;
    return 0;
}

/* "1024" or "1024:0.5". */
static enum status read_length(const struct invocation *inv, const char *name,
                               struct serve_length *l, struct err *err)
{
    const char *text = invocation_value(inv, name);
    if (text == NULL)
        return STATUS_OK;
    char mean[64];
    size_t n = strcspn(text, ":");
    snprintf(mean, sizeof mean, "%.*s", (int)(n < 63 ? n : 63), text);
    l->cv = 0;
    if (parse_double(mean, &l->mean) != 0 ||
        (text[n] == ':' && parse_double(text + n + 1, &l->cv) != 0) || !(l->mean >= 1) ||
        !(l->cv >= 0))
        return err_set(err, STATUS_USAGE,
                       "--%s %s: a mean number of tokens was expected, and after a colon how much "
                       "it varies (1024:0.5)",
                       name, text);
    return STATUS_OK;
}

/* A recorded day. Owned by the caller. */
struct day {
    double *arrival_us;
    int *prompt, *output;
    int n;
};

static void day_release(struct day *d)
{
    free(d->arrival_us);
    free(d->prompt);
    free(d->output);
}

static enum status read_day(struct day *d, const char *path, struct err *err)
{
    struct csv csv = {0};
    enum status status = csv_read(&csv, path, err);
    if (status != STATUS_OK)
        return status;
    int at = csv_column(&csv, "arrival_s"), prompt = csv_column(&csv, "prompt_tokens"),
        output = csv_column(&csv, "output_tokens");
    d->arrival_us = malloc(csv.n_rows * sizeof *d->arrival_us);
    d->prompt = malloc(csv.n_rows * sizeof *d->prompt);
    d->output = malloc(csv.n_rows * sizeof *d->output);
    if (d->arrival_us == NULL || d->prompt == NULL || d->output == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    else if (at < 0 || prompt < 0 || output < 0)
        status =
            err_set(err, STATUS_INPUT,
                    "%s: columns arrival_s, prompt_tokens and output_tokens were expected", path);
    for (size_t i = 0; i < csv.n_rows && status == STATUS_OK; i++) {
        double t = csv_number(&csv, i, at), p = csv_number(&csv, i, prompt),
               o = csv_number(&csv, i, output);
        if (!(t >= 0 && t < 1e9 && p >= 1 && p <= 1e8 && o >= 1 && o <= 1e8) ||
            (i > 0 && t * 1e6 < d->arrival_us[i - 1]))
            status = err_set(err, STATUS_INPUT,
                             "%s:%ld: an ascending arrival time in seconds and token numbers of at "
                             "least 1 were expected",
                             path, csv.lines[i]);
        d->arrival_us[i] = t * 1e6;
        d->prompt[i] = (int)(p >= 1 && p <= 1e8 ? p : 1);
        d->output[i] = (int)(o >= 1 && o <= 1e8 ? o : 1);
        d->n++;
    }
    csv_release(&csv);
    return status;
}

static enum status read_workload(const struct invocation *inv, const struct scenario *s,
                                 struct serve_workload *w, struct day *day, struct err *err)
{
    int64_t n = 1000, users = s->batch;
    int given = invocation_has(inv, "concurrency") + invocation_has(inv, "rate") +
                invocation_has(inv, "arrivals");
    *w = (struct serve_workload){.prompt = {1024, 0}, .output = {256, 0}};
    if (given > 1)
        return err_set(err, STATUS_USAGE,
                       "--concurrency, --rate and --arrivals are three kinds of load: give one");
    enum status status = invocation_integer(inv, "serve", 1, 10000000, &n, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "concurrency", 1, 10000000, &users, err);
    if (status == STATUS_OK)
        status = invocation_number(inv, "rate", 1e-9, 1e9, &w->rate_per_s, err);
    if (status == STATUS_OK)
        status = read_length(inv, "prompt-tokens", &w->prompt, err);
    if (status == STATUS_OK)
        status = read_length(inv, "output-tokens", &w->output, err);
    if (status == STATUS_OK && invocation_has(inv, "arrivals")) {
        status = read_day(day, invocation_value(inv, "arrivals"), err);
        w->arrival = SERVE_RECORDED;
        w->arrival_us = day->arrival_us;
        w->prompt_tokens = day->prompt;
        w->output_tokens = day->output;
        n = day->n;
    } else if (invocation_has(inv, "rate")) {
        w->arrival = SERVE_POISSON;
    }
    w->n_requests = (int)n;
    w->concurrency = (int)users;
    return status;
}

enum status serve_from_options(const struct invocation *inv, const struct scenario *s,
                               uint64_t seed, struct serve_report *report, struct err *err)
{
    struct day day = {0};
    struct serve_workload w;
    *report = (struct serve_report){.speculates = scenario_speculates(s)};
    enum status status = read_workload(inv, s, &w, &day, err);
    int most = w.arrival == SERVE_CLOSED ? w.concurrency : 256;
    if (s->engine.max_running_requests > 0 &&
        (w.arrival != SERVE_CLOSED || s->engine.max_running_requests < most))
        most = s->engine.max_running_requests;
    if (most > SERVE_MAX_RUNNING)
        most = SERVE_MAX_RUNNING;
    double *steps = malloc(2 * (size_t)most * sizeof *steps);
    if (status == STATUS_OK && steps == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    report->max_running = most;
    report->prefill_assumed = !s->serve.prefill_tokens_per_s.set;
    report->closed_form_tokens_per_s = (double)NAN;
    for (int speculative = 0; speculative < 2 && status == STATUS_OK; speculative++) {
        struct serve_engine e;
        if (speculative && !report->speculates)
            break;
        serve_engine_from(s, speculative, most, steps, steps + most, &e);
        report->prefill_tokens_per_s = serve_prefill_tokens_per_s(&e, w.prompt.mean);
        status = serve_run(&e, &w, seed, speculative ? &report->speculative : &report->plain, err);
        if (w.arrival == SERVE_CLOSED && w.output.cv == 0 && w.prompt.cv == 0)
            report->closed_form_tokens_per_s =
                serve_closed_form(&e, most, w.prompt.mean, w.output.mean);
    }
    free(steps);
    day_release(&day);
    return status;
}

/* --- results ------------------------------------------------------------------------------------
 */

static void row(FILE *out, const char *name, const char *unit, double scale,
                const struct serve_report *r, const double *plain, const double *speculative)
{
    fprintf(out, "  %-20s %-6s %10.4g", name, unit, *plain / scale);
    if (r->speculates)
        fprintf(out, " %12.4g", *speculative / scale);
    fprintf(out, "\n");
}

static void quantile_rows(FILE *out, const char *name, const char *unit, double scale,
                          const struct serve_report *r, const struct serve_quantiles *plain,
                          const struct serve_quantiles *speculative)
{
    char label[48];
    const double *p[] = {&plain->p50, &plain->p90, &plain->p99};
    const double *s[] = {&speculative->p50, &speculative->p90, &speculative->p99};
    static const char *const at[] = {"p50", "p90", "p99"};
    for (int i = 0; i < 3; i++) {
        snprintf(label, sizeof label, "%s %s", name, at[i]);
        row(out, label, unit, scale, r, p[i], s[i]);
    }
}

void serve_print(FILE *out, const struct serve_report *r)
{
    const struct serve_result *p = &r->plain, *s = &r->speculative;
    fprintf(out, "\nserved: %d requests, at most %d running, prefill %.4g tokens/s%s\n",
            p->requests, r->max_running, r->prefill_tokens_per_s,
            r->prefill_assumed ? " (assumed: set serve.prefill_tokens_per_s)" : "");
    fprintf(out, "  %-27s %10s%s\n", "", "plain", r->speculates ? "  speculative" : "");
    row(out, "throughput", "tok/s", 1, r, &p->tokens_per_s, &s->tokens_per_s);
    row(out, "steady throughput", "tok/s", 1, r, &p->steady_tokens_per_s, &s->steady_tokens_per_s);
    quantile_rows(out, "first token", "ms", 1e3, r, &p->ttft_us, &s->ttft_us);
    quantile_rows(out, "per output token", "ms", 1e3, r, &p->tpot_us, &s->tpot_us);
    quantile_rows(out, "between outputs", "ms", 1e3, r, &p->itl_us, &s->itl_us);
    row(out, "request p50", "s", 1e6, r, &p->request_us.p50, &s->request_us.p50);
    row(out, "running, mean", "", 1, r, &p->mean_running, &s->mean_running);
    row(out, "waiting, mean", "", 1, r, &p->mean_waiting, &s->mean_waiting);
    row(out, "tokens per cycle", "", 1, r, &p->tokens_per_cycle, &s->tokens_per_cycle);
    if (isfinite(r->closed_form_tokens_per_s))
        fprintf(out, "  closed form of the steady state: %.4g tok/s\n",
                r->closed_form_tokens_per_s);
}

static void add_quantiles(cJSON *o, const char *key, const struct serve_quantiles *q)
{
    cJSON *at = cJSON_AddObjectToObject(o, key);
    cJSON_AddNumberToObject(at, "mean", q->mean);
    cJSON_AddNumberToObject(at, "p50", q->p50);
    cJSON_AddNumberToObject(at, "p90", q->p90);
    cJSON_AddNumberToObject(at, "p99", q->p99);
}

static void add_result(cJSON *root, const char *key, const struct serve_result *r)
{
    cJSON *o = cJSON_AddObjectToObject(root, key);
    cJSON_AddNumberToObject(o, "tokens_per_s", r->tokens_per_s);
    cJSON_AddNumberToObject(o, "steady_tokens_per_s", r->steady_tokens_per_s);
    cJSON_AddNumberToObject(o, "tokens_per_cycle", r->tokens_per_cycle);
    cJSON_AddNumberToObject(o, "duration_us", r->duration_us);
    cJSON_AddNumberToObject(o, "mean_running", r->mean_running);
    cJSON_AddNumberToObject(o, "mean_waiting", r->mean_waiting);
    add_quantiles(o, "ttft_us", &r->ttft_us);
    add_quantiles(o, "tpot_us", &r->tpot_us);
    add_quantiles(o, "itl_us", &r->itl_us);
    add_quantiles(o, "request_us", &r->request_us);
    cJSON_AddNumberToObject(o, "cycles", (double)r->cycles);
    cJSON_AddNumberToObject(o, "request_cycles", (double)r->request_cycles);
    cJSON_AddNumberToObject(o, "tokens", (double)r->tokens);
    cJSON_AddNumberToObject(o, "discarded_tokens", (double)r->discarded_tokens);
}

cJSON *serve_json(const struct serve_report *r)
{
    cJSON *root = cJSON_CreateObject();
    if (root == NULL)
        return NULL;
    cJSON_AddNumberToObject(root, "requests", r->plain.requests);
    cJSON_AddNumberToObject(root, "max_running", r->max_running);
    if (isfinite(r->prefill_tokens_per_s))
        cJSON_AddNumberToObject(root, "prefill_tokens_per_s", r->prefill_tokens_per_s);
    cJSON_AddBoolToObject(root, "prefill_assumed", r->prefill_assumed);
    if (isfinite(r->closed_form_tokens_per_s))
        cJSON_AddNumberToObject(root, "closed_form_tokens_per_s", r->closed_form_tokens_per_s);
    add_result(root, "baseline", &r->plain);
    if (r->speculates)
        add_result(root, "speculative", &r->speculative);
    return root;
}
