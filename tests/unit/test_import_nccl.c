/* nccl-tests: every layout and every damage that docs/importing.md lists, on small imitations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/collect.h"
#include "tests/near.h"

#define HEAD2                                                                                      \
    "#                                                              out-of-place                "  \
    "       in-place\n"                                                                            \
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     "    \
    "time   algbw   busbw #wrong\n"                                                                \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "    \
    "(us)  (GB/s)  (GB/s)\n"
#define ROW1                                                                                       \
    "     8192          2048     float     sum      -1    20.48    0.40    0.70      0    20.00  " \
    "  0.41    0.72      0\n"
#define ROW2                                                                                       \
    "  1048576        262144     float     sum      -1    100.0   10.49   18.35      0    101.0  " \
    " 10.38   18.17      0\n"

struct want {
    const char *name, *text;
    int rows, records;
    enum record_what what;
    int ranks;
    double first_us, last_us;
    const char *rejected; /* beginning of the rejected lines; "" for none */
    const char *warned;
};

static const struct want wants[] = {
    {"the layout since 2022", HEAD2 ROW1 ROW2, 2, 4, WHAT_allreduce, 8, 20.48, 101, "", ""},
    {"no # before the header",
     "    size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n" ROW1 ROW2,
     2, 4, WHAT_allreduce, 8, 20.48, 101, "", ""},
    {"the header's last # eaten",
     "size count type redop root time algbw busbw wrong time algbw busbw wrong\n" ROW1 ROW2, 2, 4,
     WHAT_allreduce, 8, 20.48, 101, "", ""},
    {"a launcher's prefix that sticks",
     "[1,0]<stdout>:" HEAD2 "[1,0]<stdout>:     8192          2048     float     sum      -1    "
     "20.48    0.40    0.70      0    20.00    0.41    0.72      0\n"
     "[1,0]<stdout>:134217728      33554432     float     sum      -1   2000.0   67.11  117.44     "
     " 0   2000.0   67.11  117.44      0\n",
     2, 4, WHAT_allreduce, 8, 20.48, 2000, "", ""},
    {"srun's prefix, and two prefixes",
     "0: " HEAD2 "0: " ROW1 "(head, rank=0, pid=77) [1,0]<stdout>: " ROW2, 2, 4, WHAT_allreduce, 8,
     20.48, 101, "", ""},
    {"quotes, HTML and terminal colours",
     "> #   size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n> " ROW1
     "<span class=line>\033[4m1048576\033[0m 262144 float sum -1 100.0 10.49 18.35 0 101.0 10.38 "
     "18.17 0</span>\n",
     2, 4, WHAT_allreduce, 8, 20.48, 101, "", ""},
    {"milliseconds, rows behind #, res N/A (2017)",
     "# bytes N type op time algbw busbw res time algbw busbw res\n"
     "# 1000000 250000 float sum 0.100 10.00 17.50 N/A 0.125 8.00 14.00 N/A\n",
     1, 2, WHAT_allreduce, 8, 100, 125, "", ""},
    {"error instead of #wrong, no root (2019)",
     "# size count type redop time algbw busbw error time algbw busbw error\n"
     "  1048576        262144   float     sum    100.0   10.49   18.35  1e-07    101.0   10.38   "
     "18.17  0e+00\n"
     "  1048576        262144   float     sum    100.0   10.49   18.35  3e+02    101.0   10.38   "
     "18.17  0e+00\n",
     2, 4, WHAT_allreduce, 8, 100, 101, "", ""},
    {"no redop, no root, a rank's own part left out (2019)",
     "# size count type time algbw busbw error time algbw busbw error\n"
     "  1048576        131072   float    47.38   11.06   11.06  0e+00    46.84   11.19   11.19  "
     "0e+00\n",
     1, 2, WHAT_all_gather, 2, 47.38, 46.84, "", ""},
    {"rows without any header",
     "     8192          2048     float     sum      -1    20.48    0.40    0.70      0    20.00   "
     " 0.41    0.72      0\n" ROW2,
     2, 4, WHAT_allreduce, 8, 20.48, 101, "", "1 rows without a header"},
    {"a column more (2024), a timestamp, per-iteration columns (2026)",
     "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw "
     "busbw #wrong i_min i_max i_p99 i_cv% timestamp\n"
     "1048576 262144 float sum -1 100.0 10.49 18.35 0 99.1 120.5 119.0 1.25 101.0 10.38 18.17 0 98 "
     "130 129 2.5 2026-06-09 10:11:12\n",
     1, 2, WHAT_allreduce, 8, 100, 101, "", ""},
    {"the host's time (-C) gives way to size/algbw, or the row goes",
     "# size count type redop root cputime algbw busbw #wrong cputime algbw busbw #wrong\n"
     "1048576 262144 float sum -1 7.50 10.49 18.35 0 7.60 10.38 18.17 0\n"
     "1024 256 float sum -1 7.50 0.04 0.07 0 7.60 0.04 0.07 0\n",
     1, 2, WHAT_allreduce, 8, 99.96, 101.02, "3 the time is the host's", ""},
    {"the last row cut",
     HEAD2 ROW1 "  1048576        262144     float     sum      -1    100.0   10.49   18.35      0 "
                "   101.0   10.38   18.17\n",
     1, 2, WHAT_allreduce, 0, 20.48, 20, "5 the row is cut: 12 of 13 columns", ""},
    {"the last row cut to its size", HEAD2 ROW1 ROW2 "  2097152        5242\n", 2, 4,
     WHAT_allreduce, 8, 20.48, 101, "6 the row is cut: 2 of 13", ""},
    {"a row split by other output",
     HEAD2 ROW2
     "  2097152        524288     float     sum      -1[0] hostA NCCL INFO Channel 00/02 : 0 1\n"
     "hostA:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 8\n"
     "    200.0   10.49   18.35      0    201.0   10.43   18.26      0\n" ROW2,
     2, 4, WHAT_allreduce, 8, 100, 101, "5 a number was expected, not \"-1[0]\"", ""},
    {"impossible: a negative time",
     HEAD2 ROW2 "1024 256 float sum -1 -1 0.04 0.07 0 7.60 0.04 0.07 0\n", 1, 2, WHAT_allreduce, 8,
     100, 101, "5 out-of-place time of -1 us", ""},
    {"impossible: a time of zero",
     HEAD2 ROW2 "1024 256 float sum -1 7.60 0.13 0.24 0 0.00 0.00 0.00 0\n", 1, 2, WHAT_allreduce,
     8, 100, 101, "5 in-place time of 0 us", ""},
    {"impossible: not a number",
     HEAD2 ROW2 "1024 256 float sum -1 nan 0.13 0.24 0 7.6 0.13 0.24 0\n", 1, 2, WHAT_allreduce, 8,
     100, 101, "5 the out-of-place side holds a number that is not finite", ""},
    {"impossible: time against size/algbw",
     HEAD2 ROW2 "1048576 262144 float sum -1 150.0 10.49 18.35 0 101.0 10.38 18.17 0\n", 1, 2,
     WHAT_allreduce, 8, 100, 101, "5 out-of-place time of 150 us disagrees with size/algbw = 99.9",
     ""},
    {"impossible: size against count",
     HEAD2 ROW2 "104857 262144 float sum -1 10.0 10.49 18.35 0 10.0 10.49 18.35 0\n", 1, 2,
     WHAT_allreduce, 8, 100, 101, "5 size 104857 is no multiple of count", ""},
    {"impossible: busbw above twice algbw",
     HEAD2 ROW2 "1048576 262144 float sum -1 100.0 10.49 48.35 0 100.0 10.49 18.35 0\n", 1, 2,
     WHAT_allreduce, 8, 100, 101, "5 out-of-place busbw of 48.35", ""},
    {"rows left out by hand, lines of a page",
     HEAD2 ROW1 "   ...\n\n# Out of bounds values : 0 OK\n" ROW2, 2, 4, WHAT_allreduce, 8, 20.48,
     101, "", ""},
    {"nothing communicated: one rank, overflowing columns",
     HEAD2 "134217728 33554432 float sum -1 175.6 764.34 0.00 0 0.08 1777718.25 0.00 0\n"
           "134217728 33554432 float sum -1 176.33 761.18 0.00 0 0.10 1e+06 0.00 0\n",
     2, 4, WHAT_allreduce, 1, 175.6, 0.1, "", ""},
    {"a time printed with one digit",
     HEAD2 "17179869184 4294967296 float sum -1 1e+06 17.18 30.06 0 1e+06 17.18 30.06 0\n" ROW2, 2,
     4, WHAT_allreduce, 8, 1e6, 101, "", ""},
    {"only one side in the header",
     "# in-place\n# size count type redop root time algbw busbw #wrong\n"
     "1048576 262144 float sum -1 100.0 10.49 18.35 0\n",
     1, 1, WHAT_allreduce, 8, 100, 100, "", ""},
    {"the out-of-place side left blank",
     HEAD2 "     1048576        262144     float     sum      -1                                   "
           " 101.0   10.38   18.17      0\n",
     1, 1, WHAT_allreduce, 8, 101, 101, "", ""},
    {"the same with per-iteration columns",
     "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% time algbw "
     "busbw "
     "#wrong i_min i_max i_p99 i_cv%\n"
     "1048576 262144 float sum -1                                                               "
     "101.0 10.38 18.17 0 98 130 129 2.5\n",
     1, 1, WHAT_allreduce, 8, 101, 101, "", ""},
    {"wrong results, more than six digits",
     HEAD2 "1048576 262144 float sum -1 100.0 10.49 18.35 1.04858e+06 101.0 10.38 18.17 0\n", 1, 2,
     WHAT_allreduce, 8, 100, 101, "", ""},
    {"alltoall by its unchecked in-place side, size 0 among the rows",
     HEAD2 "0 0 uint8 none -1 0.15 0.00 0.00 0 0.13 0.00 0.00 N/A\n"
           "1048576 131072 uint8 none -1 18.09 57.96 50.71 0 16.81 62.39 54.59 N/A\n",
     2, 4, WHAT_alltoall, 8, 0.15, 16.81, "", ""},
    {"a fp8 sendrecv that prints sum",
     HEAD2 "1048576 1048576 f8e4m3 sum -1 100.0 10.49 10.49 0 101.0 10.38 10.38 N/A\n", 1, 2,
     WHAT_sendrecv, 0, 100, 101, "", ""},
    {"broadcast and reduce by their root",
     HEAD2 "1048576 262144 float none 0 100.0 10.49 10.49 0 101.0 10.38 10.38 0\n", 1, 2,
     WHAT_broadcast, 0, 100, 101, "", ""},
    {"reduce_scatter by its count",
     HEAD2 "1048576 32768 float sum -1 100.0 10.49 9.18 0 101.0 10.38 9.08 0\n", 1, 2,
     WHAT_reduce_scatter, 8, 100, 101, "", ""},
    {"a rank list that lost lines",
     "#  Rank  0 Group  0 Pid  1 on a device  0 [0x01] Example\n#  Rank  1 Group  0 Pid  1 on a "
     "device  1 [0x02] Example\n" HEAD2 ROW2,
     1, 2, WHAT_allreduce, 8, 100, 101, "",
     "6 the device list shows 2 ranks, busbw/algbw 8: taken as 8"},
    {"a rank list and rows of another run",
     "#  Rank 15 Group  0 Pid  1 on a device  0 [0x01] Example\n" HEAD2 ROW2, 1, 2, WHAT_allreduce,
     16, 100, 101, "", "5 the device list shows 16 ranks, busbw/algbw 8: taken as 16"},
    {"bandwidth that the GPU cannot have",
     "#  Rank  7 Group  0 Pid  1 on a device  0 [0x01] NVIDIA A100-SXM4-80GB\n" HEAD2
     "1073741824 268435456 float sum -1 1809.0 593.55 1038.7 0 1809.0 593.55 1038.7 0\n",
     1, 2, WHAT_allreduce, 8, 1809, 1809, "", "5 busbw of 1038.7 GB/s is beyond"},
};

static void every_layout_and_damage(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++) {
        const struct want *w = &wants[i];
        struct collect c;
        collect_text(&c, NULL, w->text);
        if (c.status != STATUS_OK || c.im.rows != w->rows || (int)c.records.n != w->records ||
            strncmp(c.rejected, w->rejected, strlen(w->rejected)) != 0 ||
            (w->rejected[0] == '\0' && c.rejected[0] != '\0') ||
            strncmp(c.warned, w->warned, strlen(w->warned)) != 0 ||
            (w->warned[0] == '\0' && c.warned[0] != '\0'))
            fail_msg("%s: status %d (%s), rows %d, records %zu\nrejected: %s\nwarned: %s", w->name,
                     c.status, c.err.msg, (int)c.im.rows, c.records.n, c.rejected, c.warned);
        const struct record *first = &c.records.v[0], *last = &c.records.v[c.records.n - 1];
        if (first->what != w->what || last->ranks != w->ranks)
            fail_msg("%s: %s of %d ranks", w->name, record_what_name(first->what), last->ranks);
        print_message("%s\n", w->name);
        assert_near(first->value, w->first_us, 1e-4);
        assert_near(last->value, w->last_us, 1e-4);
        assert_string_equal(c.im.importer->name, "nccl-tests");
        collect_release(&c);
    }
}

static void marks_on_records(void **state)
{
    (void)state;
    struct collect c;
    collect_text(&c, NULL,
                 HEAD2
                 "1048576 262144 float sum -1 100.0 10.49 18.35 7 101.0 10.38 18.17 N/A\n" ROW2
                 "0 0 float sum -1 5.0 0.00 0.00 0 5.0 0.00 0.00 0\n");
    assert_int_equal(c.records.n, 6);
    assert_int_equal(c.im.rows_wrong, 1);
    assert_int_equal(c.records.v[0].verified, RECORD_WRONG);
    assert_int_equal(c.records.v[0].wrong, 7);
    assert_false(record_usable(&c.records.v[0]));
    assert_int_equal(c.records.v[1].verified, RECORD_UNVERIFIED);
    assert_int_equal(c.records.v[1].in_place, 1);
    assert_int_equal(c.records.v[1].line, 4);
    assert_int_equal(c.records.v[2].verified, RECORD_VERIFIED);
    assert_true(record_usable(&c.records.v[2]));
    assert_string_equal(c.records.v[2].dtype, "fp32");
    assert_string_equal(c.records.v[4].state, "local");
    assert_false(record_usable(&c.records.v[4]));
    assert_int_equal(c.records.v[4].size_bytes, 0);
    collect_release(&c);
    /* One rank communicates nothing. */
    collect_text(&c, NULL,
                 HEAD2 "1048576 262144 float sum -1 100.0 10.49 0.00 0 101.0 10.38 0.00 0\n");
    assert_string_equal(c.records.v[0].state, "local");
    collect_release(&c);
    /* Quantiles of the newest layout. */
    collect_text(&c, NULL,
                 "# size count type redop root time algbw busbw #wrong i_min i_max i_p99 i_cv% "
                 "time algbw busbw #wrong i_min i_max i_p99 i_cv%\n"
                 "1048576 262144 float sum -1 100.0 10.49 18.35 0 99.1 120.5 119.0 1.25 101.0 "
                 "10.38 18.17 0 98 130 129 2.5\n");
    assert_near(c.records.v[0].min, 99.1, 1e-12);
    assert_near(c.records.v[0].p99, 119, 1e-12);
    assert_near(c.records.v[1].max, 130, 1e-12);
    collect_release(&c);
}

static void several_runs_in_one_file(void **state)
{
    (void)state;
    static const char text[] =
        "=== DEFAULT rep 1 ===\n# Collective test starting: all_reduce_perf_mpi\n" HEAD2 ROW2
        "=== DEFAULT rep 2 ===\n# Collective test starting: all_reduce_perf_mpi\n" HEAD2 ROW2
        "=== SIMPLE rep 1 ===\nNCCL_ALGO=Ring NCCL_PROTO=Simple ./all_reduce_perf -g 8\n"
        "# nThread 1 nGpus 8 minBytes 8 maxBytes 1 agg iters: 1 validation: 1 graph: 20\n" HEAD2
            ROW2 "$ ./build/broadcast_perf -g 8\n" HEAD2
        "1048576 262144 float none 0 100.0 10.49 10.49 0 101.0 10.38 10.38 0\n"
        "$ NCCL_MIN_NCHANNELS=2 NCCL_MAX_NCHANNELS=2 NCCL_PROTO=LL all_reduce_perf\n"
        "host:1:2 [0] NCCL INFO NCCL_BUFFSIZE set by environment to 131072.\n" HEAD2 ROW2;
    struct collect c;
    collect_text(&c, NULL, text);
    assert_int_equal(c.status, STATUS_OK);
    assert_int_equal(c.records.n, 10);
    assert_string_equal(c.records.v[0].label, c.records.v[2].label);
    assert_string_equal(c.records.v[0].impl, "nccl/auto");
    assert_string_equal(c.records.v[0].method, "nccl-tests");
    assert_string_not_equal(c.records.v[0].label, c.records.v[4].label);
    assert_string_equal(c.records.v[4].impl, "nccl/ring/simple");
    assert_string_equal(c.records.v[4].method, "nccl-tests/graph");
    assert_int_equal(c.records.v[6].what, WHAT_broadcast);
    assert_string_equal(c.records.v[6].impl, "nccl/auto");
    assert_string_equal(c.records.v[8].impl, "nccl/auto:proto=ll,channels=2,buffsize=131072");
    assert_string_equal(c.im.collective, "allreduce,broadcast");
    collect_release(&c);
}

static void two_runs_without_mpi(void **state)
{
    (void)state;
    struct collect c;
    collect_text(&c, NULL,
                 "#  Rank  0 Pid  1 on a device  0 [0x01] Example\n#  Rank  0 Pid  2 on b device  "
                 "0 [0x01] Example\n" HEAD2 HEAD2
                 "1048576 262144 float sum -1 3.00 349.53 0.00 0 0.10 10485.7 0.00 0\n"
                 "1048576 262144 float sum -1 3.00 349.53 0.00 0 0.10 10485.7 0.00 0\n");
    assert_int_equal(c.status, STATUS_OK);
    assert_int_equal(c.im.rows, 2);
    assert_int_equal(c.im.ranks, 1);
    collect_release(&c);
}

static void no_measurement_is_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *text, *msg;
    } bad[] = {
        {HEAD2, "t.txt:2: no measurement: no row of nccl-tests follows"},
        {HEAD2 "boxA: Test NCCL failure common.cu:392 'unhandled cuda error'\n",
         "t.txt:2: no measurement: no row follows; line 4: boxA: Test NCCL failure"},
        {HEAD2 "1048576 262144 float sum -1 -1 10.49 18.35 0 101.0 10.38 18.17 0\n",
         "t.txt: no measurement: all 1 rows were rejected"},
        {"{\"version\":2,\"args\":[\"all_reduce_perf\"],\"nccl_version\":1,\"results\":[]}",
         "t.txt:1: no measurement: \"results\" is empty"},
        {"{\"version\":2,\"args\":[\"all_reduce_perf\"],\"nccl_version\":1,\n\"results\":[{"
         "\"size\":",
         "t.txt:2: not valid JSON"},
        {"hello\nworld\n", "t.txt: no format that import knows"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct collect c;
        collect_text(&c, NULL, bad[i].text);
        if (c.status != STATUS_INPUT || strncmp(c.err.msg, bad[i].msg, strlen(bad[i].msg)) != 0)
            fail_msg("%s: %d %s", bad[i].msg, c.status, c.err.msg);
        collect_release(&c);
    }
}

static void json_of_the_tool(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\":2,\"start_time\":\"2026-01-01 "
        "00:00:00\",\"args\":[\".\\/build\\/all_reduce_perf\",\"-g\",\"4\"],\n"
        "\"env\":[\"HOME=\\/"
        "root\",\"NCCL_ALGO=Ring\",\"NCCL_PROTO=LL128\"],\"nccl_version\":22907,\n"
        "\"config\":{\"nthreads\":1,\"ngpus\":4,\"graph\":0,\"aggregated_iterations\":1,\n"
        "\"devices\":[{\"rank\":0,\"device_info\":\"Example GPU 9\"}]},\"results\":[\n"
        "{\"size\":1048576,\"count\":262144,\"type\":\"float\",\"redop\":\"sum\",\"root\":\"    "
        "-1\",\n"
        "\"out_of_place\":{\"time\":100.000000,\"alg_bw\":10.485760,\"bus_bw\":15.728640,"
        "\"nwrong\":0.000000},\n"
        "\"in_place\":{\"time\":50.000000,\"alg_bw\":20.971520,\"bus_bw\":31.457280,\"nwrong\":"
        "null}},\n"
        "{\"size\":1048576,\"count\":262144,\"type\":\"float\",\"redop\":\"sum\",\"root\":\"    "
        "-1\",\"out_of_place\":null,\n"
        "\"in_place\":{\"time\":50.000000,\"alg_bw\":20.971520,\"bus_bw\":31.457280,\"nwrong\":3},"
        "\n"
        "\"in_place_per_iter\":{\"min_us\":49,\"max_us\":60,\"p99_us\":59}},\n"
        "{\"size\":1048576,\"count\":262144,\"type\":\"float\",\"redop\":\"sum\",\"root\":\"    "
        "-1\",\"out_of_place\":null,\n"
        "\"in_place\":{\"time\":-50.000000,\"alg_bw\":20.971520,\"bus_bw\":31.457280,\"nwrong\":0}}"
        "]}\n";
    struct collect c;
    collect_text(&c, NULL, text);
    assert_int_equal(c.status, STATUS_OK);
    assert_int_equal(c.im.rows, 2);
    assert_int_equal(c.im.rows_wrong, 1);
    assert_int_equal(c.records.n, 3);
    assert_int_equal(c.records.v[0].ranks, 4);
    assert_string_equal(c.records.v[0].impl, "nccl/ring/ll128");
    assert_int_equal(c.records.v[0].line, 5);
    assert_int_equal(c.records.v[0].verified, RECORD_VERIFIED);
    assert_int_equal(c.records.v[1].verified, RECORD_UNVERIFIED);
    assert_near(c.records.v[1].value, 50, 0);
    assert_near(c.records.v[2].p99, 59, 0);
    assert_string_equal(c.rejected,
                        "11 result 3: in-place time of -50 us: a time is greater than 0\n");
    collect_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_and_damage),    cmocka_unit_test(marks_on_records),
        cmocka_unit_test(several_runs_in_one_file),   cmocka_unit_test(two_runs_without_mpi),
        cmocka_unit_test(no_measurement_is_an_error), cmocka_unit_test(json_of_the_tool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
