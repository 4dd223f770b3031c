#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/draw.h"
#include "tests/near.h"
#include "traces/format.h"

static void numbers_read_back(void **state)
{
    (void)state;
    struct rng r;
    rng_init(&r, 1, 0);
    for (int i = 0; i < 200000; i++) {
        double x = exp((rng_uniform(&r) - 0.5) * 80) * (i & 1 ? 1 : -1);
        char text[32];
        *format_double(text, x) = '\0';
        assert_near(strtod(text, NULL), x, 6e-7);
    }
}

static void edges(void **state)
{
    (void)state;
    static const struct {
        double x;
        const char *text;
    } cases[] = {{0, "0"},          {1, "1"},         {10, "10"},
                 {0.5, "0.5"},      {-2.25, "-2.25"}, {9999999, "9999999"},
                 {9.9999999, "10"}, {1e7, "1e+07"},   {0.0001, "0.0001"},
                 {100, "100"},      {86, "86"},       {NAN, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        *format_double(text, cases[i].x) = '\0';
        assert_string_equal(text, cases[i].text);
    }
    char text[32];
    *format_int(text, INT64_MIN) = '\0';
    assert_string_equal(text, "-9223372036854775808");
    *format_int(text, 0) = '\0';
    assert_string_equal(text, "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_read_back),
        cmocka_unit_test(edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
