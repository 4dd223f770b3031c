/* Sweeps over the number of draft steps with accept lengths: the shortest and the longest run give
 * a line of cycle time over steps, which predicts the throughput of the others and the best one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/backtest.h"
#include "traces/run_table.h"

enum { SERIES = 320, MAX_STEPS = 32 };

/* One series of runs that differ in their draft steps alone. */
struct series {
    char name[SERIES], file[96];
    double plain_tokens_per_s; /* NaN: not measured */
    int n;
    double steps[MAX_STEPS], tau[MAX_STEPS], tokens_per_s[MAX_STEPS];
};

struct state {
    struct series *v;
    size_t n;
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

static struct series *find(struct state *s, const char *name, const char *file)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].name, name) == 0 && strcmp(s->v[i].file, file) == 0)
            return &s->v[i];
    struct series *v = realloc(s->v, (s->n + 1) * sizeof *v);
    if (v == NULL)
        return NULL;
    s->v = v;
    v = &s->v[s->n++];
    *v = (struct series){.plain_tokens_per_s = (double)NAN};
    snprintf(v->name, sizeof v->name, "%s", name);
    snprintf(v->file, sizeof v->file, "%s", file);
    return v;
}

static enum status read_rows(struct state *s, const struct run_table *r, const char *file,
                             struct err *err)
{
    double plain = (double)NAN;
    size_t first = s->n;
    for (size_t i = 0; i < r->csv->n_rows; i++) {
        double steps = run_table_number(r, i, RUN_num_steps);
        double tokens_per_s = run_table_tokens_per_s(r, i);
        const char *kind = run_table_text(r, i, RUN_kind);
        /* Some tables hold their author's predictions beside the measurements. */
        if (!(tokens_per_s > 0) || (kind[0] != '\0' && strncmp(kind, "measured", 8) != 0))
            continue;
        if (steps == 0) {
            plain = tokens_per_s;
            continue;
        }
        double tau = run_table_tokens_per_cycle(r, i);
        if (!(steps >= 1 && tau >= 1))
            continue;
        char name[SERIES];
        run_table_series(r, i, name, sizeof name);
        struct series *v = find(s, name, file);
        if (v == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        int known = v->n == MAX_STEPS;
        for (int k = 0; k < v->n; k++)
            known |= v->steps[k] == steps;
        if (known)
            continue;
        v->steps[v->n] = steps;
        v->tau[v->n] = tau;
        v->tokens_per_s[v->n++] = tokens_per_s;
    }
    for (size_t i = first; i < s->n; i++)
        s->v[i].plain_tokens_per_s = plain;
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
    if (!run_table_has(&r, RUN_num_steps) || !run_table_has(&r, RUN_accept_length) ||
        run_table_has(&r, RUN_base_tokens_per_s) || run_table_has(&r, RUN_topk) ||
        !(run_table_has(&r, RUN_tokens_per_s) || run_table_has(&r, RUN_tpot_ms) ||
          run_table_has(&r, RUN_user_tokens_per_s)))
        return STATUS_OK;
    size_t before = s->n;
    enum status status = read_rows(s, &r, f->name, err);
    for (size_t i = before; i < s->n; i++)
        *taken |= s->v[i].n >= 3;
    return status;
}

static double cycle(const struct series *v, int i)
{
    return v->tau[i] / v->tokens_per_s[i];
}

static enum status report(const struct series *v, struct backtest_results *rs, struct err *err)
{
    int low = 0, high = 0, best = 0, chosen = 0, naive_chosen = 0;
    double predicted[MAX_STEPS], naive[MAX_STEPS];
    for (int i = 1; i < v->n; i++) {
        low = v->steps[i] < v->steps[low] ? i : low;
        high = v->steps[i] > v->steps[high] ? i : high;
    }
    double slope = (cycle(v, high) - cycle(v, low)) / (v->steps[high] - v->steps[low]);
    double start = cycle(v, low) - slope * v->steps[low];
    /* tau / (1 + c K) of the plain throughput, c from the same two runs. */
    double plain = isnan(v->plain_tokens_per_s) ? start : 1 / v->plain_tokens_per_s;
    double c = ((cycle(v, low) / plain - 1) / v->steps[low] +
                (cycle(v, high) / plain - 1) / v->steps[high]) /
               2;
    struct backtest_result *r = backtest_add(rs);
    if (r == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    snprintf(r->table, sizeof r->table, "%.80s%s%.70s", v->file, v->name[0] ? ", " : "", v->name);
    snprintf(r->target, sizeof r->target,
             "throughput of other numbers of draft steps, and the best");
    snprintf(r->fitted_on, sizeof r->fitted_on, "K = %g and K = %g", v->steps[low], v->steps[high]);
    r->fitted_parameters = 2;
    r->n_naive = 1;
    snprintf(r->naive[0].formula, sizeof r->naive[0].formula, "tau / (1 + c K)");
    for (int i = 0; i < v->n; i++) {
        predicted[i] = v->tau[i] / (start + slope * v->steps[i]);
        naive[i] = v->tau[i] / (plain * (1 + c * v->steps[i]));
        best = v->tokens_per_s[i] > v->tokens_per_s[best] ? i : best;
        chosen = predicted[i] > predicted[chosen] ? i : chosen;
        naive_chosen = naive[i] > naive[naive_chosen] ? i : naive_chosen;
        if (i == low || i == high)
            continue;
        struct backtest_case k = {.measured = v->tokens_per_s[i],
                                  .predicted = predicted[i],
                                  .low = predicted[i] * 0.94,
                                  .high = predicted[i] * 1.06,
                                  .error = fabs(predicted[i] / v->tokens_per_s[i] - 1),
                                  .naive_predicted = naive[i],
                                  .naive_error = fabs(naive[i] / v->tokens_per_s[i] - 1)};
        snprintf(k.name, sizeof k.name, "%.150s, K = %g", v->name[0] ? v->name : v->file,
                 v->steps[i]);
        if (backtest_add_case(r, &k) != 0)
            return err_set(err, STATUS_FAILED, "out of memory");
    }
    if (backtest_summarise_cases(r) != 0)
        return err_set(err, STATUS_FAILED, "out of memory");
    r->errors.argmax_accuracy = v->tokens_per_s[chosen] >= v->tokens_per_s[best];
    r->errors.mean_regret = 1 - v->tokens_per_s[chosen] / v->tokens_per_s[best];
    r->naive[0].argmax_accuracy = v->tokens_per_s[naive_chosen] >= v->tokens_per_s[best];
    r->naive[0].mean_regret = 1 - v->tokens_per_s[naive_chosen] / v->tokens_per_s[best];
    return STATUS_OK;
}

static enum status finish(void *state, struct backtest_results *rs, struct err *err)
{
    const struct state *s = state;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < s->n && status == STATUS_OK; i++)
        if (s->v[i].n >= 3)
            status = report(&s->v[i], rs, err);
    return status;
}

const struct backtest backtest_ksweep = {
    .id = "ksweep",
    .doc = "throughput and accept length by draft steps: two runs predict the rest",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
