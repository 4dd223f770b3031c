#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plots/page.h"
#include "plots/plot.h"

static void every_kind_is_complete_and_named_once(void **state)
{
    (void)state;
    assert_non_null(plot_kinds[0]);
    for (size_t i = 0; plot_kinds[i] != NULL; i++) {
        const struct plot_kind *k = plot_kinds[i];
        assert_ptr_equal(plot_find(k->name), k);
        assert_true(strlen(k->summary) > 10 && k->summary[strlen(k->summary) - 1] != '.');
        assert_true(strlen(k->input) > 2);
        assert_true(k->size.width >= 400 && k->size.height >= 200 && k->size.rows >= 12);
        assert_non_null(k->write);
    }
    assert_null(plot_find("nosuch"));
}

static char *written(void (*write)(FILE *), char *buf, size_t size)
{
    FILE *f = fmemopen(buf, size, "w");
    assert_non_null(f);
    write(f);
    fclose(f);
    return buf;
}

static void write_values(FILE *f)
{
    plot_text(f, "t", "it's\na `b` \\ $(c)");
    plot_number(f, "n", 14);
    plot_number(f, "x", NAN);
    plot_integer(f, "i", 3);
    plot_cut_text(f, "cut", "one two three", 9);
    plot_cut_text(f, "whole", "one two", 9);
}

static void text_stays_text_and_numbers_are_reals(void **state)
{
    (void)state;
    char buf[512];
    assert_string_equal(written(write_values, buf, sizeof buf),
                        "t = 'it''s a `b` \\ $(c)'\nn = 14.0\nx = NaN\ni = 3\n"
                        "cut = 'one two …'\nwhole = 'one two'\n");
}

static void write_table(FILE *f)
{
    plot_table(f, "t");
    plot_cell(f, 1.5);
    plot_cell_text(f, "a \"b\"\tc");
    plot_row_end(f);
    plot_table_end(f);
}

static void a_cell_cannot_leave_its_table(void **state)
{
    (void)state;
    char buf[512];
    const char *text = written(write_table, buf, sizeof buf);
    assert_non_null(strstr(text, "$t << END_OF_TABLE\n1.5\t\"a 'b' c\"\t\n"));
}

static void figures_read_well(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } figures[] = {{0, "0"},       {0.6123, "0.612"}, {1.2345, "1.23"},         {24.51, "24.5"},
                   {133.4, "133"}, {1234, "1,234"},   {-1234567, "-1,234,567"}, {NAN, "?"}};
    static const struct {
        double bytes;
        const char *text;
    } sizes[] = {{1, "1 B"},          {1024, "1 KiB"},   {43008, "42 KiB"},
                 {14337, "14,337 B"}, {65536, "64 KiB"}, {3145728, "3 MiB"}};
    char buf[32];
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        assert_string_equal(plot_figure(buf, sizeof buf, figures[i].value), figures[i].text);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        assert_string_equal(plot_bytes(buf, sizeof buf, sizes[i].bytes), sizes[i].text);
}

static void write_page(FILE *f)
{
    page_text(f, "<b> & \"c\"");
    page_estimate(f, 0.1334, 0.111, 0.147, 1000);
    page_estimate(f, NAN, 1, 2, 1);
    page_gain(f, -0.05, NAN, NAN);
}

static void the_page_escapes(void **state)
{
    (void)state;
    char buf[512];
    assert_string_equal(written(write_page, buf, sizeof buf),
                        "&lt;b&gt; &amp; &quot;c&quot;133 [111, 147]–-5.0 %");
}

static void formats_go_by_the_ending(void **state)
{
    (void)state;
    enum plot_format format;
    struct err err = {0};
    assert_int_equal(plot_format_of("a.b/c.png", &format, &err), STATUS_OK);
    assert_int_equal(format, PLOT_PNG);
    assert_int_equal(plot_format_of("-", &format, &err), STATUS_OK);
    assert_int_equal(format, PLOT_TERMINAL);
    assert_int_equal(plot_format_of(".png", &format, &err), STATUS_USAGE);
    assert_int_equal(plot_format_of("x.PNG", &format, &err), STATUS_USAGE);
    assert_int_equal(plot_format_of("", &format, &err), STATUS_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_complete_and_named_once),
        cmocka_unit_test(text_stays_text_and_numbers_are_reals),
        cmocka_unit_test(a_cell_cannot_leave_its_table),
        cmocka_unit_test(figures_read_well),
        cmocka_unit_test(the_page_escapes),
        cmocka_unit_test(formats_go_by_the_ending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
