/* Predicted against measured: every case of the backtests that has both. */
#include <math.h>

#include "plots/backtest_input.h"

enum { MAX_TABLES = 7, MAX_POINTS = 400 };

static int has_pairs(const cJSON *table)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_member(table, "each")) if (json_number(c, "measured") > 0 &&
                                                          json_number(c, "predicted") > 0) return 1;
    return 0;
}

/* The table's cases as rows: measured, predicted, low, high, naive. Widens the range of both axes.
 */
static void write_table(FILE *program, const cJSON *table, double *lowest, double *highest,
                        int *naive_points)
{
    const cJSON *each = json_member(table, "each"), *c;
    int skip = cJSON_GetArraySize(each) / MAX_POINTS + 1, k = 0;
    cJSON_ArrayForEach(c, each)
    {
        double measured = json_number(c, "measured"), predicted = json_number(c, "predicted");
        double low, high;
        if (k++ % skip != 0 || !(measured > 0) || !(predicted > 0))
            continue;
        json_interval(c, "ci95", &low, &high);
        plot_cell(program, measured);
        plot_cell(program, predicted);
        plot_cell(program, low > 0 ? low : predicted);
        plot_cell(program, isfinite(high) ? high : predicted);
        double naive = json_number(c, "naive_predicted");
        plot_cell(program, naive > 0 ? naive : (double)NAN);
        *naive_points += naive > 0;
        plot_row_end(program);
        *lowest = fmin(*lowest, fmin(measured, predicted));
        *highest = fmax(*highest, fmax(measured, predicted));
    }
}

static enum status write_plot(const struct plot_request *request, FILE *program,
                              struct plot_size *size, struct err *err)
{
    struct json_doc doc = {0};
    const cJSON *tables[MAX_TABLES], *t;
    char name[40];
    double lowest = INFINITY, highest = 0;
    int n = 0, found = 0, naive_points = 0;
    (void)size;
    enum status status = backtest_input(request, &doc, err);
    if (status != STATUS_OK)
        goto out;
    cJSON_ArrayForEach(t, json_member(doc.root, "tables"))
    {
        if (!has_pairs(t))
            continue;
        found++;
        if (n < MAX_TABLES)
            tables[n++] = t;
    }
    if (n == 0) {
        status = err_set(err, STATUS_UNSUPPORTED,
                         "%s: no case has both a measured and a predicted value (--cases with "
                         "backtest --json writes them; plot errors needs only the errors)",
                         request->input);
        goto out;
    }
    plot_table(program, "pairs");
    for (int i = 0; i < n; i++) {
        if (i > 0)
            plot_index(program);
        write_table(program, tables[i], &lowest, &highest, &naive_points);
    }
    plot_table_end(program);
    plot_text(program, "title", "Predicted against measured");
    plot_textf(program, "subtitle",
               found > n ? "the first %d of %d tables that hold both"
                         : "%d of %d tables that hold both",
               n, found);
    plot_integer(program, "n_series", n);
    plot_array(program, "series_name", n);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "series_name[%d]", i + 1);
        plot_cut_text(program, name, json_text(tables[i], "table"), 60);
    }
    plot_integer(program, "n_naive", naive_points);
    plot_number(program, "low", lowest / 1.3);
    plot_number(program, "high", highest * 1.3);
out:
    json_doc_release(&doc);
    return status;
}

const struct plot_kind plot_predicted = {
    .name = "predicted",
    .summary = "predicted against measured, case by case",
    .input = "DIR|BACKTEST",
    .size = {820, 720, 40},
    .write = write_plot,
};
