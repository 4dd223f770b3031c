/* Memory by the formula; the roadmap against every order; Shapley's shares against their
 * definition. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/rank.h"
#include "tests/near.h"

static void buffers_by_the_table(void **state)
{
    (void)state;
    /* MiB of buffsize, of a channel, of 4 channels in rings, 16 in rings, 16 and 32 with trees. */
    static const double table[][6] = {{1, 10, 40, 160, 320, 640},
                                      {4, 12, 48, 192, 384, 768},
                                      {8, 16, 64, 256, 512, 1024},
                                      {16, 24, 96, 384, 768, 1536},
                                      {32, 40, 160, 640, 1280, 2560}};
    const double mib = 1048576;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const double *t = table[i];
        assert_near(nccl_channel_memory(t[0] * mib), t[1] * mib, 0);
        assert_near(nccl_communicator_memory(4, t[0] * mib, 0), t[2] * mib, 0);
        assert_near(nccl_communicator_memory(16, t[0] * mib, 0), t[3] * mib, 0);
        assert_near(nccl_communicator_memory(16, t[0] * mib, 1), t[4] * mib, 0);
        assert_near(nccl_communicator_memory(32, t[0] * mib, 1), t[5] * mib, 0);
    }
    assert_near(nccl_channel_memory(0), 12 * mib, 0);
    struct scenario s;
    scenario_init(&s);
    s.nccl.max_nchannels = 16;
    s.nccl.buffsize_bytes = 16 * mib;
    assert_near(memory_of_impl(&s, "nccl/ring/ll"), 384 * mib, 0);
    assert_near(memory_of_impl(&s, "nccl/auto"), 768 * mib, 0);
    assert_near(memory_of_impl(&s, "nccl/ring/ll:channels=2,buffsize=1048576"), 20 * mib, 0);
    assert_true(isnan(memory_of_impl(&s, "custom/oneshot")));
}

static void versions_compare_by_numbers(void **state)
{
    (void)state;
    assert_true(version_compare("0.6.9", "0.6.17") < 0);
    assert_true(version_compare("2.28.9", "2.28.9") == 0);
    assert_true(version_compare("2.28", "2.28.0") == 0);
    assert_true(version_compare("2.30", "2.29.7") > 0);
    assert_true(version_compare("0.6.17rc1", "0.6.17") == 0);
}

enum { N = 5 };

static struct scenario base(void)
{
    struct scenario s;
    struct err err;
    scenario_init(&s);
    s.ranks = 8;
    s.model.layers = 61;
    s.model.hidden = 7168;
    s.logits.all_gather = 0;
    strcpy(s.draft.method, "eagle3");
    s.draft.num_steps = 2;
    s.draft.accept_rate = (struct qty_list){.n = 2, .v = {0.8, 0.5}};
    s.draft.pass_us = (struct qty){400, 300, 500, 1, 0};
    s.allreduce.latency_us = (struct qty){24, 22, 27, 1, 0};
    s.baseline.tokens_per_s = (struct qty){100, 95, 105, 1, 0};
    s.measured.noise = 0.001;
    assert_int_equal(scenario_bind(&s, NULL, &err), STATUS_OK);
    scenario_anchor(&s);
    return s;
}

static void make_options(struct option *o, unsigned variant)
{
    static const char *const types[N] = {"scale_latency", "scale_compute", "scale_accept",
                                         "scale_draft", "scale_latency"};
    static const double factors[N] = {0.6, 0.93, 1.06, 0.5, 0.8};
    memset(o, 0, N * sizeof *o);
    for (int i = 0; i < N; i++) {
        o[i].id[0] = (char)('a' + i);
        strcpy(o[i].title, o[i].id);
        o[i].n_effects = 1;
        effect_init(&o[i].effects[0], effect_type_find(types[i]));
        o[i].effects[0].amount =
            (struct qty){factors[i], factors[i] - 0.05, factors[i] + 0.05, 1, 0};
        o[i].effort_low = o[i].effort_likely = o[i].effort_high =
            1 + (double)((i * 3 + variant) % 5);
        o[i].p_works = 0.9;
    }
    o[4].excludes = 1;                /* not with the first */
    o[3].needs = variant % 2 ? 2 : 0; /* after the second */
}

struct path {
    const struct search *found;
    const struct search_params *p;
    const struct option *o;
    double horizon, budget, best;
};

/* Every order of every allowed set. */
static void walk(struct path *w, uint32_t set, double days, double area)
{
    double mean = search_mean(w->found, set);
    double total = area + mean * (w->horizon - days);
    if (total > w->best)
        w->best = total;
    for (int i = 0; i < N; i++) {
        uint32_t next = set | (uint32_t)1 << i;
        double effort = option_mean_effort(&w->o[i]);
        if (next == set || !search_allowed(w->p, next) || days + effort > w->budget)
            continue;
        walk(w, next, days + effort, area + mean * effort);
    }
}

static double best_part(const struct search *f, uint32_t set)
{
    double best = f->mean[0];
    for (size_t k = 0; k < f->n_sets; k++)
        if ((f->sets[k] & ~set) == 0)
            best = fmax(best, f->mean[k]);
    return best;
}

/* The mean of what i adds over all orders of all options. */
static double shapley_by_orders(const struct search *f, int i, int *order, int n)
{
    if (n == N) {
        uint32_t before = 0;
        for (int k = 0; order[k] != i; k++)
            before |= (uint32_t)1 << order[k];
        return best_part(f, before | (uint32_t)1 << i) - best_part(f, before);
    }
    double sum = 0;
    for (int k = n; k < N; k++) {
        int t = order[n];
        order[n] = order[k];
        order[k] = t;
        sum += shapley_by_orders(f, i, order, n + 1);
        order[k] = order[n];
        order[n] = t;
    }
    return sum / (N - n);
}

static void roadmap_and_shares_by_brute_force(void **state)
{
    (void)state;
    struct scenario s = base();
    struct option o[N];
    struct ranking *r = malloc(sizeof *r);
    struct err err;
    for (unsigned variant = 0; variant < 6; variant++) {
        make_options(o, variant);
        struct catalogue c = {o, N};
        catalogue_close(&c);
        struct rank_params p = {.mean = &s,
                                .catalogue = &c,
                                .seed = variant,
                                .draws = 400,
                                .threads = 2,
                                .budget_days = variant < 3 ? 6 : 100,
                                .horizon_days = 30};
        assert_int_equal(rank_options(r, &p, &err), STATUS_OK);
        assert_int_equal(r->n_searched, N);
        struct search_params sp = {.mean = &s, .n = N, .seed = variant, .draws = 400, .threads = 1};
        for (int i = 0; i < N; i++) {
            sp.options[i] = &o[i];
            sp.excludes[i] = (uint32_t)o[i].excludes;
            sp.needs[i] = (uint32_t)o[i].needs;
        }
        struct search found;
        assert_int_equal(search_run(&found, &sp, &err), STATUS_OK);
        struct path w = {&found, &sp, o, 30, fmin(p.budget_days, 30), 0};
        walk(&w, 0, 0, 0);
        /* A step needs a quarter of the noise, 0.025 % here: no more than that is lost. */
        assert_near(r->roadmap_value, w.best / 30, 1e-3);
        assert_true(r->n_steps > 0);
        assert_near(r->best_mean, best_part(&found, (1u << N) - 1), 1e-12);
        double sum = 0;
        for (int k = 0; k < r->n; k++) {
            int order[N] = {0, 1, 2, 3, 4};
            double share = shapley_by_orders(&found, r->v[k].option, order, 0) / found.mean[0];
            assert_near(r->v[k].shapley + 1, share + 1, 1e-12);
            sum += share;
        }
        assert_near(1 + sum, r->best_mean / found.mean[0], 1e-12);
        search_release(&found);
    }
    free(r);
}

static void impossible_inputs_are_named(void **state)
{
    (void)state;
    struct scenario s = base();
    struct err err;
    assert_int_equal(rank_guard(&s, &err), STATUS_OK);
    s.measured.speculative_tokens_per_s = (struct qty){500, 500, 500, 1, 0};
    assert_int_equal(rank_guard(&s, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "plain step"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_by_the_table),
        cmocka_unit_test(versions_compare_by_numbers),
        cmocka_unit_test(roadmap_and_shares_by_brute_force),
        cmocka_unit_test(impossible_inputs_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
