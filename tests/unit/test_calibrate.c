#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/acceptance.h"
#include "model/calibrate.h"
#include "model/evaluate.h"
#include "tests/near.h"

/* One GPU, a dense model: the truth that the runs below were "measured" on. */
static struct scenario truth(void)
{
    struct scenario s;
    scenario_init(&s);
    strcpy(s.draft.method, "eagle3");
    s.model.layers = 32;
    s.model.hidden = 4096;
    s.draft.num_steps = 3;
    s.draft.accept_rate = (struct qty_list){.n = 3, .v = {0.8, 0.76, 0.72}};
    s.pass.curve =
        (struct qty_curve){.n = 5, .x = {1, 4, 16, 64, 256}, .y = {7000, 7400, 8600, 13000, 30000}};
    s.draft.pass_us = (struct qty){600, 600, 600, 1, 0};
    s.host.speculative_us = (struct qty){900, 900, 900, 1, 0};
    s.draft.row_us = (struct qty){1e-6, 1e-6, 1e-6, 1, 0};
    scenario_anchor(&s);
    return s;
}

static struct calibrate_run run_at(const struct scenario *t, int batch, int k)
{
    struct scenario s = *t;
    struct outcome o;
    s.batch = batch;
    s.draft.num_steps = k;
    evaluate(&s, &o);
    return (struct calibrate_run){.batch = batch,
                                  .num_steps = k,
                                  .topk = 1,
                                  .context_tokens = (double)NAN,
                                  .tokens_per_s =
                                      k > 0 ? o.speculative_tokens_per_s : o.baseline_tokens_per_s,
                                  .tokens_per_cycle = k > 0 ? o.tokens_per_cycle : (double)NAN};
}

/* What the user knows: the shape, nothing of the terms. */
static struct scenario guess(void)
{
    struct scenario s = truth();
    s.pass.curve.n = 0;
    s.baseline.tokens_per_s = (struct qty){100, 50, 200, 1, 1};
    s.draft.pass_us = (struct qty){0};
    s.host.speculative_us = (struct qty){0};
    s.draft.row_us = (struct qty){0};
    s.draft.accept_rate = (struct qty_list){.n = 1, .v = {0.5}, .assumed = 1};
    scenario_anchor(&s);
    return s;
}

static const struct calibrate_term *term(const struct calibration *c, const char *path)
{
    for (int i = 0; i < c->n_terms; i++)
        if (strcmp(c->term[i].path, path) == 0)
            return &c->term[i];
    return NULL;
}

static void runs_at_several_depths_identify_the_terms(void **state)
{
    (void)state;
    struct scenario t = truth(), g = guess();
    struct calibrate_run runs[16];
    size_t n = 0;
    for (int b = 1; b <= 256; b *= 4)
        runs[n++] = run_at(&t, b, 0);
    for (int k = 1; k <= 7; k += 2) {
        runs[n++] = run_at(&t, 1, k);
        runs[n++] = run_at(&t, 16, k);
    }
    struct calibration c;
    struct err err;
    assert_int_equal(calibrate(&g, runs, n, NULL, 0, &c, &err), STATUS_OK);
    assert_int_equal(c.n_plain, 5);
    assert_int_equal(c.n_speculative, 8);
    assert_int_equal(c.s.pass.curve.n, 5);
    assert_near(c.s.pass.curve.y[2], 8600, 1e-9);
    assert_true(c.left_out_median_rel_error < 0.01);
    const struct calibrate_term *pass = term(&c, "draft.pass_us");
    assert_true(pass->identified);
    assert_near(pass->value, 600, 0.1);
    assert_true(pass->low < 600 && 600 < pass->high);
    assert_null(term(&c, "pass.row_us"));
    assert_near(c.s.draft.accept_rate.v[0], 0.8, 0.02);
    assert_near(acceptance_chain_tokens(c.s.draft.accept_rate.v, c.s.draft.accept_rate.n, 1, 3),
                1 + 0.8 + 0.8 * 0.76 + 0.8 * 0.76 * 0.72, 0.02);
    calibration_release(&c);
}

static void one_depth_cannot_tell_draft_from_host(void **state)
{
    (void)state;
    struct scenario t = truth(), g = guess();
    struct calibrate_run runs[] = {run_at(&t, 1, 0), run_at(&t, 4, 0), run_at(&t, 1, 3)};
    struct calibration c;
    struct err err;
    assert_int_equal(calibrate(&g, runs, 3, NULL, 0, &c, &err), STATUS_OK);
    int identified = 0;
    for (int i = 0; i < c.n_terms; i++)
        identified += c.term[i].identified;
    assert_true(identified <= 1);
    /* Their sum is known all the same: the run is reproduced. */
    assert_near(c.v[2].predicted, c.v[2].measured, 0.03);
    calibration_release(&c);
}

static void lengths_alone_calibrate_acceptance(void **state)
{
    (void)state;
    struct scenario g = guess();
    struct calibrate_run runs[3];
    for (int k = 1; k <= 3; k++)
        runs[k - 1] =
            (struct calibrate_run){.num_steps = k,
                                   .topk = 1,
                                   .context_tokens = (double)NAN,
                                   .tokens_per_s = (double)NAN,
                                   .tokens_per_cycle = 1 + 0.8 * (k > 0) + 0.8 * 0.75 * (k > 1) +
                                                       0.8 * 0.75 * 0.7 * (k > 2)};
    struct calibration c;
    struct err err;
    assert_int_equal(calibrate(&g, runs, 3, NULL, 0, &c, &err), STATUS_OK);
    assert_int_equal(c.n_lengths, 3);
    assert_near(c.accept_first, 0.8, 0.02);
    assert_true(c.accept_fall > 0.04 && c.accept_fall < 0.08);
    assert_true(c.accept_first_learned > 0.9);
    calibration_release(&c);
}

static void a_mix_of_data_sets(void **state)
{
    (void)state;
    struct scenario g = guess();
    struct calibrate_run runs[4];
    const double p[] = {0.9, 0.6};
    for (int set = 0; set < 2; set++)
        for (int k = 1; k <= 2; k++)
            runs[2 * set + k - 1] = (struct calibrate_run){
                .num_steps = 2 * k,
                .topk = 1,
                .set = set,
                .context_tokens = (double)NAN,
                .tokens_per_s = (double)NAN,
                .tokens_per_cycle = acceptance_chain_tokens(&p[set], 1, 0.95, 2 * k)};
    const double all_of_the_first[] = {1, 0}, half[] = {0.5, 0.5};
    struct calibration c;
    struct err err;
    assert_int_equal(calibrate(&g, runs, 4, all_of_the_first, 2, &c, &err), STATUS_OK);
    double first = acceptance_chain_tokens(c.s.draft.accept_rate.v, 4, 1, 4);
    assert_near(first, runs[1].tokens_per_cycle, 0.02);
    calibration_release(&c);
    assert_int_equal(calibrate(&g, runs, 4, half, 2, &c, &err), STATUS_OK);
    double mixed = acceptance_chain_tokens(c.s.draft.accept_rate.v, 4, 1, 4);
    assert_near(mixed, 2 / (1 / runs[1].tokens_per_cycle + 1 / runs[3].tokens_per_cycle), 0.02);
    calibration_release(&c);
    runs[2].tokens_per_cycle = runs[3].tokens_per_cycle = (double)NAN;
    assert_int_equal(calibrate(&g, runs, 4, half, 2, &c, &err), STATUS_UNSUPPORTED);
}

static void runs_without_numbers_are_refused(void **state)
{
    (void)state;
    struct scenario g = guess();
    struct calibrate_run r = {.tokens_per_s = (double)NAN, .tokens_per_cycle = (double)NAN};
    struct calibration c;
    struct err err;
    assert_int_equal(calibrate(&g, &r, 1, NULL, 0, &c, &err), STATUS_UNSUPPORTED);
    assert_int_equal(calibrate(&g, &r, 0, NULL, 0, &c, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "tokens"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_at_several_depths_identify_the_terms),
        cmocka_unit_test(one_depth_cannot_tell_draft_from_host),
        cmocka_unit_test(lengths_alone_calibrate_acceptance),
        cmocka_unit_test(a_mix_of_data_sets),
        cmocka_unit_test(runs_without_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
