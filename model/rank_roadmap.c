/* In which order: the roadmap under a budget of days, and whether to try a cheap uncertain option
 * before the sure one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/parallel.h"
#include "model/rank_work.h"

/* The best order by dynamic programming over sets: area[S] is the most throughput x days that can
 * have been served when S is done, each option being worked on while the ones before it serve. */
struct plan {
    const struct rank_work *w;
    size_t size;
    double *mean, *area; /* by set; NaN where not allowed or not reachable */
    signed char *last;   /* option done last */
    double effort[SEARCH_MAX_OPTIONS];
};

static double effort_of(const struct plan *plan, uint32_t set)
{
    double sum = 0;
    for (int i = 0; i < plan->w->r->n_searched; i++)
        if (set >> i & 1)
            sum += plan->effort[i];
    return sum;
}

/* A step has to give a quarter of the benchmark's noise, or to open the way for another. */
static int worth_a_step(const struct rank_work *w, int option, double before, double after)
{
    if (after >= before * (1 + 0.25 * w->r->noise))
        return 1;
    for (int j = 0; j < w->search.n; j++)
        if (w->search.needs[j] >> option & 1)
            return 1;
    return 0;
}

static void fill(struct plan *plan)
{
    const struct rank_work *w = plan->w;
    for (size_t s = 0; s < plan->size; s++) {
        plan->mean[s] = plan->area[s] = (double)NAN;
        plan->last[s] = -1;
    }
    for (size_t k = 0; k < w->found.n_sets; k++)
        plan->mean[w->found.sets[k]] = w->found.mean[k];
    plan->area[0] = 0;
    for (size_t k = 1; k < w->found.n_sets; k++) {
        uint32_t set = w->found.sets[k];
        for (int i = 0; i < w->search.n; i++) {
            uint32_t before = set & ~((uint32_t)1 << i);
            if (before == set || isnan(plan->area[before]) ||
                !worth_a_step(w, i, plan->mean[before], plan->mean[set]))
                continue;
            double area = plan->area[before] + plan->effort[i] * plan->mean[before];
            if (isnan(plan->area[set]) || area > plan->area[set]) {
                plan->area[set] = area;
                plan->last[set] = (signed char)i;
            }
        }
    }
}

static uint32_t best_end(const struct plan *plan, double *value)
{
    const struct rank_work *w = plan->w;
    const double horizon = w->r->horizon_days;
    double limit = horizon;
    if (w->p->budget_days > 0 && w->p->budget_days < limit)
        limit = w->p->budget_days;
    uint32_t best = 0;
    *value = plan->mean[0] * horizon;
    for (size_t k = 1; k < w->found.n_sets; k++) {
        uint32_t set = w->found.sets[k];
        double effort = effort_of(plan, set);
        if (isnan(plan->area[set]) || effort > limit)
            continue;
        double total = plan->area[set] + plan->mean[set] * (horizon - effort);
        if (total > *value) {
            *value = total;
            best = set;
        }
    }
    *value /= horizon;
    return best;
}

/* What to do instead where a step fails: the best that the step excludes. */
static int fallback(const struct plan *plan, uint32_t before, int step)
{
    const struct rank_work *w = plan->w;
    int best = -1;
    double most = plan->mean[before] * (1 + 0.25 * w->r->noise);
    for (int j = 0; j < w->search.n; j++) {
        uint32_t with = before | (uint32_t)1 << j;
        if (!(w->search.excludes[step] >> j & 1) || with == before || isnan(plan->mean[with]))
            continue;
        if (plan->mean[with] > most) {
            most = plan->mean[with];
            best = j;
        }
    }
    return best < 0 ? -1 : w->r->searched[best];
}

struct worlds {
    const struct rank_work *w;
    uint32_t sets[SEARCH_MAX_OPTIONS];
    size_t n;
    double *t; /* [n][draws] */
};

static void step_worlds(void *ctx, size_t begin, size_t end)
{
    struct worlds *v = ctx;
    for (size_t d = begin; d < end; d++) {
        double t[SEARCH_MAX_OPTIONS];
        search_worlds(&v->w->search, v->sets, v->n, d, t);
        for (size_t k = 0; k < v->n; k++)
            v->t[k * v->w->draws + d] = t[k];
    }
}

static int write_steps(struct plan *plan, uint32_t end)
{
    struct rank_work *w = (struct rank_work *)plan->w;
    struct ranking *r = w->r;
    int order[SEARCH_MAX_OPTIONS], n = 0;
    for (uint32_t set = end; set != 0; set &= ~((uint32_t)1 << plan->last[set]))
        order[n++] = plan->last[set];
    r->n_steps = n;
    struct worlds worlds = {.w = w};
    uint32_t set = 0;
    double days = 0;
    for (int k = 0; k < n; k++) {
        int i = order[n - 1 - k];
        struct roadmap_step *step = &r->steps[k];
        uint32_t before = set;
        set |= (uint32_t)1 << i;
        days += plan->effort[i];
        *step = (struct roadmap_step){.option = r->searched[i], .done_days = days};
        step->marginal = plan->mean[set] / plan->mean[before] - 1;
        step->fallback = fallback(plan, before, i);
        worlds.sets[worlds.n++] = set;
    }
    if (n == 0)
        return 0;
    worlds.t = malloc(worlds.n * w->draws * sizeof *worlds.t);
    double *scratch = malloc(w->draws * sizeof *scratch);
    if (worlds.t != NULL && scratch != NULL) {
        parallel_for(w->p->threads, w->draws, step_worlds, &worlds);
        for (int k = 0; k < n; k++)
            r->steps[k].tokens_per_s =
                rank_estimate(worlds.t + (size_t)k * w->draws, w->draws, scratch);
    }
    int bad = worlds.t == NULL || scratch == NULL;
    free(worlds.t);
    free(scratch);
    return bad ? -1 : 0;
}

enum status rank_roadmap(struct rank_work *w, struct err *err)
{
    struct plan plan = {.w = w, .size = (size_t)1 << w->search.n};
    for (int i = 0; i < w->search.n; i++)
        plan.effort[i] = option_mean_effort(w->search.options[i]);
    plan.mean = malloc(plan.size * sizeof *plan.mean);
    plan.area = malloc(plan.size * sizeof *plan.area);
    plan.last = malloc(plan.size * sizeof *plan.last);
    int bad = plan.mean == NULL || plan.area == NULL || plan.last == NULL;
    if (!bad) {
        fill(&plan);
        bad = write_steps(&plan, best_end(&plan, &w->r->roadmap_value)) != 0;
    }
    free(plan.mean);
    free(plan.area);
    free(plan.last);
    return bad ? err_set(err, STATUS_FAILED, "out of memory") : STATUS_OK;
}

/* --- Try this first?
 * -------------------------------------------------------------------------------
 */

/* Mean throughput until the horizon of a plan in one world: `before` serves for `days`, then `then`
 * does. What loses against what serves is not deployed. */
static double served(double before, double days, double then, double horizon)
{
    if (days > horizon)
        days = horizon;
    return (before * days + fmax(before, then) * (horizon - days)) / horizon;
}

static void judge_pair(const struct rank_work *w, int a, int b, struct policy *p, double *anyway)
{
    const double horizon = w->r->horizon_days;
    const double *ta = w->alone + (size_t)a * w->draws, *tb = w->alone + (size_t)b * w->draws;
    const double *ea = w->effort + (size_t)a * w->draws, *eb = w->effort + (size_t)b * w->draws;
    double only = 0, both = 0, just_a = 0, just_b = 0, fails = 0;
    for (size_t d = 0; d < w->draws; d++) {
        const double t0 = w->today[d];
        int failed = ta[d] <= t0 * (1 + 0.25 * w->r->noise);
        double first = fmin(ea[d], horizon), rest = horizon - first;
        double now = fmax(t0, ta[d]);
        double then = rest > 0 ? served(now, eb[d], tb[d], rest) : now;
        just_a += served(t0, ea[d], ta[d], horizon);
        just_b += served(t0, eb[d], tb[d], horizon);
        both += (t0 * first + then * rest) / horizon;
        only += (t0 * first + (failed ? then : now) * rest) / horizon;
        fails += failed;
    }
    const double n = (double)w->draws;
    p->value = only / n;
    p->straight = fmax(just_a, just_b) / n;
    p->p_first_fails = fails / n;
    *anyway = both / n;
}

/* Pairs that exclude each other, the cheaper one first. */
void rank_policies(struct rank_work *w)
{
    struct ranking *r = w->r;
    for (int a = 0; a < w->n_ok; a++)
        for (int b = 0; b < w->n_ok; b++) {
            const struct option *x = &w->p->catalogue->v[w->ok[a]];
            if (a == b || !(x->excludes >> w->ok[b] & 1) ||
                r->v[a].effort_days >= r->v[b].effort_days || r->v[b].gain.mean <= 0)
                continue;
            struct policy p = {.first = w->ok[a], .then = w->ok[b], .only_if_it_fails = 1};
            double anyway;
            judge_pair(w, a, b, &p, &anyway);
            if (anyway > p.value) {
                p.value = anyway;
                p.only_if_it_fails = 0;
            }
            if (p.value <= p.straight || p.p_first_fails < 0.02)
                continue;
            int at = r->n_policies < RANK_MAX_POLICIES ? r->n_policies++ : RANK_MAX_POLICIES;
            for (; at > 0 && r->policies[at - 1].value < p.value; at--)
                if (at < RANK_MAX_POLICIES)
                    r->policies[at] = r->policies[at - 1];
            if (at < RANK_MAX_POLICIES)
                r->policies[at] = p;
        }
}
