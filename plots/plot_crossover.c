/* Which implementation is fastest at which size, and where that changes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/synth.h"
#include "plots/ask.h"
#include "plots/series.h"
#include "traces/fabric_io.h"

struct contest {
    struct json_doc answer; /* of updraft crossover */
    struct fits fits;
    struct costs costs; /* of a model file, or synthesized */
    struct series series[SERIES_MAX];
    int n;
};

static enum status ask_crossover(const struct plot_request *request, struct json_doc *answer,
                                 struct err *err)
{
    static const char *const passed[] = {"--impl", "--ranks", "--from", "--to", NULL};
    const char *args[ASK_MAX_ARGS];
    ask_pass_options(args, request->input, request->inv, passed);
    return ask_command("crossover", args, request->inv->log, answer, err);
}

/* The costs that the answer is about: synthesized from the fabric, or measured. */
static enum status load_costs(struct contest *c, const struct plot_request *request,
                              struct err *err)
{
    const cJSON *root = c->answer.root;
    const char *path = request->input;
    if (strcmp(json_text(root, "source"), "measured") == 0) {
        struct json_doc doc = {0};
        struct err ignored;
        int is_model = json_doc_read(&doc, path, &ignored) == STATUS_OK &&
                       json_member(doc.root, "models") != NULL;
        json_doc_release(&doc);
        if (is_model)
            return model_read(&c->costs, path, err);
        struct fits_filter filter = {.collective = "allreduce",
                                     .ranks = (int)json_number(root, "ranks")};
        return fits_load(&c->fits, &path, 1, &filter, NULL, err);
    }
    struct fabric *f = malloc(sizeof *f);
    if (f == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    enum status status = fabric_load(f, path, NULL, err);
    struct synth_name all[SYNTH_MAX_IMPLS];
    int ranks = (int)json_number(root, "ranks");
    int n = status == STATUS_OK ? synth_impls(f, ranks, all, SYNTH_MAX_IMPLS) : 0;
    for (int i = 0; i < n && status == STATUS_OK; i++) {
        struct cost cost;
        status = synth_cost(f, all[i].name, ranks, NULL, 0, 0, &cost, err);
        if (status == STATUS_OK && costs_add(&c->costs, &cost) != 0)
            status = err_set(err, STATUS_FAILED, "out of memory");
    }
    free(f);
    return status;
}

static void add_series(struct contest *c, const char *impl)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->series[i].cost->impl, impl) == 0)
            return;
    if (c->n == SERIES_MAX)
        return;
    int ranks = (int)json_number(c->answer.root, "ranks");
    for (size_t i = 0; i < c->fits.n; i++)
        if (strcmp(c->fits.v[i].cost.impl, impl) == 0) {
            struct series s = {&c->fits.v[i].cost, series_curve_of(&c->fits, &c->fits.v[i].cost),
                               &c->fits.v[i]};
            c->series[c->n++] = s;
            return;
        }
    const struct cost *cost = costs_find(&c->costs, "allreduce", impl, ranks);
    if (cost != NULL && strcmp(cost->impl, impl) == 0)
        c->series[c->n++] = (struct series){cost, NULL, NULL};
}

/* Winners first, in the order of sizes; then runners-up; then what NCCL does by itself. */
static void choose_series(struct contest *c)
{
    const cJSON *segments = json_member(c->answer.root, "segments"), *s;
    cJSON_ArrayForEach(s, segments) add_series(c, json_text(s, "impl"));
    cJSON_ArrayForEach(s, segments) add_series(c, json_text(s, "runner_up"));
    add_series(c, "nccl/auto");
    add_series(c, "nccl/ring/ll");
    add_series(c, "custom/oneshot");
    add_series(c, "custom/twoshot");
}

static int series_of(const struct contest *c, const char *impl)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->series[i].cost->impl, impl) == 0)
            return i + 1;
    return 0;
}

/* A crossover is known to two digits at best. */
static void about_bytes(char *buf, size_t size, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int u = 0;
    for (; bytes >= 1000 && u < 3; u++)
        bytes /= 1024;
    snprintf(buf, size, bytes < 10 ? "%.1f %s" : "%.0f %s", bytes, units[u]);
}

static void write_data(FILE *program, const struct contest *c)
{
    const cJSON *root = c->answer.root, *segments = json_member(root, "segments"), *s;
    struct series_range x = series_range_empty, y = series_range_empty;
    char size[32];
    double low, high;
    cJSON_ArrayForEach(s, segments)
    {
        series_widen(&x, json_number(s, "from_bytes"));
        series_widen(&x, json_number(s, "to_bytes"));
    }
    series_write_names(program, c->series, c->n);
    series_write_points(program, c->series, c->n, &y);
    series_write_curves(program, c->series, c->n, &x, &y);
    series_write_axis(program, &x);
    plot_number(program, "y_min", y.low / 2.4);
    plot_number(program, "y_max", y.high * (1.6 + 0.2 * c->n));
    plot_table(program, "best");
    cJSON_ArrayForEach(s, segments)
    {
        plot_cell(program, json_number(s, "from_bytes"));
        plot_cell(program, json_number(s, "to_bytes"));
        plot_cell(program, series_of(c, json_text(s, "impl")));
        plot_row_end(program);
    }
    plot_table_end(program);
    int n = 0;
    plot_table(program, "crossings");
    cJSON_ArrayForEach(s, json_member(root, "crossovers"))
    {
        json_interval(s, "ci95", &low, &high);
        plot_cell(program, json_number(s, "bytes"));
        plot_cell(program, low);
        plot_cell(program, high);
        about_bytes(size, sizeof size, json_number(s, "bytes"));
        plot_cell_text(program, size);
        /* Labels stand in two rows in turn, so that neighbours do not meet. */
        plot_cell(program, n++ % 2);
        plot_row_end(program);
    }
    plot_table_end(program);
    plot_integer(program, "n_crossings", n);
    plot_textf(program, "title", "The fastest allreduce by size, %d ranks",
               (int)json_number(root, "ranks"));
    int measured = strcmp(json_text(root, "source"), "measured") == 0;
    plot_textf(program, "subtitle", "%s%s", c->series[0].cost->label,
               measured ? ", measured" : ": priced from the fabric, not measured");
    plot_integer(program, "is_measured", measured);
}

static enum status write_plot(const struct plot_request *request, FILE *program,
                              struct plot_size *size, struct err *err)
{
    (void)size;
    struct contest c = {0};
    enum status status = ask_crossover(request, &c.answer, err);
    if (status == STATUS_OK)
        status = load_costs(&c, request, err);
    if (status == STATUS_OK) {
        choose_series(&c);
        if (c.n == 0)
            status = err_set(err, STATUS_UNSUPPORTED, "%s: nothing to compare", request->input);
        else
            write_data(program, &c);
    }
    json_doc_release(&c.answer);
    fits_release(&c.fits);
    costs_release(&c.costs);
    return status;
}

const struct plot_kind plot_crossover = {
    .name = "crossover",
    .summary = "the fastest allreduce by size, and where it changes",
    .input = "FABRIC|TRACE|MODEL",
    .size = {900, 560, 34},
    .write = write_plot,
};
