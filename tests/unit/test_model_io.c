#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "tests/near.h"
#include "traces/model_io.h"

static const char *const folder = "/tmp";

/* A trace of three curves: a table, a line at two rank counts. Returns its path. */
static const char *trace_file(void)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/updraft-test-model-%ld.jsonl", folder, (long)getpid());
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("{\"updraft_trace\":1}\n", f);
    for (int i = 0; i < 12; i++) {
        double b = exp2(10 + i);
        fprintf(f,
                "{\"what\":\"allreduce\",\"impl\":\"nccl/ring/ll\",\"ranks\":8,\"size_bytes\":%.0f,"
                "\"latency_us\":%.17g}\n",
                b, b < 65536 ? 12 + 2e-4 * b : 40 + 5e-5 * b);
        for (int ranks = 4; ranks <= 8; ranks *= 2)
            fprintf(f,
                    "{\"what\":\"allreduce\",\"impl\":\"custom/oneshot\",\"ranks\":%d,"
                    "\"size_bytes\":%.0f,\"latency_us\":%.17g}\n",
                    ranks, b, 6 + ranks * 2e-5 * b * (1 + 0.02 * ((i * 7) % 3)));
    }
    fclose(f);
    return path;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    const char *path = trace_file();
    struct fits fs;
    struct err err = {STATUS_OK, ""};
    assert_int_equal(fits_load(&fs, &path, 1, NULL, NULL, &err), STATUS_OK);
    assert_int_equal(fs.n, 3);
    cJSON *json = fits_to_json(&fs);
    char *text = cJSON_Print(json);
    struct costs cs = {0};
    assert_int_equal(model_parse(&cs, "m", text, strlen(text), &err), STATUS_OK);
    assert_int_equal(cs.n, fs.n);
    for (size_t i = 0; i < cs.n; i++) {
        const struct cost *a = &fs.v[i].cost, *b = &cs.v[i];
        assert_string_equal(a->impl, b->impl);
        assert_int_equal(a->ranks, b->ranks);
        assert_int_equal(a->form, b->form);
        for (int k = 0; k < 40; k++) {
            double n = 100 * exp2(k / 2.0);
            assert_near(cost_latency_us(a, n), cost_latency_us(b, n), 1e-12);
            assert_near(cost_sigma(a, n), cost_sigma(b, n), 1e-12);
            assert_int_equal(cost_source_at(a, n), cost_source_at(b, n));
        }
    }
    /* And from the trace at once. */
    struct costs at_once = {0};
    assert_int_equal(costs_load(&at_once, path, NULL, &err), STATUS_OK);
    assert_int_equal(at_once.n, 3);
    const struct cost *c = costs_find(&at_once, "allreduce", "custom/oneshot", 4);
    assert_non_null(c);
    assert_int_equal(c->ranks, 4);
    costs_release(&at_once);
    costs_release(&cs);
    cJSON_free(text);
    cJSON_Delete(json);
    fits_release(&fs);
    remove(path);
}

static void broken_models_are_refused_by_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\"updraft_model\":1,\n\"models\":[]}", "empty"},
        {"{\"updraft_model\":2,\"models\":[]}", "version 2"},
        {"[1]", "object"},
        {"{\"models\":[]}", "updraft_model"},
        {"{\"updraft_model\":1,\"models\":[{\"impl\":\"a\",\"collective\":\"allreduce\",\"ranks\":"
         "2}]}",
         "segments or knots"},
        {"{\"updraft_model\":1,\"models\":[{\"impl\":\"a\",\"collective\":\"allreduce\",\"ranks\":"
         "2,\n"
         "\"typo\":1}]}",
         "m:2: no key \"typo\""},
        {"{\"updraft_model\":1,\"models\":[{\"impl\":\"a\",\"collective\":\"allreduce\",\"ranks\":"
         "2,"
         "\"knots\":[[1,2,3,1],[1,2,3,1]]}]}",
         "ascending"},
        {"{\"updraft_model\":1,\"models\":[{\"impl\":\"a\",\"collective\":\"allreduce\",\"ranks\":-"
         "2}]}",
         "ranks"},
        {"{\"updraft_model\":1,\"models\":[{\"impl\":\"a\",\"collective\":\"allreduce\",\"ranks\":"
         "2,"
         "\"segments\":[{\"from_bytes\":9,\"to_bytes\":1,\"alpha_us\":1,\"beta_us_per_byte\":0}]}]"
         "}",
         "to_bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct costs cs = {0};
        struct err err = {STATUS_OK, ""};
        assert_int_equal(model_parse(&cs, "m", cases[i].text, strlen(cases[i].text), &err),
                         STATUS_INPUT);
        if (strstr(err.msg, cases[i].says) == NULL)
            print_error("%s\n", err.msg);
        assert_non_null(strstr(err.msg, cases[i].says));
        assert_int_equal(cs.n, 0);
        costs_release(&cs);
    }
    static const char ignored[] =
        "{\"updraft_model\":1,\"x_note\":\"mine\",\"models\":[{\"impl\":\"a\",\"collective\":"
        "\"allreduce\",\"ranks\":2,\"x_more\":[],\"segments\":[{\"from_bytes\":0,\"to_bytes\":1,"
        "\"alpha_us\":5,\"beta_us_per_byte\":0}]}]}";
    struct costs cs = {0};
    struct err err = {STATUS_OK, ""};
    assert_int_equal(model_parse(&cs, "m", ignored, sizeof ignored - 1, &err), STATUS_OK);
    assert_near(cost_latency_us(&cs.v[0], 64), 5, 0);
    costs_release(&cs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(broken_models_are_refused_by_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
