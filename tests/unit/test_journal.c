#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "traces/journal.h"

static char path[] = "/tmp/updraft-journal-XXXXXX";

static int fresh(void **state)
{
    (void)state;
    strcpy(path, "/tmp/updraft-journal-XXXXXX");
    int fd = mkstemp(path);
    close(fd);
    return unlink(path);
}

static int gone(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static struct record sample(int64_t bytes)
{
    struct record r;
    record_init(&r);
    r.what = WHAT_allreduce;
    r.ranks = 2;
    r.size_bytes = bytes;
    r.value = 1.5;
    return r;
}

static void append_text(const char *text)
{
    FILE *f = fopen(path, "a");
    fputs(text, f);
    fclose(f);
}

static void begin(int records)
{
    struct journal j;
    struct trace t = {0};
    assert_int_equal(journal_open(&j, path, 0, NULL, &t, NULL), STATUS_OK);
    for (int i = 0; i < records; i++) {
        struct record r = sample(8 << i);
        assert_int_equal(journal_append(&j, &r, NULL), STATUS_OK);
    }
    assert_int_equal(journal_close(&j, NULL), STATUS_OK);
    trace_release(&t);
}

static size_t resume_and_add(int64_t bytes, int torn)
{
    struct journal j;
    struct trace t = {0};
    struct err err = {STATUS_OK, ""};
    struct record r = sample(bytes);
    assert_int_equal(journal_open(&j, path, 1, NULL, &t, &err), STATUS_OK);
    assert_int_equal(j.torn, torn);
    assert_int_equal(journal_append(&j, &r, &err), STATUS_OK);
    cJSON *remark = cJSON_CreateNumber(3);
    assert_int_equal(journal_remark(&j, "end", remark, &err), STATUS_OK);
    cJSON_Delete(remark);
    assert_int_equal(journal_close(&j, &err), STATUS_OK);
    size_t n = t.records.n;
    trace_release(&t);
    return n;
}

static void it_goes_on_where_it_stopped(void **state)
{
    (void)state;
    begin(3);
    assert_int_equal(resume_and_add(1024, 0), 3);
    append_text(
        "{\"what\":\"allreduce\",\"ranks\":2,\"size_by"); /* killed in the middle of a line */
    assert_int_equal(resume_and_add(2048, 1), 4);
    assert_int_equal(resume_and_add(4096, 0), 5);
}

static void a_torn_first_line_starts_anew(void **state)
{
    (void)state;
    append_text("{\"updraft_tr");
    assert_int_equal(resume_and_add(8, 1), 0);
    assert_int_equal(resume_and_add(16, 0), 1);
}

static void an_empty_or_missing_file_is_begun(void **state)
{
    (void)state;
    assert_int_equal(resume_and_add(8, 0), 0);
    assert_int_equal(resume_and_add(16, 0), 1);
}

static void what_exists_is_not_overwritten(void **state)
{
    (void)state;
    struct journal j;
    struct trace t = {0};
    struct err err;
    begin(1);
    assert_int_equal(journal_open(&j, path, 0, NULL, &t, &err), STATUS_USAGE);
    unlink(path);
    append_text("my precious notes");
    assert_int_equal(journal_open(&j, path, 1, NULL, &t, &err), STATUS_INPUT);
    char text[32] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(fgets(text, sizeof text, f));
    fclose(f);
    assert_string_equal(text, "my precious notes");
    assert_int_equal(journal_open(&j, "/nonexistent/t.jsonl", 0, NULL, &t, &err), STATUS_FAILED);
}

static void two_writers_are_refused(void **state)
{
    (void)state;
    struct journal j;
    struct trace t = {0};
    begin(1);
    assert_int_equal(journal_open(&j, path, 1, NULL, &t, NULL), STATUS_OK);
    pid_t pid = fork();
    if (pid == 0) {
        struct journal other;
        struct trace none = {0};
        struct err err = {STATUS_OK, ""};
        enum status status = journal_open(&other, path, 1, NULL, &none, &err);
        _exit(status == STATUS_FAILED && strstr(err.msg, "is being written by") != NULL ? 0 : 1);
    }
    int wait_status;
    waitpid(pid, &wait_status, 0);
    assert_int_equal(wait_status, 0);
    journal_close(&j, NULL);
    trace_release(&t);
}

static void a_full_disk_leaves_no_half_line(void **state)
{
    (void)state;
    struct journal j;
    struct trace t = {0};
    struct err err = {STATUS_OK, ""};
    assert_int_equal(journal_open(&j, "/dev/full", 1, NULL, &t, &err), STATUS_INPUT);
    if (access("/dev/full", W_OK) != 0)
        skip();
    int out = dup(1), full = open("/dev/full", O_WRONLY);
    dup2(full, 1);
    enum status status = journal_open(&j, "-", 0, NULL, &t, &err);
    dup2(out, 1);
    close(out);
    close(full);
    assert_int_equal(status, STATUS_FAILED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_goes_on_where_it_stopped, fresh, gone),
        cmocka_unit_test_setup_teardown(a_torn_first_line_starts_anew, fresh, gone),
        cmocka_unit_test_setup_teardown(an_empty_or_missing_file_is_begun, fresh, gone),
        cmocka_unit_test_setup_teardown(what_exists_is_not_overwritten, fresh, gone),
        cmocka_unit_test_setup_teardown(two_writers_are_refused, fresh, gone),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_no_half_line, fresh, gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
