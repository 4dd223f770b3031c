/* The factored search against evaluate() on edited scenarios, and effects against the terms that
 * they declare. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/draw.h"
#include "model/evaluate.h"
#include "model/search.h"
#include "tests/near.h"

static struct cost line(const char *impl, double alpha_us, double us_per_kb)
{
    struct cost c = {.collective = "allreduce", .ranks = 8, .form = COST_SEGMENTS, .n_segments = 1};
    strcpy(c.impl, impl);
    c.segments[0] = (struct cost_segment){0, 1e12, alpha_us, us_per_kb / 1000};
    c.min_bytes = 1024;
    c.max_bytes = 1 << 20;
    c.rel_sigma = 0.1;
    return c;
}

static struct cost cost_array[3];
static struct costs costs = {cost_array, 3, 3};

static struct scenario base(void)
{
    struct scenario s;
    struct err err;
    cost_array[0] = line("nccl/ring/ll", 22, 0.05);
    cost_array[1] = line("custom/oneshot", 6, 0.3);
    cost_array[2] = line("custom/twoshot", 9, 0.08);
    scenario_init(&s);
    s.ranks = 8;
    s.batch = 2;
    s.model.layers = 61;
    s.model.hidden = 7168;
    s.model.vocab = 163840;
    s.context_tokens = 1000;
    s.model.kv_bytes_per_token = (struct qty){70000, 60000, 80000, 1, 0};
    s.model.dense_weight_bytes = (struct qty){2e10, 1e10, 3e10, 1, 0};
    s.model.weight_bytes = s.model.dense_weight_bytes;
    s.hardware.mem_bw_gb_per_s = 1800;
    s.hardware.compute_capability = 12;
    strcpy(s.allreduce.impl, "nccl/ring/ll");
    strcpy(s.draft.method, "eagle3");
    s.draft.num_steps = 2;
    s.draft.accept_rate = (struct qty_list){.n = 2, .v = {0.8, 0.5}};
    s.draft.pass_us = (struct qty){400, 200, 900, 1, 0};
    s.allreduce.skew_us = (struct qty){1, 0, 4, 1, 0};
    s.host.speculative_us = (struct qty){300, 50, 2500, 1, 0};
    s.baseline.tokens_per_s = (struct qty){100, 95, 105, 1, 0};
    s.baseline.batch = 2;
    s.engine.cuda_graph_max_batch = 1;
    s.engine.graph_miss_us = (struct qty){700, 500, 900, 1, 0};
    s.nccl.max_nchannels = 16;
    assert_int_equal(scenario_bind(&s, &costs, &err), STATUS_OK);
    scenario_anchor(&s);
    assert_int_equal(scenario_check(&s, &err), STATUS_OK);
    return s;
}

static struct effect effect(const char *type, double value, double low, double high)
{
    struct effect e;
    effect_init(&e, effect_type_find(type));
    e.amount = (struct qty){value, low, high, 1, 0};
    return e;
}

static void add_effect(struct option *o, struct effect e)
{
    o->effects[o->n_effects++] = e;
}

/* Every type of effect, some twice, some that exclude each other, some that may fail. */
static int make_options(struct option *o, const struct scenario *s)
{
    int n = 0;
    struct err err;
    for (int i = 0; effect_types[i] != NULL; i++) {
        struct effect e = effect(effect_types[i]->name, 0.8, 0.7, 0.95);
        const char *name = effect_types[i]->name;
        if (strcmp(name, "set") == 0) {
            e.key = scenario_key_find("draft.num_steps");
            e.amount = (struct qty){3, 3, 3, 1, 0};
        } else if (strcmp(name, "replace_impl") == 0) {
            strcpy(e.impl, "custom/oneshot");
            e.cutoff_bytes = 65536;
        } else if (strcmp(name, "add_latency") == 0) {
            e.amount = (struct qty){-30, -60, -1, 1, 0}; /* deep enough to meet the floor at 0 */
        } else if (strcmp(name, "workspace") == 0) {
            continue;
        }
        o[n] = (struct option){.p_works = i % 3 == 0 ? 0.6 : 1};
        strcpy(o[n].id, name);
        add_effect(&o[n], e);
        n++;
    }
    o[n] = (struct option){.p_works = 0.9, .id = "twoshot_fused"};
    add_effect(&o[n], effect("replace_impl", 1, 1, 1));
    strcpy(o[n].effects[0].impl, "custom/twoshot");
    add_effect(&o[n], effect("add_latency", -2, -4, -1));
    add_effect(&o[n], effect("scale_compute", 0.97, 0.95, 1));
    n++;
    o[n] = (struct option){.p_works = 1, .id = "faster"};
    add_effect(&o[n], effect("scale_latency", 0.9, 0.8, 1));
    add_effect(&o[n], effect("scale_host", 0.9, 0.8, 1));
    n++;
    for (int i = 0; i < n; i++) {
        o[i].effort_low = o[i].effort_likely = o[i].effort_high = 1;
        for (int k = 0; k < o[i].n_effects; k++) {
            assert_int_equal(effect_check(&o[i].effects[k], &err), STATUS_OK);
            assert_int_equal(effect_bind(&o[i].effects[k], s, &costs, &err), STATUS_OK);
        }
    }
    return n;
}

static void matches_plain_evaluation(void **state)
{
    (void)state;
    struct scenario s = base();
    struct option *options = calloc(32, sizeof *options);
    int n = make_options(options, &s);
    struct rng rng;
    rng_init(&rng, 5, 0);
    /* All options in groups of six, at random, so that every pair meets. */
    for (int round = 0; round < 12; round++) {
        struct search_params p = {.mean = &s, .n = 6, .seed = 9, .draws = 16, .threads = 2};
        for (int i = 0; i < p.n; i++)
            p.options[i] = &options[(size_t)(rng_uniform(&rng) * n)];
        for (int i = 0; i < p.n; i++)
            for (int j = 0; j < i; j++) {
                const char *a = effect_sets(&p.options[i]->effects[0]);
                const char *b = effect_sets(&p.options[j]->effects[0]);
                if (p.options[i] == p.options[j] || (a != NULL && b != NULL && strcmp(a, b) == 0)) {
                    p.excludes[i] |= (uint32_t)1 << j;
                    p.excludes[j] |= (uint32_t)1 << i;
                }
            }
        if (round % 2 == 1)
            p.needs[3] = 1 & ~p.excludes[3];
        uint32_t keep[64];
        for (uint32_t set = 0; set < 64; set++)
            if (search_allowed(&p, set))
                keep[p.n_keep++] = set;
        p.keep = keep;
        struct search r;
        struct err err;
        assert_int_equal(search_run(&r, &p, &err), STATUS_OK);
        assert_int_equal(r.n_sets, p.n_keep);
        for (size_t k = 0; k < r.n_sets; k++) {
            double sum = 0;
            assert_int_equal(r.sets[k], keep[k]);
            for (size_t w = 0; w < p.draws; w++) {
                double plain = search_world(&p, keep[k], w);
                assert_near(r.kept[k * p.draws + w], plain, 1e-12);
                sum += plain;
                assert_true(r.best[w] >= plain * (1 - 1e-12));
            }
            assert_near(r.mean[k], sum / (double)p.draws, 1e-12);
        }
        for (size_t w = 0; w < p.draws; w++)
            assert_near(r.best[w], search_world(&p, r.best_set[w], w), 1e-12);
        search_release(&r);
    }
    free(options);
}

/* Many options that act by one number: their tables are in two halves. */
static void many_factors_match_plain_evaluation(void **state)
{
    (void)state;
    static const char *const types[] = {"scale_latency", "add_latency", "scale_compute"};
    struct scenario s = base();
    struct option *options = calloc(11, sizeof *options);
    struct search_params p = {.mean = &s, .n = 11, .seed = 3, .draws = 8, .threads = 2};
    for (int i = 0; i < p.n; i++) {
        options[i].p_works = i % 4 == 0 ? 0.7 : 1;
        options[i].id[0] = (char)('a' + i);
        double value = i % 3 == 1 ? -0.8 : 0.9;
        add_effect(&options[i], effect(types[i % 3], value, value - 0.1, value + 0.1));
        p.options[i] = &options[i];
    }
    p.excludes[2] = 1u << 7;
    p.excludes[7] = 1u << 2;
    uint32_t *keep = malloc(sizeof *keep << p.n);
    for (uint32_t set = 0; set < 1u << p.n; set++)
        if (search_allowed(&p, set))
            keep[p.n_keep++] = set;
    p.keep = keep;
    struct search r;
    struct err err;
    assert_int_equal(search_run(&r, &p, &err), STATUS_OK);
    for (size_t k = 0; k < r.n_sets; k++)
        for (size_t w = 0; w < p.draws; w++)
            assert_near(r.kept[k * p.draws + w], search_world(&p, keep[k], w), 1e-12);
    search_release(&r);
    free(keep);
    free(options);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    struct scenario s = base();
    struct option *options = calloc(32, sizeof *options);
    make_options(options, &s);
    struct search_params p = {.mean = &s, .n = 7, .seed = 1, .draws = 200, .threads = 1};
    for (int i = 0; i < p.n; i++)
        p.options[i] = &options[i];
    struct search a, b;
    struct err err;
    assert_int_equal(search_run(&a, &p, &err), STATUS_OK);
    p.threads = 3;
    assert_int_equal(search_run(&b, &p, &err), STATUS_OK);
    assert_int_equal(a.n_sets, 128);
    assert_memory_equal(a.mean, b.mean, a.n_sets * sizeof *a.mean);
    assert_memory_equal(a.best, b.best, a.draws * sizeof *a.best);
    assert_memory_equal(a.best_set, b.best_set, a.draws * sizeof *a.best_set);
    search_release(&a);
    search_release(&b);
    free(options);
}

/* terms_of_key() says which terms a key can reach; changing it must leave the others as they are.
 */
static void keys_reach_no_other_term(void **state)
{
    (void)state;
    struct scenario s = base();
    struct outcome before, after;
    evaluate_cycle(&s, &before);
    int narrow = 0;
    for (size_t i = 0; i < scenario_n_keys; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        if (!key->what_if || key->type == KEY_TYPE_TEXT || key->type == KEY_TYPE_CURVE ||
            strcmp(key->path, "ranks") == 0)
            continue;
        for (int v = 0; v < 4; v++) {
            static const double values[] = {0, 0.5, 1, 3};
            struct scenario t = s;
            if (scenario_set_number(&t, key, values[v], NULL) != STATUS_OK)
                continue;
            evaluate_cycle(&t, &after);
            unsigned changed = 0;
            double wire_before = before.verify_allreduce_us + before.draft_allreduce_us;
            double wire_after = after.verify_allreduce_us + after.draft_allreduce_us;
            changed |= t.batch * after.tokens_per_cycle != s.batch * before.tokens_per_cycle
                           ? TERM_TOKENS
                           : 0;
            changed |= after.draft_us != before.draft_us ? TERM_DRAFT : 0;
            changed |= after.verify_compute_us != before.verify_compute_us ? TERM_COMPUTE : 0;
            changed |= wire_after != wire_before ? TERM_WIRE : 0;
            changed |= after.host_us != before.host_us ? TERM_HOST : 0;
            if ((changed & ~terms_of_key(key)) != 0) {
                print_error("%s = %g changes terms %x, declared %x\n", key->path, values[v],
                            changed, terms_of_key(key));
                fail();
            }
        }
        narrow += terms_of_key(key) != TERM_ALL;
    }
    assert_true(narrow > 10);
}

static void every_effect_is_complete_and_stays_in_its_terms(void **state)
{
    (void)state;
    struct scenario s = base();
    struct option *options = calloc(32, sizeof *options);
    int n = make_options(options, &s);
    struct outcome before;
    evaluate_cycle(&s, &before);
    for (int i = 0; i < n; i++) {
        struct scenario t = s;
        struct option_draw d;
        struct outcome after;
        char text[512] = "";
        option_mean(&options[i], &d);
        option_apply(&options[i], &d, &t);
        evaluate_cycle(&t, &after);
        unsigned terms = option_terms(&options[i]), changed = 0;
        changed |= after.tokens_per_cycle != before.tokens_per_cycle ? TERM_TOKENS : 0;
        changed |= after.draft_us != before.draft_us ? TERM_DRAFT : 0;
        changed |= after.verify_compute_us != before.verify_compute_us ? TERM_COMPUTE : 0;
        changed |= after.verify_allreduce_us + after.draft_allreduce_us !=
                           before.verify_allreduce_us + before.draft_allreduce_us
                       ? TERM_WIRE
                       : 0;
        changed |= after.host_us != before.host_us ? TERM_HOST : 0;
        if (changed & ~terms)
            print_error("%s changes %x, declared %x\n", options[i].id, changed, terms);
        assert_true((changed & ~terms) == 0);
        assert_true(changed != 0);
        const struct effect_type *type = options[i].effects[0].type;
        assert_non_null(type->doc);
        type->explain(&options[i].effects[0], &s, text, sizeof text);
        assert_true(strlen(text) > 10);
        for (int k = 0; effect_types[k] != type; k++)
            assert_string_not_equal(effect_types[k]->name, type->name);
    }
    free(options);
}

static void nccl_uses_one_channel_for_a_small_message(void **state)
{
    (void)state;
    /* 512 threads x 8 bytes x 8 ranks = 32 KiB a channel for Ring/LL. */
    assert_int_equal(nccl_channels("nccl/ring/ll", 43008, 8, 512, 16), 1);
    assert_int_equal(nccl_channels("nccl/ring/ll", 65536, 8, 512, 16), 2);
    assert_int_equal(nccl_channels("nccl/ring/ll", 43008, 4, 512, 16), 2);
    assert_int_equal(nccl_channels("nccl/ring/simple", 43008, 8, 512, 16), 1);
    assert_int_equal(nccl_channels("nccl/ring/ll128", 43008, 8, 512, 16), 8);
    assert_int_equal(nccl_channels("nccl/tree/ll", 43008, 8, 512, 16), 10);
    assert_int_equal(nccl_channels("custom/oneshot", 43008, 8, 512, 16), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_plain_evaluation),
        cmocka_unit_test(many_factors_match_plain_evaluation),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(keys_reach_no_other_term),
        cmocka_unit_test(every_effect_is_complete_and_stays_in_its_terms),
        cmocka_unit_test(nccl_uses_one_channel_for_a_small_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
