/* The row law on tables of served throughput with and without speculation: the plain batch curve of
 * a stack at a context, an accept length, and one constant a stack predict the speculative runs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mapfit.h"
#include "model/rowlaw.h"
#include "traces/backtest.h"
#include "traces/run_table.h"

enum { BACKTEST_MAX_RUNS = 5000, MAX_STACKS = 30, MAX_FOLDS = 64, SERIES = 320 };

/* A plain batch curve: one stack, one split, one context. */
struct curve {
    char series[SERIES];
    double split, context;
    struct qty_curve c; /* rows, us */
};

struct cell {
    int curve, zero; /* zero: index of the curve without context, -1: none */
    int stack;       /* of this table */
    double batch, steps, split, context, tau; /* tau NaN: not measured */
    int tau_shared; /* the rate printed is the whole server's, not this run's */
    double plain_us, period_us, speedup; /* period: batch over speculative tokens per second */
    int beyond;
    double predicted_us, naive_us, sigma;
};

/* The predicted runs of one file. */
struct tested {
    char file[96];
    struct cell *v;
    char (*names)[128];
    size_t n;
};

struct state {
    struct tested *tables;
    size_t n;
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
    for (size_t i = 0; i < s->n; i++) {
        free(s->tables[i].v);
        free(s->tables[i].names);
    }
    free(s->tables);
    free(s);
}

/* One table while it is worked on. */
struct table {
    struct curve *curve;
    size_t n_curves;
    struct cell *cell;
    size_t n;
    char stack[MAX_STACKS][SERIES];
    int n_stacks;
};

static int find_curve(const struct table *t, const char *series, double split, double context)
{
    for (size_t i = 0; i < t->n_curves; i++)
        if (t->curve[i].split == split && t->curve[i].context == context &&
            strcmp(t->curve[i].series, series) == 0)
            return (int)i;
    return -1;
}

static void curve_add(struct qty_curve *c, double rows, double us)
{
    int i = 0;
    while (i < c->n && c->x[i] < rows)
        i++;
    if ((i < c->n && c->x[i] == rows) || c->n == SCENARIO_MAX_CURVE)
        return;
    memmove(&c->x[i + 1], &c->x[i], (size_t)(c->n - i) * sizeof c->x[0]);
    memmove(&c->y[i + 1], &c->y[i], (size_t)(c->n - i) * sizeof c->y[0]);
    c->x[i] = rows;
    c->y[i] = us;
    c->n++;
}

static int find_stack(struct table *t, const char *series)
{
    for (int i = 0; i < t->n_stacks; i++)
        if (strcmp(t->stack[i], series) == 0)
            return i;
    if (t->n_stacks == MAX_STACKS)
        return MAX_STACKS - 1;
    snprintf(t->stack[t->n_stacks], SERIES, "%s", series);
    return t->n_stacks++;
}

static void read_rows(struct table *t, const struct run_table *r)
{
    for (size_t i = 0; i < r->csv->n_rows; i++) {
        double batch = run_table_number(r, i, RUN_batch);
        double base = run_table_number(r, i, RUN_base_tokens_per_s);
        double spec = run_table_number(r, i, RUN_spec_tokens_per_s);
        double steps = run_table_number(r, i, RUN_num_steps);
        double split = run_table_number(r, i, RUN_context_parallel);
        double context = run_table_number(r, i, RUN_context);
        if (!(batch >= 1 && base > 0))
            continue;
        struct curve c = {.split = split >= 1 ? split : 1, .context = context > 0 ? context : 0};
        run_table_series(r, i, c.series, sizeof c.series);
        int at = find_curve(t, c.series, c.split, c.context);
        if (at < 0) {
            at = (int)t->n_curves++;
            t->curve[at] = c;
        }
        curve_add(&t->curve[at].c, batch, batch * 1e6 / base);
        /* A remark on a row says why it is not like the others: queued, cold, cut short. */
        if (!(spec > 0 && steps >= 1 && steps <= 64) || run_table_text(r, i, RUN_flags)[0] != '\0')
            continue;
        t->cell[t->n++] = (struct cell){.curve = at,
                                        .stack = find_stack(t, c.series),
                                        .batch = batch,
                                        .steps = steps,
                                        .split = c.split,
                                        .context = c.context,
                                        .tau = run_table_tokens_per_cycle(r, i),
                                        .plain_us = batch * 1e6 / base,
                                        .period_us = batch * 1e6 / spec,
                                        .speedup = spec / base};
    }
    for (size_t i = 0; i < t->n; i++) {
        struct cell *c = &t->cell[i];
        const struct curve *own = &t->curve[c->curve];
        c->zero = find_curve(t, own->series, own->split, 0);
        /* A rate that is the same in every run of a stack was counted over all of them. */
        int same = 0, others = 0;
        for (size_t j = 0; j < t->n; j++)
            if (j != i && t->cell[j].stack == c->stack && t->cell[j].split == c->split) {
                others++;
                same += t->cell[j].tau == c->tau;
            }
        c->tau_shared = others > 0 && same == others;
    }
}

/* --- the predictor -----------------------------------------------------------------------------
 */

/* Parameters: growth, growth_split, fixed, single; then for each stack its accept length (where its
 * runs do not measure it) as a logarithm, and its drafting as a fraction of the plain step of one
 * request.
 */
enum { LAW = 4 };

struct fit {
    const struct table *t;
    const size_t *at;
    size_t n;
    double tau_mean[MAX_STACKS], plain_one[MAX_STACKS];
};

static double predict(const struct fit *f, const struct cell *c, const double *p, int *beyond)
{
    const struct table *t = f->t;
    const struct rowlaw law = {p[0], p[1], p[2], p[3]};
    const double *stack = p + LAW + 2 * c->stack;
    const struct qty_curve *own = &t->curve[c->curve].c;
    const struct qty_curve *zero = c->zero >= 0 ? &t->curve[c->zero].c : NULL;
    double rows = c->batch * (c->steps + 1);
    double us =
        rowlaw_step_us(&law, own, zero, rows, c->split, beyond) + stack[1] * f->plain_one[c->stack];
    double tau = exp(stack[0]);
    if (!isnan(c->tau)) {
        /* Half a minute at one request sees a handful of prompts: its rate scatters by a tenth
         * and more, so it is pulled towards the stack's mean; at many requests it is the better
         * guide. */
        double own_weight = c->batch / (c->batch + 2);
        tau = exp(own_weight * log(c->tau) + (1 - own_weight) * f->tau_mean[c->stack]);
    }
    return fmax(us, 0.2 * c->plain_us) / tau;
}

static const double cell_noise = 0.05;

static void residuals(void *context, const double *p, double *out)
{
    const struct fit *f = context;
    int ignored = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct cell *c = &f->t->cell[f->at[i]];
        out[i] = log(predict(f, c, p, &ignored) / c->period_us) / cell_noise;
    }
}

static void stack_means(struct fit *f)
{
    for (int s = 0; s < f->t->n_stacks; s++) {
        double sum = 0, n = 0, one = 0, least = INFINITY, gain = 0;
        for (size_t i = 0; i < f->n; i++) {
            const struct cell *c = &f->t->cell[f->at[i]];
            if (c->stack != s)
                continue;
            if (!isnan(c->tau)) {
                sum += log(c->tau);
                n++;
            }
            gain = fmax(gain, c->steps);
        }
        for (size_t i = 0; i < f->t->n_curves; i++)
            if (strcmp(f->t->curve[i].series, f->t->stack[s]) == 0 &&
                f->t->curve[i].c.y[0] < least) {
                least = f->t->curve[i].c.y[0];
                one = least;
            }
        f->tau_mean[s] = n > 0 ? sum / n : log(1 + 0.35 * fmax(gain, 1));
        f->plain_one[s] = one;
    }
}

static enum status fit_without(struct table *t, size_t fold, size_t folds, size_t *at,
                               struct fit *f, struct mapfit *fit, struct err *err)
{
    *f = (struct fit){.t = t, .at = at};
    for (size_t i = 0; i < t->n; i++)
        if (i % folds != fold && !t->cell[i].tau_shared)
            at[f->n++] = i;
    for (size_t i = 0; i < t->n; i++)
        if (i % folds != fold && t->cell[i].tau_shared)
            at[f->n++] = i;
    stack_means(f);
    double mean[MAPFIT_MAX_PARAMS] = {rowlaw_prior_mean.growth, rowlaw_prior_mean.growth_split,
                                      rowlaw_prior_mean.fixed, rowlaw_prior_mean.single};
    double sd[MAPFIT_MAX_PARAMS] = {rowlaw_prior_sd.growth, rowlaw_prior_sd.growth_split,
                                    rowlaw_prior_sd.fixed, rowlaw_prior_sd.single};
    for (int s = 0; s < t->n_stacks; s++) {
        mean[LAW + 2 * s] = f->tau_mean[s];
        sd[LAW + 2 * s] = 0.3;
        mean[LAW + 2 * s + 1] = 0.05;
        sd[LAW + 2 * s + 1] = 0.15;
    }
    struct mapfit_problem p = {LAW + 2 * t->n_stacks, mean, sd, f->n, residuals, f, 1};
    return mapfit_solve(&p, fit, err);
}

/* tau / (1 + c K): with K the same in a stack, one gain for all of its runs. */
static double naive_gain(const struct table *t, const struct cell *c, size_t fold, size_t folds)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct cell *o = &t->cell[i];
        if (i % folds == fold || o->stack != c->stack || o->steps != c->steps)
            continue;
        double tau = isnan(o->tau) || isnan(c->tau) ? 1 : o->tau / c->tau;
        sum += log(o->speedup / tau);
        n++;
    }
    return n > 0 ? exp(sum / n) : 1;
}

static enum status predict_table(struct table *t, struct err *err)
{
    const size_t folds = t->n < MAX_FOLDS ? t->n : MAX_FOLDS;
    size_t *at = malloc((t->n + 1) * sizeof *at);
    if (at == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    enum status status = STATUS_OK;
    for (size_t fold = 0; fold < folds && status == STATUS_OK; fold++) {
        struct fit f;
        struct mapfit fit;
        status = fit_without(t, fold, folds, at, &f, &fit, err);
        for (size_t i = fold; i < t->n && status == STATUS_OK; i += folds) {
            struct cell *c = &t->cell[i];
            c->predicted_us = predict(&f, c, fit.value, &c->beyond);
            c->naive_us = c->plain_us / naive_gain(t, c, fold, folds);
            c->sigma = cell_noise * fmax(fit.rms, 0.5);
        }
    }
    free(at);
    return status;
}

/* --- tables in, results out --------------------------------------------------------------------
 */

static enum status keep(struct state *s, const struct table *t, const char *file, struct err *err)
{
    struct tested *tables = realloc(s->tables, (s->n + 1) * sizeof *tables);
    if (tables == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    s->tables = tables;
    struct tested *to = &s->tables[s->n++];
    *to = (struct tested){.n = t->n};
    to->v = malloc(t->n * sizeof *to->v);
    to->names = malloc(t->n * sizeof *to->names);
    if (to->v == NULL || to->names == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    snprintf(to->file, sizeof to->file, "%s", file);
    memcpy(to->v, t->cell, t->n * sizeof *to->v);
    for (size_t i = 0; i < t->n; i++) {
        const struct cell *c = &t->cell[i];
        snprintf(to->names[i], sizeof to->names[i],
                 "%.40s, split %g, context %g, %g requests, K = %g", t->stack[c->stack], c->split,
                 c->context, c->batch, c->steps);
    }
    return STATUS_OK;
}

static enum status take(void *state, struct backtest_file *f, int *taken, struct err *err)
{
    *taken = 0;
    const struct csv *csv = backtest_csv(f);
    struct run_table r;
    if (csv == NULL)
        return STATUS_OK;
    run_table_open(&r, csv);
    /* Tables by configuration and data set are another backtest's. */
    if (!run_table_has(&r, RUN_base_tokens_per_s) || !run_table_has(&r, RUN_spec_tokens_per_s) ||
        !run_table_has(&r, RUN_batch) || !run_table_has(&r, RUN_num_steps) ||
        run_table_has_text(&r, RUN_dataset))
        return STATUS_OK;
    if (csv->n_rows > BACKTEST_MAX_RUNS)
        return err_set(err, STATUS_UNSUPPORTED,
                       "%s: %zu rows of served runs; at most %d are tested", f->path, csv->n_rows,
                       BACKTEST_MAX_RUNS);
    struct table t = {.curve = calloc(csv->n_rows + 1, sizeof *t.curve),
                      .cell = calloc(csv->n_rows + 1, sizeof *t.cell)};
    enum status status = STATUS_OK;
    if (t.curve == NULL || t.cell == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK) {
        read_rows(&t, &r);
        *taken = t.n >= 4;
    }
    if (*taken)
        status = predict_table(&t, err);
    if (*taken && status == STATUS_OK)
        status = keep(state, &t, f->name, err);
    free(t.curve);
    free(t.cell);
    return status;
}

enum part { ALL, INSIDE, INSIDE_ZERO, BEYOND, SHARED_RATE, PARTS };

static const char *const part_name[] = {
    "all runs",
    "verified rows on the measured plain curve",
    "verified rows on the measured plain curve, no context",
    "more rows than the plain curve has",
    "accept rate known of the whole server only",
};

static int belongs(const struct cell *c, enum part part)
{
    if (c->tau_shared)
        return part == SHARED_RATE;
    switch (part) {
    case ALL:
        return 1;
    case INSIDE:
        return !c->beyond;
    case INSIDE_ZERO:
        return !c->beyond && c->context == 0;
    case BEYOND:
        return c->beyond;
    default:
        return 0;
    }
}

static enum status report(const struct tested *t, enum part part, struct backtest_results *rs,
                          struct err *err)
{
    size_t n = 0, right = 0, naive_right = 0;
    for (size_t i = 0; i < t->n; i++)
        n += (size_t)belongs(&t->v[i], part);
    if (n == 0)
        return STATUS_OK;
    struct backtest_result *r = backtest_add(rs);
    if (r == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    snprintf(r->table, sizeof r->table, "%.80s, %s", t->file, part_name[part]);
    snprintf(r->target, sizeof r->target, "speculative throughput by the row law");
    snprintf(r->fitted_on, sizeof r->fitted_on,
             "the table's other runs: drafting and (where no rate is printed) accept length of a "
             "stack%s",
             part == BEYOND || part == ALL ? "; 4 for beyond the curve" : "");
    r->fitted_parameters = part == BEYOND || part == ALL ? 6 : 2;
    r->n_naive = 1;
    snprintf(r->naive[0].formula, sizeof r->naive[0].formula, "tau / (1 + c K)");
    for (size_t i = 0; i < t->n; i++) {
        const struct cell *c = &t->v[i];
        if (!belongs(c, part))
            continue;
        double measured = c->batch * 1e6 / c->period_us,
               predicted = c->batch * 1e6 / c->predicted_us;
        struct backtest_case k = {.measured = measured,
                                  .predicted = predicted,
                                  .low = predicted * exp(-1.96 * c->sigma),
                                  .high = predicted * exp(1.96 * c->sigma),
                                  .error = fabs(predicted / measured - 1),
                                  .naive_predicted = c->batch * 1e6 / c->naive_us,
                                  .naive_error = fabs(c->period_us / c->naive_us - 1)};
        snprintf(k.name, sizeof k.name, "%s", t->names[i]);
        right += (c->plain_us / c->predicted_us > 1) == (c->speedup > 1);
        naive_right += (c->plain_us / c->naive_us > 1) == (c->speedup > 1);
        if (backtest_add_case(r, &k) != 0)
            return err_set(err, STATUS_FAILED, "out of memory");
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
    for (size_t i = 0; i < s->n; i++)
        for (int part = 0; part < PARTS && status == STATUS_OK; part++)
            status = report(&s->tables[i], (enum part)part, rs, err);
    return status;
}

const struct backtest backtest_rows = {
    .id = "rows",
    .doc = "served throughput by requests with and without speculation: the row law",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
