/* updraft report SCENARIO -o FILE.html: one self-contained page, the answer first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/ask.h"
#include "plots/page.h"
#include "plots/scenario_input.h"

/* What the page is made of: the scenario, and what simulate and rank say of it. */
struct report {
    struct scenario_file file;
    struct json_doc simulate, rank;
    struct plot_request request;
    const char *simulate_args[ASK_MAX_ARGS], *rank_args[ASK_MAX_ARGS];
};

static void release(struct report *r)
{
    scenario_file_release(&r->file);
    json_doc_release(&r->simulate);
    json_doc_release(&r->rank);
}

static enum status gather(struct report *r, const struct invocation *inv, struct err *err)
{
    static const char *const for_simulate[] = {"--set", "--costs", "--seed", NULL};
    static const char *const for_rank[] = {"--set",       "--costs",  "--seed",
                                           "--catalogue", "--budget", NULL};
    uint64_t seed;
    r->request = (struct plot_request){.input = inv->args[0], .inv = inv};
    ask_pass_options(r->simulate_args, inv->args[0], inv, for_simulate);
    ask_pass_options(r->rank_args, inv->args[0], inv, for_rank);
    enum status status = plot_open_scenario(&r->file, &r->request, &seed, err);
    /* The warnings were logged; once is enough. */
    if (status == STATUS_OK)
        status = ask_command("simulate", r->simulate_args, NULL, &r->simulate, err);
    if (status == STATUS_OK)
        status = ask_command("rank", r->rank_args, NULL, &r->rank, err);
    return status;
}

static const char *name_of(const cJSON *o)
{
    const char *title = json_text(o, "title");
    return title[0] != '\0' ? title : json_text(o, "id");
}

/* An estimate of simulate's, with its interval from the "ci95" object beside it. */
static void estimate(FILE *out, const cJSON *sim, const char *key, double factor)
{
    double low, high;
    json_interval(json_member(sim, "ci95"), key, &low, &high);
    page_estimate(out, json_number(sim, key), low, high, factor);
}

/* --- The answer ------------------------------------------------------------------------------- */

/* Where nothing is worth doing, that is the answer. */
static void write_first(FILE *out, const cJSON *rank)
{
    const cJSON *first = cJSON_GetArrayItem(json_member(rank, "optimizations"), 0);
    double low, high, gain = json_number(first, "gain"), days = json_number(first, "effort_days"),
                      p = json_number(first, "p_best");
    json_interval(first, "gain_ci95", &low, &high);
    fputs("<p class=\"big\">", out);
    if (first == NULL || strcmp(json_text(first, "status"), "ok") != 0 || !(gain > 0)) {
        fputs("Nothing in the catalogue is worth doing here.</p>\n", out);
        return;
    }
    fputs("Do first: ", out);
    page_text(out, name_of(first));
    fputs("</p>\n<p>Throughput ", out);
    page_gain(out, gain, low, high);
    if (isfinite(days))
        fprintf(out, ", for about %.2g days of work", days);
    if (isfinite(p))
        fprintf(out, "; it is the best single step in %.0f %% of the drawn worlds", 100 * p);
    fputs(". ", out);
    page_text(out, json_text(first, "reason"));
    if (low <= 0)
        fputs(" <strong>The interval reaches zero.</strong>", out);
    fputs("</p>\n", out);
}

static void write_decisive(FILE *out, const cJSON *rank)
{
    const cJSON *d = json_member(rank, "decisive_measurement");
    double minutes = json_number(d, "minutes"),
           before = json_number(d, "regret_before_tokens_per_s"),
           after = json_number(d, "regret_after_tokens_per_s");
    const char *what = json_text(d, "what"), *command = json_text(d, "command");
    if (what[0] == '\0')
        return;
    fputs("<p>Measure next: ", out);
    page_text(out, what);
    if (isfinite(minutes))
        fprintf(out, " (%.3g minutes)", minutes);
    if (isfinite(before) && isfinite(after))
        fprintf(out, "; the expected loss by a wrong choice falls from %.3g to %.3g tokens/s",
                before, after);
    fputs(".", out);
    if (command[0] != '\0') {
        fputs(" <code>", out);
        page_text(out, command);
        fputs("</code>", out);
    }
    fputs("</p>\n", out);
}

static void write_answer(FILE *out, const struct report *r)
{
    const cJSON *sim = r->simulate.root, *rank = r->rank.root;
    const struct scenario *s = &r->file.s;
    double p = json_number(sim, "p_speedup");
    fputs("<div class=\"answer\">\n", out);
    write_first(out, rank);
    fputs("<p>Today, predicted: ", out);
    estimate(out, sim, "baseline_tokens_per_s", 1);
    fputs(" tokens/s without speculation", out);
    if (scenario_speculates(s)) {
        fputs(", ", out);
        estimate(out, sim, "speculative_tokens_per_s", 1);
        fprintf(out, " with %d draft%s (", s->draft.num_steps, s->draft.num_steps == 1 ? "" : "s");
        estimate(out, sim, "speedup", 1);
        fputs(" times)", out);
        if (isfinite(p))
            fprintf(out, "; speculation pays in %.0f %% of the drawn worlds", 100 * p);
    }
    fputs(".</p>\n", out);
    write_decisive(out, rank);
    fputs("</div>\n", out);
}

/* --- What the model does not explain ---------------------------------------------------------- */

static void write_residual(FILE *out, const struct report *r)
{
    const cJSON *sim = r->simulate.root, *res = json_member(sim, "residual");
    if (res == NULL)
        return;
    double low, high, us = json_number(res, "unexplained_us"),
                      accept = json_number(res, "accept_length_that_would_explain");
    json_interval(res, "ci95", &low, &high);
    int outside = low > 0 || high < 0;
    fputs("<h2>Predicted against measured</h2>\n", out);
    fputs(outside ? "<div class=\"warn\">\n<p>" : "<div>\n<p>", out);
    fputs("The scenario reports ", out);
    page_estimate(out, json_number(res, "measured_tokens_per_s"), NAN, NAN, 1);
    fputs(" tokens/s with speculation; predicted are ", out);
    estimate(out, sim, "speculative_tokens_per_s", 1);
    fputs(". ", out);
    page_estimate(out, us, low, high, 1e-3);
    fputs(" ms of each cycle are explained by no term", out);
    if (isfinite(accept)) {
        fputs(", or the accept length is ", out);
        page_estimate(out, accept, NAN, NAN, 1);
        fputs(" instead of ", out);
        page_estimate(out, json_number(sim, "tokens_per_cycle"), NAN, NAN, 1);
    }
    fputs(".</p>\n", out);
    if (outside)
        fputs("<p>The interval does not hold zero: something outside the model decides here. Find "
              "it before any of the optimizations below is built.</p>\n",
              out);
    fputs("</div>\n", out);
}

/* --- The ranking ------------------------------------------------------------------------------ */

static void write_option(FILE *out, const cJSON *o)
{
    double low, high, days = json_number(o, "effort_days"),
                      per_day = json_number(o, "gain_per_day"), p = json_number(o, "p_best");
    const char *status = json_text(o, "status");
    int blocked = strcmp(status, "blocked") == 0;
    json_interval(o, "gain_ci95", &low, &high);
    fputs("<tr class=\"", out);
    page_text(out, status);
    fputs("\"><td>", out);
    page_text(out, name_of(o));
    if (strcmp(status, "ok") != 0) {
        fputs(" <span class=\"tag\">", out);
        page_text(out, status);
        fputs("</span>", out);
    }
    fputs("<div class=\"why\">", out);
    page_text(out, json_text(o, "reason"));
    fputs("</div></td><td class=\"n\">", out);
    page_gain(out, json_number(o, "gain"), low, high);
    fputs("</td><td class=\"n\">", out);
    if (isfinite(days))
        fprintf(out, days < 10 ? "%.2g" : "%.0f", days);
    fputs("</td><td class=\"n\">", out);
    if (isfinite(per_day) && !blocked)
        fprintf(out, "%+.2f %%", 100 * per_day);
    fputs("</td><td class=\"n\">", out);
    if (isfinite(p) && !blocked)
        fprintf(out, "%.2f", p);
    fputs("</td></tr>\n", out);
}

static const cJSON *option_by_id(const cJSON *options, const char *id)
{
    const cJSON *o;
    cJSON_ArrayForEach(o, options) if (strcmp(json_text(o, "id"), id) == 0) return o;
    return NULL;
}

/* roadmap[]: ids, or objects with an id and the throughput after each. */
static void write_roadmap(FILE *out, const cJSON *rank)
{
    const cJSON *options = json_member(rank, "optimizations"),
                *roadmap = json_member(rank, "roadmap"), *step;
    if (cJSON_GetArraySize(roadmap) == 0)
        return;
    fputs("<p>In this order they add up to:</p>\n<table><tr><th>step</th><th class=\"n\">tokens/s "
          "after it</th></tr>\n",
          out);
    cJSON_ArrayForEach(step, roadmap)
    {
        const char *id = cJSON_IsString(step) ? step->valuestring : json_text(step, "id");
        const cJSON *o = option_by_id(options, id);
        double low, high;
        json_interval(json_member(step, "ci95"), "tokens_per_s", &low, &high);
        fputs("<tr><td>", out);
        page_text(out, o != NULL ? name_of(o) : id);
        fputs("</td><td class=\"n\">", out);
        page_estimate(out, json_number(step, "tokens_per_s"), low, high, 1);
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

static enum status write_ranking(FILE *out, const struct report *r, struct err *err)
{
    const cJSON *options = json_member(r->rank.root, "optimizations"), *o;
    fputs("<h2>Which optimization first</h2>\n", out);
    enum status status = page_plot(out, "rank", &r->request,
                                   "Bars are 95 % intervals over the drawn worlds. Blocked options "
                                   "show what they would give.",
                                   err);
    if (status != STATUS_OK)
        return status;
    fputs(
        "<table><tr><th>optimization and why</th><th class=\"n\">gain [95 %]</th><th "
        "class=\"n\">days</th><th class=\"n\">gain per day</th><th class=\"n\">P(best)</th></tr>\n",
        out);
    cJSON_ArrayForEach(o, options) write_option(out, o);
    fputs("</table>\n", out);
    write_roadmap(out, r->rank.root);
    return STATUS_OK;
}

/* How far today's throughput moves when one quantity goes from end to end of its interval. */
static void write_sensitivity(FILE *out, const cJSON *rank)
{
    const cJSON *rows = json_member(rank, "tornado"), *row;
    int n = 0;
    if (cJSON_GetArraySize(rows) == 0)
        return;
    fputs("<h2>What moves the prediction most</h2>\n<table><tr><th>quantity</th><th "
          "class=\"n\">value [range]</th><th class=\"n\">tokens/s today, at both ends</th></tr>\n",
          out);
    cJSON_ArrayForEach(row, rows)
    {
        double low, high, from, to;
        if (n++ == 8)
            break;
        json_interval(row, "range", &low, &high);
        json_interval(row, "today_tokens_per_s", &from, &to);
        fputs("<tr><td><code>", out);
        page_text(out, json_text(row, "key"));
        fputs("</code></td><td class=\"n\">", out);
        page_estimate(out, json_number(row, "value"), low, high, 1);
        fputs("</td><td class=\"n\">", out);
        page_estimate(out, from, NAN, NAN, 1);
        fputs(" to ", out);
        page_estimate(out, to, NAN, NAN, 1);
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

/* --- Assumptions ------------------------------------------------------------------------------ */

static void write_value(FILE *out, const struct scenario *s, const struct scenario_key *key)
{
    const void *member = scenario_member_const(s, key);
    switch (key->type) {
    case KEY_TYPE_TEXT:
        page_text(out, member);
        break;
    case KEY_TYPE_INT:
        fprintf(out, "%d", *(const int *)member);
        break;
    case KEY_TYPE_BOOL:
        fputs(*(const int *)member ? "true" : "false", out);
        break;
    case KEY_TYPE_NUM:
        fprintf(out, "%.6g", *(const double *)member);
        break;
    case KEY_TYPE_QTY: {
        const struct qty *q = member;
        fprintf(out, "%.6g", q->value);
        if (q->low < q->high)
            fprintf(out, " [%.6g, %.6g]", q->low, q->high);
        break;
    }
    case KEY_TYPE_LIST: {
        const struct qty_list *l = member;
        for (int i = 0; i < l->n; i++)
            fprintf(out, "%s%.4g", i > 0 ? ", " : "", l->v[i]);
        break;
    }
    case KEY_TYPE_CURVE:
        fprintf(out, "%d points", ((const struct qty_curve *)member)->n);
        break;
    }
}

static int is_assumed(const cJSON *node)
{
    return cJSON_IsTrue(json_member(node, "assumed"));
}

/* Every key that the file gives, the assumed ones first. */
static void write_assumptions(FILE *out, const struct report *r)
{
    fputs("<h2>What this rests on</h2>\n<p>Assumed values come first: replacing one by a "
          "measurement narrows the intervals above.</p>\n<table><tr><th>key</th><th>value [95 "
          "%]</th><th></th><th>meaning and source</th></tr>\n",
          out);
    for (int assumed = 1; assumed >= 0; assumed--)
        for (size_t i = 0; i < scenario_n_keys; i++) {
            const struct scenario_key *key = &scenario_keys[i];
            const cJSON *node = scenario_doc_find(&r->file.doc, key->path);
            if (node == NULL || is_assumed(node) != assumed || strcmp(key->path, "title") == 0)
                continue;
            const char *source = scenario_doc_source(&r->file.doc, key->path);
            fprintf(out, "<tr><td><code>%s</code></td><td>", key->path);
            write_value(out, &r->file.s, key);
            fprintf(out, "</td><td><span class=\"tag %s\">%s</span></td><td>",
                    assumed ? "assumed" : "given", assumed ? "assumed" : "given");
            page_text(out, key->doc);
            if (source != NULL && source[0] != '\0') {
                fputs("<div class=\"why\">", out);
                page_text(out, source);
                fputs("</div>", out);
            }
            fputs("</td></tr>\n", out);
        }
    fputs("</table>\n", out);
}

static void write_warnings(FILE *out, const struct report *r)
{
    const cJSON *warnings = json_member(r->simulate.root, "warnings"), *w;
    if (cJSON_GetArraySize(warnings) == 0)
        return;
    fputs("<h2>What was derived rather than measured</h2>\n<ul>\n", out);
    cJSON_ArrayForEach(w, warnings)
    {
        fputs("<li>", out);
        page_text(out, cJSON_IsString(w) ? w->valuestring : json_text(w, "text"));
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void write_command(FILE *out, const char *name, const char *const *args)
{
    fprintf(out, "updraft %s", name);
    for (int i = 0; args[i] != NULL; i++) {
        fputc(' ', out);
        page_text(out, args[i]);
    }
    fputc('\n', out);
}

static void write_commands(FILE *out, const struct report *r)
{
    fputs("<h2>Again by hand</h2>\n<pre>", out);
    write_command(out, "simulate", r->simulate_args);
    write_command(out, "rank", r->rank_args);
    fputs("updraft plot rank ", out);
    page_text(out, r->rank_args[0]);
    fputs(" -o rank.svg</pre>\n", out);
}

static enum status write_page(FILE *out, const struct report *r, struct err *err)
{
    static const struct {
        const char *kind, *caption;
    } pictures[] = {
        {"draft", "Each draft adds a pass and a verified row, and pays only while it is accepted."},
        {"breakdown", "The parts add up to the cycle; what speculation costs is the difference of "
                      "the upper bars, what it gives that of the lower ones."},
        {"count", "The left end is the most that any change to the allreduce could give."},
        {"latency", "The allreduce's cost, and where this scenario's messages lie on it."},
    };
    const struct scenario *s = &r->file.s;
    const char *title = s->title[0] != '\0' ? s->title : "Which optimization first?";
    page_begin(out, title);
    fputs("<h1>", out);
    page_text(out, title);
    fputs("</h1>\n<p class=\"sub\">", out);
    page_textf(out, "%d ranks, batch %d, %s; estimates with their 95 %% intervals", s->ranks,
               s->batch, s->allreduce.impl);
    fputs("</p>\n", out);
    write_answer(out, r);
    write_residual(out, r);
    enum status status = write_ranking(out, r, err);
    if (status == STATUS_OK)
        fputs("<h2>Pictures</h2>\n", out);
    for (size_t i = 0; status == STATUS_OK && i < sizeof pictures / sizeof pictures[0]; i++) {
        struct err why = {STATUS_OK, ""};
        enum status one = page_plot(out, pictures[i].kind, &r->request, pictures[i].caption, &why);
        /* A picture that this scenario cannot have is said so; anything else ends the report. */
        if (one == STATUS_UNSUPPORTED) {
            fputs("<p class=\"why\">", out);
            page_text(out, why.msg);
            fputs("</p>\n", out);
        } else if (one != STATUS_OK) {
            status = err_set(err, one, "%s", why.msg);
        }
    }
    if (status != STATUS_OK)
        return status;
    write_sensitivity(out, r->rank.root);
    write_warnings(out, r);
    write_assumptions(out, r);
    write_commands(out, r);
    page_end(out);
    return STATUS_OK;
}

static enum status run(struct invocation *inv, struct err *err)
{
    struct report *r = calloc(1, sizeof *r);
    struct atomic_file file = {0};
    enum status status = STATUS_OK;
    if (r == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    if (inv->json) {
        status = err_set(err, STATUS_USAGE,
                         "report writes a page; for JSON use simulate --json and rank --json");
        goto out;
    }
    status = gather(r, inv, err);
    if (status != STATUS_OK)
        goto out;
    int to_file = inv->out_path != NULL && strcmp(inv->out_path, "-") != 0;
    if (to_file) {
        status = atomic_open(&file, inv->out_path, err);
        if (status != STATUS_OK)
            goto out;
    }
    status = write_page(to_file ? file.f : inv->out, r, err);
    if (status == STATUS_OK && to_file)
        status = atomic_commit(&file, err);
out:
    atomic_abandon(&file);
    release(r);
    free(r);
    return status;
}

static const struct command_option options[] = {
    {"set", "KEY=VALUE", 1, "edit the scenario first, as in simulate"},
    {"costs", "FILE", 1, "a trace or model that prices the collectives, before the scenario's own"},
    {"catalogue", "FILE", 0, "options to rank, instead of those that ship"},
    {"budget", "DAYS", 0, "days of work that may be spent"},
    {"seed", "N", 0, "of the draws"},
    {0},
};

const struct command cmd_report = {
    .name = "report",
    .synopsis = "SCENARIO [-o FILE.html] [--set KEY=VALUE]...",
    .summary = "one self-contained page with the answer, the pictures and the assumptions",
    .details = "The page loads nothing from elsewhere: pictures are inline SVG.",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .flags = COMMAND_OUTPUT_PATH,
    .run = run,
};
