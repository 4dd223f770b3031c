#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/mapfit.h"
#include "tests/near.h"

/* y = a + b x, deviation 0.1. */
struct line {
    const double *x, *y;
    size_t n;
};

static void line_residuals(void *context, const double *p, double *out)
{
    const struct line *l = context;
    for (size_t i = 0; i < l->n; i++)
        out[i] = (p[0] + p[1] * l->x[i] - l->y[i]) / 0.1;
}

static const double mean[] = {0, 0}, wide[] = {1e3, 1e3}, narrow[] = {1, 1e-3};

static void data_decide_where_priors_are_wide(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 3}, y[] = {1, 3, 5, 7};
    struct line l = {x, y, 4};
    struct mapfit_problem p = {2, mean, wide, 4, line_residuals, &l, 0};
    struct mapfit fit;
    struct err err;
    assert_int_equal(mapfit_solve(&p, &fit, &err), STATUS_OK);
    assert_near(fit.value[0], 1, 1e-6);
    assert_near(fit.value[1], 2, 1e-6);
    /* Ordinary least squares: var b = 0.01 / sum (x - mean)^2 = 0.01 / 5. */
    assert_near(fit.sd[1], 0.1 / sqrt(5), 1e-3);
    assert_true(fit.learned[0] > 0.99 && fit.learned[1] > 0.99);
    assert_true(fit.correlation[0][1] < -0.5);
}

static void the_prior_rules_what_data_cannot_tell(void **state)
{
    (void)state;
    const double x[] = {1}, y[] = {3};
    struct line l = {x, y, 1};
    struct mapfit_problem p = {2, mean, narrow, 1, line_residuals, &l, 0};
    struct mapfit fit;
    struct err err;
    assert_int_equal(mapfit_solve(&p, &fit, &err), STATUS_OK);
    assert_true(fit.learned[0] > 0.9);
    assert_true(fit.learned[1] < 0.1);
    assert_true(fabs(fit.value[1]) < 1e-3);
    p.n_obs = 0;
    assert_int_equal(mapfit_solve(&p, &fit, &err), STATUS_OK);
    assert_near(fit.sd[0], 1, 1e-9);
    assert_true(fabs(fit.value[0]) < 1e-9);
}

static void an_outlier_loses_its_weight(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 3, 4, 5, 6}, y[] = {1, 3, 5, 70, 9, 11, 13};
    struct line l = {x, y, 7};
    struct mapfit_problem p = {2, mean, wide, 7, line_residuals, &l, 1};
    struct mapfit fit;
    struct err err;
    assert_int_equal(mapfit_solve(&p, &fit, &err), STATUS_OK);
    assert_near(fit.value[0], 1, 0.02);
    assert_near(fit.value[1], 2, 0.01);
}

static void not_a_number_is_refused(void **state)
{
    (void)state;
    const double x[] = {0, 1}, y[] = {1, (double)NAN};
    struct line l = {x, y, 2};
    struct mapfit_problem p = {2, mean, wide, 2, line_residuals, &l, 0};
    struct mapfit fit;
    struct err err;
    assert_int_equal(mapfit_solve(&p, &fit, &err), STATUS_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_decide_where_priors_are_wide),
        cmocka_unit_test(the_prior_rules_what_data_cannot_tell),
        cmocka_unit_test(an_outlier_loses_its_weight),
        cmocka_unit_test(not_a_number_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
