/* Rounds whose parts were timed: drafting, the verify pass by rows, and the drafts accepted give
 * the throughput without any fit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/evaluate.h"
#include "traces/backtest.h"
#include "traces/run_table.h"

struct round {
    char name[160], file[96];
    double predicted, measured, naive;
};

struct state {
    struct round *v;
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

/* One request of a model whose verify pass was timed: the scenario with that curve, evaluated. */
static double evaluated(double verify_tokens, double verify_ms, double draft_ms, double accepted)
{
    struct scenario s;
    struct outcome o;
    scenario_init(&s);
    s.model.layers = s.model.hidden = 1;
    int k = (int)verify_tokens - 1;
    strcpy(s.draft.method, "eagle");
    s.draft.num_steps = k;
    s.draft.accept_rate.n = 1;
    s.pass.curve = (struct qty_curve){.n = 1, .x = {verify_tokens}, .y = {verify_ms * 1e3}};
    s.draft.pass_us = (struct qty){.value = draft_ms * 1e3 / k, .set = 1};
    scenario_anchor(&s);
    evaluate(&s, &o);
    return (1 + accepted) * 1e6 / o.cycle_us;
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
    if (!run_table_has(&r, RUN_verify_tokens) || !run_table_has(&r, RUN_verify_ms) ||
        !run_table_has(&r, RUN_draft_ms) || !run_table_has(&r, RUN_accepted) ||
        !run_table_has(&r, RUN_tokens_per_s))
        return STATUS_OK;
    double plain = (double)NAN;
    for (size_t i = 0; i < csv->n_rows; i++)
        if (run_table_number(&r, i, RUN_verify_tokens) == 1)
            plain = run_table_number(&r, i, RUN_tokens_per_s);
    for (size_t i = 0; i < csv->n_rows; i++) {
        double rows = run_table_number(&r, i, RUN_verify_tokens),
               verify = run_table_number(&r, i, RUN_verify_ms),
               draft = run_table_number(&r, i, RUN_draft_ms),
               accepted = run_table_number(&r, i, RUN_accepted),
               measured = run_table_number(&r, i, RUN_tokens_per_s);
        if (!(rows >= 2 && rows <= 65 && verify > 0 && draft >= 0 && accepted >= 0 && measured > 0))
            continue;
        struct round *v = realloc(s->v, (s->n + 1) * sizeof *v);
        if (v == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        s->v = v;
        v = &s->v[s->n++];
        *v =
            (struct round){.measured = measured,
                           .predicted = evaluated(rows, verify, draft, accepted),
                           /* The verify pass costs a plain step: what drafting alone would cost. */
                           .naive = (1 + accepted) / (1 / plain + draft / 1e3)};
        snprintf(v->file, sizeof v->file, "%s", f->name);
        snprintf(v->name, sizeof v->name, "%.60s, %g rows, %g accepted",
                 run_table_text(&r, i, RUN_dataset), rows, accepted);
        *taken = 1;
    }
    return STATUS_OK;
}

static enum status report(const struct round *rounds, size_t n, struct backtest_results *rs,
                          struct err *err)
{
    struct backtest_result *r = backtest_add(rs);
    if (r == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    snprintf(r->table, sizeof r->table, "%s", rounds->file);
    snprintf(r->target, sizeof r->target,
             "throughput from drafting, verify pass and drafts accepted");
    snprintf(r->fitted_on, sizeof r->fitted_on, "nothing");
    r->n_naive = 1;
    snprintf(r->naive[0].formula, sizeof r->naive[0].formula, "a verify pass costs a plain step");
    for (size_t i = 0; i < n; i++) {
        const struct round *v = &rounds[i];
        struct backtest_case c = {.measured = v->measured,
                                  .predicted = v->predicted,
                                  .low = v->predicted * 0.98,
                                  .high = v->predicted * 1.02,
                                  .error = fabs(v->predicted / v->measured - 1),
                                  .naive_predicted = v->naive,
                                  .naive_error = fabs(v->naive / v->measured - 1)};
        snprintf(c.name, sizeof c.name, "%s", v->name);
        if (backtest_add_case(r, &c) != 0)
            return err_set(err, STATUS_FAILED, "out of memory");
    }
    if (backtest_summarise_cases(r) != 0)
        return err_set(err, STATUS_FAILED, "out of memory");
    return STATUS_OK;
}

static enum status finish(void *state, struct backtest_results *rs, struct err *err)
{
    const struct state *s = state;
    enum status status = STATUS_OK;
    for (size_t i = 0, n; i < s->n && status == STATUS_OK; i += n) {
        for (n = 1; i + n < s->n && strcmp(s->v[i + n].file, s->v[i].file) == 0;)
            n++;
        status = report(&s->v[i], n, rs, err);
    }
    return status;
}

const struct backtest backtest_rounds = {
    .id = "rounds",
    .doc = "rounds of which drafting, verify pass and acceptance were timed",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
