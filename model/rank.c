#include "model/rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/draw.h"
#include "model/parallel.h"
#include "model/rank_work.h"
#include "model/simulate.h"

const char *rank_status_name(enum rank_status s)
{
    static const char *const names[] = {"ok", "blocked", "harmful"};
    return names[s];
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct estimate rank_estimate(const double *v, size_t n, double *scratch)
{
    struct estimate e = {0};
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    e.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (v[i] - e.mean) * (v[i] - e.mean);
    e.error = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : 0;
    memcpy(scratch, v, n * sizeof *v);
    qsort(scratch, n, sizeof *scratch, ascending);
    e.low = quantile_sorted(scratch, (int)n, 0.025);
    e.high = quantile_sorted(scratch, (int)n, 0.975);
    return e;
}

void rank_apply(const struct catalogue *c, uint64_t with, struct scenario *s)
{
    for (int i = 0; i < c->n; i++)
        if (with >> i & 1) {
            struct option_draw d;
            option_mean(&c->v[i], &d);
            option_apply(&c->v[i], &d, s);
        }
}

int rank_search_set(const struct rank_work *w, uint64_t with, uint32_t *set)
{
    *set = 0;
    for (int i = 0; i < w->r->n_searched; i++)
        if (with >> w->r->searched[i] & 1) {
            *set |= (uint32_t)1 << i;
            with &= ~((uint64_t)1 << w->r->searched[i]);
        }
    return with == 0 ? 0 : -1;
}

uint64_t rank_catalogue_set(const struct rank_work *w, uint32_t set)
{
    uint64_t with = 0;
    for (int i = 0; i < w->r->n_searched; i++)
        if (set >> i & 1)
            with |= (uint64_t)1 << w->r->searched[i];
    return with;
}

enum status rank_guard(const struct scenario *s, struct err *err)
{
    struct outcome o;
    evaluate(s, &o);
    const int deepest = scenario_speculates(s) ? s->draft.num_steps + 1 : 1;
    if (o.tokens_per_cycle < 1 || o.tokens_per_cycle > deepest + 1e-9)
        return err_set(
            err, STATUS_UNSUPPORTED,
            "an accept length of %.3g is impossible with %d drafts: it lies between 1 and "
            "%d (does it count per request?)",
            o.tokens_per_cycle, deepest - 1, deepest);
    if (!s->measured.speculative_tokens_per_s.set || !scenario_speculates(s))
        return STATUS_OK;
    /* A cycle verifies more rows than the plain step has, so even with every draft accepted it
     * cannot be cheaper; noise apart. */
    const double measured = s->measured.speculative_tokens_per_s.value;
    const double longest = s->batch * deepest * 1e6 / measured;
    if (longest < o.baseline_step_us * (1 - 2 * s->measured.noise))
        return err_set(
            err, STATUS_UNSUPPORTED,
            "measured.speculative_tokens_per_s = %.4g is impossible: with every draft "
            "accepted a cycle would take %.0f us, %.2g of a plain step (%.0f us), though "
            "it verifies more rows",
            measured, longest, longest / o.baseline_step_us, o.baseline_step_us);
    return STATUS_OK;
}

/* --- Alone
 * ---------------------------------------------------------------------------------------- */

static void alone_worlds(void *ctx, size_t begin, size_t end)
{
    struct rank_work *w = ctx;
    const struct catalogue *c = w->p->catalogue;
    for (size_t d = begin; d < end; d++) {
        struct scenario world;
        struct outcome o;
        struct option_draw draw[OPTION_MAX];
        uint64_t all = 0;
        scenario_draw(w->p->mean, w->p->seed, d, &world);
        evaluate_cycle(&world, &o);
        w->today[d] = o.speculative_tokens_per_s;
        /* A measured cycle emits the same tokens; what it takes longer no term explains. */
        double measured = world.measured.speculative_tokens_per_s.value;
        w->residual[d] =
            measured > 0 ? world.batch * o.tokens_per_cycle * 1e6 / measured - o.cycle_us : 0;
        for (int k = 0; k < w->n_ok; k++)
            all |= w->r->v[k].with;
        for (int i = 0; i < c->n; i++)
            if (all >> i & 1)
                option_sample(&c->v[i], w->p->mean, w->p->seed, d, &draw[i]);
        for (int k = 0; k < w->n_ok; k++) {
            struct scenario s = world;
            double effort = 0;
            int works = 1;
            for (int i = 0; i < c->n; i++)
                if (w->r->v[k].with >> i & 1) {
                    option_apply(&c->v[i], &draw[i], &s);
                    effort += draw[i].effort_days;
                    works &= draw[i].works;
                }
            w->works[(size_t)k * w->draws + d] = (unsigned char)works;
            evaluate_cycle(&s, &o);
            w->alone[(size_t)k * w->draws + d] = o.speculative_tokens_per_s;
            w->effort[(size_t)k * w->draws + d] = effort;
        }
    }
}

static uint64_t closure(const struct catalogue *c, int i)
{
    uint64_t with = (uint64_t)1 << i, last;
    do {
        last = with;
        for (int j = 0; j < c->n; j++)
            if (with >> j & 1)
                with |= c->v[j].needs;
    } while (with != last);
    return with;
}

static void mean_outcome(const struct rank_work *w, struct ranked *v)
{
    struct scenario s = *w->p->mean;
    struct outcome o;
    rank_apply(w->p->catalogue, v->with, &s);
    evaluate_cycle(&s, &o);
    v->ar_us_now = w->now.allreduce_us;
    v->ar_us_then = o.allreduce_us;
    memory_predict(&s, &v->memory);
}

/* Requirements, costs, memory: what can be had goes first into r->v, the rest behind it. */
static void split_possible(struct rank_work *w)
{
    const struct catalogue *c = w->p->catalogue;
    struct ranking *r = w->r;
    char reason[OPTION_MAX][RANK_TEXT];
    int possible[OPTION_MAX];
    for (int i = 0; i < c->n; i++)
        possible[i] =
            option_possible(&c->v[i], w->p->mean, w->p->costs, reason[i], sizeof reason[i]);
    for (int i = 0; i < c->n; i++) {
        uint64_t with = closure(c, i);
        for (int j = 0; j < c->n && possible[i]; j++)
            if (j != i && (with >> j & 1) && !possible[j]) {
                possible[i] = 0;
                snprintf(reason[i], sizeof reason[i], "needs %s, which is blocked: %.400s",
                         c->v[j].id, reason[j]);
            }
        if (!possible[i])
            continue;
        struct ranked *v = &r->v[w->n_ok];
        *v = (struct ranked){.option = i, .status = RANK_OK, .with = with};
        mean_outcome(w, v);
        if (!v->memory.fits && r->memory.fits) {
            char sum[300];
            memory_text(&v->memory, sum, sizeof sum);
            snprintf(reason[i], sizeof reason[i], "does not fit in memory: %s", sum);
            possible[i] = 0;
            continue;
        }
        w->ok[w->n_ok] = i;
        w->ranked_of[i] = w->n_ok++;
    }
    r->n = w->n_ok;
    for (int i = 0; i < c->n; i++) {
        if (possible[i])
            continue;
        struct ranked *v = &r->v[r->n];
        *v = (struct ranked){.option = i, .status = RANK_BLOCKED, .with = closure(c, i)};
        memcpy(v->reason, reason[i], sizeof v->reason);
        w->ranked_of[i] = r->n++;
    }
}

static void judge_alone(struct rank_work *w, double *scratch, double *gains)
{
    struct ranking *r = w->r;
    for (int k = 0; k < w->n_ok; k++) {
        struct ranked *v = &r->v[k];
        const double *t = w->alone + (size_t)k * w->draws;
        double better = 0, effort = 0;
        v->tokens_per_s = rank_estimate(t, w->draws, scratch);
        for (size_t d = 0; d < w->draws; d++) {
            gains[d] = t[d] / w->today[d] - 1;
            better += gains[d] > 1e-9;
            effort += w->effort[(size_t)k * w->draws + d];
        }
        v->gain = rank_estimate(gains, w->draws, scratch);
        v->p_gain = better / (double)w->draws;
        size_t n_works = 0;
        for (size_t d = 0; d < w->draws; d++)
            if (w->works[(size_t)k * w->draws + d])
                gains[n_works++] = gains[d];
        v->gain_works = v->gain;
        if (n_works > 1)
            v->gain_works = rank_estimate(gains, n_works, scratch);
        v->effort_days = effort / (double)w->draws;
        v->gain_per_day = v->gain.mean / v->effort_days;
        v->undecidable = fabs(v->gain.mean) < r->noise;
        v->reaccept = w->p->catalogue->v[v->option].changes_summation;
        double losing = 0;
        for (size_t d = 0; d < w->draws; d++)
            losing += t[d] < w->today[d] * (1 - 1e-9);
        losing /= (double)w->draws;
        v->coin_flip =
            v->p_gain > 0.2 && losing > 0.2 && (v->gain.high > r->noise || v->gain.low < -r->noise);
        if (v->gain.mean < 0 && (v->p_gain < 0.1 || v->gain.mean < -r->noise))
            v->status = RANK_HARMFUL;
    }
}

/* The best first step in every world, ties shared, and what choosing another would have lost. An
 * option that needs others is no first step: it is held against all of them, with what it needs. */
static void judge_best(struct rank_work *w)
{
    struct ranking *r = w->r;
    const struct catalogue *c = w->p->catalogue;
    for (size_t d = 0; d < w->draws; d++) {
        double best = w->today[d];
        for (int k = 0; k < w->n_ok; k++)
            if (c->v[w->ok[k]].needs == 0)
                best = fmax(best, w->alone[(size_t)k * w->draws + d]);
        const double tie = best * (1 - 1e-12);
        int ties = w->today[d] >= tie;
        for (int k = 0; k < w->n_ok; k++)
            ties += c->v[w->ok[k]].needs == 0 && w->alone[(size_t)k * w->draws + d] >= tie;
        r->p_today_best += (w->today[d] >= tie) / (double)ties;
        for (int k = 0; k < w->n_ok; k++) {
            double t = w->alone[(size_t)k * w->draws + d];
            r->v[k].p_best +=
                c->v[w->ok[k]].needs == 0 ? (t >= tie) / (double)ties : t > best * (1 + 1e-12);
            r->v[k].regret += best - t;
        }
    }
    r->p_today_best /= (double)w->draws;
    for (int k = 0; k < w->n_ok; k++) {
        r->v[k].p_best /= (double)w->draws;
        r->v[k].regret /= (double)w->draws;
    }
}

/* --- The order
 * ------------------------------------------------------------------------------------ */

/* First what gains more than the benchmark's noise, then what gains, then what does not, what harms
 * and what is blocked; within a group by gain per day (Smith's rule: the order of falling gain per
 * day has the most throughput along the way). */
static int group(const struct ranked *v)
{
    if (v->status != RANK_OK)
        return v->status == RANK_HARMFUL ? 3 : 4;
    return !v->undecidable && v->gain.mean > 0 ? 0 : v->gain.mean > 0 ? 1 : 2;
}

static int in_order(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (group(x) != group(y))
        return group(x) - group(y);
    double px = group(x) == 3 ? x->gain.mean : x->gain_per_day;
    double py = group(x) == 3 ? y->gain.mean : y->gain_per_day;
    if (group(x) < 4 && px != py)
        return px > py ? -1 : 1;
    return x->option - y->option;
}

static void put_in_order(struct rank_work *w)
{
    struct ranking *r = w->r;
    qsort(r->v, (size_t)r->n, sizeof r->v[0], in_order);
    for (int k = 0; k < r->n; k++)
        w->ranked_of[r->v[k].option] = k;
    r->leader = r->n > 0 && r->v[0].status == RANK_OK ? 0 : -1;
}

static void release(struct rank_work *w)
{
    free(w->today);
    free(w->alone);
    free(w->effort);
    free(w->residual);
    free(w->works);
    search_release(&w->found);
}

static enum status run(struct rank_work *w, struct err *err)
{
    struct ranking *r = w->r;
    w->today = malloc(w->draws * sizeof *w->today);
    w->alone = malloc((size_t)(w->n_ok ? w->n_ok : 1) * w->draws * sizeof *w->alone);
    w->effort = malloc((size_t)(w->n_ok ? w->n_ok : 1) * w->draws * sizeof *w->effort);
    w->residual = malloc(w->draws * sizeof *w->residual);
    w->works = malloc((size_t)(w->n_ok ? w->n_ok : 1) * w->draws);
    double *scratch = malloc(w->draws * sizeof *scratch), *gains = malloc(w->draws * sizeof *gains);
    enum status status = STATUS_OK;
    if (w->today == NULL || w->alone == NULL || w->effort == NULL || w->residual == NULL ||
        w->works == NULL || scratch == NULL || gains == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
    } else {
        parallel_for(w->p->threads, w->draws, alone_worlds, w);
        r->today = rank_estimate(w->today, w->draws, scratch);
        r->has_measured = r->speculates && w->p->mean->measured.speculative_tokens_per_s.set;
        r->unexplained_us = rank_estimate(w->residual, w->draws, scratch);
        judge_alone(w, scratch, gains);
        judge_best(w);
    }
    free(scratch);
    free(gains);
    if (status == STATUS_OK)
        status = rank_sets(w, err);
    if (status == STATUS_OK)
        status = rank_roadmap(w, err);
    if (status != STATUS_OK)
        return status;
    rank_policies(w);
    status = rank_learn(w, err);
    if (status != STATUS_OK)
        return status;
    put_in_order(w);
    rank_thresholds(w);
    rank_tornado(w);
    for (int k = 0; k < r->n; k++)
        rank_reason(w, &r->v[k]);
    return STATUS_OK;
}

enum status rank_options(struct ranking *r, const struct rank_params *p, struct err *err)
{
    *r = (struct ranking){.leader = -1, .decisive = -1};
    struct rank_work w = {.p = p, .r = r};
    enum status status = rank_guard(p->mean, err);
    if (status != STATUS_OK)
        return status;
    w.draws = (p->draws + SEARCH_LANES - 1) / SEARCH_LANES * SEARCH_LANES;
    r->draws = w.draws;
    r->noise = p->mean->measured.noise;
    r->speculates = scenario_speculates(p->mean);
    r->horizon_days = p->horizon_days > 0  ? p->horizon_days
                      : p->budget_days > 0 ? 2 * p->budget_days
                                           : 60;
    evaluate(p->mean, &w.now);
    memory_predict(p->mean, &r->memory);
    split_possible(&w);
    status = run(&w, err);
    release(&w);
    return status;
}
