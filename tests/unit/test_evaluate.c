#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/acceptance.h"
#include "model/draw.h"
#include "model/evaluate.h"
#include "tests/near.h"

/* 10 us + 1 us per 10,000 bytes, known exactly. */
static struct cost line(void)
{
    struct cost c = {.impl = "nccl/ring/ll", .collective = "allreduce", .ranks = 8};
    c.form = COST_SEGMENTS;
    c.n_segments = 1;
    c.segments[0] = (struct cost_segment){0, 1e12, 10, 1e-4};
    c.min_bytes = 1024;
    c.max_bytes = 1 << 20;
    return c;
}

static struct scenario base(const struct costs *costs)
{
    struct scenario s;
    struct err err;
    scenario_init(&s);
    s.ranks = 8;
    s.model.layers = 61;
    s.model.hidden = 7168;
    s.model.vocab = 0;
    s.model.embedding_allreduce = 0;
    strcpy(s.allreduce.impl, "nccl/ring/ll");
    strcpy(s.draft.method, "eagle3");
    s.draft.num_steps = 2;
    s.draft.accept_rate = (struct qty_list){.n = 2, .v = {0.8, 0.5}};
    s.allreduce.insitu = (struct qty){1, 1, 1, 1, 0};
    s.baseline.tokens_per_s = (struct qty){100, 100, 100, 1, 0};
    assert_int_equal(scenario_bind(&s, costs, &err), STATUS_OK);
    scenario_anchor(&s);
    assert_int_equal(scenario_check(&s, &err), STATUS_OK);
    return s;
}

static void hand_computed_cycle(void **state)
{
    (void)state;
    struct cost c = line();
    struct costs costs = {&c, 1, 1};
    struct scenario s = base(&costs);
    s.draft.pass_us = (struct qty){300, 300, 300, 1, 0};
    struct outcome o;
    evaluate(&s, &o);
    assert_near(o.baseline_tokens_per_s, 100, 1e-12);
    assert_int_equal(o.allreduce_count, 122);
    assert_near(o.message_bytes, 43008, 0);
    double ar = 10 + 4.3008, plain = 10 + 1.4336, small = 10 + 1.4336;
    assert_near(o.verify_allreduce_us, 122 * ar, 1e-12);
    assert_near(o.verify_compute_us, 10000 - 122 * plain, 1e-12);
    assert_near(o.draft_us, 600, 1e-12);
    assert_near(o.draft_allreduce_us, 3 * small + 3 * ar, 1e-12);
    assert_near(o.tokens_per_cycle, 1 + 0.8 + 0.4, 1e-12);
    assert_near(o.cycle_us,
                o.draft_us + o.verify_compute_us + o.verify_allreduce_us + o.draft_allreduce_us +
                    o.host_us,
                1e-15);
    assert_near(o.speculative_tokens_per_s, o.tokens_per_cycle * 1e6 / o.cycle_us, 1e-12);
}

static void a_what_if_does_not_move_the_anchor(void **state)
{
    (void)state;
    struct cost c = line();
    struct costs costs = {&c, 1, 1};
    struct scenario s = base(&costs);
    struct outcome before, after;
    struct err err;
    evaluate(&s, &before);
    assert_int_equal(scenario_set(&s, "allreduce.latency_us", "9", &err), STATUS_OK);
    evaluate(&s, &after);
    assert_near(after.verify_compute_us, before.verify_compute_us, 1e-12);
    assert_near(after.verify_allreduce_us, 122 * 9, 1e-12);
    assert_near(after.baseline_step_us, before.baseline_step_us - 122 * (11.4336 - 9), 1e-12);
    assert_int_equal(scenario_set(&s, "allreduce.count", "0", &err), STATUS_OK);
    evaluate(&s, &after);
    assert_near(after.verify_allreduce_us, 0, 0);
    assert_near(after.verify_compute_us, before.verify_compute_us, 1e-12);
}

static void a_measured_curve_is_the_row_law(void **state)
{
    (void)state;
    struct cost c = line();
    struct costs costs = {&c, 1, 1};
    struct scenario s = base(&costs);
    s.pass.curve = (struct qty_curve){.n = 3, .x = {1, 3, 32}, .y = {10000, 12000, 37000}};
    struct outcome o;
    evaluate(&s, &o);
    /* Verify as a whole costs what a plain step of 3 rows costs. */
    assert_near(o.verify_compute_us + o.verify_allreduce_us, 12000, 1e-12);
    assert_near(o.baseline_step_us, 10000, 1e-12);
    s.draft.num_steps = 40;
    evaluate(&s, &o);
    assert_true(o.flags & OUTCOME_ROWS_EXTRAPOLATED);
}

static void without_drafts_it_is_the_baseline(void **state)
{
    (void)state;
    struct cost c = line();
    struct costs costs = {&c, 1, 1};
    struct scenario s = base(&costs);
    s.draft.num_steps = 0;
    struct outcome o;
    evaluate(&s, &o);
    assert_near(o.speedup, 1, 1e-12);
    assert_near(o.tokens_per_cycle, 1, 0);
}

static void keys_are_checked(void **state)
{
    (void)state;
    struct scenario s;
    struct err err;
    scenario_init(&s);
    assert_int_equal(scenario_set(&s, "draft.accept_rate", "1.2", &err), STATUS_UNSUPPORTED);
    assert_int_equal(scenario_set(&s, "draft.accept_rate", "0.9,0.8,x", &err), STATUS_USAGE);
    assert_int_equal(scenario_set(&s, "draft.accept_rate", "0.9,0.8", &err), STATUS_OK);
    assert_int_equal(s.draft.accept_rate.n, 2);
    assert_int_equal(scenario_set(&s, "no.such", "1", &err), STATUS_USAGE);
    assert_int_equal(scenario_set(&s, "ranks", "nan", &err), STATUS_USAGE);
    assert_int_equal(scenario_set(&s, "ranks", "2.5", &err), STATUS_UNSUPPORTED);
    assert_int_equal(scenario_set(&s, "ranks", "0", &err), STATUS_UNSUPPORTED);
    assert_int_equal(scenario_set(&s, "logits.all_gather", "false", &err), STATUS_OK);
    assert_int_equal(s.logits.all_gather, 0);
}

static void a_never_measured_variant_is_refused(void **state)
{
    (void)state;
    struct cost c = line();
    struct costs costs = {&c, 1, 1};
    struct scenario s = base(&costs);
    struct err err;
    strcpy(s.allreduce.impl, "custom/oneshot");
    assert_int_equal(scenario_bind(&s, &costs, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "nccl/ring/ll at 8 ranks"));
}

static void draws_are_reproducible_and_calibrated(void **state)
{
    (void)state;
    struct cost c = line();
    c.rel_sigma = 0.1;
    struct costs costs = {&c, 1, 1};
    struct scenario s = base(&costs), a, b;
    s.baseline.tokens_per_s = (struct qty){86, 82, 90, 1, 0};
    scenario_draw(&s, 7, 3, &a);
    scenario_draw(&s, 7, 3, &b);
    assert_memory_equal(&a, &b, sizeof a);
    int inside = 0, n = 4000;
    for (int i = 0; i < n; i++) {
        scenario_draw(&s, 1, (uint64_t)i, &a);
        inside += a.baseline.tokens_per_s.value >= 82 && a.baseline.tokens_per_s.value <= 90;
        assert_near(a.ref.cost.small_factor, a.cost.small_factor, 0);
    }
    assert_true(inside > 0.94 * n && inside < 0.96 * n);
}

static void one_number_holds_at_every_position(void **state)
{
    (void)state;
    struct cost c = line();
    struct costs costs = {&c, 1, 1};
    struct scenario s = base(&costs);
    struct outcome o;
    struct err err;
    s.draft.num_steps = 4;
    s.draft.accept_decay = (struct qty){0.5, 0.5, 0.5, 1, 0};
    assert_int_equal(scenario_set(&s, "draft.accept_rate", "1", &err), STATUS_OK);
    evaluate(&s, &o);
    assert_near(o.tokens_per_cycle, 5, 1e-12);
    assert_int_equal(scenario_set(&s, "draft.accept_rate", "0.8", &err), STATUS_OK);
    evaluate(&s, &o);
    assert_near(o.tokens_per_cycle, 1 + 0.8 + 0.64 + 0.512 + 0.4096, 1e-12);
    assert_int_equal(scenario_set(&s, "draft.accept_rate", "0.8,0.8", &err), STATUS_OK);
    evaluate(&s, &o);
    assert_near(o.tokens_per_cycle, 1 + 0.8 + 0.64 + 0.64 * 0.4 + 0.64 * 0.4 * 0.2, 1e-12);
}

static void trees_lie_between_chain_and_depth(void **state)
{
    (void)state;
    const double p[] = {0.8, 0.7, 0.6};
    assert_near(acceptance_chain_tokens(p, 3, 1, 3), 1 + 0.8 + 0.56 + 0.336, 1e-12);
    assert_near(acceptance_chain_tokens(p, 1, 0.5, 2), 1 + 0.8 + 0.8 * 0.4, 1e-12);
    double last = 0;
    for (int m = 4; m <= 32; m++) {
        double e = acceptance_tree_tokens(p, 3, 1, 3, 4, m);
        assert_true(e >= last && e <= 4);
        last = e;
    }
    assert_true(last > acceptance_chain_tokens(p, 3, 1, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_computed_cycle),
        cmocka_unit_test(a_what_if_does_not_move_the_anchor),
        cmocka_unit_test(a_measured_curve_is_the_row_law),
        cmocka_unit_test(without_drafts_it_is_the_baseline),
        cmocka_unit_test(keys_are_checked),
        cmocka_unit_test(a_never_measured_variant_is_refused),
        cmocka_unit_test(draws_are_reproducible_and_calibrated),
        cmocka_unit_test(one_number_holds_at_every_position),
        cmocka_unit_test(trees_lie_between_chain_and_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
