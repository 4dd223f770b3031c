/* What would have to be true, and what moves the answer most. All at the middle of every quantity.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/acceptance.h"
#include "model/rank_work.h"

static double throughput(const struct scenario *s)
{
    struct outcome o;
    evaluate_cycle(s, &o);
    return o.speculative_tokens_per_s;
}

/* Whether throughput less its target, as a function of x, changes sign in (low, high): where. */
static double solve(double (*excess)(void *ctx, double x), void *ctx, double low, double high)
{
    double at_low = excess(ctx, low), at_high = excess(ctx, high);
    if (!(at_low * at_high <= 0) || at_low == at_high)
        return (double)NAN;
    for (int i = 0; i < 60; i++) {
        double mid = 0.5 * (low + high), at = excess(ctx, mid);
        if (at * at_low <= 0) {
            high = mid;
        } else {
            low = mid;
            at_low = at;
        }
    }
    return 0.5 * (low + high);
}

/* target < 0: against the plain step of the same scenario. */
struct question {
    const struct scenario *s;
    double target;
};

static double against_target(const struct question *q, const struct scenario *s)
{
    struct outcome o;
    if (q->target >= 0)
        return throughput(s) - q->target;
    evaluate(s, &o);
    return o.speculative_tokens_per_s - o.baseline_tokens_per_s;
}

static double with_latency_factor(void *ctx, double factor)
{
    const struct question *q = ctx;
    struct scenario s = *q->s;
    s.allreduce.latency_scale.value *= factor;
    s.allreduce.extra_us.value *= factor;
    s.allreduce.skew_us.value *= factor;
    return against_target(q, &s);
}

static double with_count(void *ctx, double count)
{
    const struct question *q = ctx;
    struct scenario s = *q->s;
    s.allreduce.count = (int)count;
    return against_target(q, &s);
}

static struct threshold thresholds(const struct scenario *s, double target)
{
    struct question q = {s, target};
    struct outcome o;
    struct threshold t;
    evaluate(s, &o);
    double factor = solve(with_latency_factor, &q, 0, 50);
    t.allreduce_us = factor * o.allreduce_us;
    double goal = target >= 0 ? target : o.baseline_tokens_per_s;
    t.accept_length = goal * o.cycle_us / (s->batch * 1e6);
    if (t.accept_length > (scenario_speculates(s) ? s->draft.num_steps : 0) + 1 ||
        t.accept_length < 1)
        t.accept_length = (double)NAN;
    t.allreduce_count = floor(solve(with_count, &q, 0, 20.0 * (o.allreduce_count + 1)));
    return t;
}

/* Where the curves of the option's allreduce and today's cross, nearest to the message. */
static double crossover(const struct rank_work *w, const struct option *o)
{
    const struct cost *today = w->p->mean->cost.small, *other = NULL;
    for (int i = 0; i < o->n_effects; i++)
        if (o->effects[i].small != NULL)
            other = o->effects[i].small;
    if (today == NULL || other == NULL || other == today)
        return (double)NAN;
    double message = w->now.message_bytes, best = (double)NAN;
    for (double x = 8; x < 29; x += 0.05) {
        double a = exp2(x), b = exp2(x + 0.05);
        double at_a = cost_latency_us(other, a) - cost_latency_us(today, a);
        double at_b = cost_latency_us(other, b) - cost_latency_us(today, b);
        if (at_a * at_b > 0)
            continue;
        double cross = a + (b - a) * (at_a == at_b ? 0.5 : at_a / (at_a - at_b));
        if (isnan(best) || fabs(log(cross / message)) < fabs(log(best / message)))
            best = cross;
    }
    return best;
}

void rank_thresholds(struct rank_work *w)
{
    struct ranking *r = w->r;
    const double today = throughput(w->p->mean);
    struct scenario lead = *w->p->mean;
    if (r->leader >= 0)
        rank_apply(w->p->catalogue, r->v[r->leader].with, &lead);
    const double best = fmax(today, throughput(&lead));
    const struct threshold none = {(double)NAN, (double)NAN, (double)NAN};
    for (int k = 0; k < r->n; k++) {
        struct ranked *v = &r->v[k];
        v->crossover_bytes = (double)NAN;
        v->no_loss = v->win = none;
        if (v->status == RANK_BLOCKED)
            continue;
        struct scenario s = *w->p->mean;
        rank_apply(w->p->catalogue, v->with, &s);
        v->no_loss = thresholds(&s, today);
        v->win = thresholds(&s, best);
        v->crossover_bytes = crossover(w, &w->p->catalogue->v[v->option]);
    }
    r->speculation = r->speculates ? thresholds(w->p->mean, -1) : none;
}

/* --- Tornado
 * -------------------------------------------------------------------------------------- */

static void ends(const struct rank_work *w, const struct scenario *s, double *today, double *gain)
{
    struct scenario lead = *s;
    *today = throughput(s);
    if (w->r->leader >= 0)
        rank_apply(w->p->catalogue, w->r->v[w->r->leader].with, &lead);
    *gain = throughput(&lead) / *today - 1;
}

static void add_row(struct rank_work *w, struct tornado_row row, const struct scenario *low,
                    const struct scenario *high)
{
    struct ranking *r = w->r;
    ends(w, low, &row.today_low, &row.gain_low);
    ends(w, high, &row.today_high, &row.gain_high);
    double swing = fabs(row.today_high - row.today_low);
    if (!(swing > 1e-6 * r->today.mean) && fabs(row.gain_high - row.gain_low) < 1e-6)
        return;
    int at = r->n_tornado < RANK_MAX_TORNADO ? r->n_tornado++ : RANK_MAX_TORNADO;
    for (; at > 0 && fabs(r->tornado[at - 1].today_high - r->tornado[at - 1].today_low) < swing;
         at--)
        if (at < RANK_MAX_TORNADO)
            r->tornado[at] = r->tornado[at - 1];
    if (at < RANK_MAX_TORNADO)
        r->tornado[at] = row;
}

/* An edit of a quantity that today's state was measured in moves that state too, as a draw does. */
static struct scenario moved(const struct scenario *mean, const struct scenario_key *key,
                             double value)
{
    struct scenario s = *mean;
    struct qty *q = scenario_member(&s, key);
    q->value = value;
    struct scenario_reference *ref = &s.ref;
    if (strcmp(key->path, "allreduce.latency_us") == 0 && !isnan(ref->latency_us))
        ref->latency_us = value;
    else if (strcmp(key->path, "allreduce.latency_scale") == 0)
        ref->latency_scale = value;
    else if (strcmp(key->path, "allreduce.extra_us") == 0)
        ref->extra_us = value;
    else if (strcmp(key->path, "allreduce.skew_us") == 0)
        ref->skew_us = value;
    else if (strcmp(key->path, "host.step_us") == 0)
        ref->host_step_us = value;
    else if (strcmp(key->path, "logits.latency_us") == 0 && !isnan(ref->logits_latency_us))
        ref->logits_latency_us = value;
    return s;
}

void rank_tornado(struct rank_work *w)
{
    const struct scenario *mean = w->p->mean;
    for (size_t i = 0; i < scenario_n_keys; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        if (key->type != KEY_TYPE_QTY)
            continue;
        const struct qty *q = scenario_member_const(mean, key);
        if (!(q->low < q->high))
            continue;
        struct scenario low = moved(mean, key, q->low), high = moved(mean, key, q->high);
        struct tornado_row row = {.low = q->low, .value = q->value, .high = q->high};
        snprintf(row.key, sizeof row.key, "%s", key->path);
        add_row(w, row, &low, &high);
    }
    if (mean->draft.accept_rate.n > 0 && scenario_speculates(mean)) {
        struct scenario low = *mean, high = *mean;
        /* The spread of scenario_draw: 0.04 where nobody counted. */
        double reached = mean->draft.accept_cycles;
        for (int i = 0; i < mean->draft.accept_rate.n; i++) {
            double p = mean->draft.accept_rate.v[i];
            double sigma = reached > 0 ? sqrt(p * (1 - p) / reached + 1e-6) : 0.04;
            low.draft.accept_rate.v[i] = fmax(p - 1.96 * sigma, 0);
            high.draft.accept_rate.v[i] = fmin(p + 1.96 * sigma, 1);
            reached *= p;
        }
        struct tornado_row row = {.key = "draft.accept_rate",
                                  .low = low.draft.accept_rate.v[0],
                                  .value = mean->draft.accept_rate.v[0],
                                  .high = high.draft.accept_rate.v[0]};
        add_row(w, row, &low, &high);
    }
    if (mean->cost.small != NULL && !mean->allreduce.latency_us.set) {
        struct scenario low = *mean, high = *mean;
        double sigma = cost_sigma(mean->cost.small, w->now.message_bytes);
        low.cost.small_factor = low.ref.cost.small_factor = exp(-1.96 * sigma);
        high.cost.small_factor = high.ref.cost.small_factor = exp(1.96 * sigma);
        double us = cost_latency_us(mean->cost.small, w->now.message_bytes);
        struct tornado_row row = {
            .low = us * exp(-1.96 * sigma), .value = us, .high = us * exp(1.96 * sigma)};
        snprintf(row.key, sizeof row.key, "fit of %.50s", mean->cost.small->impl);
        add_row(w, row, &low, &high);
    }
}
