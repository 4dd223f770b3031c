#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "measure/oracle.h"
#include "tests/near.h"

static void conversions_round_to_nearest_even(void **state)
{
    (void)state;
    static const struct {
        enum dtype d;
        float in, out;
    } cases[] = {
        {DTYPE_bf16, 1.0f, 1.0f},
        {DTYPE_bf16, 1.00390625f, 1.0f},      /* 1 + 2^-8: a tie, to even */
        {DTYPE_bf16, 1.01171875f, 1.015625f}, /* 1 + 3 * 2^-8: a tie, to even */
        {DTYPE_bf16, -3.0e38f, -3.004055e38f},
        {DTYPE_fp16, 65504.0f, 65504.0f},
        {DTYPE_fp16, 65520.0f, INFINITY},
        {DTYPE_fp16, 0x1p-24f, 0x1p-24f},     /* the smallest subnormal */
        {DTYPE_fp16, 0x1p-25f, 0.0f},         /* a tie, to even */
        {DTYPE_fp16, -0x1.8p-24f, -0x1p-23f}, /* a tie, to even */
        {DTYPE_fp16, 0x1.ffep-15f, 0x1p-14f}, /* subnormal rounds up to normal */
        {DTYPE_fp16, 1.00048828125f, 1.0f},   /* 1 + 2^-11: a tie, to even */
        {DTYPE_fp32, 0.1f, 0.1f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char buf[4];
        dtype_store(cases[i].d, buf, 0, cases[i].in);
        float got = dtype_load(cases[i].d, buf, 0);
        if (isinf(cases[i].out))
            assert_true(isinf(got));
        else
            assert_near((double)got, (double)cases[i].out, 1e-4);
    }
}

/* Every fp16 number survives the round trip. */
static void every_half_survives(void **state)
{
    (void)state;
    for (uint32_t u = 0; u < 0x10000; u++) {
        uint16_t h = (uint16_t)u, back;
        float f = dtype_load(DTYPE_fp16, &h, 0);
        if (isnan(f))
            continue;
        dtype_store(DTYPE_fp16, &back, 0, f);
        assert_int_equal(back, h);
    }
}

static void sum(const struct oracle *o, size_t n, int downwards, void *out)
{
    char in[4 * 64];
    float acc[64] = {0};
    for (int k = 0; k < o->ranks; k++) {
        oracle_fill(o, downwards ? o->ranks - 1 - k : k, n, in);
        for (size_t i = 0; i < n; i++) {
            acc[i] = k == 0 ? dtype_load(o->dtype, in, i) : acc[i] + dtype_load(o->dtype, in, i);
            if (o->kind == ORACLE_EXACT) { /* a ring rounds at every hop */
                dtype_store(o->dtype, out, i, acc[i]);
                acc[i] = dtype_load(o->dtype, out, i);
            }
        }
    }
    for (size_t i = 0; i < n; i++)
        dtype_store(o->dtype, out, i, acc[i]);
}

static void right_sums_pass_and_wrong_ones_are_counted(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (int d = 0; d < DTYPE_COUNT; d++)
            for (int ranks = 2; ranks <= MAX_RANKS; ranks++) {
                struct oracle o = {(enum oracle_kind)kind, (enum dtype)d, ranks,
                                   7u + (unsigned)ranks};
                char out[4 * 64];
                sum(&o, 64, 0, out);
                assert_int_equal(oracle_wrong(&o, 64, out), 0);
                if (kind == ORACLE_EXACT) {
                    sum(&o, 64, 1, out);
                    assert_int_equal(oracle_wrong(&o, 64, out), 0);
                }
                dtype_store(o.dtype, out, 5, dtype_load(o.dtype, out, 5) + 64.0f);
                dtype_store(o.dtype, out, 63, NAN);
                assert_int_equal(oracle_wrong(&o, 64, out), 2);
                memset(out, 0, sizeof out);
                assert_true(oracle_wrong(&o, 64, out) > 32); /* an output never written shows */
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions_round_to_nearest_even),
        cmocka_unit_test(every_half_survives),
        cmocka_unit_test(right_sums_pass_and_wrong_ones_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
