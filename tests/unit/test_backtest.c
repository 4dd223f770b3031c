#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/near.h"
#include "traces/backtest.h"
#include "traces/system.h"

static void every_backtest_is_complete(void **state)
{
    (void)state;
    for (int i = 0; backtests[i] != NULL; i++) {
        const struct backtest *b = backtests[i];
        assert_true(b->id && b->doc && b->begin && b->take && b->finish && b->end);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(b->id, backtests[k]->id);
        /* Nothing taken: no results. */
        void *s = b->begin();
        struct backtest_results rs = {0};
        struct err err;
        assert_non_null(s);
        assert_int_equal(b->finish(s, &rs, &err), STATUS_OK);
        assert_int_equal(rs.n, 0);
        b->end(s);
        b->end(NULL);
    }
}

static void errors_are_summarised(void **state)
{
    (void)state;
    double v[] = {0.4, 0.1, 0.2, 0.3, 0.0};
    struct backtest_errors e;
    backtest_summarise(&e, v, 5);
    assert_near(e.median_rel_error, 0.2, 1e-12);
    assert_near(e.mean_rel_error, 0.2, 1e-12);
    assert_near(e.p90_rel_error, 0.36, 1e-12);
    assert_near(e.max_rel_error, 0.4, 1e-12);

    struct backtest_results rs = {0};
    struct backtest_result *r = backtest_add(&rs);
    for (int i = 0; i < 9; i++) {
        struct backtest_case c = {"", 0.01 * i, i < 4 ? 0.5 : (double)NAN, i, 5, 2, 6, 0};
        assert_int_equal(backtest_add_case(r, &c), 0);
    }
    assert_int_equal(backtest_summarise_cases(r), 0);
    assert_int_equal(r->cases, 9);
    assert_near(r->errors.median_rel_error, 0.04, 1e-12);
    assert_near(r->naive[0].median_rel_error, 0.5, 1e-12);
    assert_near(r->interval_coverage, 5 / 9., 1e-12);
    assert_true(isnan(r->errors.kendall_tau));
    backtest_results_release(&rs);
}

static void kendall_counts_pairs(void **state)
{
    (void)state;
    static const double a[] = {1, 2, 3, 4}, b[] = {10, 20, 30, 40}, c[] = {4, 3, 2, 1},
                        d[] = {1, 3, 2, 4}, same[] = {5, 5, 5, 5};
    assert_near(backtest_kendall_tau(a, b, 4), 1, 1e-12);
    assert_near(backtest_kendall_tau(a, c, 4), -1, 1e-12);
    assert_near(backtest_kendall_tau(a, d, 4), 4 / 6., 1e-12);
    assert_true(isnan(backtest_kendall_tau(a, same, 4)));
}

static void tables_are_read_by_their_header(void **state)
{
    (void)state;
    static const char text[] = "# a note, with a comma\n"
                               "# box,us ,\"a \"\"b\"\", c\"\r\n"
                               "\n"
                               "one, 1.5 ,\"x,y\"\r\n"
                               "# in between\n"
                               "two,2";
    struct csv t;
    struct err err = {STATUS_OK, ""};
    assert_int_equal(csv_parse(&t, "t", text, sizeof text - 1, &err), STATUS_OK);
    assert_int_equal(t.n_columns, 3);
    assert_int_equal(t.n_rows, 2);
    assert_int_equal(csv_column(&t, "BOX"), 0);
    assert_int_equal(csv_column(&t, "a \"b\", c"), 2);
    assert_int_equal(csv_column(&t, "none"), -1);
    assert_true(csv_has(&t, "us box") && !csv_has(&t, "us ranks"));
    assert_string_equal(csv_text(&t, 0, 2), "x,y");
    assert_near(csv_number(&t, 0, 1), 1.5, 0);
    assert_true(isnan(csv_number(&t, 0, 0)) && isnan(csv_number(&t, 0, -1)));
    assert_string_equal(csv_text(&t, 1, 2), "");
    assert_int_equal(t.lines[0], 4);
    assert_int_equal(t.lines[1], 6);
    csv_release(&t);
}

static void what_is_no_table_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t len;
        const char *says;
    } cases[] = {
        {"", 0, "no table"},
        {"a,b\n", 4, "no table"},
        {"# only\n# notes\n", 15, "no table"},
        {"a,b\n1,2,3\n", 10, "t:2: 3 cells, but the header has 2"},
        {"a,b\n1\0,2\n", 9, "zero bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct csv t;
        struct err err = {STATUS_OK, ""};
        assert_int_equal(csv_parse(&t, "t", cases[i].text, cases[i].len, &err), STATUS_INPUT);
        assert_non_null(strstr(err.msg, cases[i].says));
        csv_release(&t);
    }
    struct csv t;
    assert_int_equal(csv_read(&t, "/", NULL), STATUS_INPUT);
    assert_int_equal(csv_read(&t, "/no-such-file", NULL), STATUS_INPUT);
}

static void systems_are_told_by_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum system_kind kind;
    } cases[] = {
        {"NVIDIA L40S SGLang 0.5.10", SYSTEM_PCIE},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", SYSTEM_PCIE},
        {"V100-PCIE-16GB 1 nodes", SYSTEM_PCIE},
        {"V100-PCIE-16GB 2 nodes", SYSTEM_NETWORK},
        {"NVIDIA H100 80GB HBM3", SYSTEM_NVLINK},
        {"NVIDIA A100-SXM4-80GB vLLM", SYSTEM_NVLINK},
        {"H200", SYSTEM_NVLINK},
        {"a100pcie 2gpu nv12", SYSTEM_NVLINK},
        {"a100pcie_4gpu", SYSTEM_PCIE},
        {"rtx4090_2gpu", SYSTEM_PCIE},
        {"l40s_2node", SYSTEM_NETWORK},
        {"rtx5090_2rank_socket", SYSTEM_NETWORK},
        {"v100_roce_k8s", SYSTEM_NETWORK},
        {"NVIDIA B200", SYSTEM_NVLINK},
        {"my box", SYSTEM_UNKNOWN},
        {"", SYSTEM_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (system_of_text(cases[i].text) != cases[i].kind)
            fail_msg("%s: %s", cases[i].text, system_name(system_of_text(cases[i].text)));
    struct record r;
    record_init(&r);
    strcpy(r.label, "x dgx 4 of 8 a node");
    r.ranks = 4;
    assert_int_equal(system_of(&r), SYSTEM_NVLINK);
    r.ranks = 8;
    assert_int_equal(system_of(&r), SYSTEM_NETWORK);
    strcpy(r.label, "plain");
    strcpy(r.origin, "/data/l40s.csv");
    assert_int_equal(system_of(&r), SYSTEM_PCIE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_backtest_is_complete),
        cmocka_unit_test(errors_are_summarised),
        cmocka_unit_test(kendall_counts_pairs),
        cmocka_unit_test(tables_are_read_by_their_header),
        cmocka_unit_test(what_is_no_table_is_refused),
        cmocka_unit_test(systems_are_told_by_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
