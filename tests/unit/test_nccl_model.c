/* NCCL's tuning model against values worked out by hand from its sources. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "model/nccl_model.h"
#include "tests/near.h"

/* 8 ranks over PCIe, 43,008 bytes; the model's microseconds for graphs as a search may find them.
 */
static void worked_values(void **state)
{
    (void)state;
    static const struct {
        int channels;
        double gb, ring_ll, ring_ll128, ring_simple, tree_ll, tree_simple;
    } row[] = {
        {2, 24, 23.7, 50.7, 89.8, 31.4, 67.7}, {2, 16, 25.3, 51.6, 90.6, 36.7, 69.3},
        {2, 12, 26.9, 52.4, 91.3, 42.0, 70.9}, {1, 12, 33.1, 55.8, 94.5, 63.1, 77.4},
        {2, 0.1, 773, 458, 464, 2558, 843},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct nccl_topology t = {8, row[i].channels, row[i].gb, 0, 0, 0, 120};
        assert_near(nccl_model_us(&t, NCCL_RING, NCCL_LL, 43008, 0), row[i].ring_ll, 0.03);
        assert_near(nccl_model_us(&t, NCCL_RING, NCCL_LL128, 43008, 1), row[i].ring_ll128, 0.03);
        assert_near(nccl_model_us(&t, NCCL_RING, NCCL_SIMPLE, 43008, 0), row[i].ring_simple, 0.03);
        assert_near(nccl_model_us(&t, NCCL_TREE, NCCL_LL, 43008, 0), row[i].tree_ll, 0.03);
        assert_near(nccl_model_us(&t, NCCL_TREE, NCCL_SIMPLE, 43008, 0), row[i].tree_simple, 0.03);
        assert_true(nccl_model_us(&t, NCCL_RING, NCCL_LL128, 43008, 0) < 0); /* off over PCIe */
        assert_true(nccl_model_us(&t, NCCL_NVLS, NCCL_SIMPLE, 43008, 0) < 0);
    }
}

static void the_choice(void **state)
{
    (void)state;
    struct nccl_topology t = {8, 2, 24, 4, 0, 0, 120};
    enum nccl_algo a;
    enum nccl_proto p;
    assert_near(nccl_model_choose(&t, 43008, &a, &p), 23.7, 0.03);
    assert_true(a == NCCL_RING && p == NCCL_LL);
    nccl_model_choose(&t, 1 << 26, &a, &p);
    assert_true(p == NCCL_SIMPLE);
    /* A failed search: 32 KiB goes to Simple, 4 KiB still to LL. */
    t.search_gb_per_s = 0.1;
    nccl_model_choose(&t, 32768, &a, &p);
    assert_true(a == NCCL_RING && p == NCCL_SIMPLE);
    nccl_model_choose(&t, 4096, &a, &p);
    assert_true(a == NCCL_RING && p == NCCL_LL);
}

static void channels_and_threads(void **state)
{
    (void)state;
    const struct nccl_topology t = {8, 8, 20, 16, 0, 0, 120};
    int nc, nt;
    nccl_model_channels(&t, NCCL_RING, NCCL_LL, 43008, &nc, &nt);
    assert_int_equal(nc, 1);
    assert_int_equal(nt, 512);
    nccl_model_channels(&t, NCCL_RING, NCCL_LL128, 43008, &nc, &nt);
    assert_int_equal(nc, 8);
    assert_int_equal(nt, 640);
    nccl_model_channels(&t, NCCL_RING, NCCL_SIMPLE, 43008, &nc, &nt);
    assert_int_equal(nc, 1);
    assert_int_equal(nt, 512 + 32);
    nccl_model_channels(&t, NCCL_TREE, NCCL_LL, 43008, &nc, &nt);
    assert_int_equal(nc, 10);
    assert_int_equal(nt, 640);
    nccl_model_channels(&t, NCCL_RING, NCCL_LL, 8, &nc, &nt);
    assert_int_equal(nc, 1);
    assert_true(nt >= 96);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_values),
        cmocka_unit_test(the_choice),
        cmocka_unit_test(channels_and_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
