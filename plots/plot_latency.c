/* Latency against message size: what was measured, the fit, its interval, and beyond. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plots/ask.h"
#include "plots/scenario_input.h"
#include "traces/model_io.h"

enum { MAX_SERIES = 7, MAX_MARKS = 2, MAX_FILES = 16, SAMPLES_PER_OCTAVE = 12 };

/* One line of the picture; everything borrowed. */
struct series {
    const struct cost *cost;
    const struct curve *curve; /* its measurements, NULL where only the model is there */
    const struct fit *fit;     /* NULL likewise */
};

struct latency_data {
    struct fits fits;   /* of the traces */
    struct costs costs; /* of model files */
    int has_fits;
    struct series series[MAX_SERIES];
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
    int is_model = strcmp(path, "-") != 0 && json_doc_read(&doc, path, &ignored) == STATUS_OK &&
                   json_member(doc.root, "models") != NULL;
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

/* The measurements behind a fit: the curve with its key. */
static const struct curve *curve_of(const struct fits *fs, const struct cost *c)
{
    for (size_t i = 0; i < fs->curves.n; i++) {
        const struct record *k = fs->curves.v[i].key;
        if (strcmp(k->impl, c->impl) == 0 && strcmp(k->label, c->label) == 0 &&
            strcmp(k->dtype, c->dtype) == 0 && strcmp(k->method, c->method) == 0 &&
            k->ranks == c->ranks && k->in_place == c->in_place &&
            strcmp(record_what_name(k->what), c->collective) == 0)
            return &fs->curves.v[i];
    }
    return NULL;
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
    if (d->n < MAX_SERIES)
        d->series[d->n++] = *s;
}

static void choose_series(struct latency_data *d, const struct invocation *inv, int64_t ranks)
{
    for (size_t i = 0; i < d->fits.n; i++) {
        const struct fit *f = &d->fits.v[i];
        struct series s = {&f->cost, curve_of(&d->fits, &f->cost), f};
        if (wanted(d, inv, ranks, &f->cost))
            add_series(d, &s);
    }
    for (size_t i = 0; i < d->costs.n; i++) {
        struct series s = {&d->costs.v[i], NULL, NULL};
        if (wanted(d, inv, ranks, &d->costs.v[i]))
            add_series(d, &s);
    }
}

/* A name says what tells the series apart and nothing else. */
static void series_name(const struct latency_data *d, int which, char *buf, size_t size)
{
    const struct cost *c = d->series[which].cost;
    int ranks = 0, label = 0, dtype = 0, method = 0;
    for (int i = 0; i < d->n; i++) {
        const struct cost *o = d->series[i].cost;
        ranks |= o->ranks != c->ranks;
        label |= strcmp(o->label, c->label) != 0;
        dtype |= strcmp(o->dtype, c->dtype) != 0;
        method |= strcmp(o->method, c->method) != 0;
    }
    size_t n = (size_t)snprintf(buf, size, "%s", c->impl[0] != '\0' ? c->impl : "unnamed");
    if (ranks && n < size)
        n += (size_t)snprintf(buf + n, size - n, ", %d ranks", c->ranks);
    if (label && n < size)
        n += (size_t)snprintf(buf + n, size - n, ", %.40s", c->label);
    if (dtype && n < size)
        n += (size_t)snprintf(buf + n, size - n, ", %s", c->dtype);
    if (method && n < size)
        snprintf(buf + n, size - n, ", %s", c->method);
}

struct range {
    double low, high;
};

static void widen(struct range *r, double x)
{
    if (!(x > 0) || !isfinite(x))
        return;
    r->low = fmin(r->low, x);
    r->high = fmax(r->high, x);
}

static int is_outlier(const struct fit *f, double bytes)
{
    for (int i = 0; f != NULL && i < f->n_outliers; i++)
        if (f->outliers[i].bytes == bytes)
            return 1;
    return 0;
}

static void write_points(FILE *program, const struct latency_data *d, struct range *y)
{
    plot_table(program, "points");
    for (int i = 0; i < d->n; i++) {
        const struct series *s = &d->series[i];
        if (i > 0)
            plot_index(program);
        for (size_t p = 0; s->curve != NULL && p < s->curve->n_points; p++) {
            const struct point *m = &s->curve->points[p];
            double spread = isfinite(m->spread) ? exp(1.96 * m->spread) : 1;
            plot_cell(program, m->bytes);
            plot_cell(program, m->us);
            plot_cell(program, m->us / spread);
            plot_cell(program, m->us * spread);
            plot_cell(program, is_outlier(s->fit, m->bytes));
            plot_row_end(program);
            widen(y, m->us);
        }
        if (s->curve == NULL || s->curve->n_points == 0)
            fputs("NaN\tNaN\tNaN\tNaN\tNaN\n", program);
    }
    plot_table_end(program);
}

static void write_sample(FILE *program, const struct cost *c, double bytes, int measured,
                         struct range *y)
{
    double low, high, us = cost_latency_us(c, bytes);
    cost_ci95(c, bytes, &low, &high);
    plot_cell(program, bytes);
    plot_cell(program, us);
    plot_cell(program, low);
    plot_cell(program, high);
    plot_cell(program, measured);
    plot_row_end(program);
    widen(y, us);
    if (measured) {
        widen(y, low);
        widen(y, high);
    }
}

static void write_curve(FILE *program, const struct cost *c, const struct range *x, struct range *y)
{
    const double factor = exp2(1.0 / SAMPLES_PER_OCTAVE);
    double bytes = x->low, next;
    for (;; bytes = next) {
        int inside = bytes >= c->min_bytes && bytes <= c->max_bytes;
        write_sample(program, c, bytes, inside, y);
        if (bytes >= x->high)
            break;
        next = fmin(bytes * factor, x->high);
        /* The ends of the measured range are points of both the dashed and the solid line. */
        const double ends[] = {c->min_bytes, c->max_bytes};
        for (int e = 0; e < 2; e++)
            if (bytes <= ends[e] && ends[e] < next) {
                write_sample(program, c, ends[e], e == 0 ? 0 : 1, y);
                write_sample(program, c, ends[e], e == 0 ? 1 : 0, y);
            }
        /* A step is drawn as one: both its sides. */
        for (int g = 1; c->form == COST_SEGMENTS && g < c->n_segments; g++) {
            double at = c->segments[g].from_bytes;
            if (bytes < at && at < next) {
                write_sample(program, c, at * (1 - 1e-6), inside, y);
                write_sample(program, c, at, inside, y);
            }
        }
    }
}

static void write_data(FILE *program, const struct latency_data *d)
{
    char name[40], text[240];
    struct range x = {INFINITY, 0}, y = {INFINITY, 0};
    int outliers = 0;
    for (int i = 0; i < d->n; i++) {
        widen(&x, d->series[i].cost->min_bytes);
        widen(&x, d->series[i].cost->max_bytes);
        outliers |= d->series[i].fit != NULL && d->series[i].fit->n_outliers > 0;
    }
    for (int m = 0; m < d->n_marks; m++)
        widen(&x, d->mark_bytes[m]);
    x.low /= 2;
    x.high *= 2;
    plot_integer(program, "n_series", d->n);
    plot_array(program, "series_name", d->n);
    for (int i = 0; i < d->n; i++) {
        series_name(d, i, text, sizeof text);
        snprintf(name, sizeof name, "series_name[%d]", i + 1);
        plot_text(program, name, text);
    }
    write_points(program, d, &y);
    plot_table(program, "curve");
    for (int i = 0; i < d->n; i++) {
        if (i > 0)
            plot_index(program);
        write_curve(program, d->series[i].cost, &x, &y);
    }
    plot_table_end(program);
    plot_integer(program, "n_marks", d->n_marks);
    plot_array(program, "mark_bytes", MAX_MARKS);
    plot_array(program, "mark_text", MAX_MARKS);
    for (int m = 0; m < d->n_marks; m++) {
        snprintf(name, sizeof name, "mark_bytes[%d]", m + 1);
        plot_number(program, name, d->mark_bytes[m]);
        snprintf(name, sizeof name, "mark_text[%d]", m + 1);
        plot_text(program, name, d->mark_text[m]);
    }
    plot_number(program, "x_min", x.low);
    plot_number(program, "x_max", x.high);
    /* Room for the key above the lines. */
    plot_number(program, "y_min", y.low / 1.25);
    plot_number(program, "y_max", y.high * (1.4 + 0.3 * d->n));
    /* At most eleven labels. */
    plot_integer(program, "x_step", (int)fmax(2, 2 * ceil(log2(x.high / x.low) / 22)));
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
    int is = strcmp(path, "-") != 0 && json_doc_read(&doc, path, &ignored) == STATUS_OK &&
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
