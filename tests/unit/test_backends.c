/* Conformance: what every row of backends.def and probes.def must keep. Backends whose hardware is
 * missing must say so; the others are taken through a session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/session.h"
#include "tests/near.h"

enum { TIMEOUT_MS = 60000 };

static void rows_are_complete_and_unique(void **state)
{
    (void)state;
    for (int i = 0; backends[i] != NULL; i++) {
        const struct backend *b = backends[i];
        assert_non_null(b->summary);
        assert_true(b->scout != NULL && b->impl != NULL && b->open != NULL && b->verify != NULL &&
                    b->time != NULL && b->close != NULL);
        assert_ptr_equal(backend_find(b->id), b);
        b->close(NULL);
    }
    for (int i = 0; probes[i] != NULL; i++) {
        const struct probe *p = probes[i];
        assert_non_null(p->summary);
        assert_true(p->case_at != NULL && p->begin != NULL && p->run != NULL && p->end != NULL);
        assert_ptr_equal(probe_find(p->id), p);
        assert_non_null(backend_find(p->backend));
        p->end(NULL);
    }
    assert_null(backend_find("no such"));
    assert_null(probe_find("no such"));
}

static int scouted(const struct backend *b, struct backend_host *host)
{
    struct err err = {STATUS_OK, ""};
    memset(host, 0, sizeof *host);
    enum status status = scout_backend(b, 0, NULL, TIMEOUT_MS, NULL, host, &err);
    if (status == STATUS_OK)
        return 1;
    if (status != STATUS_MISSING || strlen(err.msg) < 40)
        print_error("%s: status %d, %s\n", b->id, status, err.msg);
    assert_int_equal(status, STATUS_MISSING);
    assert_true(strlen(err.msg) >= 40); /* it says what to do */
    return 0;
}

static void unknown_options_are_refused(void **state)
{
    (void)state;
    static const struct backend_option nonsense = {"no_such_option", "1"};
    for (int i = 0; backends[i] != NULL; i++) {
        struct backend_host host;
        struct err err = {STATUS_OK, ""};
        if (!scouted(backends[i], &host))
            continue;
        assert_int_equal(scout_backend(backends[i], 1, &nonsense, TIMEOUT_MS, NULL, &host, &err),
                         STATUS_USAGE);
        assert_non_null(strstr(err.msg, "no_such_option"));
    }
}

static void impl_rows_make_sense(void **state)
{
    (void)state;
    for (int i = 0; backends[i] != NULL; i++) {
        struct backend_host host;
        struct backend_impl a, b;
        if (!scouted(backends[i], &host))
            continue;
        assert_true(host.max_ranks >= 2 && host.max_ranks <= MAX_RANKS);
        assert_true(host.label[0] != '\0' && host.version[0] != '\0');
        for (int k = 0; memset(&a, 0, sizeof a), backends[i]->impl(k, &host, &a); k++) {
            assert_non_null(strchr(a.name, '/'));
            assert_true(a.min_ranks >= 2 && a.max_ranks <= host.max_ranks);
            assert_true(a.dtypes != 0 && a.methods != 0);
            for (int m = 0; m < k; m++) {
                backends[i]->impl(m, &host, &b);
                assert_string_not_equal(a.name, b.name);
            }
        }
    }
}

/* One session of the first implementation: sizes odd and even, up and down, every method. */
static void a_session_keeps_its_word(void **state)
{
    (void)state;
    static const int64_t sizes[] = {2, 43008, 14, 1002};
    double *samples = calloc(MAX_SAMPLES, sizeof *samples);
    for (int i = 0; backends[i] != NULL; i++) {
        struct backend_host host;
        struct backend_impl impl;
        memset(&impl, 0, sizeof impl);
        if (!scouted(backends[i], &host) || !backends[i]->impl(0, &host, &impl))
            continue;
        struct variant v = {.ranks = 2, .dtype = DTYPE_bf16, .max_bytes = 43008, .seed = 5};
        snprintf(v.impl, sizeof v.impl, "%s", impl.name);
        struct session s = {0};
        char note[NOTE] = "";
        assert_int_equal(session_open(&s, backends[i], &v, TIMEOUT_MS, NULL, note), CALL_OK);
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            struct result r;
            result_init(&r, samples, MAX_SAMPLES);
            assert_int_equal(session_verify(&s, sizes[k], &r, note), CALL_OK);
            assert_int_equal(r.wrong, 0);
            assert_true(r.checked == 0 || r.checked == 2 * sizes[k] / 2);
            for (int m = 0; m < METHOD_COUNT; m++) {
                struct timing t = {.method = (enum method)m,
                                   .size_bytes = sizes[k],
                                   .iterations = 5,
                                   .warmup = 2,
                                   .chain = 4,
                                   .compute_us = 5,
                                   .skew_us = 5};
                result_init(&r, samples, MAX_SAMPLES);
                enum verdict got = session_time(&s, &t, &r, note);
                if (!(impl.methods & 1u << m)) {
                    assert_int_equal(got, got == CALL_OK ? CALL_OK : CALL_UNSUPPORTED);
                    continue;
                }
                if (got == CALL_UNSUPPORTED)
                    continue;
                assert_int_equal(got, CALL_OK);
                assert_true(r.n >= 3 && r.n <= 5);
                for (int n = 0; n < r.n; n++)
                    assert_true(isfinite(samples[n]));
            }
        }
        session_close(&s);
        assert_false(session_is_open(&s));
    }
    free(samples);
}

static void probes_give_samples_or_say_why_not(void **state)
{
    (void)state;
    double *samples = calloc(MAX_SAMPLES, sizeof *samples);
    for (int i = 0; probes[i] != NULL; i++) {
        struct backend_host host;
        struct probe_case c;
        struct session s = {0};
        struct result r;
        char note[NOTE] = "";
        if (!scouted(backend_find(probes[i]->backend), &host))
            continue;
        memset(&c, 0, sizeof c);
        record_init(&c.record);
        if (!probes[i]->case_at(0, &host, &c))
            continue;
        enum verdict got = session_open_probe(&s, probes[i], &host, TIMEOUT_MS, NULL, note);
        if (got == CALL_UNSUPPORTED)
            continue;
        assert_int_equal(got, CALL_OK);
        result_init(&r, samples, MAX_SAMPLES);
        assert_int_equal(session_probe(&s, &c, 5, &r, note), CALL_OK);
        assert_true(r.n >= 1 && r.n <= 5);
        for (int n = 0; n < r.n; n++)
            assert_true(isfinite(samples[n]) && samples[n] >= 0);
        session_close(&s);
    }
    free(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_complete_and_unique),
        cmocka_unit_test(unknown_options_are_refused),
        cmocka_unit_test(impl_rows_make_sense),
        cmocka_unit_test(a_session_keeps_its_word),
        cmocka_unit_test(probes_give_samples_or_say_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
