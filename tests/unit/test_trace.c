#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/near.h"
#include "traces/trace.h"

static struct record sample(void)
{
    struct record r;
    record_init(&r);
    r.what = WHAT_allreduce;
    strcpy(r.impl, "nccl/ring/ll:channels=2");
    strcpy(r.label, "box \"A\"\n");
    r.ranks = 8;
    r.size_bytes = 0;
    r.value = 23.456789012345;
    r.p99 = 30;
    r.count = 20;
    r.verified = RECORD_VERIFIED;
    r.field[FIELD_skew_us] = 0;
    return r;
}

static enum status read_text(struct trace *t, const char *text, struct err *err)
{
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    enum status status = trace_read(t, f, "t", err);
    fclose(f);
    return status;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    char buf[4096] = {0};
    FILE *f = fmemopen(buf, sizeof buf, "w");
    struct record r = sample(), d;
    record_init(&d);
    d.ranks = 8;
    strcpy(d.label, r.label);
    assert_int_equal(trace_write_header(f, NULL), 0);
    assert_int_equal(trace_write_record(f, &r, NULL), 0);
    assert_int_equal(trace_write_defaults(f, &d), 0);
    assert_int_equal(trace_write_record(f, &r, &d), 0);
    fclose(f);
    assert_true(trace_sniff(buf, strlen(buf)));
    struct trace t = {0};
    struct err err;
    assert_int_equal(read_text(&t, buf, &err), STATUS_OK);
    assert_int_equal(t.records.n, 2);
    assert_int_equal(t.torn, 0);
    for (size_t i = 0; i < 2; i++) {
        const struct record *g = &t.records.v[i];
        assert_string_equal(g->impl, r.impl);
        assert_string_equal(g->label, r.label);
        assert_int_equal(g->ranks, 8);
        assert_int_equal(g->size_bytes, 0);
        assert_near(g->value, r.value, 1e-15);
        assert_near(g->p99, 30, 0);
        assert_true(isnan(g->p90));
        assert_near(g->field[FIELD_skew_us], 0, 0);
        assert_int_equal(g->verified, RECORD_VERIFIED);
    }
    trace_release(&t);
}

static void a_torn_last_line_is_dropped(void **state)
{
    (void)state;
    struct trace t = {0};
    struct err err;
    assert_int_equal(read_text(&t,
                               "{\"updraft_trace\":1}\n"
                               "{\"what\":\"allreduce\",\"latency_us\":1}\n{\"what\":\"allre",
                               &err),
                     STATUS_OK);
    assert_int_equal(t.records.n, 1);
    assert_int_equal(t.torn, 1);
    trace_release(&t);
}

static void bad_lines_name_file_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *msg;
    } bad[] = {
        {"", "t: the file is empty"},
        {"{}\n", "t:1: the first line"},
        {"{\"updraft_trace\":2}\n", "t:1: trace version 2"},
        {"{\"updraft_trace\":1}\nnonsense\n", "t:2: one JSON object"},
        {"{\"updraft_trace\":1}\n{\"what\":\"x\"}\n", "t:2: key \"what\""},
        {"{\"updraft_trace\":1}\n{\"what\":\"allreduce\"}\n", "t:2: key \"latency_us\": missing"},
        {"{\"updraft_trace\":1}\n{\"what\":\"allreduce\",\"latency_us\":-1}\n",
         "t:2: key \"latency_us\""},
        {"{\"updraft_trace\":1}\n{\"what\":\"allreduce\",\"latency_us\":1,\"rank\":2}\n",
         "t:2: key \"rank\": unknown key"},
        {"{\"updraft_trace\":1}\n{\"what\":\"allreduce\",\"latency_us\":1,\"ranks\":2.5}\n",
         "t:2: key \"ranks\": a whole number"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct trace t = {0};
        struct err err = {STATUS_OK, ""};
        assert_int_equal(read_text(&t, bad[i].text[0] ? bad[i].text : " ", &err), STATUS_INPUT);
        assert_true(strncmp(err.msg, bad[i].msg, strlen(bad[i].msg)) == 0);
        trace_release(&t);
    }
}

static void own_keys_are_ignored(void **state)
{
    (void)state;
    struct trace t = {0};
    struct err err;
    assert_int_equal(read_text(&t,
                               "{\"updraft_trace\":1,\"x_a\":2}\n"
                               "{\"what\":\"allreduce\",\"latency_us\":1,\"x_mine\":[1,2]}\n",
                               &err),
                     STATUS_OK);
    assert_int_equal(t.records.n, 1);
    trace_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_torn_last_line_is_dropped),
        cmocka_unit_test(bad_lines_name_file_and_line),
        cmocka_unit_test(own_keys_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
