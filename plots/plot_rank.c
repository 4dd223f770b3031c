/* The priority ranking: gains with intervals, effort, and why what is blocked is blocked. */
#include <math.h>
#include <string.h>

#include "plots/ask.h"
#include "plots/plot.h"

enum { MAX_OPTIONS = 64, SHOWN_OPTIONS = 20, SHOWN_BLOCKED = 4 };
enum group { WORTH = 1, UNTOLD, HARMFUL, BLOCKED };

struct option_row {
    const char *name, *remark;
    double gain, low, high, days, per_day, p_best; /* gains as fractions; NaN where unknown */
    enum group group;
};

/* Whether a gain is told from nothing: as the ranking says, or by its interval where it does not.
 */
static enum group group_of(const cJSON *o, double low, double high)
{
    const char *status = json_text(o, "status");
    const cJSON *undecidable = json_member(o, "undecidable");
    if (strcmp(status, "blocked") == 0)
        return BLOCKED;
    if (strcmp(status, "harmful") == 0)
        return HARMFUL;
    if (cJSON_IsBool(undecidable))
        return cJSON_IsTrue(undecidable) ? UNTOLD : WORTH;
    return low <= 0 && high >= 0 ? UNTOLD : WORTH;
}

static struct option_row row_of(const cJSON *o)
{
    struct option_row r = {.name = json_text(o, "title"), .remark = json_text(o, "reason")};
    if (r.name[0] == '\0')
        r.name = json_text(o, "id");
    r.gain = json_number(o, "gain");
    json_interval(o, "gain_ci95", &r.low, &r.high);
    r.days = json_number(o, "effort_days");
    r.per_day = json_number(o, "gain_per_day");
    r.p_best = json_number(o, "p_best");
    r.group = group_of(o, r.low, r.high);
    return r;
}

static const char *element(char buf[40], const char *array, int i)
{
    snprintf(buf, 40, "%s[%d]", array, i + 1);
    return buf;
}

static void write_texts(FILE *program, const struct option_row *r, int i)
{
    char name[40];
    plot_cut_text(program, element(name, "name", i), r->name, 52);
    plot_cut_text(program, element(name, "remark", i), r->remark, 172);
    if (r->group == BLOCKED)
        plot_text(program, element(name, "gain_text", i), "blocked");
    else
        plot_textf(program, element(name, "gain_text", i), "%+.1f %%", 100 * r->gain);
    if (isfinite(r->days))
        plot_textf(program, element(name, "days_text", i), r->days < 10 ? "%.2g" : "%.0f", r->days);
    else
        plot_text(program, element(name, "days_text", i), "");
    if (isfinite(r->per_day) && r->group != BLOCKED)
        plot_textf(program, element(name, "per_day_text", i), "%+.2f %%", 100 * r->per_day);
    else
        plot_text(program, element(name, "per_day_text", i), "");
    if (isfinite(r->p_best) && r->group != BLOCKED)
        plot_textf(program, element(name, "best_text", i), "%.2f", r->p_best);
    else
        plot_text(program, element(name, "best_text", i), "");
}

static void write_data(FILE *program, const struct option_row *rows, int n)
{
    static const char *const arrays[] = {
        "name",       "remark", "gain_text", "days_text", "per_day_text", "best_text",   "has_bar",
        "is_blocked", "gain",   "low95",     "high95",    "status",       "status_count"};
    char name[40];
    double lowest = 0, highest = 0;
    int counts[4] = {0};
    plot_integer(program, "n_options", n);
    for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++)
        plot_array(program, arrays[a], strcmp(arrays[a], "status_count") == 0 ? 4 : n);
    for (int i = 0; i < n; i++) {
        const struct option_row *r = &rows[i];
        write_texts(program, r, i);
        plot_integer(program, element(name, "has_bar", i), isfinite(r->gain) ? 1 : 0);
        plot_integer(program, element(name, "is_blocked", i), r->group == BLOCKED);
        plot_integer(program, element(name, "status", i), (int)r->group);
        plot_number(program, element(name, "gain", i), 100 * r->gain);
        plot_number(program, element(name, "low95", i), 100 * r->low);
        plot_number(program, element(name, "high95", i), 100 * r->high);
        counts[r->group - 1]++;
        if (!isfinite(r->gain))
            continue;
        lowest = fmin(lowest, fmin(r->gain, r->low));
        highest = fmax(highest, fmax(r->gain, r->high));
    }
    for (int g = 0; g < 4; g++)
        plot_integer(program, element(name, "status_count", g), counts[g]);
    double margin = 0.06 * (highest - lowest) + 0.005;
    plot_number(program, "x_min", 100 * (lowest - margin));
    plot_number(program, "x_max", 100 * (highest + margin));
}

/* The ranking in `request`: a scenario's is asked for, a file of `rank --json` is taken as it is.
 */
static enum status read_ranking(const struct plot_request *request, struct json_doc *doc,
                                struct err *err)
{
    enum status status = json_doc_read(doc, request->input, err);
    if (status != STATUS_OK || json_member(doc->root, "updraft_scenario") == NULL)
        return status;
    json_doc_release(doc);
    *doc = (struct json_doc){0};
    const char *args[ASK_MAX_ARGS];
    static const char *const passed[] = {"--set",       "--costs",  "--seed",
                                         "--catalogue", "--budget", NULL};
    ask_pass_options(args, request->input, request->inv, passed);
    return ask_command("rank", args, request->inv->log, doc, err);
}

static enum status write_plot(const struct plot_request *request, FILE *program,
                              struct plot_size *size, struct err *err)
{
    struct json_doc doc = {0};
    struct option_row rows[MAX_OPTIONS];
    int n = 0;
    enum status status = read_ranking(request, &doc, err);
    if (status != STATUS_OK)
        goto out;
    const cJSON *options = json_member(doc.root, "optimizations"), *o;
    if (!cJSON_IsArray(options)) {
        status = err_set(err, STATUS_INPUT,
                         "%s: neither a scenario nor the output of updraft rank --json: it has no "
                         "key \"optimizations\"",
                         request->input);
        goto out;
    }
    int64_t top = SHOWN_OPTIONS;
    status = invocation_integer(request->inv, "top", 1, MAX_OPTIONS, &top, err);
    if (status != STATUS_OK)
        goto out;
    int found = cJSON_GetArraySize(options), blocked = 0;
    cJSON_ArrayForEach(o, options)
    {
        struct option_row r = row_of(o);
        blocked += r.group == BLOCKED;
    }
    /* Of more than are shown the last places are for blocked ones: their reasons are results too.
     */
    int kept = found > top ? (blocked < SHOWN_BLOCKED ? blocked : SHOWN_BLOCKED) : 0;
    if (kept >= top)
        kept = 0;
    cJSON_ArrayForEach(o, options)
    {
        struct option_row r = row_of(o);
        int has_gain = isfinite(r.gain) && isfinite(r.low) && isfinite(r.high);
        if (!has_gain)
            r.gain = r.low = r.high = NAN;
        if (n < (r.group == BLOCKED ? top : top - kept) && (has_gain || r.group == BLOCKED))
            rows[n++] = r;
    }
    if (n == 0) {
        status = err_set(err, STATUS_UNSUPPORTED, "%s: no optimization with a gain to draw",
                         request->input);
        goto out;
    }
    double today = json_number(doc.root, "today_tokens_per_s");
    char figure[32], more[40] = "";
    if (found > n)
        snprintf(more, sizeof more, "; %d of %d options", n, found);
    plot_text(program, "title", "What to do first");
    if (isfinite(today))
        plot_textf(program, "subtitle", "%s: %s tokens/s today%s", json_text(doc.root, "title"),
                   plot_figure(figure, sizeof figure, today), more);
    else
        plot_textf(program, "subtitle", "%s%s", json_text(doc.root, "title"), more);
    write_data(program, rows, n);
    size->height = 145 + 44 * n;
    size->rows = 2 * n + 9;
out:
    json_doc_release(&doc);
    return status;
}

const struct plot_kind plot_rank = {
    .name = "rank",
    .summary = "the priority ranking, with intervals and reasons",
    .input = "SCENARIO|RANKING",
    .size = {1100, 500, 24},
    .write = write_plot,
};
