/* What every importer must do, whatever its format: the table of importers is walked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/collect.h"

static void names_and_callbacks(void **state)
{
    (void)state;
    for (int i = 0; importers[i] != NULL; i++) {
        assert_non_null(importers[i]->name);
        assert_non_null(importers[i]->summary);
        assert_non_null(importers[i]->sniff);
        assert_non_null(importers[i]->parse);
        assert_ptr_equal(importer_find(importers[i]->name), importers[i]);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(importers[i]->name, importers[k]->name);
    }
    assert_null(importer_find("sonnet"));
}

/* Nothing of these is a measurement: an input error with the file's name, and no record. */
static void rubbish_is_refused(void **state)
{
    (void)state;
    static char zeros[5000];
    static const struct {
        const char *bytes;
        size_t len;
    } rubbish[] = {
        {"", 0},
        {"\n\n\n", 3},
        {zeros, sizeof zeros},
        {"{", 1},
        {"[[[[[[[[[", 9},
        {"{}", 2},
        {"[]", 2},
        {"null", 4},
        {"a,b\n1,2\n", 8},
        {"Once upon a time there was a log.\n", 34},
        {"\xff\xfe\x00\x01", 4},
    };
    for (int i = 0; importers[i] != NULL; i++)
        for (size_t k = 0; k < sizeof rubbish / sizeof rubbish[0]; k++) {
            struct collect c;
            collect_bytes(&c, importers[i], "rubbish", rubbish[k].bytes, rubbish[k].len);
            if (c.status != STATUS_INPUT || strncmp(c.err.msg, "rubbish", 7) != 0 ||
                c.records.n != 0)
                fail_msg("%s of rubbish %zu: status %d, %zu records, \"%s\"", importers[i]->name, k,
                         c.status, c.records.n, c.err.msg);
            collect_release(&c);
        }
}

static void nothing_is_recognised_in_rubbish(void **state)
{
    (void)state;
    static char zeros[5000];
    for (int i = 0; importers[i] != NULL; i++) {
        assert_int_equal(importers[i]->sniff("", 0), 0);
        assert_int_equal(importers[i]->sniff(zeros, sizeof zeros), 0);
        assert_int_equal(importers[i]->sniff("Once upon a time\n", 17), 0);
    }
}

static int refuse(struct import_sink *sink, const struct record *r)
{
    (void)sink;
    (void)r;
    return -1;
}

/* A sink that wants no more is obeyed: one record, then the end. */
static void a_sink_can_stop(void **state)
{
    (void)state;
    const char *text =
        "size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
        "1048576 262144 float sum -1 100.0 10.49 18.35 0 101.0 10.38 18.17 0\n"
        "1048576 262144 float sum -1 100.0 10.49 18.35 0 101.0 10.38 18.17 0\n";
    struct collect c = {.sink = {collect_record, collect_reject, collect_warn, NULL}};
    struct source in;
    struct err err = {STATUS_OK, ""};
    struct import im;
    c.sink.record = refuse;
    assert_int_equal(source_open_memory(&in, "t", text, strlen(text), &err), STATUS_OK);
    assert_int_equal(import_source(&im, &in, NULL, NULL, &c.sink, &err), STATUS_FAILED);
    assert_int_equal(im.records, 1);
    source_close(&in);
}

static void lines_of_a_source(void **state)
{
    (void)state;
    struct source s;
    struct source_line l;
    struct err err;
    assert_int_equal(source_open_memory(&s, "t", "a\r\n\nlast", 8, &err), STATUS_OK);
    const char *bytes;
    assert_int_equal(source_peek(&s, &bytes), 8);
    assert_int_equal(source_next(&s, &l), 1);
    assert_string_equal(l.text, "a");
    assert_int_equal(source_next(&s, &l), 1);
    assert_int_equal(l.len, 0);
    assert_int_equal(source_next(&s, &l), 1);
    assert_string_equal(l.text, "last");
    assert_int_equal(l.number, 3);
    assert_int_equal(source_next(&s, &l), 0);
    source_close(&s);
    /* A line beyond the limit is cut, and the next one is whole. */
    size_t len = SOURCE_MAX_LINE + 100;
    char *big = malloc(len + 6);
    assert_non_null(big);
    memset(big, 'x', len);
    memcpy(big + len, "\nnext\n", 6);
    assert_int_equal(source_open_memory(&s, "t", big, len + 6, &err), STATUS_OK);
    assert_int_equal(source_next(&s, &l), 1);
    assert_int_equal(l.cut, 1);
    assert_int_equal(source_next(&s, &l), 1);
    assert_string_equal(l.text, "next");
    assert_int_equal(l.number, 2);
    source_close(&s);
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_callbacks),
        cmocka_unit_test(rubbish_is_refused),
        cmocka_unit_test(nothing_is_recognised_in_rubbish),
        cmocka_unit_test(a_sink_can_stop),
        cmocka_unit_test(lines_of_a_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
