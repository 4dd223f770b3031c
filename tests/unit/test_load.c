/* trace_load: a trace, a file that import recognises, several of the same name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "traces/load.h"

static char dir[] = "/tmp/updraft_load_XXXXXX";
static char paths[4][64];

static void put(int i, const char *name, const char *text)
{
    snprintf(paths[i], sizeof paths[i], "%s/%s", dir, name);
    char folder[64];
    snprintf(folder, sizeof folder, "%s", paths[i]);
    *strrchr(folder, '/') = '\0';
    mkdir(folder, 0777);
    FILE *f = fopen(paths[i], "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char table[] =
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    "1048576 262144 float sum -1 100.0 10.49 18.35 0 101.0 10.38 18.17 0\n"
    "1048576 262144 float sum -1 100.0 10.49 18.35 0 -1 10.38 18.17 0\n";

static int setup(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(dir));
    put(0, "a/log.txt", table);
    put(1, "b/log.txt", table);
    put(2, "t.jsonl",
        "{\"updraft_trace\":1,\"host\":{\"gpus\":2}}\n{\"what\":\"allreduce\",\"latency_us\":5}\n{"
        "\"wh");
    put(3, "x.txt", "nothing\n");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        unlink(paths[i]);
        *strrchr(paths[i], '/') = '\0';
        rmdir(paths[i]);
    }
    rmdir(dir);
    return 0;
}

static void files_add_up(void **state)
{
    (void)state;
    struct trace t = {0};
    struct err err = {STATUS_OK, ""};
    char *said = NULL;
    size_t n = 0;
    FILE *log = open_memstream(&said, &n);
    assert_int_equal(trace_load(&t, paths[0], log, &err), STATUS_OK);
    assert_int_equal(trace_load(&t, paths[1], log, &err), STATUS_OK);
    assert_int_equal(trace_load(&t, paths[2], log, &err), STATUS_OK);
    fclose(log);
    assert_int_equal(t.records.n, 5);
    assert_string_equal(t.records.v[0].label, "log");
    assert_string_equal(t.records.v[2].label, "b/log");
    assert_non_null(t.host);
    assert_int_equal(t.torn, 1);
    assert_non_null(strstr(said, "a/log.txt:3: not taken: in-place time of -1 us"));
    assert_non_null(strstr(said, "t.jsonl: the last line was cut"));
    free(said);
    trace_release(&t);
}

static void errors_name_the_file(void **state)
{
    (void)state;
    struct trace t = {0};
    struct err err = {STATUS_OK, ""};
    assert_int_equal(trace_load(&t, paths[3], NULL, &err), STATUS_INPUT);
    assert_non_null(strstr(err.msg, "x.txt: no format that import knows"));
    assert_int_equal(trace_load(&t, "/nonexistent/file", NULL, &err), STATUS_INPUT);
    assert_int_equal(trace_load(&t, "/", NULL, &err), STATUS_INPUT);
    assert_int_equal(t.records.n, 0);
    trace_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_add_up),
        cmocka_unit_test(errors_name_the_file),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
