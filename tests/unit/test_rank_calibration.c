/* slow: intervals and probabilities held against synthetic truths.
 *
 * A truth has latencies, a baseline, acceptance rates, an in-situ factor and effects. What the user
 * measures of it carries noise; the ranking sees the measurements and the catalogue's intervals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/draw.h"
#include "model/evaluate.h"
#include "model/rank.h"
#include "tests/near.h"

enum { N_OPTIONS = 5, WORLDS = 2000 };

static struct cost line(const char *impl, double alpha_us, double beta_us)
{
    struct cost c = {.collective = "allreduce", .ranks = 8, .form = COST_SEGMENTS, .n_segments = 1};
    strcpy(c.impl, impl);
    c.segments[0] = (struct cost_segment){0, 1e12, alpha_us, beta_us};
    c.min_bytes = 1024;
    c.max_bytes = 1 << 22;
    return c;
}

static struct qty around(double value, double sigma)
{
    const double z = 1.959963984540054;
    return (struct qty){value, value * exp(-z * sigma), value * exp(z * sigma), 1, 0};
}

static double uniform(struct rng *r, double low, double high)
{
    return low + (high - low) * rng_uniform(r);
}

struct world {
    struct cost cost[2]; /* as measured */
    struct costs costs;
    struct scenario measured; /* what the ranking sees */
    struct scenario truth;    /* its quantities at their true values */
    struct cost true_cost[2];
    struct option options[N_OPTIONS];
    struct option_draw true_draw[N_OPTIONS];
};

static void set_effect(struct option *o, const char *id, const char *type, struct qty amount)
{
    *o = (struct option){.p_works = 1, .effort_low = 1, .effort_likely = 2, .effort_high = 4};
    strcpy(o->id, id);
    strcpy(o->title, id);
    o->n_effects = 1;
    effect_init(&o->effects[0], effect_type_find(type));
    o->effects[0].amount = amount;
}

static void shape(struct scenario *s)
{
    scenario_init(s);
    s->ranks = 8;
    s->model.layers = 61;
    s->model.hidden = 7168;
    s->model.vocab = 0;
    s->model.embedding_allreduce = 0;
    strcpy(s->allreduce.impl, "nccl/ring/ll");
    strcpy(s->draft.method, "eagle3");
    s->draft.num_steps = 3;
    s->logits.all_gather = 0;
    s->draft.accept_decay = (struct qty){1, 1, 1, 1, 0};
    s->pass.bandwidth_efficiency = (struct qty){0.6, 0.6, 0.6, 1, 0};
}

static void make_world(struct world *w, uint64_t index)
{
    static const double noise = 0.06;
    struct rng r;
    rng_init(&r, 2026, index);
    memset(w, 0, sizeof *w);
    shape(&w->truth);
    shape(&w->measured);
    struct scenario *t = &w->truth, *m = &w->measured;
    w->costs = (struct costs){w->cost, 2, 2};
    /* Latencies: measured with an error that a curve shares. */
    double alpha[2] = {uniform(&r, 15, 40), uniform(&r, 6, 30)};
    for (int i = 0; i < 2; i++) {
        const char *impl = i ? "custom/twoshot" : "nccl/ring/ll";
        double beta = uniform(&r, 2e-5, 2e-4), error = exp(noise * rng_normal(&r));
        w->true_cost[i] = line(impl, alpha[i], beta);
        w->cost[i] = line(impl, alpha[i] * error, beta * error);
        w->cost[i].rel_sigma = noise;
    }
    /* Acceptance: counted over some cycles. */
    m->draft.accept_cycles = 300;
    t->draft.accept_rate.n = m->draft.accept_rate.n = 3;
    int reached = 300;
    for (int i = 0; i < 3; i++) {
        double p = uniform(&r, 0.4, 0.85);
        int accepted = 0;
        for (int k = 0; k < reached; k++)
            accepted += rng_uniform(&r) < p;
        t->draft.accept_rate.v[i] = p;
        m->draft.accept_rate.v[i] = reached ? (double)accepted / reached : 0.5;
        reached = accepted;
    }
    m->draft.pass_us = around(uniform(&r, 200, 800), 0.2);
    t->draft.pass_us.value = qty_draw(&m->draft.pass_us, rng_normal(&r));
    t->draft.pass_us.set = 1;
    m->host.speculative_us = (struct qty){300, 50, 900, 1, 0};
    t->host.speculative_us.value = qty_draw(&m->host.speculative_us, rng_normal(&r));
    t->allreduce.insitu.value = qty_draw(&m->allreduce.insitu, rng_normal(&r));
    double tokens = uniform(&r, 60, 120);
    t->baseline.tokens_per_s = (struct qty){tokens, tokens, tokens, 1, 0};
    m->baseline.tokens_per_s = around(tokens * exp(0.02 * rng_normal(&r)), 0.02);
    struct err err;
    assert_int_equal(scenario_bind(m, &w->costs, &err), STATUS_OK);
    scenario_anchor(m);
    struct costs true_costs = {w->true_cost, 2, 2};
    assert_int_equal(scenario_bind(t, &true_costs, &err), STATUS_OK);
    scenario_anchor(t);
    /* Options, and what they truly do. */
    struct option *o = w->options;
    set_effect(&o[0], "twoshot", "replace_impl", (struct qty){1, 1, 1, 1, 0});
    strcpy(o[0].effects[0].impl, "custom/twoshot");
    set_effect(&o[1], "latency", "scale_latency",
               (struct qty){uniform(&r, 0.7, 1), 0.5, 1.3, 1, 0});
    set_effect(&o[2], "compute", "scale_compute",
               (struct qty){uniform(&r, 0.9, 1), 0.8, 1.05, 1, 0});
    set_effect(&o[3], "accept", "scale_accept",
               (struct qty){uniform(&r, 0.95, 1.1), 0.9, 1.2, 1, 0});
    set_effect(&o[4], "deeper", "set", (struct qty){2, 2, 2, 1, 0});
    o[4].effects[0].key = scenario_key_find("draft.num_steps");
    for (int i = 0; i < N_OPTIONS; i++) {
        o[i].p_works = i == 2 ? 0.7 : 1;
        option_mean(&o[i], &w->true_draw[i]);
        w->true_draw[i].works = rng_uniform(&r) < o[i].p_works;
        w->true_draw[i].effect[0].amount = qty_draw(&o[i].effects[0].amount, rng_normal(&r));
    }
}

static double true_gain(struct world *w, int i, double *tokens)
{
    struct scenario s = w->truth;
    struct outcome o, today;
    evaluate_cycle(&s, &today);
    struct option option = w->options[i];
    option.effects[0].small = i == 0 ? &w->true_cost[1] : NULL;
    option_apply(&option, &w->true_draw[i], &s);
    evaluate_cycle(&s, &o);
    *tokens = o.speculative_tokens_per_s;
    return o.speculative_tokens_per_s / today.speculative_tokens_per_s - 1;
}

static void intervals_and_probabilities_hold(void **state)
{
    (void)state;
    struct world *w = malloc(sizeof *w);
    struct ranking *r = malloc(sizeof *r);
    int inside[N_OPTIONS] = {0}, all = 0, today_inside = 0;
    double predicted[10] = {0}, observed[10] = {0};
    int count[10] = {0};
    for (uint64_t i = 0; i < WORLDS; i++) {
        make_world(w, i);
        struct catalogue c = {w->options, N_OPTIONS};
        catalogue_close(&c);
        struct rank_params p = {.mean = &w->measured,
                                .catalogue = &c,
                                .costs = &w->costs,
                                .seed = i,
                                .draws = 400,
                                .threads = 1};
        struct err err = {STATUS_OK, ""};
        enum status status = rank_options(r, &p, &err);
        if (status != STATUS_OK)
            print_error("%s\n", err.msg);
        assert_int_equal(status, STATUS_OK);
        double tokens[N_OPTIONS], best = 0;
        struct outcome now;
        evaluate_cycle(&w->truth, &now);
        best = now.speculative_tokens_per_s;
        today_inside += best >= r->today.low && best <= r->today.high;
        for (int k = 0; k < N_OPTIONS; k++) {
            true_gain(w, k, &tokens[k]);
            best = fmax(best, tokens[k]);
        }
        for (int k = 0; k < r->n; k++) {
            const struct ranked *v = &r->v[k];
            double t, gain = true_gain(w, v->option, &t);
            int in = gain >= v->gain.low - 1e-12 && gain <= v->gain.high + 1e-12;
            inside[v->option] += in;
            all += in;
            int bin = v->p_best >= 1 ? 9 : (int)(10 * v->p_best);
            predicted[bin] += v->p_best;
            observed[bin] += t >= best * (1 - 1e-12);
            count[bin]++;
        }
    }
    print_message(
        "95 %% intervals of gains hold %.1f %% of the truths; of today's throughput %.1f %%\n",
        100.0 * all / (WORLDS * N_OPTIONS), 100.0 * today_inside / WORLDS);
    for (int k = 0; k < N_OPTIONS; k++)
        print_message("  %-10s %.1f %%\n", w->options[k].id, 100.0 * inside[k] / WORLDS);
    assert_true(all > 0.92 * WORLDS * N_OPTIONS && all < 0.98 * WORLDS * N_OPTIONS);
    for (int b = 0; b < 10; b++) {
        if (count[b] == 0)
            continue;
        double said = predicted[b] / count[b], was = observed[b] / count[b];
        double error = sqrt(fmax(was * (1 - was), 0.01) / count[b]);
        print_message("  P(best) %.2f said, %.2f was (%d)\n", said, was, count[b]);
        /* Within 5 points, and what chance adds to a decile of few cases. */
        assert_true(fabs(said - was) < 0.05 + (count[b] < 400 ? 2 * error : 0));
    }
    free(w);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_and_probabilities_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
