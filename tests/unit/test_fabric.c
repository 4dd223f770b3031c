/* Fabrics, max-min rates and synthesized costs where the answer is known by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/maxmin.h"
#include "model/synth.h"
#include "tests/near.h"

/* Bertsekas and Gallager's textbook case: a long flow through two links, one short one on each. */
static void maxmin_rates(void **state)
{
    (void)state;
    static const int start[] = {0, 2, 3, 4, 5}, resource[] = {0, 1, 0, 1, 1};
    static const double weight[] = {1, 1, 1, 1, 2}, capacity[] = {10, 12};
    double load[2], active[2], rate[4];
    int binding[4];
    struct maxmin m = {3, 2, 0, start, resource, weight, capacity, load, active, rate, binding};
    maxmin_solve(&m);
    assert_near(rate[0], 5, 1e-12);
    assert_near(rate[1], 5, 1e-12);
    assert_near(rate[2], 7, 1e-12);
    assert_int_equal(binding[0], 0);
    assert_int_equal(binding[2], 1);
    m.n_flows = 4; /* one more on link 1, of weight 2: that link now fills first, at 3 */
    maxmin_solve(&m);
    assert_near(rate[0], 3, 1e-12);
    assert_near(rate[3], 3, 1e-12);
    assert_near(rate[1], 7, 1e-12);
    m.levels = 1; /* the slowest only */
    maxmin_solve(&m);
    assert_near(rate[0], 3, 1e-12);
    assert_int_equal(binding[0], 1);
    assert_int_equal(binding[1], -1);
}

static struct fabric *preset(const char *id, int gpus)
{
    struct fabric *f = malloc(sizeof *f);
    struct err err;
    assert_non_null(f);
    assert_int_equal(fabric_preset(f, id, gpus, &err), STATUS_OK);
    return f;
}

/* No two presets are confused, every one routes, every algorithm that fits prices on it. */
static void presets_price_everything(void **state)
{
    (void)state;
    struct synth *s = synth_new();
    for (int i = 0; i < fabric_preset_count; i++) {
        struct fabric *f = preset(fabric_presets[i].id, 0);
        struct synth_name impl[SYNTH_MAX_IMPLS];
        int n = synth_impls(f, f->n_gpus, impl, SYNTH_MAX_IMPLS);
        assert_true(n >= 5);
        for (int k = 0; k < n; k++) {
            double before = 0;
            for (double bytes = 8; bytes <= 1 << 24; bytes *= 8) {
                struct synth_query q = {impl[k].name, f->n_gpus, bytes, NULL};
                struct synth_estimate e;
                struct err err;
                assert_int_equal(synth_price(s, f, &q, &e, &err), STATUS_OK);
                assert_true(e.us > 0 && e.low_us < e.us && e.high_us > e.us);
                assert_near(e.fixed_us + e.transfer_us, e.us, 1e-9);
                double sum = 0;
                for (int p = 0; p < FABRIC_PARAM_COUNT; p++)
                    sum += e.share_us[p];
                assert_near(sum, e.us, 1e-9);
                assert_true(e.us >= before * (1 - 1e-9) || strncmp(impl[k].name, "nccl", 4) == 0);
                before = e.us;
            }
        }
        free(f);
    }
    synth_free(s);
}

static double transfer_us(struct synth *s, const struct fabric *f, const char *impl, int ranks,
                          const int *placement)
{
    struct synth_query q = {impl, ranks, 1e6, placement};
    struct synth_estimate e;
    struct err err = {STATUS_OK, ""};
    enum status status = synth_price(s, f, &q, &e, &err);
    if (status != STATUS_OK)
        print_error("%s: %s\n", impl, err.msg);
    assert_int_equal(status, STATUS_OK);
    return e.transfer_us;
}

static void set(struct fabric *f, enum fabric_param p, double v)
{
    fabric_measured(f, p, v, v, v);
}

/* Transfers of 1 MB by hand: the bottleneck's bytes over its bandwidth. */
static void transfers_by_hand(void **state)
{
    (void)state;
    struct synth *s = synth_new();
    struct fabric *f = preset("switch-4-2s", 0);
    set(f, FABRIC_fanout_loss, 0);
    set(f, FABRIC_duplex_ratio, 2);
    set(f, FABRIC_uplink_duplex_ratio, 2);
    set(f, FABRIC_read_ratio, 1);
    set(f, FABRIC_pcie_gb_per_s, 50);
    set(f, FABRIC_uplink_gb_per_s, 40);
    set(f, FABRIC_root_gb_per_s, 1000);
    set(f, FABRIC_socket_gb_per_s, 1000);
    /* Two GPUs share an uplink and send 6 messages each through it. */
    assert_near(transfer_us(s, f, "custom/oneshot", 8, NULL), 12 * 1000 / 40.0, 1e-9);
    /* Two GPUs of one switch: only their own links. */
    assert_near(transfer_us(s, f, "custom/oneshot", 2, NULL), 1000 / 50.0, 1e-9);
    static const int apart[] = {0, 4};
    assert_near(transfer_us(s, f, "custom/oneshot", 2, apart), 1000 / 40.0, 1e-9);
    assert_near(transfer_us(s, f, "custom/twoshot", 8, NULL), 2 * 12 / 8.0 * 1000 / 40, 1e-9);
    /* The ring crosses each uplink once, whatever its payload. */
    assert_near(transfer_us(s, f, "custom/ring", 8, NULL), 14 / 8.0 * 1000 / 40, 1e-9);
    assert_near(transfer_us(s, f, "custom/ring:payload=ll", 8, NULL), 28 / 8.0 * 1000 / 40, 1e-9);
    /* Both directions of an uplink share 1.5 times one direction. */
    set(f, FABRIC_uplink_duplex_ratio, 1.5);
    assert_near(transfer_us(s, f, "custom/oneshot", 8, NULL), 24 * 1000 / 60.0, 1e-9);
    set(f, FABRIC_duplex_ratio, 2);
    set(f, FABRIC_uplink_duplex_ratio, 2);
    /* Loads at half the bandwidth of stores. */
    set(f, FABRIC_read_ratio, 0.5);
    assert_near(transfer_us(s, f, "custom/oneshot-pull", 8, NULL), 12 * 1000 / 20.0, 1e-9);
    assert_near(transfer_us(s, f, "custom/oneshot", 8, NULL), 12 * 1000 / 40.0, 1e-9);
    /* Stores of two GPUs through one uplink to several roots collapse; loads do not, and the ring,
     * where one GPU of each switch sends through the uplink, does not. */
    set(f, FABRIC_collapse_sources, 2);
    set(f, FABRIC_collapse_gb_per_s, 2.5);
    assert_near(transfer_us(s, f, "custom/oneshot", 8, NULL), 12 * 1000 / 2.5, 1e-9);
    assert_near(transfer_us(s, f, "custom/oneshot-pull", 8, NULL), 12 * 1000 / 20.0, 1e-9);
    assert_near(transfer_us(s, f, "custom/ring", 8, NULL), 14 / 8.0 * 1000 / 40, 1e-9);
    set(f, FABRIC_collapse_sources, 3);
    assert_near(transfer_us(s, f, "custom/oneshot", 8, NULL), 12 * 1000 / 40.0, 1e-9);
    /* All to all: seven destinations at once leave 1 / (1 + 6 loss) of a port. */
    set(f, FABRIC_uplink_gb_per_s, 1000);
    set(f, FABRIC_fanout_loss, 0.5);
    assert_near(transfer_us(s, f, "custom/oneshot", 8, NULL), 7 * 1000 / (50 / 4.0), 1e-9);
    assert_near(transfer_us(s, f, "custom/staged", 8, NULL), 14 / 8.0 * 1000 / 50.0, 1e-9);
    free(f);
    synth_free(s);
}

/* Host staging: everyone stores once and loads N - 1 messages, both through its own link. */
static void host_staging_by_hand(void **state)
{
    (void)state;
    struct synth *s = synth_new();
    struct fabric *f = preset("epyc-1s", 4);
    set(f, FABRIC_host_store_gb_per_s, 50);
    set(f, FABRIC_host_load_gb_per_s, 40);
    set(f, FABRIC_host_both_gb_per_s, 1000);
    set(f, FABRIC_pcie_gb_per_s, 1000);
    set(f, FABRIC_root_gb_per_s, 1000);
    set(f, FABRIC_dram_gb_per_s, 1e6);
    assert_near(transfer_us(s, f, "host/oneshot", 4, NULL), 3 * 1000 / 40.0, 1e-9);
    /* Stores, marks put back and loads, all through one link. */
    set(f, FABRIC_host_both_gb_per_s, 50);
    assert_near(transfer_us(s, f, "host/oneshot", 4, NULL), 5 * 1000 / 50.0, 1e-9);
    assert_near(transfer_us(s, f, "host/oneshot:payload=ll", 4, NULL), 8 * 1000 / 50.0, 1e-9);
    /* All four ranks on one GPU: its link carries all of it. */
    static const int one[] = {2, 2, 2, 2};
    assert_near(transfer_us(s, f, "host/oneshot", 4, one), 20 * 1000 / 50.0, 1e-9);
    /* On one GPU without the host: its own memory, stored, loaded and marked again. */
    set(f, FABRIC_local_store_gb_per_s, 600);
    set(f, FABRIC_local_load_gb_per_s, 1200);
    assert_near(transfer_us(s, f, "custom/oneshot", 4, one), 12 * 2.5 * 1000 / 600.0, 1e-9);
    free(f);
    synth_free(s);
}

/* Latencies by hand: who is waited for, how often. */
static void latencies_by_hand(void **state)
{
    (void)state;
    struct fabric *f = preset("epyc-2s", 0);
    static const struct {
        enum fabric_param p;
        double us;
    } known[] = {
        {FABRIC_node_us, 1},          {FABRIC_work_us, 0.5},     {FABRIC_kernel_us, 0.25},
        {FABRIC_local_read_us, 0.25}, {FABRIC_peer_write_us, 2}, {FABRIC_peer_read_us, 4},
        {FABRIC_peer_fence_us, 8},    {FABRIC_poll_us, 16},      {FABRIC_peer_us, 0},
        {FABRIC_peer_load_us, 0},     {FABRIC_root_hop_us, 32},  {FABRIC_socket_hop_us, 64}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        set(f, known[i].p, known[i].us);
    struct synth_query q = {"custom/oneshot", 8, 1, NULL};
    struct synth_estimate e;
    struct err err;
    const double kernel = 1 + 0.75 + 0.25, way = 2 + 32 + 64 + 32;
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_OK);
    assert_near(e.fixed_us, kernel + way + 16, 1e-9);
    q.impl = "custom/twoshot";
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_OK);
    assert_near(e.fixed_us, kernel + 2 * (way + 16), 1e-9);
    q.impl = "custom/oneshot-pull:end=none";
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_OK);
    assert_near(e.fixed_us, kernel + 8 + way + 16 + 4 + 2 * 128, 1e-9);
    q.impl = "custom/staged";
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_OK);
    assert_near(e.fixed_us, kernel + 14 * (way + 16), 1e-9);
    q.impl = "custom/ring";
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_OK);
    /* Round the ring, two of the eight ways cross the sockets. */
    assert_near(e.fixed_us, kernel + 14 * (2 + 2 * 32 + 64 * 2 / 8.0 + 16), 1e-9);
    free(f);
}

static void what_cannot_be_priced(void **state)
{
    (void)state;
    struct fabric *f = preset("no-p2p", 0);
    struct synth_estimate e;
    struct err err;
    struct synth_query q = {"custom/twoshot", 8, 1024, NULL};
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "host/"));
    q.impl = "host/twoshot";
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_OK);
    static const char *const wrong[] = {
        "custom/",
        "custom/twoshots",
        "twoshot",
        "nccl/ring",
        "nccl/ring/l",
        "custom/twoshot:payload",
        "custom/twoshot:payload=",
        "custom/oneshot-pull:payload=ll",
        "nccl/auto:channels=0",
        "",
        "host/chain",
        "nccl/auto:channels=1x",
        "custom/hier:islands=0",
        "nccl/auto:islands=2",
        "custom/oneshot:end=maybe",
        "custom/oneshot:foo=1",
        "custom/oneshot:",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        q.impl = wrong[i];
        assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_USAGE);
        assert_false(synth_knows(wrong[i]));
    }
    q.impl = "nccl/auto:channels=2,buffsize=131072";
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_OK);
    assert_true(synth_knows("nccl/ring/ll:channels=2"));
    q.ranks = 1;
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_UNSUPPORTED);
    q.ranks = 65;
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_UNSUPPORTED);
    q.ranks = 2;
    q.bytes = NAN;
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_UNSUPPORTED);
    static const int nowhere[] = {0, 99};
    q = (struct synth_query){"host/twoshot", 2, 1024, nowhere};
    assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_UNSUPPORTED);
    free(f);
}

static void bad_graphs_are_refused(void **state)
{
    (void)state;
    struct fabric *f = malloc(sizeof *f);
    struct err err;
    assert_non_null(f);
    assert_int_equal(fabric_preset(f, "nothing", 0, &err), STATUS_USAGE);
    assert_non_null(strstr(err.msg, "epyc-1s"));
    static const struct fabric_shape wrong[] = {{.gpus = 0},
                                                {.gpus = 65},
                                                {.gpus = 8, .sockets = 9},
                                                {.gpus = 4, .switches = 8},
                                                {.gpus = 4, .switches = -1},
                                                {.gpus = 4, .pcie_generation = 9}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(fabric_build(f, "box", &wrong[i], &err), STATUS_INPUT);
    static const struct fabric_shape largest = {.gpus = 64, .sockets = 8, .switches = 32};
    assert_int_equal(fabric_build(f, "box", &largest, &err), STATUS_OK);
    fabric_init(f, "two islands");
    int a = fabric_add_node(f, FABRIC_GPU, "a");
    assert_int_equal(fabric_add_node(f, FABRIC_GPU, "b"), 1);
    assert_int_equal(fabric_route(f, &err), STATUS_INPUT); /* no way */
    assert_int_equal(fabric_add_link(f, a, 7, FABRIC_LINK_pcie, 0), -1);
    assert_true(fabric_add_link(f, a, 1, FABRIC_LINK_nvlink, 0) >= 0);
    assert_int_equal(fabric_route(f, &err), STATUS_OK);
    fabric_measured(f, FABRIC_node_us, 2, 3, 4);
    assert_int_equal(fabric_route(f, &err), STATUS_INPUT);
    assert_non_null(strstr(err.msg, "node_us"));
    free(f);
}

/* A synthesized curve follows the prices it is made of, and says what it is. */
static void a_curve_follows_its_prices(void **state)
{
    (void)state;
    struct fabric *f = preset("switch-4-2s", 0);
    struct cost *c = malloc(sizeof *c);
    struct err err;
    assert_non_null(c);
    static const char *const impl[] = {"custom/oneshot", "custom/twoshot", "host/twoshot"};
    for (size_t i = 0; i < sizeof impl / sizeof *impl; i++) {
        assert_int_equal(synth_cost(f, impl[i], 8, NULL, 0, 0, c, &err), STATUS_OK);
        assert_int_equal(c->source, COST_SYNTHESIZED);
        assert_int_equal(cost_source_at(c, 43008), COST_SYNTHESIZED);
        for (double bytes = 11; bytes < 6e7; bytes *= 3.1) {
            struct synth_query q = {impl[i], 8, bytes, NULL};
            struct synth_estimate e;
            assert_int_equal(synth_price(NULL, f, &q, &e, &err), STATUS_OK);
            assert_near(cost_latency_us(c, bytes), e.us, 0.01);
        }
        double lo, hi;
        cost_ci95(c, 43008, &lo, &hi);
        assert_true(lo < cost_latency_us(c, 43008) && hi > cost_latency_us(c, 43008));
    }
    assert_int_equal(synth_cost(f, "custom/oneshot", 8, NULL, 100, 100, c, &err),
                     STATUS_UNSUPPORTED);
    free(c);
    free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maxmin_rates),           cmocka_unit_test(presets_price_everything),
        cmocka_unit_test(transfers_by_hand),      cmocka_unit_test(host_staging_by_hand),
        cmocka_unit_test(latencies_by_hand),      cmocka_unit_test(what_cannot_be_priced),
        cmocka_unit_test(bad_graphs_are_refused), cmocka_unit_test(a_curve_follows_its_prices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
