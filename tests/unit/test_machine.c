#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "measure/check.h"
#include "measure/monitor.h"
#include "measure/sysfs.h"

static void lists_of_cores(void **state)
{
    (void)state;
    assert_int_equal(list_count("0-3,8,10-11"), 7);
    assert_int_equal(list_count(""), 0);
    assert_int_equal(list_count("5"), 1);
    assert_int_equal(list_count("3-1"), 0);
    assert_int_equal(list_common("0-7", "4-11"), 4);
    assert_int_equal(list_common("0,2,4", "1,3,5"), 0);
    assert_int_equal(list_common("0-1,6-7", "1-6"), 2);
}

static void generations(void **state)
{
    (void)state;
    assert_int_equal(pcie_generation(2.5), 1);
    assert_int_equal(pcie_generation(16), 4);
    assert_int_equal(pcie_generation(32), 5);
    assert_int_equal(pcie_generation(-1), 0);
    assert_int_equal(pcie_generation(3), 0);
}

static void checks_are_complete_and_quiet_about_nothing(void **state)
{
    (void)state;
    static struct machine m; /* no GPU, nothing known */
    struct err err;
    assert_int_equal(machine_read(&m, "/nonexistent/tree", &err), STATUS_INPUT);
    for (int i = 0; checks[i] != NULL; i++) {
        struct findings found = {0};
        assert_true(checks[i]->id != NULL && checks[i]->title != NULL && checks[i]->why != NULL);
        checks[i]->run(&m, &found);
        for (int k = 0; k < found.n; k++) {
            if (strcmp(checks[i]->id, "shm") != 0) /* size 0 here is "not mounted" */
                assert_true(found.v[k].level < LEVEL_FAULT);
            assert_true(strlen(found.v[k].what) > 10 && strlen(found.v[k].todo) > 10);
        }
        for (int k = 0; k < i; k++)
            assert_string_not_equal(checks[i]->id, checks[k]->id);
    }
}

static void this_machine_is_read(void **state)
{
    (void)state;
    static struct machine m;
    assert_int_equal(machine_read(&m, "", NULL), STATUS_OK);
    assert_true(m.cores >= 0);
    cJSON *json = machine_json(&m);
    assert_non_null(json);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "gpus")), m.n_gpus);
    cJSON_Delete(json);
}

static void throttle_bits_have_names(void **state)
{
    (void)state;
    char text[96];
    throttle_names(THROTTLE_IDLE, text, sizeof text);
    assert_string_equal(text, "");
    throttle_names(THROTTLE_POWER_CAP | THROTTLE_HW_THERMAL, text, sizeof text);
    assert_string_equal(text, "power cap, hardware thermal");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_cores),
        cmocka_unit_test(generations),
        cmocka_unit_test(checks_are_complete_and_quiet_about_nothing),
        cmocka_unit_test(this_machine_is_read),
        cmocka_unit_test(throttle_bits_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
