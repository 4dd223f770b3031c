/* How far predictions are from measurements, table by table, beside a naive formula. */
#include <math.h>

#include "plots/backtest_input.h"

enum { MAX_TABLES = 24, MAX_POINTS = 600 };

struct table_row {
    const cJSON *table;
    double median, p90, naive_median;
};

static double shown(double rel_error)
{
    return 100 * fmax(rel_error, 1e-3);
}

/* Points of a lane: at most MAX_POINTS, spread over it in a fixed pattern so that they do not hide
 * each other. */
static void write_points(FILE *program, const struct table_row *rows, int n)
{
    const cJSON *c;
    plot_table(program, "cases");
    for (int i = 0; i < n; i++) {
        const cJSON *each = json_member(rows[i].table, "each");
        int total = cJSON_GetArraySize(each), skip = total / MAX_POINTS + 1, k = 0;
        cJSON_ArrayForEach(c, each)
        {
            if (k++ % skip != 0)
                continue;
            double wobble = fmod(k * 0.618034, 1) - 0.5;
            for (int naive = 0; naive <= 1; naive++) {
                double e = json_number(c, naive ? "naive_rel_error" : "rel_error");
                if (!isfinite(e))
                    continue;
                plot_cell(program, shown(e));
                plot_cell(program, n - i + (naive ? -0.2 : 0.15) + 0.22 * wobble);
                plot_cell(program, naive + 1);
                plot_row_end(program);
            }
        }
    }
    plot_table_end(program);
    plot_table(program, "medians");
    for (int i = 0; i < n; i++)
        for (int naive = 0; naive <= 1; naive++) {
            plot_cell(program, shown(naive ? rows[i].naive_median : rows[i].median));
            plot_cell(program, n - i + (naive ? -0.2 : 0.15));
            plot_cell(program, naive + 1);
            plot_row_end(program);
        }
    plot_table_end(program);
}

static void percent(char *buf, size_t size, double x)
{
    char figure[32];
    if (isfinite(x))
        snprintf(buf, size, "%s %%", plot_figure(figure, sizeof figure, 100 * x));
    else
        snprintf(buf, size, "–");
}

static void write_texts(FILE *program, const struct table_row *rows, int n)
{
    static const char *const arrays[] = {"name",     "detail",     "median_text",
                                         "p90_text", "naive_text", "formula"};
    char name[40], text[48], detail[256];
    for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++)
        plot_array(program, arrays[a], n);
    for (int i = 0; i < n; i++) {
        const cJSON *t = rows[i].table;
        snprintf(name, sizeof name, "name[%d]", i + 1);
        plot_cut_text(program, name, json_text(t, "table"), 38);
        snprintf(name, sizeof name, "detail[%d]", i + 1);
        snprintf(detail, sizeof detail, "%.0f cases: %s", json_number(t, "cases"),
                 json_text(t, "target"));
        plot_cut_text(program, name, detail, 54);
        snprintf(name, sizeof name, "median_text[%d]", i + 1);
        percent(text, sizeof text, rows[i].median);
        plot_text(program, name, text);
        snprintf(name, sizeof name, "p90_text[%d]", i + 1);
        percent(text, sizeof text, rows[i].p90);
        plot_text(program, name, text);
        snprintf(name, sizeof name, "naive_text[%d]", i + 1);
        percent(text, sizeof text, rows[i].naive_median);
        plot_text(program, name, text);
        snprintf(name, sizeof name, "formula[%d]", i + 1);
        plot_textf(program, name, "%.40s", json_text(json_member(t, "naive"), "formula"));
    }
}

static enum status write_plot(const struct plot_request *request, FILE *program,
                              struct plot_size *size, struct err *err)
{
    struct json_doc doc = {0};
    struct table_row rows[MAX_TABLES];
    int n = 0, found = 0;
    enum status status = backtest_input(request, &doc, err);
    const cJSON *t;
    if (status != STATUS_OK)
        goto out;
    cJSON_ArrayForEach(t, json_member(doc.root, "tables"))
    {
        double median = json_number(t, "median_rel_error");
        if (!isfinite(median))
            continue;
        found++;
        if (n < MAX_TABLES)
            rows[n++] =
                (struct table_row){t, median, json_number(t, "p90_rel_error"),
                                   json_number(json_member(t, "naive"), "median_rel_error")};
    }
    if (n == 0) {
        status = err_set(err, STATUS_UNSUPPORTED, "%s: no table with a relative error to draw",
                         request->input);
        goto out;
    }
    plot_text(program, "title", "How far predictions are from measurements");
    if (found > n)
        plot_textf(program, "subtitle", "the first %d of %d tables", n, found);
    else
        plot_text(program, "subtitle", "relative error of each case, beside a naive formula's");
    plot_integer(program, "n_tables", n);
    write_texts(program, rows, n);
    write_points(program, rows, n);
    size->height = 130 + 54 * n;
    size->rows = 2 * n + 8;
out:
    json_doc_release(&doc);
    return status;
}

const struct plot_kind plot_errors = {
    .name = "errors",
    .summary = "relative errors of the backtests, table by table",
    .input = "DIR|BACKTEST",
    .size = {980, 500, 24},
    .write = write_plot,
};
