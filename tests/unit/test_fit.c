#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/fit.h"
#include "tests/near.h"

/* --- Worlds with a known truth ------------------------------------------------------------------
 */

static uint64_t rng = 1;

static double uniform(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (double)(rng >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    double u = uniform() + 1e-12, v = uniform();
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static struct record key;

/* Powers of two from 2^from, n of them. */
static struct curve curve_of(const double *us, int from, int n)
{
    record_init(&key);
    snprintf(key.impl, sizeof key.impl, "nccl/auto");
    key.ranks = 8;
    struct curve c = {.key = &key, .points = calloc((size_t)n, sizeof *c.points)};
    c.n_points = c.records = (size_t)n;
    for (int i = 0; i < n; i++)
        c.points[i] = (struct point){
            .bytes = exp2(from + i), .us = us[i], .spread = NAN, .records = 1, .line = i + 1};
    return c;
}

static double steps_us(double bytes)
{
    /* LL below 64 KiB, something slower to start and faster to move above. */
    return bytes < 65536 ? 12 + 2e-4 * bytes : 30 + 5e-5 * bytes;
}

static struct fit *fit_of(const struct curve *c)
{
    struct fit *f = calloc(1, sizeof *f);
    struct err err = {STATUS_OK, ""};
    assert_int_equal(fit_curve(f, c, &err), STATUS_OK);
    return f;
}

/* --- Tests --------------------------------------------------------------------------------------
 */

static void every_form_is_complete(void **state)
{
    (void)state;
    double us[16];
    for (int i = 0; i < 16; i++)
        us[i] = 10 + 1e-4 * exp2(8 + i);
    struct curve c = curve_of(us, 8, 16);
    for (int i = 0; i < FIT_FORM_COUNT; i++) {
        const struct fit_form *f = fit_forms[i];
        assert_true(f->id != NULL && f->doc != NULL && f->fit != NULL && f->min_sizes >= 2);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(f->id, fit_forms[k]->id);
        struct cost cost = {0};
        struct err err = {STATUS_OK, ""};
        enum status status = f->fit(c.points, 16, &cost, NULL, &err);
        if (status != STATUS_OK) {
            assert_int_equal(status, STATUS_UNSUPPORTED);
            assert_true(err.msg[0] != '\0');
            continue;
        }
        for (int k = 0; k < 40; k++)
            assert_true(isfinite(cost_latency_us(&cost, exp2(k))) &&
                        cost_latency_us(&cost, exp2(k)) > 0);
    }
    free(c.points);
}

static void alpha_and_beta_are_recovered(void **state)
{
    (void)state;
    double us[20];
    rng = 7;
    for (int noise = 0; noise <= 1; noise++) {
        for (int i = 0; i < 20; i++)
            us[i] = (14.5 + 7.3e-5 * exp2(6 + i)) * exp(0.01 * noise * normal());
        struct curve c = curve_of(us, 6, 20);
        double alpha, beta, cov[3];
        struct err err;
        assert_int_equal(fit_line(c.points, 20, &alpha, &beta, cov, &err), STATUS_OK);
        assert_near(alpha, 14.5, noise ? 0.02 : 1e-9);
        assert_near(beta, 7.3e-5, noise ? 0.02 : 1e-9);
        if (noise) {
            /* The covariance says how far off it may be. */
            assert_true(fabs(alpha - 14.5) < 4 * sqrt(cov[0]) && sqrt(cov[0]) < 0.3);
            assert_true(fabs(beta - 7.3e-5) < 4 * sqrt(cov[2]) && sqrt(cov[2]) < 3e-6);
        }
        struct fit *f = fit_of(&c);
        assert_near(f->cost.segments[0].alpha_us, 14.5, 0.03);
        assert_near(f->cost.segments[0].beta_us_per_byte, 7.3e-5, 0.1);
        assert_int_equal(f->n_steps, 0);
        assert_int_equal(f->n_outliers, 0);
        free(f);
        free(c.points);
    }
}

/* A third of the points disturbed upwards: least squares would follow. */
static void a_line_is_robust(void **state)
{
    (void)state;
    double us[18];
    for (int i = 0; i < 18; i++)
        us[i] = (10 + 1e-4 * exp2(8 + i)) * (i % 5 == 3 ? 3 : 1);
    struct curve c = curve_of(us, 8, 18);
    double alpha, beta;
    struct err err;
    assert_int_equal(fit_line(c.points, 18, &alpha, &beta, NULL, &err), STATUS_OK);
    assert_near(alpha, 10, 0.02);
    assert_near(beta, 1e-4, 0.02);
    free(c.points);
}

static void latency_and_time_a_byte_are_not_negative(void **state)
{
    (void)state;
    static const double falling[] = {40, 30, 25, 20, 18, 16}, pure[] = {1, 2, 4, 8, 16, 32};
    double alpha, beta;
    struct err err;
    struct curve c = curve_of(falling, 10, 6);
    assert_int_equal(fit_line(c.points, 6, &alpha, &beta, NULL, &err), STATUS_OK);
    assert_true(alpha > 0 && beta >= 0);
    free(c.points);
    c = curve_of(pure, 10, 6);
    assert_int_equal(fit_line(c.points, 6, &alpha, &beta, NULL, &err), STATUS_OK);
    assert_true(alpha >= 0 && beta > 0);
    assert_near(beta, 1 / 1024., 1e-6);
    free(c.points);
}

static void a_step_survives(void **state)
{
    (void)state;
    double us[14];
    for (int i = 0; i < 14; i++)
        us[i] = steps_us(exp2(10 + i));
    struct curve c = curve_of(us, 10, 14);
    struct fit *f = fit_of(&c);
    assert_int_equal(f->n_outliers, 0);
    for (int i = 0; i < 14; i++)
        assert_near(cost_latency_us(&f->cost, c.points[i].bytes), us[i], 0.02);
    assert_true(f->n_steps >= 1);
    int found = 0;
    for (int i = 0; i < f->n_steps; i++)
        found |= f->steps[i].from_bytes <= 32768 && f->steps[i].to_bytes >= 65536 &&
                 f->steps[i].to_bytes <= 131072;
    assert_true(found);
    free(f);
    free(c.points);
}

static void a_curve_may_fall(void **state)
{
    (void)state;
    /* Measured: the protocol changes between 512 KiB and 1 MiB (8x RTX PRO 6000). */
    static const double us[] = {24.2, 25.5, 25.6,  26.7,  27.0,  29.4, 34.2,
                                47.8, 84.8, 156.1, 131.5, 221.2, 345.5};
    struct curve c = curve_of(us, 10, 13);
    struct fit *f = fit_of(&c);
    assert_int_equal(f->n_outliers, 0);
    assert_true(cost_latency_us(&f->cost, 524288) > cost_latency_us(&f->cost, 1048576));
    assert_near(cost_latency_us(&f->cost, 524288), 156.1, 0.03);
    assert_near(cost_latency_us(&f->cost, 1048576), 131.5, 0.03);
    free(f);
    free(c.points);
}

/* The measured case: 64 KiB at 71.2 us between 15.6 and 24.7. */
static void an_outlier_bends_nothing(void **state)
{
    (void)state;
    static const double us[] = {13.5, 13.2, 13.9, 14.7, 15.6, 71.2, 24.7, 40.9, 71.7, 85.2};
    struct curve c = curve_of(us, 11, 10), without = curve_of(us, 11, 10);
    memmove(&without.points[5], &without.points[6], 4 * sizeof *without.points);
    without.n_points = 9;
    struct fit *f = fit_of(&c), *g = fit_of(&without);
    assert_int_equal(f->n_outliers, 1);
    assert_int_equal(f->outliers[0].kind, FIT_LONE);
    assert_near(f->outliers[0].bytes, 65536, 0);
    assert_near(f->outliers[0].us, 71.2, 0);
    assert_true(f->outliers[0].expected_us > 15.6 && f->outliers[0].expected_us < 24.7);
    assert_int_equal(f->outliers[0].line, 6);
    for (int k = 0; k <= 90; k++) {
        double b = exp2(11 + k / 10.0);
        assert_near(cost_latency_us(&f->cost, b), cost_latency_us(&g->cost, b), 1e-12);
    }
    free(f);
    free(g);
    free(c.points);
    free(without.points);
}

static void two_disturbed_neighbours_are_a_pair(void **state)
{
    (void)state;
    static const double us[] = {3.1, 3.3, 3.3, 3.5, 9.9, 3.4, 8.4, 3.8, 4.2, 5.1, 6.7, 9.6, 17.1};
    struct curve c = curve_of(us, 10, 13);
    struct fit *f = fit_of(&c);
    assert_int_equal(f->n_outliers, 2);
    assert_true(cost_latency_us(&f->cost, 32768) < 4);
    free(f);
    free(c.points);
}

static void a_cold_first_row_is_recognised(void **state)
{
    (void)state;
    static const double us[] = {983, 166, 165, 168, 170, 175, 190, 215};
    struct curve c = curve_of(us, 3, 8);
    struct fit *f = fit_of(&c);
    assert_int_equal(f->n_outliers, 1);
    assert_int_equal(f->outliers[0].kind, FIT_COLD);
    assert_true(cost_latency_us(&f->cost, 8) < 180);
    assert_true(f->cost.segments[0].alpha_us < 180);
    free(f);
    free(c.points);
}

static void too_few_sizes_say_how_many(void **state)
{
    (void)state;
    static const double us[] = {10, 11};
    struct curve c = curve_of(us, 10, 2);
    struct fit f;
    struct err err = {STATUS_OK, ""};
    for (c.n_points = 0; c.n_points < FIT_MIN_SIZES; c.n_points++) {
        assert_int_equal(fit_curve(&f, &c, &err), STATUS_UNSUPPORTED);
        assert_non_null(strstr(err.msg, "at least 3"));
        if (c.n_points == 2)
            break;
    }
    free(c.points);
}

/* Leaving a size out means it: whatever stood there, the prediction is the same. */
static void what_is_left_out_is_not_used(void **state)
{
    (void)state;
    double us[15];
    rng = 11;
    for (int i = 0; i < 15; i++)
        us[i] = steps_us(exp2(9 + i)) * exp(0.03 * normal());
    struct curve c = curve_of(us, 9, 15);
    struct left_out a[15], b[15];
    size_t n, m;
    struct err err;
    assert_int_equal(fit_leave_one_out(&c, 0, 1e18, a, &n, &err), STATUS_OK);
    assert_int_equal(n, 15);
    for (size_t i = 0; i < n; i++) {
        c.points[i].us = 3 * us[i];
        assert_int_equal(fit_leave_one_out(&c, c.points[i].bytes, c.points[i].bytes, b, &m, &err),
                         STATUS_OK);
        assert_int_equal(m, 1);
        assert_near(b[0].predicted_us, a[i].predicted_us, 0);
        assert_near(b[0].lo_us, a[i].lo_us, 0);
        assert_near(b[0].loglog_us, a[i].loglog_us, 0);
        assert_near(b[0].line_us, a[i].line_us, 0);
        assert_int_equal(a[i].interior, i > 0 && i + 1 < n);
        c.points[i].us = us[i];
    }
    free(c.points);
}

/* 95 % intervals hold 90 to 98 % of left-out sizes over worlds with steps and noise. */
static void intervals_hold_what_they_say(void **state)
{
    (void)state;
    int inside = 0, all = 0;
    rng = 3;
    for (int world = 0; world < 40; world++) {
        double us[18], alpha = 5 + 30 * uniform(), beta = 1e-5 * exp(3 * uniform());
        double noise = 0.005 + 0.05 * uniform(), jump = exp(0.8 * normal());
        int at = 5 + (int)(8 * uniform());
        for (int i = 0; i < 18; i++)
            us[i] = (alpha + beta * exp2(8 + i)) * (i >= at && world % 2 ? jump : 1) *
                    exp(noise * normal());
        struct curve c = curve_of(us, 8, 18);
        struct left_out out[18];
        size_t n;
        struct err err;
        assert_int_equal(fit_leave_one_out(&c, 4096, 1 << 20, out, &n, &err), STATUS_OK);
        for (size_t i = 0; i < n; i++) {
            all++;
            inside += out[i].us >= out[i].lo_us && out[i].us <= out[i].hi_us;
        }
        free(c.points);
    }
    print_message("%d of %d inside\n", inside, all);
    assert_true(inside >= 0.90 * all && inside <= 0.98 * all);
}

static void extrapolation_is_marked_and_widens(void **state)
{
    (void)state;
    double us[12];
    for (int i = 0; i < 12; i++)
        us[i] = 20 + 1e-4 * exp2(10 + i);
    struct curve c = curve_of(us, 10, 12);
    struct fit *f = fit_of(&c);
    double last = 0;
    for (int k = 21; k < 30; k++) {
        double s = cost_sigma(&f->cost, exp2(k));
        assert_true(s >= last);
        last = s;
    }
    assert_int_equal(cost_source_at(&f->cost, 1 << 20), COST_MEASURED);
    assert_int_equal(cost_source_at(&f->cost, 1 << 22), COST_EXTRAPOLATED);
    assert_int_equal(cost_source_at(&f->cost, 512), COST_EXTRAPOLATED);
    free(f);
    free(c.points);
}

static void a_dense_curve_is_gathered(void **state)
{
    (void)state;
    enum { N = 1000 };
    static double us[N];
    rng = 5;
    struct curve c = {.key = &key, .points = calloc(N, sizeof *c.points)};
    record_init(&key);
    c.n_points = c.records = N;
    for (int i = 0; i < N; i++) {
        double b = 2048 + 4096.0 * i;
        us[i] = (15 + 3e-5 * b) * exp(0.05 * normal());
        c.points[i] = (struct point){.bytes = b, .us = us[i], .spread = NAN, .records = 1};
    }
    struct fit *f = fit_of(&c);
    assert_int_equal(f->n_sizes, N);
    for (int k = 0; k < 30; k++) {
        double b = 4096 * exp2(k / 3.0);
        assert_near(cost_latency_us(&f->cost, b), 15 + 3e-5 * b, 0.08);
    }
    assert_true(f->loo_coverage > 0.9);
    free(f);
    free(c.points);
}

/* --- Curves out of records ----------------------------------------------------------------------
 */

static struct record row(int64_t bytes, double us)
{
    struct record r;
    record_init(&r);
    r.what = WHAT_allreduce;
    snprintf(r.impl, sizeof r.impl, "nccl/auto");
    r.ranks = 4;
    r.size_bytes = bytes;
    r.value = us;
    return r;
}

static void wrong_and_failed_rows_are_never_fitted(void **state)
{
    (void)state;
    struct records rs = {0};
    struct record r;
    for (int i = 0; i < 5; i++) {
        r = row(1024 << i, 10 + i);
        records_add(&rs, &r);
    }
    r = row(1024, 500);
    r.verified = RECORD_WRONG;
    records_add(&rs, &r);
    r = row(2048, NAN);
    snprintf(r.state, sizeof r.state, "timeout");
    records_add(&rs, &r);
    r = row(0, 3);
    records_add(&rs, &r);
    r = row(4096, -1);
    records_add(&rs, &r);
    struct curves cs;
    struct err err;
    assert_int_equal(curves_collect(&cs, &rs, NULL, &err), STATUS_OK);
    assert_int_equal(cs.n, 1);
    assert_int_equal(cs.v[0].n_points, 5);
    assert_int_equal(cs.v[0].skipped, 4);
    assert_near(cs.v[0].points[0].us, 10, 1e-12);
    curves_release(&cs);
    records_release(&rs);
}

static void repeats_are_combined_by_the_median(void **state)
{
    (void)state;
    struct records rs = {0};
    static const double us[] = {10, 10.2, 9.9, 70};
    for (int i = 0; i < 4; i++) {
        struct record r = row(4096, us[i]);
        records_add(&rs, &r);
    }
    struct record other = row(4096, 33);
    other.in_place = 1;
    records_add(&rs, &other);
    struct curves cs;
    struct err err;
    assert_int_equal(curves_collect(&cs, &rs, NULL, &err), STATUS_OK);
    assert_int_equal(cs.n, 2);
    assert_int_equal(cs.v[0].points[0].records, 4);
    assert_true(cs.v[0].points[0].us > 9.99 && cs.v[0].points[0].us < 10.21);
    assert_true(cs.v[0].points[0].spread > 0 && cs.v[0].points[0].spread < 0.05);
    assert_int_equal(cs.v[1].key->in_place, 1);
    curves_release(&cs);
    records_release(&rs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_complete),
        cmocka_unit_test(alpha_and_beta_are_recovered),
        cmocka_unit_test(a_line_is_robust),
        cmocka_unit_test(latency_and_time_a_byte_are_not_negative),
        cmocka_unit_test(a_step_survives),
        cmocka_unit_test(a_curve_may_fall),
        cmocka_unit_test(an_outlier_bends_nothing),
        cmocka_unit_test(two_disturbed_neighbours_are_a_pair),
        cmocka_unit_test(a_cold_first_row_is_recognised),
        cmocka_unit_test(too_few_sizes_say_how_many),
        cmocka_unit_test(what_is_left_out_is_not_used),
        cmocka_unit_test(intervals_hold_what_they_say),
        cmocka_unit_test(extrapolation_is_marked_and_widens),
        cmocka_unit_test(a_dense_curve_is_gathered),
        cmocka_unit_test(wrong_and_failed_rows_are_never_fitted),
        cmocka_unit_test(repeats_are_combined_by_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
