/* Server logs, benchmark results and profiles, on small imitations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "tests/collect.h"
#include "tests/near.h"

#define DECODE(run, tok, len, rate, tps)                                                           \
    "[2026-01-02 03:04:05 TP0] Decode batch. #running-req: " run ", #token: " tok                  \
    ", token usage: 0.01, accept len: " len ", accept rate: " rate                                 \
    ", cuda graph: True, gen throughput (token/s): " tps ", #queue-req: 0, \n"

/* The two meanings of "accept rate" are told apart by the numbers: 2.2/4 = 0.55, (2.2 - 1)/3 =
 * 0.40. */
static void sglang_accept_rate(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double steps, rate;
    } cases[] = {
        {DECODE("2", "400", "2.20", "0.55", "200.0") DECODE("2", "500", "1.90", "0.48", "180.0"), 3,
         0.4},
        {DECODE("2", "400", "2.20", "0.40", "200.0") DECODE("2", "500", "1.90", "0.30", "180.0"), 3,
         0.4},
        {"server_args=ServerArgs(tp_size=8, speculative_num_steps=5, speculative_eagle_topk=4, "
         "speculative_num_draft_tokens=8)\n" DECODE("2", "400", "2.20", "0.28", "200.0"),
         5, 0.24},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct collect c;
        collect_text(&c, NULL, cases[i].text);
        assert_int_equal(c.status, STATUS_OK);
        assert_string_equal(c.im.importer->name, "sglang-log");
        const struct record *r = &c.records.v[0];
        assert_int_equal(r->what, WHAT_server_window);
        assert_near(r->value, 200, 0);
        assert_near(r->field[FIELD_batch], 2, 0);
        assert_near(r->field[FIELD_context_tokens], 200, 0);
        assert_near(r->field[FIELD_accept_length], 2.2, 1e-12);
        assert_near(r->field[FIELD_num_steps], cases[i].steps, 0);
        assert_near(r->field[FIELD_accept_rate], cases[i].rate, 1e-9);
        assert_string_equal(r->state, "");
        if (i == 2) {
            assert_int_equal(r->ranks, 8);
            assert_near(r->field[FIELD_topk], 4, 0);
            assert_near(r->field[FIELD_num_draft_tokens], 8, 0);
        }
        collect_release(&c);
    }
}

static void sglang_windows(void **state)
{
    (void)state;
    struct collect c;
    collect_text(&c, NULL,
                 "[t] Prefill batch. #new-seq: 1, #new-token: 1, #cached-token: 0, token usage: "
                 "0.00, #running-req: 0, #queue-req: 0, \n"
                 "[t] Decode batch, #running-req: 1, #token: 66, token usage: 0.00, cuda graph: "
                 "False, gen throughput (token/s): 0.5, #queue-req: 0\n"
                 "[t] Decode batch, #running-req: 1, #token: 106, token usage: 0.00, gen "
                 "throughput (token/s): 90.5, #queue-req: 3\n"
                 "[t] Prefill batch. #new-seq: 1, #running-req: 1, #queue-req: 0\n"
                 "[t] Decode batch, #running-req: 2, #token: 146, iter latency (ms): 20.5, gen "
                 "throughput (token/s): 100, #queue-req: 0\n"
                 "[t] Decode batch, #running-req: 2, #token: 226, token us\n"
                 "[t] Decode batch, #running-req: 2, #token: 226, accept len: 0.5, gen throughput "
                 "(token/s): 170, #queue-req: 0\n");
    assert_int_equal(c.records.n, 3);
    assert_string_equal(c.records.v[0].state, "warmup");
    assert_string_equal(c.records.v[0].note, "without CUDA graph");
    assert_true(isnan(c.records.v[0].field[FIELD_accept_length]));
    assert_true(record_usable(&c.records.v[1]));
    assert_near(c.records.v[1].field[FIELD_concurrency], 4, 0);
    assert_string_equal(c.records.v[2].state, "ramp");
    assert_near(c.records.v[2].field[FIELD_step_us], 20500, 1e-12);
    assert_string_equal(c.rejected,
                        "6 a decode line without gen throughput: is it cut?\n"
                        "7 accept len 0.5: it counts the bonus token, so it is 1 at least\n");
    collect_release(&c);
}

static void vllm_log(void **state)
{
    (void)state;
    struct collect c;
    collect_text(
        &c, NULL,
        "INFO [parallel_state.py:1] world_size=4 rank=0 backend=nccl\n"
        "(APIServer pid=1) INFO 01-02 03:04:05 [loggers.py:1] Engine 000: Avg prompt throughput: "
        "9.0 tokens/s, Avg generation throughput: 50.0 tokens/s, Running: 2 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 0.0%\n"
        "(APIServer pid=1) INFO 01-02 03:04:15 [loggers.py:1] Engine 000: Avg prompt throughput: "
        "0.0 tokens/s, Avg generation throughput: 80.0 tokens/s, Running: 2 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 0.0%\n"
        "(APIServer pid=1) INFO 01-02 03:04:15 [metrics.py:1] SpecDecoding metrics: Mean "
        "acceptance length: 2.10, Accepted throughput: 4.4 tokens/s, Drafted throughput: 8.0 "
        "tokens/s, Accepted: 44 tokens, Drafted: 80 tokens, Per-position acceptance rate: 0.700, "
        "0.400, Avg Draft acceptance rate: 55.0%\n"
        "(APIServer pid=1) INFO 01-02 03:04:25 [loggers.py:1] Engine 000: Avg prompt throughput: "
        "0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs\n"
        "INFO SpecDecoding metrics: Mean acceptance length: 3.00, Accepted: 90 tokens, Drafted: 90 "
        "tokens, Per-position acceptance rate: 1.000, 1.000, Avg Draft acceptance rate: 100.0%\n"
        "INFO Speculative metrics: Draft acceptance rate: 0.600, System efficiency: 0.550, Number "
        "of speculative tokens: 3, Number of accepted tokens: 60, Number of draft tokens: 100, "
        "Number of emitted tokens: 73.\n"
        "INFO SpecDecoding metrics: Mean acceptance length: 0.90, Accepted: 9 tokens, Drafted: 90 "
        "tokens\n");
    assert_int_equal(c.status, STATUS_OK);
    assert_string_equal(c.im.importer->name, "vllm-log");
    assert_int_equal(c.records.n, 5);
    assert_string_equal(c.records.v[0].state, "ramp");
    const struct record *w = &c.records.v[1], *a = &c.records.v[2];
    assert_int_equal(w->what, WHAT_server_window);
    assert_int_equal(w->ranks, 4);
    assert_near(w->field[FIELD_accept_length], 2.1, 1e-12);
    assert_near(w->field[FIELD_num_steps], 2, 0);
    assert_int_equal(a->what, WHAT_acceptance);
    assert_near(a->value, 2.1, 1e-12);
    assert_int_equal(a->count, 40);
    assert_near(a->field[FIELD_p1], 0.7, 1e-12);
    assert_near(a->field[FIELD_p2], 0.4, 1e-12);
    assert_true(isnan(a->field[FIELD_p3]));
    assert_near(a->field[FIELD_accept_rate], 0.55, 1e-12);
    assert_near(a->field[FIELD_batch], 2, 0);
    /* Everything accepted: flagged, and not usable. */
    assert_string_equal(c.records.v[3].state, "suspect");
    assert_int_equal(strncmp(c.warned, "6 every draft was accepted", 26), 0);
    /* vLLM 0: efficiency 0.55 of 4 tokens a cycle. */
    assert_near(c.records.v[4].value, 2.2, 1e-12);
    assert_int_equal(strncmp(c.rejected, "8 acceptance length 0.9", 23), 0);
    collect_release(&c);
}

static void vllm_metrics(void **state)
{
    (void)state;
    struct collect c;
    collect_text(
        &c, NULL,
        "# TYPE vllm:spec_decode_num_drafts_total counter\n"
        "vllm:spec_decode_num_drafts_total{engine=\"0\"} "
        "60.0\nvllm:spec_decode_num_drafts_total{engine=\"1\"} 40.0\n"
        "vllm:spec_decode_num_draft_tokens_total{engine=\"0\"} 300.0\n"
        "vllm:spec_decode_num_accepted_tokens_total{engine=\"0\"} 150.0\n"
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"0\",position=\"0\"} 80.0\n"
        "vllm:spec_decode_num_accepted_tokens_per_pos_total{engine=\"0\",position=\"1\"} 50.0\n"
        "vllm:spec_decode_num_drafts_created{engine=\"0\"} 1.7e9\n");
    assert_int_equal(c.status, STATUS_OK);
    assert_near(c.records.v[0].value, 2.5, 1e-12);
    assert_near(c.records.v[0].field[FIELD_num_steps], 3, 0);
    assert_near(c.records.v[0].field[FIELD_p2], 0.5, 1e-12);
    collect_release(&c);
    collect_text(&c, NULL, "vllm:spec_decode_num_drafts_total 60.0\n");
    assert_int_equal(c.status, STATUS_INPUT);
    collect_release(&c);
}

static void bench_text(void **state)
{
    (void)state;
    struct collect c;
    collect_text(
        &c, NULL,
        "$ python -m sglang.launch_server --tp-size 2\n"
        "# --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4\n"
        "============ Serving Benchmark Result ============\n"
        "Successful requests:                     10\nMaximum request concurrency:             4\n"
        "Output token throughput (tok/s):         400.50\nPeak output token throughput (tok/s):    "
        "93.00\n"
        "Mean TTFT (ms):                          50.5\nMedian TTFT (ms):                        "
        "40\n"
        "Mean TPOT (ms):                          3.75\nMean ITL (ms):                           "
        "11.05\n"
        "==================================================\n"
        "============ Serving Benchmark Result ============\n"
        "Output token throughput (tok/s):         300.00\n"
        "---------------Speculative Decoding---------------\nAcceptance rate (%):                  "
        "   40.00\n"
        "Acceptance length:                       2.20\nDrafts:                                  "
        "100\n"
        "Draft tokens:                            300\nAccepted tokens:                         "
        "120\n"
        "  Position 0:                            70.00\n  Position 1:                            "
        "30.00\n"
        "==================================================\n"
        "============ Serving Benchmark Result ============\nOutput token throughput (tok/s):      "
        "   0.00\n"
        "==================================================\n");
    assert_int_equal(c.status, STATUS_OK);
    assert_string_equal(c.im.importer->name, "serving-benchmark");
    assert_int_equal(c.records.n, 3);
    const struct record *r = &c.records.v[0];
    assert_near(r->value, 400.5, 1e-12);
    assert_near(r->field[FIELD_num_steps], 3, 0);
    assert_near(r->field[FIELD_concurrency], 4, 0);
    assert_near(r->field[FIELD_ttft_us], 50500, 1e-12);
    assert_near(r->field[FIELD_itl_us], 11050, 1e-9);
    assert_int_equal(r->ranks, 2);
    /* The flags above a block are its own. */
    assert_near(c.records.v[1].value, 300, 0);
    assert_true(isnan(c.records.v[1].field[FIELD_topk]));
    assert_near(c.records.v[1].field[FIELD_num_steps], 3, 0);
    const struct record *a = &c.records.v[2];
    assert_int_equal(a->what, WHAT_acceptance);
    assert_near(a->value, 2.2, 1e-12);
    assert_int_equal(a->count, 100);
    assert_near(a->field[FIELD_accept_rate], 0.4, 1e-12);
    assert_near(a->field[FIELD_p2], 0.3, 1e-12);
    assert_int_equal(
        strncmp(c.rejected, "24 the result that begins here has a throughput of 0", 50), 0);
    collect_release(&c);
}

static void bench_json(void **state)
{
    (void)state;
    struct collect c;
    /* One a line: SpecForge's nesting, sglang's speculative and one-batch benchmarks. */
    collect_text(&c, NULL,
                 "{\"mtbench\":[{\"batch_size\":2,\"steps\":3,\"topk\":null,\"metrics\":[{"
                 "\"latency\":1.5,\"output_throughput\":300.5,\"accept_length\":2.25}]}]}\n"
                 "{\"batch_size\":4,\"steps\":3,\"topk\":1,\"num_draft_tokens\":4,\"acc_length\":2."
                 "5,\"step_time\":0.016,\"speed\":156.25}\n"
                 "{\"run_name\":\"x\",\"batch_size\":8,\"input_len\":256,\"output_len\":8,\"median_"
                 "decode_latency\":0.0125,\"median_decode_throughput\":640}\n"
                 "{\"output_throughput\":100,\"accept_length\":0.5}\n"
                 "{\"output_throughput\":1\n");
    assert_int_equal(c.status, STATUS_OK);
    assert_int_equal(c.records.n, 3);
    assert_near(c.records.v[0].value, 300.5, 1e-12);
    assert_near(c.records.v[0].field[FIELD_batch], 2, 0);
    assert_near(c.records.v[0].field[FIELD_num_steps], 3, 0);
    assert_true(isnan(c.records.v[0].field[FIELD_topk]));
    assert_near(c.records.v[1].value, 625, 1e-12); /* four requests at 156.25 */
    assert_near(c.records.v[1].field[FIELD_step_us], 16000, 1e-9);
    assert_int_equal(c.records.v[1].line, 2);
    assert_int_equal(c.records.v[2].what, WHAT_forward_pass);
    assert_near(c.records.v[2].value, 12500, 1e-9);
    assert_near(c.records.v[2].field[FIELD_rows], 8, 0);
    assert_string_equal(c.rejected,
                        "4 a result with an accept length below 1: it counts the bonus token\n"
                        "5 no whole JSON document: is it cut?\n");
    collect_release(&c);
    /* One document: vllm bench serve --save-result. */
    collect_text(&c, NULL,
                 "{\n \"model_id\": \"m\",\n \"max_concurrency\": 16,\n \"output_throughput\": "
                 "900.0,\n \"mean_tpot_ms\": 12.5,\n"
                 " \"spec_decode_acceptance_rate\": 50.0, \"spec_decode_acceptance_length\": 2.0,\n"
                 " \"spec_decode_num_drafts\": 50, \"spec_decode_draft_tokens\": 100, "
                 "\"spec_decode_accepted_tokens\": 50,\n"
                 " \"spec_decode_per_position_acceptance_rates\": [0.6, 0.4]\n}\n");
    assert_int_equal(c.records.n, 2);
    assert_near(c.records.v[0].field[FIELD_tpot_us], 12500, 1e-9);
    assert_near(c.records.v[0].field[FIELD_num_steps], 2, 0);
    assert_near(c.records.v[1].value, 2, 0);
    assert_near(c.records.v[1].field[FIELD_p1], 0.6, 1e-12);
    collect_release(&c);
}

static void profiler_trace(void **state)
{
    (void)state;
    static const char text[] =
        "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0,\"world_size\":4},"
        "\"deviceProperties\":[{\"id\":0}],\n"
        "\"traceEvents\":[\n"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"kernel\",\"ts\":1,\"dur\":5},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_bf16_RING_LL("
        "ncclDevKernelArgsStorage<4096ul>)\",\"ts\":1,\"dur\":20,\"args\":{\"grid\":[4,1,1],"
        "\"block\":[512,1,1],\"Collective name\":\"allreduce\",\"In msg nelems\":1024,\"Group "
        "size\":2,\"dtype\":\"BFloat16\"}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_bf16_RING_LL("
        "ncclDevKernelArgsStorage<4096ul>)\",\"ts\":9,\"dur\":30,\"args\":{\"grid\":[4,1,1],"
        "\"block\":[512,1,1],\"Collective name\":\"allreduce\",\"In msg nelems\":1024,\"Group "
        "size\":2,\"dtype\":\"BFloat16\"}},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void gemm<float, 3>(int) with a \\\"}]{\\\" "
        "in it\",\"ts\":1,\"dur\":100.5},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void vllm::cross_device_reduce_2stage<half, "
        "8>(int)\",\"ts\":1,\"dur\":7.5},\n"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"bad\",\"ts\":1,\"dur\":-1}\n]";
    struct collect c;
    collect_text(&c, NULL, text);
    assert_int_equal(c.status, STATUS_OK);
    assert_string_equal(c.im.importer->name, "torch-profiler");
    assert_int_equal(c.records.n, 3);
    assert_string_equal(c.records.v[0].kernel, "gemm<float, 3>");
    assert_string_equal(c.records.v[0].impl, "");
    const struct record *r = &c.records.v[1];
    assert_string_equal(r->impl, "nccl/auto");
    assert_int_equal(r->size_bytes, 2048);
    assert_int_equal(r->ranks, 2);
    assert_int_equal(r->count, 2);
    assert_string_equal(r->dtype, "bf16");
    assert_near(r->value, 25, 1e-12);
    assert_near(r->min, 20, 0);
    assert_near(r->field[FIELD_channels], 4, 0);
    assert_int_equal(r->line, 4);
    assert_string_equal(c.records.v[2].impl, "custom/twoshot");
    assert_int_equal(c.records.v[2].ranks, 4);
    assert_string_equal(c.rejected, "8 kernel bad: a duration above 0 was expected\n");
    assert_string_equal(c.warned, "9 the JSON breaks off here: kernels after it are missing\n");
    collect_release(&c);
    collect_text(&c, NULL,
                 "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"dur\":1}]}");
    assert_int_equal(c.status, STATUS_INPUT);
    collect_release(&c);
}

static void nsys_export(void **state)
{
    (void)state;
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(
            db,
            "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, "
            "demangledName INTEGER, shortName INTEGER, gridX INTEGER, blockX INTEGER);"
            "INSERT INTO StringIds VALUES (1, "
            "'ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)'), (2, 'short'), "
            "(3, 'gemm');"
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 10000, 1, 2, 8, 256), (20000, "
            "50000, 1, 2, 8, 256), (60000, 60500, 3, 3, 1, 32), (9, 9, 3, 3, 1, 32);",
            NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_int64 size = 0;
    unsigned char *bytes = sqlite3_serialize(db, "main", &size, 0);
    assert_non_null(bytes);
    struct collect c;
    collect_bytes(&c, NULL, "db", (const char *)bytes, (size_t)size);
    assert_int_equal(c.status, STATUS_OK);
    assert_string_equal(c.im.importer->name, "nsys-sqlite");
    assert_int_equal(c.records.n, 2);
    assert_string_equal(c.records.v[0].kernel, "ncclDevKernel_AllGather_RING_LL");
    assert_near(c.records.v[0].value, 20, 1e-12);
    assert_int_equal(c.records.v[0].count, 2);
    assert_near(c.records.v[1].value, 0.5, 1e-12);
    assert_int_equal(strncmp(c.rejected, "4 a kernel without a duration", 29), 0);
    collect_release(&c);
    /* Cut in the middle, it is an input error. */
    collect_bytes(&c, NULL, "db", (const char *)bytes, (size_t)size / 2);
    assert_int_equal(c.status, STATUS_INPUT);
    collect_release(&c);
    sqlite3_free(bytes);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sglang_accept_rate), cmocka_unit_test(sglang_windows),
        cmocka_unit_test(vllm_log),           cmocka_unit_test(vllm_metrics),
        cmocka_unit_test(bench_text),         cmocka_unit_test(bench_json),
        cmocka_unit_test(profiler_trace),     cmocka_unit_test(nsys_export),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
