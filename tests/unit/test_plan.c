#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "measure/plan.h"
#include "measure/stats.h"
#include "measure/summary.h"
#include "tests/near.h"

/* The synthetic backend stands in for one with a GPU count of our choice. */
static struct present box(int gpus)
{
    struct present p = {.backend = backend_find("synthetic")};
    p.host.n_gpus = gpus;
    p.host.max_ranks = 16;
    strcpy(p.host.label, "box");
    return p;
}

static struct plan_options options(const char *kind)
{
    return (struct plan_options){.kind = plan_kind_find(kind), .dtype = DTYPE_bf16, .seed = 1};
}

static void a_plan_is_grouped_in_rows(void **state)
{
    (void)state;
    struct present p = box(0);
    struct plan_options o = options("full");
    struct plan plan;
    assert_int_equal(plan_make(&plan, &o, &p, 1, NULL), STATUS_OK);
    assert_int_equal(plan.n_variants, 6); /* two implementations at 2, 4, 8 ranks */
    assert_int_equal(plan.n_groups, 3);
    assert_int_equal(plan_left(&plan), plan.n_cells + plan.n_cases);
    for (int i = 1; i < plan.n_cells; i++) {
        const struct cell *a = &plan.cells[i - 1], *b = &plan.cells[i];
        int group_a = plan.variants[a->variant].group, group_b = plan.variants[b->variant].group;
        assert_true(group_a <= group_b);
        if (group_a != group_b)
            continue;
        int same_row = a->method == b->method && a->size_bytes == b->size_bytes &&
                       fabs(a->skew_us - b->skew_us) <= 0;
        assert_true(same_row ? b->variant > a->variant : b->variant <= a->variant);
        assert_true(b->method >= a->method);
        assert_true((b->method == METHOD_skewed) == (b->skew_us > 0));
    }
    for (int i = 0; i < plan.n_cells; i++)
        for (int k = 0; k < i; k++) {
            struct record a, b;
            cell_record(&plan, &plan.cells[i], &a);
            cell_record(&plan, &plan.cells[k], &b);
            assert_false(same_cell(&a, &b));
        }
    plan_release(&plan);
}

static void ranks_follow_the_box(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        int gpus, n, ranks[6];
    } cases[] = {
        {"quick", 0, 1, {2}},      {"quick", 1, 2, {2, 8}},        {"quick", 6, 1, {6}},
        {"quick", 8, 1, {8}},      {"full", 1, 3, {2, 4, 8}},      {"full", 6, 3, {2, 4, 6}},
        {"full", 8, 3, {2, 4, 8}}, {"full", 16, 4, {2, 4, 8, 16}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct present p = box(cases[i].gpus);
        struct plan_options o = options(cases[i].kind);
        struct plan plan;
        assert_int_equal(plan_make(&plan, &o, &p, 1, NULL), STATUS_OK);
        assert_int_equal(plan.n_variants, 2 * cases[i].n);
        for (int k = 0; k < cases[i].n; k++) {
            const struct variant *v = &plan.variants[2 * k].v;
            assert_int_equal(v->ranks, cases[i].ranks[k]);
            for (int r = 1; r < v->ranks && cases[i].gpus > 0; r++) {
                assert_true(v->gpu[r] < cases[i].gpus);
                assert_true(v->gpu[r] >= v->gpu[r - 1]); /* islands stay together */
            }
            int shared = cases[i].gpus > 0 && v->ranks > cases[i].gpus;
            assert_int_equal(plan.variants[2 * k].placement[0] != '\0', shared);
        }
        plan_release(&plan);
    }
}

static void what_the_user_asks_for_wins(void **state)
{
    (void)state;
    struct present p = box(8);
    struct plan_options o = options("full");
    static const int64_t ranks[] = {3, 5}, sizes[] = {1, 8, 4096};
    static const enum method methods[] = {METHOD_skewed};
    static const char *const impls[] = {"*/twin"}, *const nothing[] = {"custom/none"};
    struct plan plan;
    struct err err;
    o.ranks = ranks, o.n_ranks = 2, o.sizes = sizes, o.n_sizes = 3, o.methods = methods,
    o.n_methods = 1, o.impls = impls, o.n_impls = 1, o.no_probes = 1;
    assert_int_equal(plan_make(&plan, &o, &p, 1, NULL), STATUS_OK);
    assert_int_equal(plan.n_cells, 2 * 2 * 2); /* one byte is no whole bf16 */
    for (int i = 0; i < plan.n_cells; i++)
        assert_int_equal(plan.cells[i].method, METHOD_skewed);
    assert_int_equal(plan.variants[0].v.max_bytes, 4096);
    plan_release(&plan);
    o.impls = nothing;
    assert_int_equal(plan_make(&plan, &o, &p, 1, &err), STATUS_USAGE);
    assert_non_null(strstr(err.msg, "synthetic/twin"));
    o.n_impls = 0, o.n_sizes = 1;
    assert_int_equal(plan_make(&plan, &o, &p, 1, &err), STATUS_UNSUPPORTED);
}

static void records_mark_their_cells_done(void **state)
{
    (void)state;
    struct present p = box(0);
    struct plan_options o = options("quick");
    struct plan plan;
    struct records rs = {0};
    struct record r;
    assert_int_equal(plan_make(&plan, &o, &p, 1, NULL), STATUS_OK);
    int all = plan.n_cells, of_first = 0;
    assert_int_equal(plan_mark_done(&plan, &rs), 0);
    cell_record(&plan, &plan.cells[3], &r);
    r.value = 5;
    records_add(&rs, &r);
    r.size_bytes++; /* of another plan */
    records_add(&rs, &r);
    assert_int_equal(plan_mark_done(&plan, &rs), 1);
    assert_int_equal(plan_left(&plan), all - 1);
    variant_record(&plan.variants[0], &r);
    strcpy(r.state, "oom");
    records_add(&rs, &r);
    for (int i = 0; i < all; i++)
        of_first += plan.cells[i].variant == 0;
    plan_mark_done(&plan, &rs);
    assert_int_equal(plan_left(&plan), all - of_first - (plan.cells[3].variant != 0));
    records_release(&rs);
    plan_release(&plan);
}

static void quantiles_and_the_noise_floor(void **state)
{
    (void)state;
    double x[11], d[40];
    struct record r;
    record_init(&r);
    for (int i = 0; i < 11; i++)
        x[i] = (double)((i * 7) % 11);
    record_quantiles(&r, x, 11);
    assert_near(r.value, 5, 1e-12);
    assert_near(r.p10, 1, 1e-12);
    assert_near(r.p90, 9, 1e-12);
    assert_near(r.p99, 9.9, 1e-12);
    assert_near(r.max, 10, 0);
    assert_int_equal(r.count, 11);
    assert_near(median_of(x, 4), 1.5, 1e-12);
    assert_true(isnan(noise_floor(d, 0)));
    for (int i = 0; i < 40; i++)
        d[i] = 0.01;
    d[7] = 0.5; /* one outlier among many is not the floor */
    assert_near(noise_floor(d, 40), 0.01, 1e-9);
    d[0] = 0.02;
    assert_near(noise_floor(d, 1), 12.7062 * 0.02, 1e-4); /* t(0.975, 1) */
    assert_near(relative_difference(2, 1), relative_difference(1, 2), 1e-15);
}

static void closer_than_noise_is_not_different(void **state)
{
    (void)state;
    struct records rs = {0};
    struct record r;
    record_init(&r);
    r.what = WHAT_allreduce;
    r.ranks = 2;
    r.size_bytes = 8;
    strcpy(r.method, "graph");
    static const double us[] = {10, 10.1, 10.5};
    for (int i = 0; i < 3; i++) {
        snprintf(r.impl, sizeof r.impl, "x/%d", i);
        r.value = us[i];
        r.field[FIELD_noise] = 0.005; /* floor of three: t(0.975, 3) * 0.005 = 1.6 % */
        records_add(&rs, &r);
    }
    assert_near(floor_of(&rs, &rs.v[0]), 3.1824 * 0.005, 1e-3);
    assert_true(is_best(&rs, &rs.v[0]));
    assert_true(is_best(&rs, &rs.v[1]));
    assert_false(is_best(&rs, &rs.v[2]));
    rs.v[0].verified = RECORD_WRONG; /* a wrong result beats nobody */
    rs.v[2].value = 10.2;
    assert_true(is_best(&rs, &rs.v[2]));
    records_release(&rs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_grouped_in_rows),
        cmocka_unit_test(ranks_follow_the_box),
        cmocka_unit_test(what_the_user_asks_for_wins),
        cmocka_unit_test(records_mark_their_cells_done),
        cmocka_unit_test(quantiles_and_the_noise_floor),
        cmocka_unit_test(closer_than_noise_is_not_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
