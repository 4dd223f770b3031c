#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/err.h"

static void set_formats_and_returns(void **state)
{
    (void)state;
    struct err e = {STATUS_OK, ""};
    assert_int_equal(err_set(&e, STATUS_INPUT, "%s:%d: bad", "f", 3), STATUS_INPUT);
    assert_string_equal(e.msg, "f:3: bad");
    assert_int_equal(err_prefix(&e, "while reading %s", "x"), STATUS_INPUT);
    assert_string_equal(e.msg, "while reading x: f:3: bad");
}

static void long_messages_are_cut(void **state)
{
    (void)state;
    struct err e = {STATUS_OK, ""};
    char big[3000];
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    err_set(&e, STATUS_FAILED, "%s", big);
    assert_int_equal(strlen(e.msg), sizeof e.msg - 1);
    err_prefix(&e, "%s", big);
    assert_true(strlen(e.msg) < sizeof e.msg);
    err_set(NULL, STATUS_FAILED, "nobody listens");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_formats_and_returns),
        cmocka_unit_test(long_messages_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
