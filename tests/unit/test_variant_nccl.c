#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "measure/variant_nccl.h"

static const char *value_of(const struct nccl_variant *v, const char *name)
{
    for (int i = 0; i < v->n_env; i++)
        if (strcmp(v->env[i].name, name) == 0)
            return v->env[i].value;
    return "";
}

static void every_row_parses_and_is_unique(void **state)
{
    (void)state;
    const char *name, *other;
    int quick, quicks = 0;
    for (int i = 0; (name = nccl_variant_name(i, &quick)) != NULL; i++) {
        struct nccl_variant v;
        char why[200];
        assert_int_equal(nccl_variant_parse(name, &v, why, sizeof why), 0);
        quicks += quick;
        for (int k = 0; k < i; k++) {
            int q;
            other = nccl_variant_name(k, &q);
            assert_string_not_equal(name, other);
        }
    }
    assert_true(quicks > 0);
    assert_null(nccl_variant_name(-1, &quick));
}

static void names_mean_variables(void **state)
{
    (void)state;
    struct nccl_variant v;
    char why[200];
    assert_int_equal(nccl_variant_parse("nccl/auto", &v, why, sizeof why), 0);
    assert_int_equal(v.n_env, 0);
    assert_int_equal(nccl_variant_parse("nccl/ring/ll:channels=2,buffsize=131072,p2p_level=SYS", &v,
                                        why, sizeof why),
                     0);
    assert_string_equal(value_of(&v, "NCCL_ALGO"), "Ring");
    assert_string_equal(value_of(&v, "NCCL_PROTO"), "LL");
    assert_string_equal(value_of(&v, "NCCL_MIN_NCHANNELS"), "2");
    assert_string_equal(value_of(&v, "NCCL_MAX_NCHANNELS"), "2");
    assert_string_equal(value_of(&v, "NCCL_BUFFSIZE"), "131072");
    assert_string_equal(value_of(&v, "NCCL_P2P_LEVEL"), "SYS");
    assert_int_equal(v.registered, 0);
    assert_int_equal(nccl_variant_parse("nccl/auto:registered=1", &v, why, sizeof why), 0);
    assert_int_equal(v.registered, 1);
    assert_int_equal(v.n_env, 0);
    assert_int_equal(nccl_variant_parse("nccl/nvls/simple", &v, why, sizeof why), 0);
    assert_int_equal(v.nvls, 1);
}

static void nonsense_is_refused_with_a_reason(void **state)
{
    (void)state;
    static const char *const bad[] = {"custom/oneshot",
                                      "nccl/",
                                      "nccl/star",
                                      "nccl/ring/",
                                      "nccl/ring/fast",
                                      "nccl/auto:",
                                      "nccl/auto:channels",
                                      "nccl/auto:channels=",
                                      "nccl/auto:speed=1",
                                      "nccl/auto:channels=2,",
                                      "nccl/auto:registered=2",
                                      "nccl/auto:p2p_level=SYS;rm",
                                      "nccl/ring/ll/simple"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct nccl_variant v;
        char why[200] = "";
        assert_int_equal(nccl_variant_parse(bad[i], &v, why, sizeof why), -1);
        assert_true(strlen(why) > 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_parses_and_is_unique),
        cmocka_unit_test(names_mean_variables),
        cmocka_unit_test(nonsense_is_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
