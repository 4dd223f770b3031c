/* Gains by batch where neither throughput nor accept length is told: the three smallest batches
 * predict the larger ones, and the batch at which the gain vanishes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/batch_gain.h"
#include "model/mapfit.h"
#include "traces/backtest.h"
#include "traces/run_table.h"

enum { SERIES = 320, MAX_BATCHES = 64, KNOWN = 3 };

struct series {
    char name[SERIES], file[96];
    double rows; /* verified per request */
    int n;
    double batch[MAX_BATCHES], gain[MAX_BATCHES]; /* ascending batch */
    double gain_0, x;
};

struct state {
    struct series *v;
    size_t n, first;
};

static void *begin(void)
{
    return calloc(1, sizeof(struct state));
}

static void end(void *state)
{
    struct state *s = state;
    if (s != NULL)
        free(s->v);
    free(s);
}

static struct series *find(struct state *s, const char *name, double rows, const char *file)
{
    for (size_t i = s->first; i < s->n; i++)
        if (s->v[i].rows == rows && strcmp(s->v[i].name, name) == 0)
            return &s->v[i];
    struct series *v = realloc(s->v, (s->n + 1) * sizeof *v);
    if (v == NULL)
        return NULL;
    s->v = v;
    v = &s->v[s->n++];
    *v = (struct series){.rows = rows};
    snprintf(v->file, sizeof v->file, "%s", file);
    snprintf(v->name, sizeof v->name, "%s", name);
    return v;
}

static void insert(struct series *v, double batch, double gain)
{
    int i = 0;
    while (i < v->n && v->batch[i] < batch)
        i++;
    if (v->n == MAX_BATCHES || (i < v->n && v->batch[i] == batch))
        return;
    memmove(&v->batch[i + 1], &v->batch[i], (size_t)(v->n - i) * sizeof v->batch[0]);
    memmove(&v->gain[i + 1], &v->gain[i], (size_t)(v->n - i) * sizeof v->gain[0]);
    v->batch[i] = batch;
    v->gain[i] = gain;
    v->n++;
}

static void residuals(void *context, const double *p, double *out)
{
    const struct series *v = context;
    for (int i = 0; i < KNOWN; i++)
        out[i] = log(batch_gain(exp(p[0]), exp(p[1]), v->rows, v->batch[i]) / v->gain[i]) / 0.03;
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
    if (!run_table_has(&r, RUN_speedup) || !run_table_has(&r, RUN_batch) ||
        !run_table_has(&r, RUN_verify_tokens) || run_table_has(&r, RUN_base_tokens_per_s) ||
        run_table_has(&r, RUN_accept_length))
        return STATUS_OK;
    s->first = s->n;
    for (size_t i = 0; i < csv->n_rows; i++) {
        double batch = run_table_number(&r, i, RUN_batch),
               gain = run_table_number(&r, i, RUN_speedup),
               rows = run_table_number(&r, i, RUN_verify_tokens);
        if (!(batch >= 1 && gain > 0 && rows >= 2))
            continue;
        char name[SERIES];
        run_table_series(&r, i, name, sizeof name);
        struct series *v = find(s, name, rows, f->name);
        if (v == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        insert(v, batch, gain);
    }
    for (size_t i = s->first; i < s->n; i++) {
        struct series *v = &s->v[i];
        if (v->n <= KNOWN)
            continue;
        const double mean[] = {BATCH_GAIN_LOG_MEAN, BATCH_ROW_LOG_MEAN};
        const double sd[] = {BATCH_GAIN_LOG_SD, BATCH_ROW_LOG_SD};
        struct mapfit_problem p = {2, mean, sd, KNOWN, residuals, v, 0};
        struct mapfit fit;
        enum status status = mapfit_solve(&p, &fit, err);
        if (status != STATUS_OK)
            return status;
        v->gain_0 = exp(fit.value[0]);
        v->x = exp(fit.value[1]);
        *taken = 1;
    }
    return STATUS_OK;
}

/* Where the measured gain falls through 1, between two batches linearly; INFINITY if it does not.
 */
static double vanishes(const struct series *v)
{
    for (int i = 0; i + 1 < v->n; i++)
        if (v->gain[i] >= 1 && v->gain[i + 1] < 1)
            return v->batch[i] + (v->batch[i + 1] - v->batch[i]) * (v->gain[i] - 1) /
                                     (v->gain[i] - v->gain[i + 1]);
    return INFINITY;
}

static enum status start(struct backtest_result *r, const char *file, const char *what,
                         const char *target)
{
    if (r == NULL)
        return STATUS_FAILED;
    snprintf(r->table, sizeof r->table, "%.80s, %s", file, what);
    snprintf(r->target, sizeof r->target, "%s", target);
    snprintf(r->fitted_on, sizeof r->fitted_on, "the %d smallest batches of each series", KNOWN);
    r->fitted_parameters = 2;
    return STATUS_OK;
}

static enum status report_vanishing(const struct series *v, size_t n_series,
                                    struct backtest_results *rs, struct err *err)
{
    struct backtest_result *r = backtest_add(rs);
    if (start(
            r, v->file, "where the gain vanishes",
            "batch at which the gain is 1, over or under by a factor of 1 + error; beyond the last "
            "batch counts from there") != STATUS_OK)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (size_t i = 0; i < n_series; i++) {
        const struct series *o = &v[i];
        if (o->n <= KNOWN)
            continue;
        /* A gain that outlives the table was only seen to last until its end. */
        double last = o->batch[o->n - 1], measured = vanishes(o);
        double predicted = batch_gain_vanishes(o->gain_0, o->x, o->rows);
        double m = fmin(measured, last), p = fmin(predicted, isinf(measured) ? last : 1e6);
        double factor = p > m ? p / m : m / fmax(p, 1);
        struct backtest_case c = {.measured = m, .predicted = p, .error = factor - 1};
        c.naive_error = (double)NAN;
        c.low = p / 1.5;
        c.high = p * 1.5;
        snprintf(c.name, sizeof c.name, "%.150s%s", o->name,
                 isinf(measured) ? ", not within the table" : "");
        if (backtest_add_case(r, &c) != 0)
            return err_set(err, STATUS_FAILED, "out of memory");
    }
    if (backtest_summarise_cases(r) != 0)
        return err_set(err, STATUS_FAILED, "out of memory");
    return STATUS_OK;
}

static enum status report_gains(const struct series *v, size_t n_series,
                                struct backtest_results *rs, struct err *err)
{
    struct backtest_result *r = backtest_add(rs);
    if (start(r, v->file, "gain at the larger batches", "gain over no speculation") != STATUS_OK)
        return err_set(err, STATUS_FAILED, "out of memory");
    r->n_naive = 1;
    snprintf(r->naive[0].formula, sizeof r->naive[0].formula,
             "tau / (1 + c K): the same at every batch");
    size_t right = 0, naive_right = 0, n = 0;
    for (size_t i = 0; i < n_series; i++) {
        const struct series *o = &v[i];
        for (int k = KNOWN; k < o->n; k++) {
            double predicted = batch_gain(o->gain_0, o->x, o->rows, o->batch[k]);
            double naive = (o->gain[0] + o->gain[1] + o->gain[2]) / 3;
            struct backtest_case c = {.measured = o->gain[k],
                                      .predicted = predicted,
                                      .low = predicted * 0.75,
                                      .high = predicted * 1.3333,
                                      .error = fabs(predicted / o->gain[k] - 1),
                                      .naive_predicted = naive,
                                      .naive_error = fabs(naive / o->gain[k] - 1)};
            snprintf(c.name, sizeof c.name, "%.150s, %g requests", o->name, o->batch[k]);
            right += (predicted > 1) == (o->gain[k] > 1);
            naive_right += (naive > 1) == (o->gain[k] > 1);
            n++;
            if (backtest_add_case(r, &c) != 0)
                return err_set(err, STATUS_FAILED, "out of memory");
        }
    }
    if (backtest_summarise_cases(r) != 0)
        return err_set(err, STATUS_FAILED, "out of memory");
    r->errors.sign_accuracy = (double)right / (double)n;
    r->naive[0].sign_accuracy = (double)naive_right / (double)n;
    return STATUS_OK;
}

static enum status finish(void *state, struct backtest_results *rs, struct err *err)
{
    const struct state *s = state;
    enum status status = STATUS_OK;
    for (size_t i = 0, n; i < s->n && status == STATUS_OK; i += n) {
        int any = s->v[i].n > KNOWN;
        for (n = 1; i + n < s->n && strcmp(s->v[i + n].file, s->v[i].file) == 0; n++)
            any |= s->v[i + n].n > KNOWN;
        if (any)
            status = report_vanishing(&s->v[i], n, rs, err);
        if (any && status == STATUS_OK)
            status = report_gains(&s->v[i], n, rs, err);
    }
    return status;
}

const struct backtest backtest_batches = {
    .id = "batches",
    .doc = "gains by batch without throughput or accept lengths",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
