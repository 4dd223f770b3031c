/* nvidia-smi topo -m, p2pBandwidthLatencyTest, nvbandwidth, on small imitations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/collect.h"
#include "tests/near.h"

static const struct record *pick(const struct collect *c, enum record_what what,
                                 const char *placement, const char *method)
{
    for (size_t i = 0; i < c->records.n; i++) {
        const struct record *r = &c->records.v[i];
        if (r->what == what && strcmp(r->placement, placement) == 0 &&
            (method == NULL || strcmp(r->method, method) == 0))
            return r;
    }
    fail_msg("no %s record of %s by %s", record_what_name(what), placement,
             method ? method : "any");
    return NULL;
}

static void topology(void **state)
{
    (void)state;
    struct collect c;
    collect_text(
        &c, NULL,
        "$ nvidia-smi topo -m\n"
        "\t\033[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\033[0m\n"
        "GPU0\t X \tNV4\tSYS\tPIX\t0-7\t0\n"
        "GPU1\tNV4\t X \tNODE\tPHB\t0-7\t0\n"
        "GPU2\tSYS\tNODE\t X \n"
        "GPU3\tSYS\n"
        "\nLegend:\n  X    = Self\n  SYS  = Connection traversing PCIe\n  NV#  = bonded\n");
    assert_int_equal(c.status, STATUS_OK);
    assert_string_equal(c.im.importer->name, "nvidia-smi-topo");
    assert_int_equal(c.records.n, 6);
    assert_int_equal(c.im.rows, 3);
    assert_string_equal(pick(&c, WHAT_topology, "0>1", NULL)->note, "NV4");
    assert_near(pick(&c, WHAT_topology, "0>1", NULL)->value, 0, 0);
    assert_string_equal(pick(&c, WHAT_topology, "1>2", NULL)->note, "NODE");
    assert_near(pick(&c, WHAT_topology, "2>0", NULL)->value, 5, 0);
    assert_int_equal(strncmp(c.rejected, "6 the row of GPU3 is cut: 1 of 3", 32), 0);
    collect_release(&c);
}

#define CAN "Device=0 CAN Access Peer Device=1\nDevice=1 CAN Access Peer Device=0\n"
#define CANNOT "Device=0 CANNOT Access Peer Device=1\nDevice=1 CANNOT Access Peer Device=0\n"
#define UNI_OFF                                                                                    \
    "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 900.00  "   \
    "20.00\n     1  20.10 901.00\n"
#define UNI_ON                                                                                     \
    "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1 \n    " \
    " 0 900.00  50.00 \n     1  50.10 901.00 \n"
#define UNI_SAME                                                                                   \
    "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1 \n     0 900.00  "   \
    "20.05 \n     1  20.20 901.00 \n"
#define BI_ON                                                                                      \
    "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 900.00  "     \
    "98.00\n     1  98.00 901.00\n"
#define LAT_OFF                                                                                    \
    "P2P=Disabled Latency Matrix (us)\n   GPU     0      1 \n     0   1.00  14.00 \n     1  "      \
    "14.10   1.00 \n\n   CPU     0      1 \n     0   2.00   7.00 \n     1   7.00   2.00 \n"
#define LAT_ON                                                                                     \
    "P2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1 \n     0   1.00   0.40 \n " \
    "    1   0.41   1.00 \n\n   CPU     0      1 \n     0   2.00   1.00 \n     1   1.00   2.00 \n"
#define LAT_SAME                                                                                   \
    "P2P=Enabled Latency (P2P Writes) Matrix (us)\n   GPU     0      1 \n     0   1.00  13.40 \n " \
    "    1  14.41   1.00 \n"
#define MATRIX(x)                                                                                  \
    "P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     " x "\n     1\t     " x    \
    "     1\n"

static void p2p_matrices(void **state)
{
    (void)state;
    struct collect c;
    collect_text(&c, NULL, CAN MATRIX("1") UNI_OFF UNI_ON BI_ON LAT_OFF LAT_ON);
    assert_int_equal(c.status, STATUS_OK);
    assert_string_equal(c.im.importer->name, "p2pBandwidthLatencyTest");
    assert_string_equal(c.records.v[0].label, "t");
    assert_near(pick(&c, WHAT_bandwidth, "0>1", "p2p-disabled unidirectional")->value, 20, 0);
    const struct record *r = pick(&c, WHAT_bandwidth, "1>0", "p2p-enabled unidirectional");
    assert_near(r->value, 50.1, 1e-12);
    assert_string_equal(r->note, "");
    assert_int_equal(r->line, 14);
    assert_near(pick(&c, WHAT_bandwidth, "0>0", "p2p-enabled unidirectional")->value, 900, 0);
    assert_near(pick(&c, WHAT_bandwidth, "0>1", "p2p-enabled bidirectional")->value, 98, 0);
    assert_near(pick(&c, WHAT_p2p_write_latency, "0>1", "p2p-enabled")->value, 0.4, 1e-12);
    /* Neither the host's launch times nor a copy within a GPU is a latency of a link. */
    for (size_t i = 0; i < c.records.n; i++)
        if (c.records.v[i].what == WHAT_p2p_write_latency) {
            assert_string_not_equal(c.records.v[i].placement, "0>0");
            assert_true(c.records.v[i].value != 7.0);
        }
    assert_string_equal(c.warned, "");
    collect_release(&c);
}

/* By what the program says, by latency, by bandwidth: each alone shows that there is no P2P. */
static void enabled_but_without_p2p(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int no_p2p;
    } cases[] = {
        {CANNOT UNI_OFF UNI_SAME, 1},
        {MATRIX("0") UNI_SAME, 1},
        {UNI_OFF UNI_SAME LAT_OFF LAT_SAME, 1},
        {UNI_OFF UNI_SAME, 1},
        {UNI_OFF UNI_ON, 0},
        {UNI_SAME, 0},
        {UNI_OFF UNI_SAME LAT_OFF LAT_ON, 0},
        {CAN UNI_OFF UNI_SAME, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct collect c;
        collect_text(&c, NULL, cases[i].text);
        assert_int_equal(c.status, STATUS_OK);
        const struct record *r = pick(&c, WHAT_bandwidth, "0>1", "p2p-enabled unidirectional");
        if ((strncmp(r->note, "no P2P", 6) == 0) != cases[i].no_p2p)
            fail_msg("case %zu: note \"%s\"", i, r->note);
        assert_int_equal(c.warned[0] != '\0', cases[i].no_p2p);
        collect_release(&c);
    }
}

static void a_page_with_two_machines(void **state)
{
    (void)state;
    struct collect c;
    collect_text(&c, NULL, "> " UNI_ON "From another:\n```\n" UNI_ON "     ...\n");
    assert_int_equal(c.records.n, 8);
    assert_string_equal(c.records.v[0].label, "t");
    assert_string_equal(c.records.v[4].label, "t #2");
    collect_release(&c);
}

static void nvbandwidth_text(void **state)
{
    (void)state;
    struct collect c;
    collect_text(
        &c, NULL,
        "nvbandwidth Version: v0.8\nRunning host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> "
        "GPU(column) bandwidth (GB/s)\n"
        "           0         1\n 0     55.64     55.55\n\nSUM host_to_device_memcpy_ce 111.19\n\n"
        "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth "
        "(GB/s)\n"
        "           0         1\n 0       N/A     50.01\n 1     50.02       N/A\n\n"
        "Running device_to_device_memcpy_write_sm.\nmemcpy SM GPU(row) <- GPU(column) bandwidth "
        "(GB/s)\n"
        "           0         1\n 0      0.00     51.01\n 1     51.02      0.00\n\n"
        "Running device_to_device_latency_sm.\nDevice to Device Latency SM GPU(row) <-> "
        "GPU(column) (ns)\n"
        "           0         1\n 0       N/A    750.25\n 1    760.50       N/A\n\n"
        "Running all_to_host_memcpy_ce.\nmemcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n      "
        "     0         1\n 0     31.00     32.00\n\n"
        "Running device_to_device_bidirectional_memcpy_write_ce.\nmemcpy CE GPU(row) <-> "
        "GPU(column) Total bandwidth (GB/s)\n"
        "           0         1\n 0       N/A     -1.00\n 1     99.00       N/A\n");
    assert_int_equal(c.status, STATUS_OK);
    assert_string_equal(c.im.importer->name, "nvbandwidth");
    assert_near(pick(&c, WHAT_bandwidth, "host>1", "nvb ce")->value, 55.55, 1e-12);
    /* A read brings data from the column's GPU to the row's. */
    assert_near(pick(&c, WHAT_bandwidth, "1>0", "nvb read ce")->value, 50.01, 1e-12);
    assert_near(pick(&c, WHAT_bandwidth, "0>1", "nvb write sm")->value, 51.01, 1e-12);
    assert_near(pick(&c, WHAT_p2p_read_latency, "0>1", "nvb sm")->value, 0.75025, 1e-12);
    assert_near(pick(&c, WHAT_contention, "every>host:1", "nvb ce")->value, 32, 1e-12);
    assert_near(pick(&c, WHAT_bandwidth, "1>0", "nvb write ce bidirectional")->value, 99, 1e-12);
    assert_int_equal(strncmp(c.rejected, "35 column 1 is -1", 17), 0);
    collect_release(&c);
}

static void nvbandwidth_json(void **state)
{
    (void)state;
    struct collect c;
    collect_text(&c, NULL,
                 "{\"nvbandwidth\":{\"version\":\"v0.8\",\"testcases\":[\n"
                 "{\"name\":\"device_to_device_memcpy_read_ce\",\"status\":\"Waived\"},\n"
                 "{\"name\":\"device_to_host_memcpy_ce\",\"status\":\"Passed\",\"bandwidth_"
                 "description\":\"memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\",\n"
                 "\"bandwidth_matrix\":[[\"57.1\",\"57.2\"]]},\n"
                 "{\"name\":\"device_to_device_memcpy_write_ce\",\"status\":\"Passed\",\"bandwidth_"
                 "description\":\"memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\",\n"
                 "\"bandwidth_matrix\":[[\"N/A\",\"50.5\"],\n[\"x\",\"N/A\"]]}]}}\n");
    assert_int_equal(c.status, STATUS_OK);
    assert_int_equal(c.records.n, 3);
    assert_near(pick(&c, WHAT_bandwidth, "1>host", "nvb ce")->value, 57.2, 1e-12);
    assert_near(pick(&c, WHAT_bandwidth, "0>1", "nvb write ce")->value, 50.5, 1e-12);
    assert_int_equal(strncmp(c.rejected, "7 device_to_device_memcpy_write_ce, row 1, column 0", 50),
                     0);
    collect_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topology),
        cmocka_unit_test(p2p_matrices),
        cmocka_unit_test(enabled_but_without_p2p),
        cmocka_unit_test(a_page_with_two_machines),
        cmocka_unit_test(nvbandwidth_text),
        cmocka_unit_test(nvbandwidth_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
