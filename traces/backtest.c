#include "traces/backtest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/load.h"

#define BACKTEST(id) extern const struct backtest backtest_##id;
#include "traces/backtests.def"
#undef BACKTEST

const struct backtest *const backtests[] = {
#define BACKTEST(id) &backtest_##id,
#include "traces/backtests.def"
#undef BACKTEST
    NULL,
};

static void errors_init(struct backtest_errors *e)
{
    e->formula[0] = '\0';
    e->median_rel_error = e->mean_rel_error = e->p90_rel_error = e->max_rel_error = NAN;
    e->sign_accuracy = e->argmax_accuracy = e->mean_regret = e->kendall_tau = NAN;
}

struct backtest_result *backtest_add(struct backtest_results *rs)
{
    struct backtest_result *v = realloc(rs->v, (rs->n + 1) * sizeof *v);
    if (v == NULL)
        return NULL;
    rs->v = v;
    struct backtest_result *r = &v[rs->n++];
    memset(r, 0, sizeof *r);
    errors_init(&r->errors);
    for (int i = 0; i < BACKTEST_MAX_NAIVE; i++)
        errors_init(&r->naive[i]);
    r->interval_coverage = NAN;
    return r;
}

void backtest_results_release(struct backtest_results *rs)
{
    for (size_t i = 0; i < rs->n; i++)
        free(rs->v[i].v);
    free(rs->v);
    *rs = (struct backtest_results){0};
}

int backtest_add_case(struct backtest_result *r, const struct backtest_case *c)
{
    if ((r->n_v & (r->n_v - 1)) == 0) { /* full at every power of two */
        struct backtest_case *v = realloc(r->v, (r->n_v ? 2 * r->n_v : 1) * sizeof *v);
        if (v == NULL)
            return -1;
        r->v = v;
    }
    r->v[r->n_v++] = *c;
    return 0;
}

static int compare_doubles(const void *va, const void *vb)
{
    double a = *(const double *)va, b = *(const double *)vb;
    return (a > b) - (a < b);
}

/* Linear between order statistics; v sorted. */
static double quantile(const double *v, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? v[i] + (at - (double)i) * (v[i + 1] - v[i]) : v[n - 1];
}

void backtest_summarise(struct backtest_errors *e, double *rel_errors, size_t n)
{
    if (n == 0)
        return;
    double sum = 0;
    qsort(rel_errors, n, sizeof *rel_errors, compare_doubles);
    for (size_t i = 0; i < n; i++)
        sum += rel_errors[i];
    e->median_rel_error = quantile(rel_errors, n, 0.5);
    e->mean_rel_error = sum / (double)n;
    e->p90_rel_error = quantile(rel_errors, n, 0.9);
    e->max_rel_error = rel_errors[n - 1];
}

int backtest_summarise_cases(struct backtest_result *r)
{
    double *e = malloc((r->n_v ? r->n_v : 1) * sizeof *e);
    if (e == NULL)
        return -1;
    size_t n = 0, bounded = 0, inside = 0;
    for (size_t i = 0; i < r->n_v; i++)
        if (isfinite(r->v[i].error))
            e[n++] = r->v[i].error;
    backtest_summarise(&r->errors, e, n);
    r->cases = (int64_t)n;
    n = 0;
    for (size_t i = 0; i < r->n_v; i++)
        if (isfinite(r->v[i].naive_error))
            e[n++] = r->v[i].naive_error;
    backtest_summarise(&r->naive[0], e, n);
    if (n > 0 && r->n_naive == 0)
        r->n_naive = 1;
    for (size_t i = 0; i < r->n_v; i++) {
        const struct backtest_case *c = &r->v[i];
        if (!isfinite(c->measured) || !isfinite(c->low) || !isfinite(c->high))
            continue;
        bounded++;
        inside += c->measured >= c->low && c->measured <= c->high;
    }
    if (bounded > 0)
        r->interval_coverage = (double)inside / (double)bounded;
    free(e);
    return 0;
}

double backtest_kendall_tau(const double *a, const double *b, size_t n)
{
    double agree = 0, only_a = 0, only_b = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            int x = (a[i] > a[j]) - (a[i] < a[j]), y = (b[i] > b[j]) - (b[i] < b[j]);
            agree += x * y;
            only_a += x != 0;
            only_b += y != 0;
        }
    return only_a > 0 && only_b > 0 ? agree / sqrt(only_a * only_b) : (double)NAN;
}

const struct csv *backtest_csv(struct backtest_file *f)
{
    if (!f->csv_tried) {
        f->csv_tried = 1;
        f->csv_ok = csv_read(&f->csv_table, f->path, NULL) == STATUS_OK;
    }
    return f->csv_ok ? &f->csv_table : NULL;
}

const struct trace *backtest_trace(struct backtest_file *f)
{
    if (!f->trace_tried) {
        f->trace_tried = 1;
        f->trace_ok = trace_load(&f->records, f->path, NULL, NULL) == STATUS_OK;
    }
    return f->trace_ok ? &f->records : NULL;
}

void backtest_file_release(struct backtest_file *f)
{
    csv_release(&f->csv_table);
    trace_release(&f->records);
    f->csv_tried = f->trace_tried = f->csv_ok = f->trace_ok = 0;
}
