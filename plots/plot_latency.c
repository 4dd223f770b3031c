/* Latency against message size: what was measured, the fit, its interval, and beyond. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/ask.h"
#include "plots/scenario_input.h"
#include "plots/series.h"

enum { MAX_MARKS = 2, MAX_FILES = 16 };

struct latency_data {
    struct fits fits;   /* of the traces */
    struct costs costs; /* of model files */
    int has_fits;
    struct series series[SERIES_MAX];
    int n, found; /* shown, and what matched */
    const char *title;
    char scenario_title[SCENARIO_TEXT];
    int n_marks;
    double mark_bytes[MAX_MARKS];
    char mark_text[MAX_MARKS][64];
    char impls[2][SCENARIO_TEXT]; /* of a scenario: only these, unless --impl says otherwise */
    int ranks;                    /* 0: any */
};

static void release(struct latency_data *d)
{
    fits_release(&d->fits);
    costs_release(&d->costs);
}

static enum status load_file(struct latency_data *d, const char *path, FILE *log, struct err *err)
{
    struct json_doc doc = {0};
    struct err ignored;
    int is_model =
        json_doc_read(&doc, path, &ignored) == STATUS_OK && json_member(doc.root, "models") != NULL;
    json_doc_release(&doc);
    if (is_model)
        return model_read(&d->costs, path, err);
    struct fits_filter filter = {.collective = "allreduce"};
    d->has_fits = 1;
    return fits_load(&d->fits, &path, 1, &filter, log, err);
}

/* "costs" of a scenario, relative to its folder. All traces are loaded together. */
static enum status load_scenario_costs(struct latency_data *d, const struct scenario_file *f,
                                       const char *scenario_path, FILE *log, struct err *err)
{
    char paths[MAX_FILES][4096];
    const char *traces[MAX_FILES];
    size_t n = 0;
    const char *slash = strrchr(scenario_path, '/');
    int folder = slash == NULL ? 0 : (int)(slash - scenario_path) + 1;
    const cJSON *item;
    cJSON_ArrayForEach(item, json_member(f->doc.root, "costs"))
    {
        if (!cJSON_IsString(item) || n == MAX_FILES)
            continue;
        const char *name = item->valuestring;
        snprintf(paths[n], sizeof paths[n], "%.*s%s", name[0] == '/' ? 0 : folder, scenario_path,
                 name);
        struct json_doc doc = {0};
        struct err ignored;
        if (json_doc_read(&doc, paths[n], &ignored) == STATUS_OK &&
            json_member(doc.root, "models") != NULL) {
            json_doc_release(&doc);
            enum status status = model_read(&d->costs, paths[n], err);
            if (status != STATUS_OK)
                return status;
            continue;
        }
        json_doc_release(&doc);
        traces[n] = paths[n];
        n++;
    }
    if (n == 0)
        return STATUS_OK;
    struct fits_filter filter = {.collective = "allreduce", .ranks = d->ranks};
    d->has_fits = 1;
    return fits_load(&d->fits, traces, n, &filter, log, err);
}

static void add_mark(struct latency_data *d, const char *what, double bytes)
{
    char size[32];
    if (d->n_marks == MAX_MARKS || bytes <= 0)
        return;
    d->mark_bytes[d->n_marks] = bytes;
    snprintf(d->mark_text[d->n_marks], sizeof d->mark_text[0], "%s: %s", what,
             plot_bytes(size, sizeof size, bytes));
    d->n_marks++;
}

static enum status load_scenario(struct latency_data *d, const struct plot_request *request,
                                 struct err *err)
{
    struct scenario_file f = {0};
    struct outcome o;
    uint64_t seed;
    enum status status = plot_open_scenario(&f, request, &seed, err);
    if (status == STATUS_OK) {
        evaluate(&f.s, &o);
        d->ranks = f.s.ranks;
        snprintf(d->scenario_title, sizeof d->scenario_title, "%s", f.s.title);
        snprintf(d->impls[0], sizeof d->impls[0], "%s", f.s.allreduce.impl);
        snprintf(d->impls[1], sizeof d->impls[1], "%s", f.s.allreduce.large_impl);
        double row = f.s.model.hidden * f.s.model.dtype_bytes;
        add_mark(d, "plain step", f.s.batch * row);
        if (scenario_speculates(&f.s))
            add_mark(d, "verify", o.message_bytes);
        status = load_scenario_costs(d, &f, request->input, request->inv->log, err);
    }
    scenario_file_release(&f);
    return status;
}

/* Whether the options, or a scenario's own choice, ask for this cost. */
static int wanted(const struct latency_data *d, const struct invocation *inv, int64_t ranks,
                  const struct cost *c)
{
    int any_impl = 0;
    if (strcmp(c->collective, "allreduce") != 0 || (ranks > 0 && c->ranks != ranks) ||
        (d->ranks > 0 && c->ranks != d->ranks))
        return 0;
    for (int i = 0; i < inv->n_given; i++)
        if (strcmp(inv->given[i].name, "impl") == 0) {
            any_impl = 1;
            if (strcmp(inv->given[i].value, c->impl) == 0)
                return 1;
        }
    return !any_impl;
}

/* Out of place and in place differ little and would draw one line twice. */
static int drawn_already(const struct latency_data *d, const struct cost *c)
{
    for (int i = 0; i < d->n; i++) {
        const struct cost *o = d->series[i].cost;
        if (strcmp(o->impl, c->impl) == 0 && strcmp(o->label, c->label) == 0 &&
            o->ranks == c->ranks && strcmp(o->dtype, c->dtype) == 0 &&
            strcmp(o->method, c->method) == 0 && o->in_place != c->in_place)
            return 1;
    }
    return 0;
}

static void add_series(struct latency_data *d, const struct series *s)
{
    if (drawn_already(d, s->cost))
        return;
    d->found++;
    if (d->n < SERIES_MAX)
        d->series[d->n++] = *s;
}

static void choose_series(struct latency_data *d, const struct invocation *inv, int64_t ranks)
{
    for (size_t i = 0; i < d->fits.n; i++) {
        const struct fit *f = &d->fits.v[i];
        struct series s = {&f->cost, series_curve_of(&d->fits, &f->cost), f};
        if (wanted(d, inv, ranks, &f->cost))
            add_series(d, &s);
    }
    for (size_t i = 0; i < d->costs.n; i++) {
        struct series s = {&d->costs.v[i], NULL, NULL};
        if (wanted(d, inv, ranks, &d->costs.v[i]))
            add_series(d, &s);
    }
}

static void write_data(FILE *program, const struct latency_data *d)
{
    char name[40];
    struct series_range x = series_range_empty, y = series_range_empty;
    int outliers = 0;
    for (int i = 0; i < d->n; i++) {
        series_widen(&x, d->series[i].cost->min_bytes);
        series_widen(&x, d->series[i].cost->max_bytes);
        outliers |= d->series[i].fit != NULL && d->series[i].fit->n_outliers > 0;
    }
    for (int m = 0; m < d->n_marks; m++)
        series_widen(&x, d->mark_bytes[m]);
    x.low /= 2;
    x.high *= 2;
    series_write_names(program, d->series, d->n);
    series_write_points(program, d->series, d->n, &y);
    series_write_curves(program, d->series, d->n, &x, &y);
    series_write_axis(program, &x);
    plot_integer(program, "n_marks", d->n_marks);
    plot_array(program, "mark_bytes", MAX_MARKS);
    plot_array(program, "mark_text", MAX_MARKS);
    for (int m = 0; m < d->n_marks; m++) {
        snprintf(name, sizeof name, "mark_bytes[%d]", m + 1);
        plot_number(program, name, d->mark_bytes[m]);
        snprintf(name, sizeof name, "mark_text[%d]", m + 1);
        plot_text(program, name, d->mark_text[m]);
    }
    /* Room for the key above the lines. */
    plot_number(program, "y_min", y.low / 1.25);
    plot_number(program, "y_max", y.high * (1.4 + 0.3 * d->n));
    plot_integer(program, "has_extrapolated", 1);
    plot_integer(program, "has_outliers", outliers);
    plot_text(program, "band_name", "shaded: 95 % interval of a measurement");
    const struct cost *first = d->series[0].cost;
    int same_ranks = 1, same_label = 1;
    for (int i = 1; i < d->n; i++) {
        same_ranks &= d->series[i].cost->ranks == first->ranks;
        same_label &= strcmp(d->series[i].cost->label, first->label) == 0;
    }
    if (same_ranks)
        plot_textf(program, "title", "Allreduce latency, %d ranks", first->ranks);
    else
        plot_text(program, "title", "Allreduce latency");
    const char *subtitle = d->scenario_title[0] != '\0' ? d->scenario_title
                           : same_label                 ? first->label
                                                        : "";
    if (d->found > d->n)
        plot_textf(program, "subtitle", "%s%s%d of %d curves; --impl and --ranks choose", subtitle,
                   subtitle[0] != '\0' ? ": " : "", d->n, d->found);
    else
        plot_text(program, "subtitle", subtitle);
}

static int is_scenario(const char *path)
{
    struct json_doc doc = {0};
    struct err ignored;
    int is = json_doc_read(&doc, path, &ignored) == STATUS_OK &&
             json_member(doc.root, "updraft_scenario") != NULL;
    json_doc_release(&doc);
    return is;
}

static enum status write_plot(const struct plot_request *request, FILE *program,
                              struct plot_size *size, struct err *err)
{
    (void)size;
    struct latency_data d = {0};
    int64_t ranks = 0;
    enum status status = invocation_integer(request->inv, "ranks", 1, 1 << 20, &ranks, err);
    if (status == STATUS_OK)
        status = is_scenario(request->input)
                     ? load_scenario(&d, request, err)
                     : load_file(&d, request->input, request->inv->log, err);
    if (status != STATUS_OK)
        goto out;
    choose_series(&d, request->inv, ranks);
    if (d.n == 0) {
        status = err_set(err, STATUS_UNSUPPORTED,
                         "%s has no fitted allreduce curve of that --impl and --ranks (updraft fit "
                         "lists what it has)",
                         request->input);
        goto out;
    }
    write_data(program, &d);
out:
    release(&d);
    return status;
}

const struct plot_kind plot_latency = {
    .name = "latency",
    .summary = "latency against message size, with fit and interval",
    .input = "TRACE|MODEL|SCENARIO",
    .size = {900, 560, 34},
    .write = write_plot,
};
