/* The cases of the GPU probes and the names of the cuda backend, on boxes that are only described:
 * what would be measured on one GPU, on eight, and where peers do not reach each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/cuda_session.h"
#include "measure/probe.h"

static struct backend_host box(int gpus, int peers)
{
    struct backend_host h = {.n_gpus = gpus, .max_ranks = MAX_RANKS};
    for (int i = 0; i < gpus; i++)
        for (int j = 0; j < gpus; j++)
            h.peer_write[i][j] = h.peer_read[i][j] = (unsigned char)(peers || i == j);
    return h;
}

/* All cases of the cuda probes; the caller frees. Checks each on the way. */
static struct record *cases(const struct backend_host *h, int *n)
{
    struct record *all = NULL;
    *n = 0;
    for (int k = 0; probes[k] != NULL; k++) {
        if (strcmp(probes[k]->backend, "cuda") != 0)
            continue;
        int own = 0;
        for (;; own++) {
            struct probe_case c = {.index = own};
            record_init(&c.record);
            if (!probes[k]->case_at(own, h, &c))
                break;
            assert_true(c.record.what < WHAT_COUNT);
            assert_true(c.record.placement[0] != '\0');
            assert_true(c.record.method[0] != '\0');
            assert_true(c.record.size_bytes >= 0);
            assert_true(own < 20000);
            all = realloc(all, (size_t)(*n + 1) * sizeof *all);
            assert_non_null(all);
            all[(*n)++] = c.record;
        }
        assert_true(own > 0);
    }
    return all;
}

static int count(const struct record *r, int n, const char *placement, const char *method)
{
    int found = 0;
    for (int i = 0; i < n; i++)
        found += strcmp(r[i].placement, placement) == 0 &&
                 (method == NULL || strcmp(r[i].method, method) == 0);
    return found;
}

static int same_double(double a, double b)
{
    return a == b || (a != a && b != b);
}

/* A record is known again by what it says (--resume): no two cases may say the same. */
static void assert_all_different(const struct record *r, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (r[i].what == r[j].what && r[i].size_bytes == r[j].size_bytes &&
                r[i].ranks == r[j].ranks && strcmp(r[i].placement, r[j].placement) == 0 &&
                strcmp(r[i].method, r[j].method) == 0 &&
                same_double(r[i].field[FIELD_blocks], r[j].field[FIELD_blocks]) &&
                same_double(r[i].field[FIELD_threads], r[j].field[FIELD_threads]) &&
                same_double(r[i].field[FIELD_flows], r[j].field[FIELD_flows]))
                fail_msg("cases %d and %d are the same: %s, %s", i, j, r[i].placement, r[i].method);
}

static void test_one_gpu(void **state)
{
    (void)state;
    struct backend_host h = box(1, 1);
    int n;
    struct record *r = cases(&h, &n);
    assert_all_different(r, n);
    assert_int_equal(count(r, n, "0>host", "ping-pong"), 1);
    assert_int_equal(count(r, n, "0>cpu", "ping-pong"), 1);
    assert_int_equal(count(r, n, "0>0", "chase"), 1);
    assert_int_equal(count(r, n, "0>host", "copy out"), 1);
    assert_int_equal(count(r, n, "0>host", "copy out and in"), 1);
    assert_int_equal(count(r, n, "8 on 0>host", "stores"), 1);
    assert_int_equal(count(r, n, "ring", NULL), 0);
    free(r);
}

static void test_eight_gpus(void **state)
{
    (void)state;
    struct backend_host h = box(8, 1);
    int n;
    struct record *r = cases(&h, &n);
    assert_all_different(r, n);
    for (int kind = 0; kind < 2; kind++) {
        const char *method = kind ? "loads" : "stores";
        assert_int_equal(count(r, n, "ring", method), 1);
        assert_int_equal(count(r, n, "all-to-all", method), 1);
        assert_int_equal(count(r, n, "same destination", method), 1);
        assert_int_equal(count(r, n, "pairs i>i+4", method), 1);
        assert_int_equal(count(r, n, "two destinations 0>2 1>7", method), 1);
        assert_int_equal(count(r, n, "pair 3<>6", method), 1);
        assert_int_equal(count(r, n, "4 on 0>1", method), 1);
    }
    for (int i = 0; i < n; i++)
        if (strcmp(r[i].placement, "all-to-all") == 0)
            assert_true(r[i].field[FIELD_flows] == 56);
    assert_int_equal(count(r, n, "2>5", "ping-pong"), 1);
    assert_int_equal(count(r, n, "5>2", "chase"), 1);
    free(r);
}

static void test_without_peers(void **state)
{
    (void)state;
    struct backend_host h = box(4, 0);
    int n, host_only = 0;
    struct record *r = cases(&h, &n);
    assert_all_different(r, n);
    assert_int_equal(count(r, n, "0>1", NULL), 0);
    assert_int_equal(count(r, n, "0>host>1", "ping-pong"), 1);
    assert_int_equal(count(r, n, "ring", NULL), 0);
    free(r);
    const struct backend *cuda = backend_find("cuda");
    struct backend_impl impl;
    for (int i = 0; memset(&impl, 0, sizeof impl), cuda->impl(i, &h, &impl); i++) {
        assert_int_equal(strncmp(impl.name, "host/", 5), 0);
        host_only++;
    }
    assert_true(host_only >= 5);
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int ok, host, islands;
    } rows[] = {
        {"custom/oneshot", 1, 0, 2},
        {"host/twoshot", 1, 1, 2},
        {"custom/hier", 1, 0, 2},
        {"custom/hier:islands=4", 1, 0, 4},
        {"host/hier:islands=1", 1, 1, 1},
        {"custom/hier:islands=0", 0, 0, 0},
        {"custom/hier:islands=17", 0, 0, 0},
        {"custom/hier:islands=", 0, 0, 0},
        {"custom/hier:island=2", 0, 0, 0},
        {"custom/oneshot:islands=2", 0, 0, 0},
        {"custom/oneshot-", 0, 0, 0},
        {"custom/", 0, 0, 0},
        {"host", 0, 0, 0},
        {"nccl/oneshot", 0, 0, 0},
        {"custom/oneshotx", 0, 0, 0},
        {"custom/onesho", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int kernel, host, islands;
        int ok = cuda_impl_parse(rows[i].name, &kernel, &host, &islands) == 0;
        if (ok != rows[i].ok)
            fail_msg("%s", rows[i].name);
        if (!ok)
            continue;
        assert_int_equal(host, rows[i].host);
        assert_int_equal(islands, rows[i].islands);
    }
}

/* What impl() lists, named() knows, and open() will be able to parse. */
static void test_listed_names_parse(void **state)
{
    (void)state;
    struct backend_host h = box(2, 1);
    const struct backend *cuda = backend_find("cuda");
    struct backend_impl impl, again;
    int n = 0;
    for (; memset(&impl, 0, sizeof impl), cuda->impl(n, &h, &impl); n++) {
        int kernel, host, islands;
        assert_int_equal(cuda_impl_parse(impl.name, &kernel, &host, &islands), 0);
        assert_int_equal(cuda->named(impl.name, &h, &again), 1);
        assert_string_equal(again.name, impl.name);
        assert_true(impl.methods & 1u << METHOD_graph);
    }
    assert_true(n >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_gpu),
        cmocka_unit_test(test_eight_gpus),
        cmocka_unit_test(test_without_peers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_listed_names_parse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
