/* Tables of throughput by model, data set and draft configuration, with accept lengths: a data set
 * left out of a model's runs, and a whole model left out but for two runs of it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/config_law.h"
#include "model/mapfit.h"
#include "traces/backtest.h"
#include "traces/run_table.h"

enum { BACKTEST_MAX_RUNS = 5000, TEXT = 128, MAX_GROUPS = 64, MAX_SETS = 64 };
static const double run_noise = 0.04;

struct run {
    struct config_law_run law;
    int group, set; /* group: a model at a batch; set: the data set */
    char draft[TEXT];
    double batch, num_draft_tokens, period_us;
    /* predicted period with the data set left out, and with the model; NaN: was fitted on */
    double set_out_us, model_out_us, set_naive_us, model_naive_us;
    double set_sigma, model_sigma;
};

struct table {
    char file[96];
    struct run *v;
    size_t n;
    char group[MAX_GROUPS][TEXT], model[MAX_GROUPS][TEXT], set[MAX_SETS][TEXT];
    int n_groups, n_sets;
};

struct state {
    struct table *tables;
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
    for (size_t i = 0; i < s->n; i++)
        free(s->tables[i].v);
    free(s->tables);
    free(s);
}

static int intern(char (*names)[TEXT], int *n, int cap, const char *name)
{
    for (int i = 0; i < *n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    if (*n == cap)
        return -1;
    snprintf(names[*n], TEXT, "%s", name);
    return (*n)++;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare);
    return 0.5 * (v[(n - 1) / 2] + v[n / 2]);
}

/* A group's plain period on a data set; NaN where it has no run on it. */
static double plain_of(const struct table *t, int group, int set)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].group == group && t->v[i].set == set)
            return t->v[i].law.plain_us;
    return (double)NAN;
}

/* The least plain period of each group, and by how much the other models' plain runs say that a
 * data set exceeds the quickest one. Only plain runs are looked at. */
static void plain_context(struct table *t)
{
    double least[MAX_GROUPS], middle[MAX_GROUPS];
    for (int g = 0; g < t->n_groups; g++) {
        double v[MAX_SETS];
        int n = 0;
        for (int d = 0; d < t->n_sets; d++) {
            double plain = plain_of(t, g, d);
            if (!isnan(plain))
                v[n++] = plain;
        }
        middle[g] = median(v, n);
        least[g] = v[0];
    }
    for (int g = 0; g < t->n_groups; g++) {
        double relative[MAX_SETS], quickest = INFINITY;
        for (int d = 0; d < t->n_sets; d++) {
            double v[MAX_GROUPS];
            int n = 0;
            for (int o = 0; o < t->n_groups; o++) {
                double plain = plain_of(t, o, d);
                if (o != g && !isnan(plain))
                    v[n++] = plain / middle[o];
            }
            relative[d] = n > 0 ? median(v, n) : 1;
            quickest = fmin(quickest, relative[d]);
        }
        for (size_t i = 0; i < t->n; i++)
            if (t->v[i].group == g) {
                t->v[i].law.step_us = least[g];
                t->v[i].law.excess = relative[t->v[i].set] / quickest - 1;
            }
    }
}

static int read_runs(struct table *t, const struct run_table *r)
{
    for (size_t i = 0; i < r->csv->n_rows; i++) {
        double batch = run_table_number(r, i, RUN_batch);
        double base = run_table_number(r, i, RUN_base_tokens_per_s);
        double spec = run_table_number(r, i, RUN_spec_tokens_per_s);
        double topk = run_table_number(r, i, RUN_topk);
        double tau = run_table_tokens_per_cycle(r, i);
        if (!(batch >= 1 && base > 0 && spec > 0 && tau >= 1))
            continue;
        char group[2 * TEXT];
        snprintf(group, sizeof group, "%.80s, batch %g", run_table_text(r, i, RUN_model), batch);
        int n_groups = t->n_groups;
        int g = intern(t->group, &t->n_groups, MAX_GROUPS, group);
        int d = intern(t->set, &t->n_sets, MAX_SETS, run_table_text(r, i, RUN_dataset));
        if (g < 0 || d < 0)
            continue;
        if (t->n_groups > n_groups)
            snprintf(t->model[g], TEXT, "%.80s", run_table_text(r, i, RUN_model));
        struct run *v = &t->v[t->n++];
        *v = (struct run){.law = {.num_steps = run_table_number(r, i, RUN_num_steps),
                                  .topk = topk >= 1 ? topk : 1,
                                  .tau = tau,
                                  .plain_us = batch * 1e6 / base},
                          .group = g,
                          .set = d,
                          .batch = batch,
                          .num_draft_tokens = run_table_number(r, i, RUN_verify_tokens),
                          .period_us = batch * 1e6 / spec,
                          .set_out_us = (double)NAN,
                          .model_out_us = (double)NAN};
        snprintf(v->draft, sizeof v->draft, "%s", run_table_text(r, i, RUN_draft));
    }
    if (t->n > 0)
        plain_context(t);
    return t->n >= 8;
}

/* --- fits ---------------------------------------------------------------------------------------
 */

struct fit {
    const struct table *t;
    const size_t *at;
    size_t n;
};

static void residuals(void *context, const double *p, double *out)
{
    const struct fit *f = context;
    for (size_t i = 0; i < f->n; i++) {
        const struct run *r = &f->t->v[f->at[i]];
        out[i] = log(config_law_us(p, &r->law) / r->period_us) / run_noise;
    }
}

static enum status solve(const struct table *t, const size_t *at, size_t n, const double *mean,
                         const double *sd, int robust, struct mapfit *fit, struct err *err)
{
    struct fit f = {t, at, n};
    struct mapfit_problem p = {CONFIG_LAW_PARAMS, mean, sd, n, residuals, &f, robust};
    return mapfit_solve(&p, fit, err);
}

/* tau / (1 + c K): c by least squares over the runs at hand. */
static double naive_c(const struct table *t, const size_t *at, size_t n)
{
    double top = 0, bottom = 1e-12;
    for (size_t i = 0; i < n; i++) {
        const struct run *r = &t->v[at[i]];
        double ratio = r->law.tau * r->period_us / r->law.plain_us;
        top += (ratio - 1) * r->law.num_steps;
        bottom += r->law.num_steps * r->law.num_steps;
    }
    return top / bottom;
}

static double naive_us(const struct run *r, double c)
{
    return fmax(r->law.plain_us * (1 + c * r->law.num_steps) / r->law.tau, 1e-3 * r->law.plain_us);
}

/* What a data set that was never run adds is known to about 40 % of itself. */
static double share_sigma(const double *p, const struct run *r)
{
    struct config_law_run bare = r->law;
    bare.plain_us = bare.step_us;
    bare.excess = 0;
    double us = config_law_us(p, &r->law);
    return 0.4 * fabs(us - config_law_us(p, &bare)) / us;
}

static enum status leave_sets_out(struct table *t, size_t *at, struct err *err)
{
    for (int g = 0; g < t->n_groups; g++)
        for (int d = 0; d < t->n_sets; d++) {
            size_t n = 0, left = 0;
            for (size_t i = 0; i < t->n; i++) {
                left += t->v[i].group == g && t->v[i].set == d;
                if (t->v[i].group == g && t->v[i].set != d)
                    at[n++] = i;
            }
            if (n == 0 || left == 0)
                continue;
            struct mapfit fit;
            enum status status =
                solve(t, at, n, config_law_prior_mean, config_law_prior_sd, 1, &fit, err);
            if (status != STATUS_OK)
                return status;
            double c = naive_c(t, at, n);
            for (size_t i = 0; i < t->n; i++)
                if (t->v[i].group == g && t->v[i].set == d) {
                    t->v[i].set_out_us = config_law_us(fit.value, &t->v[i].law);
                    t->v[i].set_naive_us = naive_us(&t->v[i], c);
                    t->v[i].set_sigma =
                        hypot(run_noise * fmax(fit.rms, 0.5), share_sigma(fit.value, &t->v[i]));
                }
        }
    return STATUS_OK;
}

/* What a group would be calibrated on: on the data set whose plain period is its middle one, the
 * shortest and the longest chain of its first draft. */
static size_t two_runs(const struct table *t, int group, size_t *at)
{
    double v[MAX_SETS];
    int n = 0, set = -1;
    for (int d = 0; d < t->n_sets; d++)
        if (!isnan(plain_of(t, group, d)))
            v[n++] = plain_of(t, group, d);
    qsort(v, (size_t)n, sizeof *v, compare);
    for (int d = 0; d < t->n_sets; d++)
        if (plain_of(t, group, d) == v[n / 2])
            set = d;
    const char *draft = NULL;
    size_t shortest = t->n, longest = t->n;
    for (size_t i = 0; i < t->n; i++) {
        const struct run *r = &t->v[i];
        if (r->group != group)
            continue;
        if (draft == NULL)
            draft = r->draft;
        if (r->set != set || r->law.topk > 1 || strcmp(r->draft, draft) != 0)
            continue;
        if (shortest == t->n || r->law.num_steps < t->v[shortest].law.num_steps)
            shortest = i;
        if (longest == t->n || r->law.num_steps > t->v[longest].law.num_steps)
            longest = i;
    }
    if (shortest == t->n || shortest == longest)
        return 0;
    at[0] = shortest;
    at[1] = longest;
    return 2;
}

/* Mean (median) and spread of what the other models' own runs gave. */
static int others_prior(const struct table *t, double (*all)[CONFIG_LAW_PARAMS], int group,
                        double *mean, double *sd)
{
    static const double least_sd[CONFIG_LAW_PARAMS] = {0.05, 0.02, 0.03, 0.01, 0.2, 0.2};
    for (int k = 0; k < CONFIG_LAW_PARAMS; k++) {
        double v[MAX_GROUPS], sum = 0, square = 0;
        int n = 0;
        for (int o = 0; o < t->n_groups; o++)
            if (strcmp(t->model[o], t->model[group]) != 0) {
                v[n++] = all[o][k];
                sum += all[o][k];
                square += all[o][k] * all[o][k];
            }
        if (n < 2)
            return 0;
        double variance = (square - sum * sum / n) / (n - 1);
        mean[k] = median(v, n);
        sd[k] = fmax(sqrt(fmax(variance, 0)), least_sd[k]);
    }
    return 1;
}

static enum status leave_models_out(struct table *t, size_t *at, struct err *err)
{
    double all[MAX_GROUPS][CONFIG_LAW_PARAMS];
    for (int g = 0; g < t->n_groups; g++) {
        size_t n = 0;
        for (size_t i = 0; i < t->n; i++)
            if (t->v[i].group == g)
                at[n++] = i;
        struct mapfit fit;
        enum status status =
            solve(t, at, n, config_law_prior_mean, config_law_prior_sd, 1, &fit, err);
        if (status != STATUS_OK)
            return status;
        memcpy(all[g], fit.value, sizeof all[g]);
    }
    for (int g = 0; g < t->n_groups; g++) {
        double mean[CONFIG_LAW_PARAMS], sd[CONFIG_LAW_PARAMS];
        size_t two[2];
        if (!others_prior(t, all, g, mean, sd) || two_runs(t, g, two) != 2)
            continue;
        struct mapfit fit;
        enum status status = solve(t, two, 2, mean, sd, 0, &fit, err);
        if (status != STATUS_OK)
            return status;
        double c = naive_c(t, two, 2);
        for (size_t i = 0; i < t->n; i++)
            if (t->v[i].group == g && i != two[0] && i != two[1]) {
                t->v[i].model_out_us = config_law_us(fit.value, &t->v[i].law);
                t->v[i].model_naive_us = naive_us(&t->v[i], c);
                t->v[i].model_sigma = 0.12;
            }
    }
    return STATUS_OK;
}

/* --- results ------------------------------------------------------------------------------------
 */

static double predicted_us(const struct run *r, int model_out, int naive)
{
    if (isnan(model_out ? r->model_out_us : r->set_out_us))
        return (double)NAN;
    if (naive)
        return model_out ? r->model_naive_us : r->set_naive_us;
    return model_out ? r->model_out_us : r->set_out_us;
}

static int same_cell(const struct run *a, const struct run *b)
{
    return a->group == b->group && a->set == b->set && strcmp(a->draft, b->draft) == 0;
}

/* Of each model, data set and draft: whether the configuration predicted best is the best one, and
 * what following the prediction loses. */
static void choices(const struct table *t, int model_out, int naive, double *right, double *regret,
                    double *cells)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct run *best = NULL, *chosen = NULL;
        int first = 1, n = 0;
        for (size_t j = 0; j < t->n; j++) {
            const struct run *r = &t->v[j];
            if (!same_cell(r, &t->v[i]) || isnan(predicted_us(r, model_out, naive)))
                continue;
            first &= j >= i;
            n++;
            if (best == NULL || r->period_us < best->period_us)
                best = r;
            if (chosen == NULL ||
                predicted_us(r, model_out, naive) < predicted_us(chosen, model_out, naive))
                chosen = r;
        }
        if (!first || n < 2 || isnan(predicted_us(&t->v[i], model_out, naive)))
            continue;
        *right += chosen->period_us <= best->period_us;
        *regret += 1 - best->period_us / chosen->period_us;
        *cells += 1;
    }
}

static enum status report(const struct table *t, int model_out, struct backtest_results *rs,
                          struct err *err)
{
    struct backtest_result *r = backtest_add(rs);
    if (r == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    snprintf(r->table, sizeof r->table, "%.80s, %s", t->file,
             model_out ? "a whole model left out" : "a data set left out");
    snprintf(r->target, sizeof r->target,
             "throughput of a configuration from its accept length and the plain throughput");
    snprintf(r->fitted_on, sizeof r->fitted_on,
             model_out ? "two runs of the model, with the other models as prior"
                       : "the model's runs on the other data sets");
    r->fitted_parameters = CONFIG_LAW_PARAMS;
    r->n_naive = 1;
    snprintf(r->naive[0].formula, sizeof r->naive[0].formula, "tau / (1 + c K)");
    double right[2] = {0, 0}, regret[2] = {0, 0}, cells[2] = {0, 0};
    for (size_t i = 0; i < t->n; i++) {
        const struct run *v = &t->v[i];
        double us = predicted_us(v, model_out, 0);
        if (isnan(us))
            continue;
        double predicted = v->batch * 1e6 / us, measured = v->batch * 1e6 / v->period_us;
        double sigma = model_out ? v->model_sigma : v->set_sigma;
        struct backtest_case c = {.measured = measured,
                                  .predicted = predicted,
                                  .low = predicted * exp(-1.96 * sigma),
                                  .high = predicted * exp(1.96 * sigma),
                                  .error = fabs(predicted / measured - 1),
                                  .naive_predicted = v->batch * 1e6 / predicted_us(v, model_out, 1),
                                  .naive_error =
                                      fabs(v->period_us / predicted_us(v, model_out, 1) - 1)};
        snprintf(c.name, sizeof c.name, "%s, %.40s, %g-%g-%g, %.70s", t->group[v->group],
                 t->set[v->set], v->law.num_steps, v->law.topk, v->num_draft_tokens, v->draft);
        if (backtest_add_case(r, &c) != 0)
            return err_set(err, STATUS_FAILED, "out of memory");
    }
    for (int naive = 0; naive < 2; naive++)
        choices(t, model_out, naive, &right[naive], &regret[naive], &cells[naive]);
    if (backtest_summarise_cases(r) != 0)
        return err_set(err, STATUS_FAILED, "out of memory");
    struct backtest_errors *e[] = {&r->errors, &r->naive[0]};
    for (int naive = 0; naive < 2; naive++)
        if (cells[naive] > 0) {
            e[naive]->argmax_accuracy = right[naive] / cells[naive];
            e[naive]->mean_regret = regret[naive] / cells[naive];
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
    if (!run_table_has(&r, RUN_base_tokens_per_s) || !run_table_has(&r, RUN_spec_tokens_per_s) ||
        !run_table_has(&r, RUN_accept_length) || !run_table_has(&r, RUN_num_steps) ||
        !run_table_has_text(&r, RUN_dataset) || !run_table_has_text(&r, RUN_model))
        return STATUS_OK;
    if (csv->n_rows > BACKTEST_MAX_RUNS)
        return err_set(err, STATUS_UNSUPPORTED,
                       "%s: %zu rows of served runs; at most %d are tested", f->path, csv->n_rows,
                       BACKTEST_MAX_RUNS);
    struct table *tables = realloc(s->tables, (s->n + 1) * sizeof *tables);
    if (tables == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    s->tables = tables;
    struct table *t = &s->tables[s->n];
    *t = (struct table){.v = calloc(csv->n_rows + 1, sizeof *t->v)};
    snprintf(t->file, sizeof t->file, "%s", f->name);
    size_t *at = calloc(csv->n_rows + 1, sizeof *at);
    enum status status = STATUS_OK;
    if (t->v == NULL || at == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK && read_runs(t, &r)) {
        status = leave_sets_out(t, at, err);
        if (status == STATUS_OK)
            status = leave_models_out(t, at, err);
        *taken = status == STATUS_OK;
    }
    free(at);
    if (*taken)
        s->n++;
    else
        free(t->v);
    return status;
}

static enum status finish(void *state, struct backtest_results *rs, struct err *err)
{
    const struct state *s = state;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < s->n; i++)
        for (int model_out = 0; model_out < 2 && status == STATUS_OK; model_out++)
            status = report(&s->tables[i], model_out, rs, err);
    return status;
}

const struct backtest backtest_configs = {
    .id = "configs",
    .doc = "throughput by draft configuration, data set and model, with accept lengths",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
