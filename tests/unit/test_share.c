#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "traces/share.h"

static void found_beside_the_build_folder(void **state)
{
    (void)state;
    struct err err = {0};
    unsetenv("UPDRAFT_DATA");
    char *path = share_path("commands.def", &err);
    assert_non_null(path);
    assert_int_equal(access(path, R_OK), 0);
    free(path);
}

static void the_environment_comes_first(void **state)
{
    (void)state;
    struct err err = {0};
    char dir[] = "/tmp/updraft-share-XXXXXX", name[64];
    assert_non_null(mkdtemp(dir));
    snprintf(name, sizeof name, "%s/commands.def", dir);
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fclose(f);
    setenv("UPDRAFT_DATA", dir, 1);
    char *path = share_path("commands.def", &err);
    assert_non_null(path);
    assert_string_equal(path, name);
    free(path);
    unlink(name);
    rmdir(dir);
    unsetenv("UPDRAFT_DATA");
}

static void an_absent_file_says_where_it_was_looked_for(void **state)
{
    (void)state;
    struct err err = {0};
    assert_null(share_path("traces/no-such-file.json", &err));
    assert_int_equal(err.status, STATUS_MISSING);
    assert_non_null(strstr(err.msg, "no-such-file.json"));
    assert_non_null(strstr(err.msg, "UPDRAFT_DATA"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_beside_the_build_folder),
        cmocka_unit_test(the_environment_comes_first),
        cmocka_unit_test(an_absent_file_says_where_it_was_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
