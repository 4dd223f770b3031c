/* Fabrics from the words that tables have about a box, and from records of other tools. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/fabric_words.h"
#include "tests/near.h"

static void words_make_boxes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int gpus, sockets, nvlink, compute_capability;
        double pcie_gb_per_s, collapse_sources, search;
        const char *known;
    } row[] = {
        {"A800_2x4_PCIe", 8, 2, 0, 80, 26, 0, 0.1, "a800"},
        {"8xRTX PRO 6000 PCIe", 8, 2, 0, 120, 53, 0, 0.1, "rtxpro6000"},
        {"8x RTX PRO 6000 Turin NCCL with topo XML", 8, 2, 0, 120, 53, 0, 24, "graph"},
        {"4xV100 behind one PLX", 4, 1, 0, 70, 11.7, 0, 20 * 0.22, "plx"},
        {"Broadcom RTX PRO 6000 twoNUMA", 8, 2, 0, 120, 53, 2, 0.1, "pex890xx"},
        {"RTX PRO 6000, same NUMA node, 2 switches", 4, 1, 0, 120, 53, 0, 20, "2 of them"},
        {"8xB200 NVLink", 8, 2, 1, 100, 53, 0, 20, "NVLink"},
        {"H100 SXM", 4, 1, 1, 90, 53, 0, 20, "h100"},
        {"H100 PCIe", 4, 1, 0, 90, 53, 0, 20, "h100"},
    };
    struct fabric *f = malloc(sizeof *f);
    assert_non_null(f);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct fabric_guess g;
        struct err err = {STATUS_OK, ""};
        enum status status = fabric_from_words(f, row[i].text, row[i].gpus, &g, &err);
        if (status != STATUS_OK)
            print_error("%s: %s\n", row[i].text, err.msg);
        assert_int_equal(status, STATUS_OK);
        assert_int_equal(f->n_gpus, row[i].gpus);
        if (f->n_memories != row[i].sockets || strstr(g.known, row[i].known) == NULL)
            print_error("%s: %d sockets, known: %s, assumed: %s\n", row[i].text, f->n_memories,
                        g.known, g.assumed);
        assert_int_equal(f->n_memories, row[i].sockets);
        assert_non_null(strstr(g.known, row[i].known));
        assert_int_equal(f->nvlinked[0], row[i].nvlink);
        assert_int_equal(f->compute_capability, row[i].compute_capability);
        assert_near(f->param[FABRIC_pcie_gb_per_s].value, row[i].pcie_gb_per_s, 0.03);
        assert_near(f->param[FABRIC_collapse_sources].value, row[i].collapse_sources, 1e-12);
        assert_near(f->param[FABRIC_nccl_search_gb_per_s].value, row[i].search, 0.03);
        for (int p = 0; p < FABRIC_PARAM_COUNT; p++)
            assert_int_equal(f->param[p].from, FABRIC_ASSUMED);
    }
    static const char *const none[] = {"8xMI355X", "4xDGX Spark RoCE", "2 nodes of H100", "",
                                       "a box"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct fabric_guess g;
        struct err err;
        assert_int_equal(fabric_from_words(f, none[i], 8, &g, &err), STATUS_UNSUPPORTED);
    }
    free(f);
}

static void add(struct records *rs, enum record_what what, const char *method,
                const char *placement, const char *note, double value)
{
    struct record r;
    record_init(&r);
    r.what = what;
    snprintf(r.method, sizeof r.method, "%s", method);
    snprintf(r.placement, sizeof r.placement, "%s", placement);
    snprintf(r.note, sizeof r.note, "%s", note);
    r.value = value;
    assert_int_equal(records_add(rs, &r), 0);
}

static void pairs(struct records *rs, int gpus, const char *method, const char *note, double near,
                  double far)
{
    char placement[16];
    for (int a = 0; a < gpus; a++)
        for (int b = 0; b < gpus; b++)
            if (a != b) {
                snprintf(placement, sizeof placement, "%d>%d", a, b);
                add(rs, WHAT_bandwidth, method, placement, note,
                    a * 2 / gpus == b * 2 / gpus ? near : far);
            }
}

static enum status make(struct fabric *f, struct records *rs)
{
    struct err err = {STATUS_OK, ""};
    enum status status = fabric_from_records(f, rs, &err);
    records_release(rs);
    return status;
}

static void matrices_make_boxes(void **state)
{
    (void)state;
    struct fabric *f = malloc(sizeof *f);
    struct records rs = {0};
    assert_non_null(f);
    /* Two sockets show by what they cost; the generation by the bandwidth. */
    pairs(&rs, 4, "p2p-enabled unidirectional", "", 26.4, 19.8);
    pairs(&rs, 4, "p2p-enabled bidirectional", "", 50.2, 30);
    pairs(&rs, 4, "p2p-disabled unidirectional", "", 16, 16);
    assert_int_equal(make(f, &rs), STATUS_OK);
    assert_int_equal(f->n_gpus, 4);
    assert_int_equal(f->n_memories, 2);
    assert_true(f->peer_access);
    assert_int_equal(f->socket_of[0], f->socket_of[1]);
    assert_int_not_equal(f->socket_of[1], f->socket_of[2]);
    assert_near(f->param[FABRIC_pcie_gb_per_s].value, 26.4, 1e-12);
    assert_near(f->param[FABRIC_root_gb_per_s].value, 19.8, 1e-12);
    assert_true(f->param[FABRIC_host_load_gb_per_s].value < 30); /* assumed, but of generation 4 */
    /* Peer access that changes nothing. */
    pairs(&rs, 2, "p2p-enabled unidirectional", "no P2P: as without it", 11, 11);
    pairs(&rs, 2, "p2p-disabled unidirectional", "", 11, 11);
    assert_int_equal(make(f, &rs), STATUS_OK);
    assert_false(f->peer_access);
    assert_near(f->param[FABRIC_nccl_p2p].value, 0, 1e-12);
    /* More than PCIe can be is NVLink. */
    pairs(&rs, 8, "nvb write ce", "", 276, 277);
    assert_int_equal(make(f, &rs), STATUS_OK);
    assert_true(f->nvlinked[3]);
    assert_near(f->param[FABRIC_nvlink_gb_per_s].value, 277, 0.01);
    /* Allreduces alone make no fabric. */
    add(&rs, WHAT_allreduce, "graph", "", "", 5);
    assert_int_equal(make(f, &rs), STATUS_UNSUPPORTED);
    assert_int_equal(make(f, &rs), STATUS_UNSUPPORTED);
    free(f);
}

static void latencies_take_what_they_are(void **state)
{
    (void)state;
    struct fabric *f = malloc(sizeof *f);
    struct records rs = {0};
    assert_non_null(f);
    add(&rs, WHAT_p2p_write_latency, "ping-pong", "0>0", "", 0.25);
    add(&rs, WHAT_p2p_write_latency, "ping-pong", "0>host", "", 1.9);
    add(&rs, WHAT_p2p_write_latency, "ping-pong", "0>cpu", "", 1.1);         /* a side of it */
    add(&rs, WHAT_p2p_write_latency, "ping-pong", "host threads", "", 0.05); /* no GPU */
    add(&rs, WHAT_p2p_write_latency, "p2p-enabled", "0>1", "", 0.4);         /* a store's issue */
    add(&rs, WHAT_p2p_read_latency, "chase", "0>host", "", 1.2);
    add(&rs, WHAT_fence_latency, "stores", "0>host", "", 0.5);
    add(&rs, WHAT_fence_latency, "stores, fence", "0>host", "", 1.3);
    add(&rs, WHAT_node_gap, "empty", "0", "", 0.5);
    add(&rs, WHAT_bandwidth, "stores", "0>host", "", 53);
    add(&rs, WHAT_bandwidth, "stores and loads", "0>host", "", 64);
    for (size_t i = 0; i < rs.n; i++)
        rs.v[i].field[FIELD_threads] = rs.v[i].field[FIELD_blocks] = 1;
    assert_int_equal(make(f, &rs), STATUS_OK);
    static const struct {
        enum fabric_param p;
        double value;
    } known[] = {{FABRIC_local_write_us, 0.25},  {FABRIC_host_write_us, 1.9},
                 {FABRIC_host_read_us, 1.2},     {FABRIC_host_fence_us, 0.8},
                 {FABRIC_node_us, 0.5},          {FABRIC_host_store_gb_per_s, 53},
                 {FABRIC_host_both_gb_per_s, 64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_near(f->param[known[i].p].value, known[i].value, 1e-9);
        assert_int_equal(f->param[known[i].p].from, FABRIC_MEASURED);
    }
    assert_int_equal(f->param[FABRIC_peer_write_us].from, FABRIC_ASSUMED);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_make_boxes),
        cmocka_unit_test(matrices_make_boxes),
        cmocka_unit_test(latencies_take_what_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
