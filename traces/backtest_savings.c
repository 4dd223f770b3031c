/* What a faster allreduce brings end to end: microbenchmark savings against served steps, and
 * served savings at other contexts.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/backtest.h"
#include "traces/run_table.h"

enum { NAME = 160, MAX_VARIANTS = 8 };

/* A saving that was predicted and measured, milliseconds a step. */
struct saving {
    char name[NAME], file[96];
    double predicted, corrected, measured;
    double low, high, center;
};

/* The half width of the interval: what served savings differ from microbenchmarks' by. */
static const double spread = 0.6;

struct state {
    struct saving *micro, *served;
    size_t n_micro, n_served;
};

static void *begin(void)
{
    return calloc(1, sizeof(struct state));
}

static void end(void *state)
{
    struct state *s = state;
    if (s == NULL)
        return;
    free(s->micro);
    free(s->served);
    free(s);
}

static int add(struct saving **v, size_t *n, const struct saving *x)
{
    struct saving *grown = realloc(*v, (*n + 1) * sizeof **v);
    if (grown == NULL)
        return -1;
    *v = grown;
    (*v)[(*n)++] = *x;
    return 0;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, compare);
    return 0.5 * (v[(n - 1) / 2] + v[n / 2]);
}

/* --- microbenchmarks ----------------------------------------------------------------------------
 */

/* A point of a size series that exceeds both its neighbours fourfold is an artefact of the
 * microbenchmark (a size that met a protocol switch): the neighbours speak for it. */
static void correct_outliers(struct saving *v, size_t n, const double *count)
{
    for (size_t i = 0; i < n; i++)
        v[i].corrected = v[i].predicted;
    for (size_t i = 1; i + 1 < n; i++) {
        if (count[i - 1] != count[i] || count[i + 1] != count[i])
            continue;
        double before = v[i - 1].predicted, after = v[i + 1].predicted;
        if (v[i].predicted > 4 * fmax(before, after))
            v[i].corrected = sqrt(before * after);
    }
}

static enum status take_micro(struct state *s, const struct run_table *r, const char *file,
                              int *taken, struct err *err)
{
    size_t first = s->n_micro;
    double *count = calloc(r->csv->n_rows + 1, sizeof *count);
    double *ratio = calloc(r->csv->n_rows + 1, sizeof *ratio);
    enum status status = STATUS_OK;
    if (count == NULL || ratio == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    for (size_t i = 0; i < r->csv->n_rows && status == STATUS_OK; i++) {
        double n = run_table_number(r, i, RUN_allreduces);
        double us = run_table_number(r, i, RUN_micro_saving_us);
        double measured = run_table_number(r, i, RUN_measured_saving_ms);
        if (!(n > 0 && us > 0 && measured > 0))
            continue;
        struct saving v = {.predicted = n * us / 1e3, .measured = measured};
        snprintf(v.file, sizeof v.file, "%s", file);
        snprintf(v.name, sizeof v.name, "%.150s", run_table_text(r, i, RUN_file));
        count[s->n_micro - first] = n;
        if (add(&s->micro, &s->n_micro, &v) != 0)
            status = err_set(err, STATUS_FAILED, "out of memory");
    }
    size_t n = s->n_micro - first;
    if (status == STATUS_OK && n >= 3) {
        struct saving *v = s->micro + first;
        correct_outliers(v, n, count);
        for (size_t i = 0; i < n; i++) {
            size_t k = 0;
            for (size_t j = 0; j < n; j++)
                if (j != i)
                    ratio[k++] = v[j].measured / v[j].corrected;
            v[i].center = v[i].corrected * median(ratio, k);
            v[i].low = v[i].center * (1 - spread);
            v[i].high = v[i].center * (1 + spread);
        }
        *taken = 1;
    } else {
        s->n_micro = first;
    }
    free(count);
    free(ratio);
    return status;
}

/* --- served savings by context ------------------------------------------------------------------
 */

static int variants(const struct csv *csv, int *off, int *column)
{
    int n = 0;
    *off = csv_column(csv, "tpot_ms_off");
    for (int c = 0; c < csv->n_columns && n < MAX_VARIANTS; c++)
        if (c != *off && strncmp(csv->header[c], "tpot_ms_", 8) == 0)
            column[n++] = c;
    return *off >= 0 ? n : 0;
}

/* A message is as long at 8k of context as at 128k, so a step saves the same: the mean of the other
 * contexts at that number of requests. */
static enum status take_served(struct state *s, const struct run_table *r, const char *file,
                               int *taken, struct err *err)
{
    int off, column[MAX_VARIANTS], n = variants(r->csv, &off, column);
    for (int k = 0; k < n; k++)
        for (size_t i = 0; i < r->csv->n_rows; i++) {
            double batch = run_table_number(r, i, RUN_batch), sum = 0, others = 0;
            for (size_t j = 0; j < r->csv->n_rows; j++) {
                double saved = csv_number(r->csv, j, off) - csv_number(r->csv, j, column[k]);
                if (j == i || run_table_number(r, j, RUN_batch) != batch || isnan(saved))
                    continue;
                sum += saved;
                others++;
            }
            double measured = csv_number(r->csv, i, off) - csv_number(r->csv, i, column[k]);
            if (others < 1 || isnan(measured))
                continue;
            struct saving v = {.predicted = sum / others, .measured = measured};
            snprintf(v.file, sizeof v.file, "%s", file);
            v.center = v.corrected = v.predicted;
            double half = fabs(v.center) * spread;
            v.low = v.center - half;
            v.high = v.center + half;
            snprintf(v.name, sizeof v.name, "%.60s, context %.20s, %g requests",
                     r->csv->header[column[k]] + 8, csv_text(r->csv, i, r->number[RUN_context]),
                     batch);
            if (add(&s->served, &s->n_served, &v) != 0)
                return err_set(err, STATUS_FAILED, "out of memory");
            *taken = 1;
        }
    return STATUS_OK;
}

static enum status take(void *state, struct backtest_file *f, int *taken, struct err *err)
{
    struct state *s = state;
    *taken = 0;
    const struct csv *csv = backtest_csv(f);
    struct run_table r;
    if (csv == NULL)
        return STATUS_OK;
    run_table_open(&r, csv);
    if (run_table_has(&r, RUN_allreduces) && run_table_has(&r, RUN_micro_saving_us) &&
        run_table_has(&r, RUN_measured_saving_ms))
        return take_micro(s, &r, f->name, taken, err);
    if (csv_has(csv, "tpot_ms_off") && run_table_has(&r, RUN_batch))
        return take_served(s, &r, f->name, taken, err);
    return STATUS_OK;
}

static enum status report(struct backtest_results *rs, const struct saving *v, size_t n,
                          const char *fitted_on, const char *naive, struct err *err)
{
    struct backtest_result *r = backtest_add(rs);
    if (r == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    snprintf(r->table, sizeof r->table, "%s", v->file);
    snprintf(r->target, sizeof r->target,
             "milliseconds that a served step saves by a faster allreduce, within 60 %%");
    snprintf(r->fitted_on, sizeof r->fitted_on, "%s", fitted_on);
    r->fitted_parameters = 1;
    size_t right = 0;
    for (size_t i = 0; i < n; i++) {
        struct backtest_case c = {.measured = v[i].measured,
                                  .predicted = v[i].center,
                                  .low = v[i].low,
                                  .high = v[i].high,
                                  .error = fabs(v[i].center / v[i].measured - 1)};
        c.naive_predicted = naive != NULL ? v[i].predicted : 0;
        c.naive_error = naive != NULL ? fabs(v[i].predicted / v[i].measured - 1) : (double)NAN;
        snprintf(c.name, sizeof c.name, "%s", v[i].name);
        right += (v[i].center > 0) == (v[i].measured > 0);
        if (backtest_add_case(r, &c) != 0)
            return err_set(err, STATUS_FAILED, "out of memory");
    }
    if (naive != NULL) {
        r->n_naive = 1;
        snprintf(r->naive[0].formula, sizeof r->naive[0].formula, "%s", naive);
    }
    if (backtest_summarise_cases(r) != 0)
        return err_set(err, STATUS_FAILED, "out of memory");
    r->errors.sign_accuracy = (double)right / (double)n;
    return STATUS_OK;
}

/* Results by file. */
static enum status report_files(struct backtest_results *rs, const struct saving *v, size_t n,
                                const char *fitted_on, const char *naive, struct err *err)
{
    enum status status = STATUS_OK;
    for (size_t i = 0, k; i < n && status == STATUS_OK; i += k) {
        for (k = 1; i + k < n && strcmp(v[i + k].file, v[i].file) == 0;)
            k++;
        status = report(rs, v + i, k, fitted_on, naive, err);
    }
    return status;
}

static enum status finish(void *state, struct backtest_results *rs, struct err *err)
{
    const struct state *s = state;
    enum status status = report_files(rs, s->micro, s->n_micro,
                                      "the median ratio of served to predicted of the other cases",
                                      "count x microbenchmark saving", err);
    if (status == STATUS_OK)
        status = report_files(rs, s->served, s->n_served,
                              "the same number of requests at other contexts", NULL, err);
    return status;
}

const struct backtest backtest_savings = {
    .id = "savings",
    .doc = "end-to-end effect of a faster allreduce",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
