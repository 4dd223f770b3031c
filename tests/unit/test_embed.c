/* What another program needs to embed evaluate(): these objects and libm, no GSL, no cJSON. The
 * Makefile links this test with nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "model/draw.h"
#include "model/evaluate.h"
#include "tests/near.h"

static void evaluates_without_gsl(void **state)
{
    (void)state;
    struct cost line = {.impl = "nccl/ring/ll", .collective = "allreduce", .ranks = 8};
    line.form = COST_SEGMENTS;
    line.n_segments = 1;
    line.segments[0] = (struct cost_segment){0, 1e12, 20, 1e-4};
    line.min_bytes = 1024;
    line.max_bytes = 1 << 20;
    line.rel_sigma = line.point_sigma = 0.05;
    struct costs costs = {&line, 1, 1};
    struct scenario s, drawn;
    struct outcome o;
    struct err err = {0};
    static const char *const keys[][2] = {
        {"ranks", "8"},
        {"model.layers", "61"},
        {"model.hidden", "7168"},
        {"draft.method", "eagle3"},
        {"draft.num_steps", "2"},
        {"draft.accept_rate", "0.8,0.6"},
        {"allreduce.impl", "nccl/ring/ll"},
        {"baseline.tokens_per_s", "86"},
    };
    scenario_init(&s);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_int_equal(scenario_set(&s, keys[i][0], keys[i][1], &err), STATUS_OK);
    assert_int_equal(scenario_check(&s, &err), STATUS_OK);
    assert_int_equal(scenario_bind(&s, &costs, &err), STATUS_OK);
    scenario_anchor(&s);
    evaluate(&s, &o);
    assert_near(o.baseline_tokens_per_s, 86, 1e-9);
    assert_true(o.speculative_tokens_per_s > 0);
    assert_near(o.draft_us + o.verify_compute_us + o.verify_allreduce_us + o.draft_allreduce_us +
                    o.host_us,
                o.cycle_us, 1e-12);
    scenario_draw(&s, 1, 0, &drawn);
    evaluate(&drawn, &o);
    assert_true(o.speculative_tokens_per_s > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(evaluates_without_gsl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
