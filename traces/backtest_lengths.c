/* Accept lengths: chains of at most three drafts predict the longer ones, and chains predict trees.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/acceptance.h"
#include "model/calibrate.h"
#include "traces/backtest.h"
#include "traces/run_table.h"

enum { SERIES = 320, MAX_RUNS = 64, SHALLOW = 3 };
static const double length_noise =
    0.02; /* of the drafts accepted; runs repeat to 0.05-0.1 tokens */

struct series {
    char name[SERIES], file[96];
    int n;
    struct calibrate_run run[MAX_RUNS];
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

static struct series *find(struct state *s, const char *name, const char *file)
{
    for (size_t i = s->first; i < s->n; i++)
        if (strcmp(s->v[i].name, name) == 0)
            return &s->v[i];
    struct series *v = realloc(s->v, (s->n + 1) * sizeof *v);
    if (v == NULL)
        return NULL;
    s->v = v;
    v = &s->v[s->n++];
    *v = (struct series){.n = 0};
    snprintf(v->file, sizeof v->file, "%s", file);
    snprintf(v->name, sizeof v->name, "%s", name);
    return v;
}

static int chain(const struct calibrate_run *r)
{
    return r->topk <= 1;
}

static int shallow(const struct series *v)
{
    int n = 0;
    for (int i = 0; i < v->n; i++)
        n += chain(&v->run[i]) && v->run[i].num_steps <= SHALLOW;
    return n;
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
    if (!run_table_has(&r, RUN_num_steps) || !run_table_has(&r, RUN_accept_length))
        return STATUS_OK;
    s->first = s->n;
    for (size_t i = 0; i < csv->n_rows; i++) {
        double k = run_table_number(&r, i, RUN_num_steps), topk = run_table_number(&r, i, RUN_topk);
        double m = run_table_number(&r, i, RUN_verify_tokens);
        double tau = run_table_tokens_per_cycle(&r, i);
        const char *kind = run_table_text(&r, i, RUN_kind);
        if (!(k >= 1 && k <= 31 && tau >= 1) ||
            (kind[0] != '\0' && strncmp(kind, "measured", 8) != 0))
            continue;
        char name[SERIES];
        run_table_series(&r, i, name, sizeof name);
        size_t n = strlen(name);
        if (run_table_text(&r, i, RUN_dataset)[0] != '\0')
            snprintf(name + n, sizeof name - n, ", %.60s", run_table_text(&r, i, RUN_dataset));
        struct series *v = find(s, name, f->name);
        if (v == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        int known = v->n == MAX_RUNS;
        for (int j = 0; j < v->n; j++)
            known |= v->run[j].num_steps == (int)k &&
                     v->run[j].topk == (topk > 1 ? (int)topk : 1) &&
                     v->run[j].num_draft_tokens == (topk > 1 && m >= 1 ? (int)m : 0);
        if (known)
            continue;
        v->run[v->n++] = (struct calibrate_run){.num_steps = (int)k,
                                                .topk = topk > 1 ? (int)topk : 1,
                                                .num_draft_tokens = topk > 1 && m >= 1 ? (int)m : 0,
                                                .tokens_per_cycle = tau};
        *taken = 1;
    }
    return STATUS_OK;
}

/* --- longer chains from short ones --------------------------------------------------------------
 */

static enum status add_deeper(struct backtest_result *r, const struct series *v, struct err *err)
{
    struct calibrate_run known[MAX_RUNS];
    size_t n = 0;
    const struct calibrate_run *shortest = NULL;
    for (int i = 0; i < v->n; i++)
        if (chain(&v->run[i]) && v->run[i].num_steps <= SHALLOW) {
            known[n++] = v->run[i];
            if (shortest == NULL || v->run[i].num_steps < shortest->num_steps)
                shortest = &v->run[i];
        }
    double first, first_sd, fall, fall_sd, learned[2];
    enum status status =
        accept_fit(known, n, length_noise, &first, &first_sd, &fall, &fall_sd, learned, err);
    if (status != STATUS_OK)
        return status;
    /* Naive: one probability for every position, from the shortest chain. */
    double low = 0, high = 1;
    for (int step = 0; step < 60; step++) {
        double p = (low + high) / 2;
        if (acceptance_chain_tokens(&p, 1, 1, shortest->num_steps) < shortest->tokens_per_cycle)
            low = p;
        else
            high = p;
    }
    double sd = sqrt(fall_sd * fall_sd + 4e-4); /* chains differ by so much from the law */
    for (int i = 0; i < v->n; i++) {
        const struct calibrate_run *run = &v->run[i];
        if (!chain(run) || run->num_steps <= SHALLOW)
            continue;
        double p[32], slow[32], fast[32];
        int k = run->num_steps;
        for (int j = 0; j < k; j++) {
            p[j] = fmin(first * exp(-fall * j), 1);
            slow[j] = fmin(first * exp(-(fall - 1.96 * sd) * j), 1);
            fast[j] = fmin(first * exp(-(fall + 1.96 * sd) * j), 1);
        }
        double predicted = acceptance_chain_tokens(p, k, 1, k);
        struct backtest_case c = {
            .measured = run->tokens_per_cycle,
            .predicted = predicted,
            .low = acceptance_chain_tokens(fast, k, 1, k) * 0.98,
            .high = acceptance_chain_tokens(slow, k, 1, k) * 1.02,
            .error = fabs(predicted / run->tokens_per_cycle - 1),
            .naive_predicted = acceptance_chain_tokens(&high, 1, 1, k),
            .naive_error =
                fabs(acceptance_chain_tokens(&high, 1, 1, k) / run->tokens_per_cycle - 1)};
        snprintf(c.name, sizeof c.name, "%.180s, K = %d", v->name, k);
        if (backtest_add_case(r, &c) != 0)
            return err_set(err, STATUS_FAILED, "out of memory");
    }
    return STATUS_OK;
}

static int has_deeper(const struct series *v)
{
    for (int i = 0; i < v->n; i++)
        if (chain(&v->run[i]) && v->run[i].num_steps > SHALLOW)
            return 1;
    return 0;
}

static enum status deeper(const struct series *v, size_t n_series, int least, int most,
                          struct backtest_results *rs, struct err *err)
{
    struct backtest_result *r = NULL;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < n_series && status == STATUS_OK; i++) {
        int n = shallow(&v[i]);
        if (n < least || n > most || !has_deeper(&v[i]))
            continue;
        if (r == NULL) {
            if ((r = backtest_add(rs)) == NULL)
                return err_set(err, STATUS_FAILED, "out of memory");
            snprintf(r->table, sizeof r->table, "%.80s, chains, %s", v->file,
                     least > 1 ? "two or three short ones known" : "one short one known");
            snprintf(r->target, sizeof r->target, "accept length of more than %d drafts", SHALLOW);
            snprintf(r->fitted_on, sizeof r->fitted_on, "each draft's chains of at most %d drafts",
                     SHALLOW);
            r->fitted_parameters = 2;
            r->n_naive = 1;
            snprintf(r->naive[0].formula, sizeof r->naive[0].formula,
                     "one probability for every position");
        }
        status = add_deeper(r, &v[i], err);
    }
    if (r != NULL && status == STATUS_OK && backtest_summarise_cases(r) != 0)
        status = err_set(err, STATUS_FAILED, "out of memory");
    return status;
}

/* --- trees from chains --------------------------------------------------------------------------
 */

static enum status trees(const struct series *series, size_t n_series, struct backtest_results *rs,
                         struct err *err)
{
    struct backtest_result *r = NULL;
    for (size_t i = 0; i < n_series; i++) {
        const struct series *v = &series[i];
        struct calibrate_run known[MAX_RUNS];
        size_t n = 0;
        for (int j = 0; j < v->n; j++)
            if (chain(&v->run[j]))
                known[n++] = v->run[j];
        if (n < 2 || (int)n == v->n)
            continue;
        double first, first_sd, fall, fall_sd, learned[2];
        enum status status =
            accept_fit(known, n, length_noise, &first, &first_sd, &fall, &fall_sd, learned, err);
        if (status != STATUS_OK)
            return status;
        if (r == NULL) {
            if ((r = backtest_add(rs)) == NULL)
                return err_set(err, STATUS_FAILED, "out of memory");
            snprintf(r->table, sizeof r->table, "%.80s, trees", v->file);
            snprintf(r->target, sizeof r->target,
                     "accept length of a tree from the draft's chains");
            snprintf(r->fitted_on, sizeof r->fitted_on, "the same draft's chains on the data set");
            r->fitted_parameters = 2;
            r->n_naive = 1;
            snprintf(r->naive[0].formula, sizeof r->naive[0].formula,
                     "the chain of as many drafts");
        }
        for (int j = 0; j < v->n; j++) {
            const struct calibrate_run *run = &v->run[j];
            if (chain(run) || run->num_draft_tokens < 2)
                continue;
            double p[32];
            for (int d = 0; d < 32; d++)
                p[d] = fmin(first * exp(-fall * d), 1);
            double predicted =
                acceptance_tree_tokens(p, 32, 1, run->num_steps, run->topk, run->num_draft_tokens);
            double naive = acceptance_chain_tokens(p, 32, 1, run->num_draft_tokens - 1);
            struct backtest_case c = {.measured = run->tokens_per_cycle,
                                      .predicted = predicted,
                                      .low = predicted * exp(-1.96 * ACCEPT_TREE_SIGMA),
                                      .high = predicted * exp(1.96 * ACCEPT_TREE_SIGMA),
                                      .error = fabs(predicted / run->tokens_per_cycle - 1),
                                      .naive_predicted = naive,
                                      .naive_error = fabs(naive / run->tokens_per_cycle - 1)};
            snprintf(c.name, sizeof c.name, "%.180s, %d-%d-%d", v->name, run->num_steps, run->topk,
                     run->num_draft_tokens);
            if (backtest_add_case(r, &c) != 0)
                return err_set(err, STATUS_FAILED, "out of memory");
        }
    }
    if (r != NULL && backtest_summarise_cases(r) != 0)
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
        status = deeper(&s->v[i], n, 2, MAX_RUNS, rs, err);
        if (status == STATUS_OK)
            status = deeper(&s->v[i], n, 1, 1, rs, err);
        if (status == STATUS_OK)
            status = trees(&s->v[i], n, rs, err);
    }
    return status;
}

const struct backtest backtest_lengths = {
    .id = "lengths",
    .doc = "accept lengths by draft steps, chains and trees",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
