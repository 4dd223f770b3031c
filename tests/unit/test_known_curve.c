// slow
/* From samples of a known curve back to its alpha and beta: the synthetic backend's samples, made
 * into records as the campaign does, fitted. The 95 % intervals must hold the truth in at least 93
 * % of 200 seeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "measure/backend.h"
#include "measure/plan.h"
#include "measure/stats.h"
#include "model/curve.h"
#include "model/fit.h"
#include "tests/near.h"

enum { SEEDS = 200, ITERATIONS = 200 };

static void measure_curve(int seed, const char *noise, struct records *rs)
{
    const struct backend *b = backend_find("synthetic");
    const struct plan_kind *kind = plan_kind_find("full");
    char text[16];
    snprintf(text, sizeof text, "%d", seed);
    const struct backend_option options[] = {
        {"alpha_us", "12"}, {"beta_us_per_byte", "0.0003"}, {"noise", noise}, {"seed", text}};
    struct variant v = {.impl = "synthetic/linear", .ranks = 8, .n_options = 4, .options = options};
    void *session = NULL;
    double samples[2 * ITERATIONS];
    assert_int_equal(b->open(&session, &v, NULL), OUTCOME_OK);
    for (int i = 0; kind->sizes[i] != 0; i++) {
        struct record r;
        struct result result;
        struct timing t = {
            .method = METHOD_graph, .size_bytes = kind->sizes[i], .iterations = 2 * ITERATIONS};
        result_init(&result, samples, 2 * ITERATIONS);
        assert_int_equal(b->time(session, &t, &result, NULL), OUTCOME_OK);
        record_init(&r);
        r.what = WHAT_allreduce;
        r.ranks = 8;
        r.size_bytes = kind->sizes[i];
        strcpy(r.impl, v.impl);
        record_quantiles(&r, samples, (size_t)result.n);
        records_add(rs, &r);
    }
    b->close(session);
}

static void intervals_hold_the_truth(void **state)
{
    (void)state;
    static const char *const noises[] = {"0.02", "0.2"};
    for (size_t n = 0; n < 2; n++) {
        int alpha = 0, beta = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            struct records rs = {0};
            struct curves cs = {0};
            struct fit f;
            struct err err;
            measure_curve(seed, noises[n], &rs);
            assert_int_equal(curves_collect(&cs, &rs, NULL, &err), STATUS_OK);
            assert_int_equal(cs.n, 1);
            assert_int_equal(fit_curve(&f, &cs.v[0], &err), STATUS_OK);
            const struct cost_segment *s = &f.cost.segments[0];
            double factor = fit_ci95_factor(&f);
            alpha += fabs(s->alpha_us - 12) <= factor * sqrt(f.cov[0]);
            beta += fabs(s->beta_us_per_byte - 0.0003) <= factor * sqrt(f.cov[2]);
            curves_release(&cs);
            records_release(&rs);
        }
        print_message("noise %s: alpha in %d, beta in %d of %d\n", noises[n], alpha, beta, SEEDS);
        assert_true(alpha >= 0.93 * SEEDS);
        assert_true(beta >= 0.93 * SEEDS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_hold_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
