#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/acceptance.h"
#include "model/evaluate.h"
#include "model/serve.h"
#include "tests/near.h"

static double steps[64], contexts[64];

/* A cycle of r requests takes 10 ms + r * 0.5 ms; a chain of three. */
static struct serve_engine engine(void)
{
    for (int i = 0; i < 64; i++)
        steps[i] = 10000 + 500.0 * (i + 1);
    return (struct serve_engine){.max_running = 64,
                                 .num_steps = 3,
                                 .reach = {0.8, 0.56, 0.336},
                                 .step_us = steps,
                                 .prefill_us_per_token = 2,
                                 .prefill_chunk_tokens = 8192};
}

static struct serve_workload closed(int users, int requests, double prompt, double output)
{
    return (struct serve_workload){.arrival = SERVE_CLOSED,
                                   .n_requests = requests,
                                   .concurrency = users,
                                   .prompt = {prompt, 0},
                                   .output = {output, 0}};
}

static struct serve_result run(const struct serve_engine *e, const struct serve_workload *w)
{
    struct serve_result r;
    struct err err;
    assert_int_equal(serve_run(e, w, 7, &r, &err), STATUS_OK);
    return r;
}

static void steady_state_is_the_closed_form(void **state)
{
    (void)state;
    struct serve_engine e = engine();
    /* Endless outputs: b * E / cycle, as evaluate() has it. */
    struct serve_workload w = closed(8, 8, 1, 200000);
    struct serve_result r = run(&e, &w);
    assert_near(r.tokens_per_s, 8 * 2.696 * 1e6 / steps[7], 0.01);
    assert_near(r.tokens_per_cycle, 2.696, 0.01);
    /* Requests that end, prompts that stop the others. */
    const int users[] = {1, 4, 32};
    const double prompt[] = {1, 500, 2000}, output[] = {50, 200, 1000};
    for (int u = 0; u < 3; u++)
        for (int l = 0; l < 3; l++) {
            w = closed(users[u], 3000, prompt[l], output[l]);
            r = run(&e, &w);
            assert_near(r.steady_tokens_per_s,
                        serve_closed_form(&e, users[u], prompt[l], output[l]), 0.01);
        }
}

static void a_scenario_and_its_simulation_agree(void **state)
{
    (void)state;
    struct scenario s;
    struct outcome o;
    struct err err;
    scenario_init(&s);
    strcpy(s.draft.method, "eagle3");
    s.batch = 8;
    s.draft.num_steps = 4;
    s.draft.accept_rate = (struct qty_list){.n = 2, .v = {0.8, 0.7}};
    s.pass.curve = (struct qty_curve){.n = 3, .x = {1, 8, 40}, .y = {10000, 15000, 30000}};
    s.draft.pass_us = (struct qty){500, 500, 500, 1, 0};
    s.model.layers = 32;
    s.model.hidden = 4096;
    if (scenario_check(&s, &err) != STATUS_OK)
        fail_msg("%s", err.msg);
    scenario_anchor(&s);
    for (int topk = 1; topk <= 4; topk += 3) {
        s.draft.topk = topk;
        s.draft.num_draft_tokens = 5;
        evaluate(&s, &o);
        struct serve_engine e;
        serve_engine_from(&s, 1, 8, steps, contexts, &e);
        struct serve_workload w = closed(8, 8, 1, 100000);
        struct serve_result r = run(&e, &w);
        assert_near(r.tokens_per_s, o.speculative_tokens_per_s, 0.01);
        serve_engine_from(&s, 0, 8, steps, contexts, &e);
        r = run(&e, &w);
        assert_near(r.tokens_per_s, o.baseline_tokens_per_s, 0.01);
    }
}

static void one_request_by_hand(void **state)
{
    (void)state;
    struct serve_engine e = engine();
    e.num_steps = 0;
    e.prefill_fixed_us = 100;
    struct serve_workload w = closed(1, 1, 1000, 11);
    struct serve_result r = run(&e, &w);
    assert_near(r.ttft_us.p50, 100 + 2000, 1e-12);
    assert_near(r.tpot_us.p50, 10500, 1e-12);
    assert_near(r.itl_us.p50, 10500, 0.005);
    assert_near(r.request_us.p99, 2100 + 10 * 10500, 1e-12);
    assert_int_equal(r.tokens, 11);
    assert_int_equal(r.cycles, 10);
    /* In chunks of 400 tokens it takes three steps. */
    e.prefill_chunk_tokens = 400;
    r = run(&e, &w);
    assert_near(r.ttft_us.p50, 3 * 100 + 2000, 1e-12);
    assert_int_equal(r.prefill_steps, 3);
}

static void every_token_is_accounted_for(void **state)
{
    (void)state;
    struct serve_engine e = engine();
    for (int mixed = 0; mixed < 2; mixed++) {
        e.mixed_prefill = mixed;
        for (int arrival = SERVE_CLOSED; arrival <= SERVE_POISSON; arrival++) {
            struct serve_workload w = closed(20, 500, 300, 100);
            w.arrival = (enum serve_arrival)arrival;
            w.rate_per_s = 3;
            int output[500];
            int64_t all = 0;
            for (int i = 0; i < 500; i++)
                all += output[i] = 1 + i % 97;
            w.output_tokens = output;
            struct serve_result r = run(&e, &w);
            assert_int_equal(r.tokens, all);
            assert_int_equal(r.requests, 500);
            assert_true(r.discarded_tokens > 0 && r.discarded_tokens < 500 * 3);
            assert_true(r.ttft_us.p50 <= r.ttft_us.p90 && r.ttft_us.p90 <= r.ttft_us.p99);
            assert_true(r.itl_us.p50 <= r.itl_us.p99 && r.mean_running <= 64);
        }
    }
}

static void a_cap_of_running_requests_makes_them_wait(void **state)
{
    (void)state;
    struct serve_engine e = engine();
    struct serve_workload w = closed(1000, 1000, 200, 200);
    struct serve_result wide = run(&e, &w);
    e.max_running = 8;
    struct serve_result narrow = run(&e, &w);
    assert_true(narrow.ttft_us.mean > 2 * wide.ttft_us.mean);
    assert_true(narrow.tpot_us.mean < wide.tpot_us.mean);
    assert_true(narrow.mean_running <= 8);
    assert_true(narrow.mean_waiting > wide.mean_waiting);
}

static void a_recorded_day(void **state)
{
    (void)state;
    struct serve_engine e = engine();
    const double arrival[] = {0, 1000, 5e6};
    const int prompt[] = {100, 100, 100}, output[] = {20, 1, 20};
    struct serve_workload w = {.arrival = SERVE_RECORDED,
                               .n_requests = 3,
                               .arrival_us = arrival,
                               .prompt_tokens = prompt,
                               .output_tokens = output};
    struct serve_result r = run(&e, &w);
    assert_true(r.duration_us > 5e6);
    assert_int_equal(r.tokens, 41);
    /* The second came 0.8 ms after the first one's prompt had ended, into its first cycle. */
    assert_true(r.ttft_us.p99 > 200 && r.ttft_us.p99 < 20000);
    const double backwards[] = {0, 10, 5};
    struct err err;
    w.arrival_us = backwards;
    assert_int_equal(serve_run(&e, &w, 7, &r, &err), STATUS_UNSUPPORTED);
}

static void the_same_seed_gives_the_same_day(void **state)
{
    (void)state;
    struct serve_engine e = engine();
    struct serve_workload w = closed(16, 400, 300, 100);
    w.output.cv = 0.7;
    struct serve_result a = run(&e, &w), b = run(&e, &w), c;
    struct err err;
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(serve_run(&e, &w, 8, &c, &err), STATUS_OK);
    assert_true(c.duration_us != a.duration_us);
}

static void longer_context_slows_the_cycle(void **state)
{
    (void)state;
    struct serve_engine e = engine();
    for (int i = 0; i < 64; i++)
        contexts[i] = 1;
    e.num_steps = 0;
    e.context_us = contexts;
    struct serve_workload w = closed(1, 1, 1000, 2001);
    struct serve_result r = run(&e, &w);
    /* Context grows from 1001 to 3001: 10.5 ms + 2.0 ms on average. */
    assert_near(r.tpot_us.mean, 10500 + 2001, 0.002);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct serve_engine e = engine();
    struct serve_workload w = closed(4, 10, 10, 10), bad;
    struct serve_result r;
    struct err err;
    bad = w;
    bad.output.mean = (double)NAN;
    assert_int_equal(serve_run(&e, &bad, 1, &r, &err), STATUS_UNSUPPORTED);
    bad = w;
    bad.concurrency = 0;
    assert_int_equal(serve_run(&e, &bad, 1, &r, &err), STATUS_UNSUPPORTED);
    bad = w;
    bad.n_requests = 0;
    assert_int_equal(serve_run(&e, &bad, 1, &r, &err), STATUS_UNSUPPORTED);
    bad = w;
    bad.arrival = SERVE_POISSON;
    assert_int_equal(serve_run(&e, &bad, 1, &r, &err), STATUS_UNSUPPORTED);
    e.max_running = 0;
    assert_int_equal(serve_run(&e, &w, 1, &r, &err), STATUS_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_state_is_the_closed_form),
        cmocka_unit_test(a_scenario_and_its_simulation_agree),
        cmocka_unit_test(one_request_by_hand),
        cmocka_unit_test(every_token_is_accounted_for),
        cmocka_unit_test(a_cap_of_running_requests_makes_them_wait),
        cmocka_unit_test(a_recorded_day),
        cmocka_unit_test(the_same_seed_gives_the_same_day),
        cmocka_unit_test(longer_context_slows_the_cycle),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
