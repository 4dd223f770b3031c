#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/accept_quantity.h"
#include "model/acceptance.h"
#include "tests/near.h"

/* Four cycles of a chain of three: 3, 1, 0, 2 drafts accepted. */
static const double mean_accepted = 1.5;

static double tokens(enum accept_quantity q, double value, int k, int m, double cycles)
{
    struct err err;
    struct accept_reading r = {q, &value, 1, k, m, cycles};
    double t = -1;
    assert_int_equal(accept_tokens_per_cycle(&r, &t, &err), STATUS_OK);
    return t;
}

static void every_engine_gives_the_same_tokens(void **state)
{
    (void)state;
    const double want = 1 + mean_accepted;
    assert_near(tokens(ACCEPT_tokens_per_cycle, 2.5, 3, 0, 4), want, 1e-12);
    assert_near(tokens(ACCEPT_sglang_accept_len, 2.5, 3, 0, 4), want, 1e-12);
    assert_near(tokens(ACCEPT_sglang_accept_rate_old, 2.5 / 4, 3, 4, 4), want, 1e-12);
    assert_near(tokens(ACCEPT_sglang_accept_rate, 6.0 / 12, 3, 4, 4), want, 1e-12);
    /* 10 tokens of 4 cycles and one from prefill: 11 / 4. */
    assert_near(tokens(ACCEPT_sglang_bench_accept_length, 11.0 / 4, 3, 0, 4), want, 1e-12);
    assert_near(tokens(ACCEPT_vllm_mean_acceptance_length, 2.5, 3, 0, 4), want, 1e-12);
    assert_near(tokens(ACCEPT_vllm_draft_acceptance_rate, 6.0 / 12, 3, 0, 4), want, 1e-12);
    /* 10 tokens over the last index, 3. */
    assert_near(tokens(ACCEPT_eagle_tau, 10.0 / 3, 3, 0, 4), want, 1e-12);
    assert_near(tokens(ACCEPT_trtllm_tokens_per_step, 2.5, 3, 0, 4), want, 1e-12);
}

static void a_tree_divides_by_its_budget(void **state)
{
    (void)state;
    /* num_steps 7, topk 4, 8 verified, 2.5 tokens: the old rate is 2.5 / 8. */
    assert_near(tokens(ACCEPT_sglang_accept_rate_old, 0.3125, 7, 8, 0), 2.5, 1e-12);
}

static void per_position_lists(void **state)
{
    (void)state;
    struct err err;
    const double rate[] = {0.75, 0.5, 0.25}; /* of the four cycles above */
    struct accept_reading r = {ACCEPT_vllm_per_position, rate, 3, 3, 0, 4};
    double t, p[3];
    assert_int_equal(accept_tokens_per_cycle(&r, &t, &err), STATUS_OK);
    assert_near(t, 1 + mean_accepted, 1e-12);
    assert_int_equal(accept_conditional(&r, p, &err), STATUS_OK);
    assert_near(p[0], 0.75, 1e-12);
    assert_near(p[1], 2.0 / 3, 1e-12);
    assert_near(p[2], 0.5, 1e-12);
    assert_near(acceptance_chain_tokens(p, 3, 1, 3), t, 1e-12);
    struct accept_reading alpha = {ACCEPT_eagle_n_alpha, p, 3, 3, 0, 0};
    double same;
    assert_int_equal(accept_tokens_per_cycle(&alpha, &same, &err), STATUS_OK);
    assert_near(same, t, 1e-12);
}

static void impossible_numbers_are_refused_with_a_hint(void **state)
{
    (void)state;
    struct err err;
    double t, x = 0.1;
    struct accept_reading r = {ACCEPT_sglang_accept_rate_old, &x, 1, 3, 4, 0};
    assert_int_equal(accept_tokens_per_cycle(&r, &t, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "sglang_accept_rate"));
    x = 2.5;
    r.quantity = ACCEPT_vllm_draft_acceptance_rate;
    assert_int_equal(accept_tokens_per_cycle(&r, &t, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "length"));
    x = 5;
    r.quantity = ACCEPT_vllm_mean_acceptance_length;
    assert_int_equal(accept_tokens_per_cycle(&r, &t, &err), STATUS_UNSUPPORTED);
    x = (double)NAN;
    assert_int_equal(accept_tokens_per_cycle(&r, &t, &err), STATUS_UNSUPPORTED);
}

static void every_row_converts_one_token(void **state)
{
    (void)state;
    for (int q = 0; q < ACCEPT_QUANTITIES; q++) {
        assert_int_equal(accept_quantity_find(accept_quantity_name((enum accept_quantity)q)), q);
        assert_true(strlen(accept_quantity_doc((enum accept_quantity)q)) > 10);
        assert_true(strlen(accept_quantity_engine((enum accept_quantity)q)) > 0);
        struct err err;
        double none[4] = {1, 0, 0, 0}, t;
        if (q == ACCEPT_vllm_per_position || q == ACCEPT_eagle_n_alpha ||
            q == ACCEPT_sglang_accept_rate || q == ACCEPT_vllm_draft_acceptance_rate)
            none[0] = 0;
        if (q == ACCEPT_sglang_accept_rate_old)
            none[0] = 0.25;
        struct accept_reading r = {(enum accept_quantity)q, none, 3, 3, 4, 0};
        assert_int_equal(accept_tokens_per_cycle(&r, &t, &err), STATUS_OK);
        assert_near(t, 1, 1e-12);
    }
    assert_int_equal(accept_quantity_find("no such"), ACCEPT_QUANTITIES);
}

static void mixes_keep_tokens_per_cycle(void **state)
{
    (void)state;
    const double code[] = {0.9, 0.85}, chat[] = {0.6, 0.4};
    const double *lists[] = {code, chat};
    const int n[] = {2, 2};
    const double share[] = {3, 1};
    double p[4];
    assert_int_equal(acceptance_mix(lists, n, share, 2, 0.95, 4, p), 0);
    double ea = acceptance_chain_tokens(code, 2, 0.95, 4),
           eb = acceptance_chain_tokens(chat, 2, 0.95, 4);
    double want = (3 + 1) / (3 / ea + 1 / eb);
    assert_near(acceptance_chain_tokens(p, 4, 1, 4), want, 1e-12);
    const double bad[] = {0, 0};
    assert_int_equal(acceptance_mix(lists, n, bad, 2, 1, 4, p), -1);
}

static void trees(void **state)
{
    (void)state;
    const double p[] = {0.8};
    int shape[8];
    /* A budget of the root and one node keeps the best child alone. */
    assert_near(acceptance_tree_tokens(p, 1, 1, 3, 4, 2), 1.8, 1e-12);
    /* The second child of the root catches a fifth of what the first misses. Belief 0.5 * 0.5 of
     * the grandchild exceeds 0.5 * 0.4 of the sibling. */
    assert_near(acceptance_tree_tokens(p, 1, 1, 3, 4, 3), 1 + 0.8 + 0.64, 1e-12);
    assert_near(acceptance_tree_tokens(p, 1, 1, 3, 4, 4), 1 + 0.8 + 0.64 + 0.2 * 0.2, 1e-12);
    assert_int_equal(acceptance_tree_shape(3, 4, 4, shape), 3);
    assert_int_equal(shape[0], 2);
    assert_int_equal(shape[1], 1);
    assert_int_equal(shape[2], 0);
    /* A tree cannot keep more nodes than it has. */
    assert_int_equal(acceptance_tree_shape(2, 2, 100, shape), 6);
    assert_near(acceptance_tree_tokens(p, 1, 1, 5, 1, 4), acceptance_chain_tokens(p, 1, 1, 3),
                1e-12);
    double last = 1;
    for (int m = 2; m < 64; m++) {
        double e = acceptance_tree_tokens(p, 1, 0.95, 6, 4, m);
        assert_true(e >= last && e <= 7);
        last = e;
    }
}

static void temperature_and_relaxed(void **state)
{
    (void)state;
    assert_near(acceptance_at_temperature(0.8, 0, 0), 0.8, 1e-12);
    assert_true(acceptance_at_temperature(0.8, 0, 1) < 0.8);
    assert_near(acceptance_at_temperature(acceptance_at_temperature(0.8, 0, 1), 1, 0), 0.8, 1e-12);
    assert_near(acceptance_relaxed(0.8, 0), 0.8, 1e-12);
    assert_near(acceptance_relaxed(0.8, 0.5), 0.9, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_engine_gives_the_same_tokens),
        cmocka_unit_test(a_tree_divides_by_its_budget),
        cmocka_unit_test(per_position_lists),
        cmocka_unit_test(impossible_numbers_are_refused_with_a_hint),
        cmocka_unit_test(every_row_converts_one_token),
        cmocka_unit_test(mixes_keep_tokens_per_cycle),
        cmocka_unit_test(trees),
        cmocka_unit_test(temperature_and_relaxed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
