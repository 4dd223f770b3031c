/* Allreduce latency at a size that was not measured. Every curve of allreduce with 6 or more sizes,
 * whatever import made it of: each size between 4 KiB and 1 MiB that has smaller and larger ones
 * beside it is left out, everything (outliers, form, interval) is decided from the rest, and the
 * latency there is predicted. A curve's error is the mean over its left-out sizes; the summary is
 * over curves. Curves whose numbers are equal, size for size, count once: tables are often copied.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/fit.h"
#include "traces/backtest.h"
#include "traces/system.h"

enum { MIN_SIZES = 6 };
static const double from_bytes = 4096, to_bytes = 1 << 20;

/* What came of one curve. */
struct outcome {
    char name[224];
    enum system_kind kind;
    uint64_t print; /* of its sizes and latencies */
    size_t left_out, inside;
    double error, loglog, line; /* mean relative errors */
};

struct state {
    struct outcome *v;
    size_t n, cap;
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

static int is_allreduce(const struct record *r)
{
    return r->what == WHAT_allreduce && r->ranks >= 2 && r->size_bytes > 0 &&
           strstr(r->method, "eager") == NULL;
}

/* FNV-1a, a word at a time, over the numbers. */
static uint64_t print_of(const struct curve *c)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < c->n_points; i++) {
        uint64_t bytes, us;
        memcpy(&bytes, &c->points[i].bytes, sizeof bytes);
        memcpy(&us, &c->points[i].us, sizeof us);
        h = (h ^ bytes) * 1099511628211u;
        h = (h ^ us ^ h >> 29) * 1099511628211u;
    }
    return h;
}

static int seen(const struct state *s, uint64_t print)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].print == print)
            return 1;
    return 0;
}

static void name_it(struct outcome *o, const struct curve *c, const char *file)
{
    const struct record *k = c->key;
    snprintf(o->name, sizeof o->name, "%.70s: %.60s %d ranks%s%s%s%s%.40s", file, k->impl, k->ranks,
             k->dtype[0] ? " " : "", k->dtype, k->in_place ? " in place" : "",
             strstr(file, k->label) == NULL ? ", " : "",
             strstr(file, k->label) == NULL ? k->label : "");
}

static enum status test_curve(struct state *s, const struct curve *c, const char *file,
                              struct err *err)
{
    struct outcome o = {.kind = system_of(c->key), .print = print_of(c)};
    if (c->n_points < MIN_SIZES || seen(s, o.print))
        return STATUS_OK;
    name_it(&o, c, file);
    struct left_out *lo = malloc(c->n_points * sizeof *lo);
    if (lo == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    size_t n = 0;
    enum status status = fit_leave_one_out(c, from_bytes, to_bytes, lo, &n, err);
    for (size_t i = 0; i < n && status == STATUS_OK; i++) {
        if (!lo[i].interior)
            continue;
        o.left_out++;
        o.inside += lo[i].us >= lo[i].lo_us && lo[i].us <= lo[i].hi_us;
        o.error += fabs(lo[i].predicted_us / lo[i].us - 1);
        o.loglog += fabs(lo[i].loglog_us / lo[i].us - 1);
        o.line += fabs(lo[i].line_us / lo[i].us - 1);
    }
    free(lo);
    if (status == STATUS_UNSUPPORTED)
        return STATUS_OK;
    if (status != STATUS_OK || o.left_out == 0)
        return status;
    o.error /= (double)o.left_out;
    o.loglog /= (double)o.left_out;
    o.line /= (double)o.left_out;
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        struct outcome *v = realloc(s->v, cap * sizeof *v);
        if (v == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        s->v = v;
        s->cap = cap;
    }
    s->v[s->n++] = o;
    return STATUS_OK;
}

static enum status take(void *state, struct backtest_file *f, int *taken, struct err *err)
{
    struct state *s = state;
    const struct trace *t = backtest_trace(f);
    *taken = 0;
    if (t == NULL)
        return STATUS_OK;
    struct curves cs;
    enum status status = curves_collect(&cs, &t->records, is_allreduce, err);
    for (size_t i = 0; i < cs.n && status == STATUS_OK; i++) {
        *taken |= cs.v[i].n_points >= MIN_SIZES;
        status = test_curve(s, &cs.v[i], f->name, err);
    }
    curves_release(&cs);
    return status;
}

/* Summarises one number of every outcome of a kind. */
static enum status summarise(struct backtest_errors *e, const struct state *s,
                             enum system_kind kind, size_t offset, struct err *err)
{
    double *v = malloc(s->n * sizeof *v);
    if (v == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].kind == kind)
            memcpy(&v[n++], (const char *)&s->v[i] + offset, sizeof *v);
    backtest_summarise(e, v, n);
    free(v);
    return STATUS_OK;
}

static enum status finish_kind(const struct state *s, enum system_kind kind,
                               struct backtest_results *rs, struct err *err)
{
    size_t curves = 0, left_out = 0, inside = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].kind != kind)
            continue;
        curves++;
        left_out += s->v[i].left_out;
        inside += s->v[i].inside;
    }
    if (curves == 0)
        return STATUS_OK;
    struct backtest_result *r = backtest_add(rs);
    if (r == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    snprintf(r->table, sizeof r->table, "allreduce curves, %s", system_name(kind));
    snprintf(r->target, sizeof r->target,
             "latency of a left-out size, 4 KiB to 1 MiB; mean error of a curve, over curves");
    /* Of the method itself: the weight of the chord, the scale of doubt and the interval's stretch
     * (model/fit_knots.c, model/fit.c) were chosen with the curves of traces/reference in view. */
    r->fitted_parameters = 3;
    snprintf(r->fitted_on, sizeof r->fitted_on,
             "public curves, for the method's constants; else on each curve's other sizes");
    r->cases = (int64_t)curves;
    r->interval_coverage = (double)inside / (double)left_out;
    r->n_naive = 2;
    snprintf(r->naive[0].formula, sizeof r->naive[0].formula, "log-log interpolation");
    snprintf(r->naive[1].formula, sizeof r->naive[1].formula, "one straight line");
    enum status status = summarise(&r->errors, s, kind, offsetof(struct outcome, error), err);
    if (status == STATUS_OK)
        status = summarise(&r->naive[0], s, kind, offsetof(struct outcome, loglog), err);
    if (status == STATUS_OK)
        status = summarise(&r->naive[1], s, kind, offsetof(struct outcome, line), err);
    for (size_t i = 0; i < s->n && status == STATUS_OK; i++) {
        struct backtest_case c = {.error = s->v[i].error, .naive_error = s->v[i].loglog};
        c.measured = c.predicted = c.low = c.high = NAN;
        memcpy(c.name, s->v[i].name, sizeof c.name);
        if (s->v[i].kind == kind && backtest_add_case(r, &c) != 0)
            status = err_set(err, STATUS_FAILED, "out of memory");
    }
    return status;
}

static enum status finish(void *state, struct backtest_results *rs, struct err *err)
{
    static const enum system_kind order[] = {SYSTEM_PCIE, SYSTEM_NVLINK, SYSTEM_NETWORK,
                                             SYSTEM_UNKNOWN};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof order / sizeof order[0] && status == STATUS_OK; i++)
        status = finish_kind(state, order[i], rs, err);
    return status;
}

const struct backtest backtest_allreduce = {
    .id = "allreduce",
    .doc = "allreduce curves of 6 or more sizes: the latency of a left-out size",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
