#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/batch_gain.h"
#include "model/config_law.h"
#include "model/rowlaw.h"
#include "tests/near.h"
#include "traces/csv.h"
#include "traces/run_table.h"

static const struct rowlaw law = {1.2, 0.1, 0.4, 0.3};
static const struct qty_curve zero = {
    .n = 4, .x = {1, 4, 16, 64}, .y = {10000, 12000, 20000, 80000}};

static void inside_a_curve_it_is_the_curve(void **state)
{
    (void)state;
    int beyond = 0;
    for (int i = 0; i < zero.n; i++)
        assert_near(rowlaw_step_us(&law, &zero, &zero, zero.x[i], 1, &beyond), zero.y[i], 1e-12);
    assert_near(rowlaw_step_us(&law, &zero, &zero, 8, 1, &beyond), sqrt(12000 * 20000.0), 1e-9);
    assert_int_equal(beyond, 0);
    /* A step between two neighbours is kept. */
    struct qty_curve cliff = {.n = 2, .x = {16, 32}, .y = {37300, 100700}};
    assert_near(rowlaw_step_us(&law, &cliff, NULL, 32, 1, &beyond), 100700, 1e-12);
}

static void beyond_a_curve_it_says_so(void **state)
{
    (void)state;
    int beyond = 0;
    /* The exponent of the last factor of four is 1: 1.2 of it beyond, 1.5 with eight sharing. */
    assert_near(rowlaw_step_us(&law, &zero, &zero, 128, 1, &beyond), 80000 * pow(2, 1.2), 1e-9);
    assert_int_equal(beyond, 1);
    assert_near(rowlaw_step_us(&law, &zero, &zero, 128, 8, &beyond), 80000 * pow(2, 1.5), 1e-9);
    /* A context seen with one request: what it adds grows by the power 0.6. */
    struct qty_curve own = {.n = 1, .x = {1}, .y = {15000}};
    beyond = 0;
    assert_near(rowlaw_step_us(&law, &own, &zero, 4, 1, &beyond), 12000 + 5000 * pow(4, 0.6), 1e-9);
    assert_int_equal(beyond, 1);
    /* And alone: by the power 0.3. */
    assert_near(rowlaw_step_us(&law, &own, NULL, 4, 1, &beyond), 15000 * pow(4, 0.3), 1e-9);
}

static void gains_by_batch(void **state)
{
    (void)state;
    assert_near(batch_gain(1.5, 0.01, 4, 0), 1.5, 1e-12);
    double b = batch_gain_vanishes(1.5, 0.01, 4);
    assert_near(batch_gain(1.5, 0.01, 4, b), 1, 1e-12);
    assert_true(isinf(batch_gain_vanishes(4, 0.01, 4)));
    assert_near(batch_gain_vanishes(0.9, 0.01, 4), 0, 0);
}

static void a_configuration_by_hand(void **state)
{
    (void)state;
    const double p[CONFIG_LAW_PARAMS] = {1.1, 0.1, 0.2, 0.01, 1, 0.5};
    struct config_law_run r = {
        .num_steps = 5, .topk = 1, .tau = 2, .plain_us = 11000, .step_us = 10000, .excess = 0.1};
    assert_near(config_law_us(p, &r), 1000 + 500 + 10000 * 1.6 / 2, 1e-12);
    r.topk = 4;
    assert_near(config_law_us(p, &r), 1000 + 500 + 10000 * (1.6 + 0.2 + 0.05) / 2, 1e-12);
}

static void columns_by_any_of_their_names(void **state)
{
    (void)state;
    static const char text[] = "stack,concurrency,K,ctx,draft_accept_rate,base_tok_s,spec_tok_s\n"
                               "a,8,3,16k,0.4,100,150\n"
                               "a,8,3,~83k,,100,\n"
                               "a,8,3,x,1.4,100,1\n";
    struct csv csv = {0};
    struct err err;
    assert_int_equal(csv_parse(&csv, "t", text, sizeof text - 1, &err), STATUS_OK);
    struct run_table t;
    run_table_open(&t, &csv);
    assert_near(run_table_number(&t, 0, RUN_context), 16384, 0);
    assert_near(run_table_number(&t, 1, RUN_context), 83 * 1024, 0);
    assert_true(isnan(run_table_number(&t, 2, RUN_context)));
    assert_near(run_table_tokens_per_cycle(&t, 0), 2.2, 1e-12);
    assert_true(isnan(run_table_tokens_per_cycle(&t, 1)));
    assert_true(isnan(run_table_tokens_per_cycle(&t, 2)));
    assert_false(run_table_has(&t, RUN_topk));
    csv_release(&csv);
}

/* Tokens a second are verify cycles a second times the accept length, in every window of a log. */
static void check_windows(const struct csv *t)
{
    int gen = csv_column(t, "gen_tok_s"), length = csv_column(t, "mean_accept_len"),
        drafted = csv_column(t, "drafted_tok_s"), accepted = csv_column(t, "accepted_tok_s"),
        p[] = {csv_column(t, "p1"), csv_column(t, "p2"), csv_column(t, "p3")};
    int n = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        double generated = csv_number(t, i, gen);
        double cycles = csv_number(t, i, drafted) / 3;
        if (generated < 60)
            continue; /* a window with a prefill in it, or its edge: too few cycles to print */
        double by_length = cycles * csv_number(t, i, length);
        double by_count = cycles + csv_number(t, i, accepted);
        double by_position = 1;
        for (int k = 0; k < 3; k++)
            by_position += csv_number(t, i, p[k]);
        assert_near(by_position, csv_number(t, i, length), 0.01);
        assert_near(by_count, by_length, 0.01);
        /* A prompt's first token is none that a cycle made. */
        if (csv_number(t, i, csv_column(t, "prompt_tok_s")) < 25)
            assert_near(by_length, generated, 0.01);
        n++;
    }
    assert_true(n >= 3);
}

static void windows_of_a_log_add_up(void **state)
{
    (void)state;
    /* Own numbers in the layout: 33.3 cycles a second of three drafts, rates 0.8, 0.5, 0.3. */
    static const char own[] =
        "gen_tok_s,mean_accept_len,p1,p2,p3,accepted_tok_s,drafted_tok_s,prompt_tok_s\n"
        "86.6,2.60,0.80,0.50,0.30,53.3,100.0,0\n"
        "173.2,2.60,0.80,0.50,0.30,106.6,199.9,0\n"
        "90.0,2.70,0.85,0.53,0.32,56.7,100.1,0\n";
    struct csv csv = {0};
    struct err err;
    assert_int_equal(csv_parse(&csv, "own", own, sizeof own - 1, &err), STATUS_OK);
    check_windows(&csv);
    csv_release(&csv);
    const char *shared = getenv("SHARED_DATA");
    if (shared == NULL || shared[0] == '\0')
        return;
    char path[4096];
    snprintf(path, sizeof path, "%s/tables/vllm_glm51_mtp3_log_windows.csv", shared);
    assert_int_equal(csv_read(&csv, path, &err), STATUS_OK);
    check_windows(&csv);
    csv_release(&csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside_a_curve_it_is_the_curve),
        cmocka_unit_test(beyond_a_curve_it_says_so),
        cmocka_unit_test(gains_by_batch),
        cmocka_unit_test(a_configuration_by_hand),
        cmocka_unit_test(columns_by_any_of_their_names),
        cmocka_unit_test(windows_of_a_log_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
