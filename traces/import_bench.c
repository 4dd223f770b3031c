/* What serving benchmarks report: the text block of `vllm bench serve` and sglang.bench_serving,
 * and the JSON results of both, of sglang's one-batch and speculative benchmarks, and of SpecForge.
 *
 * JSON is walked: an object with a throughput of its own is a result, and what its parents say
 * (batch size, draft steps) holds for it. Which key means what is one table.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/engine_flags.h"
#include "traces/import.h"
#include "traces/json_file.h"
#include "traces/text.h"

/* Where a value goes: a field of the record, or one of these. */
enum {
    TO_TOTAL = FIELD_COUNT,
    TO_PER_REQUEST,
    TO_RANKS,
    TO_COUNT,
    TO_DECODE_S,
    TO_INPUT_TOKENS,
    TO_MAX
};

static const struct {
    const char *json, *text; /* NULL: not in that form */
    int to;
    double scale;
} keys[] = {
    {"output_throughput", "Output token throughput (tok/s)", TO_TOTAL, 1},
    {"speed", NULL, TO_PER_REQUEST, 1},
    {"median_decode_latency", NULL, TO_DECODE_S, 1},
    {"max_concurrency", "Maximum request concurrency", FIELD_concurrency, 1},
    {NULL, "Max request concurrency", FIELD_concurrency, 1},
    {NULL, "Max reqeuest concurrency", FIELD_concurrency, 1}, /* so it was printed for a while */
    {"concurrency", "Concurrency", FIELD_batch, 1},
    {"batch_size", NULL, FIELD_batch, 1},
    {"steps", NULL, FIELD_num_steps, 1},
    {"num_steps", NULL, FIELD_num_steps, 1},
    {"speculative_num_steps", NULL, FIELD_num_steps, 1},
    {"topk", NULL, FIELD_topk, 1},
    {"num_draft_tokens", NULL, FIELD_num_draft_tokens, 1},
    {"accept_length", "Accept length", FIELD_accept_length, 1},
    {"acc_length", NULL, FIELD_accept_length, 1},
    {"spec_decode_acceptance_length", "Acceptance length", FIELD_accept_length, 1},
    {"spec_decode_acceptance_rate", "Acceptance rate (%)", FIELD_accept_rate, 0.01},
    {"spec_decode_num_drafts", "Drafts", TO_COUNT, 1},
    {"spec_decode_draft_tokens", "Draft tokens", FIELD_drafted, 1},
    {"spec_decode_accepted_tokens", "Accepted tokens", FIELD_accepted, 1},
    {NULL, "Position 0", FIELD_p1, 0.01},
    {NULL, "Position 1", FIELD_p2, 0.01},
    {NULL, "Position 2", FIELD_p3, 0.01},
    {NULL, "Position 3", FIELD_p4, 0.01},
    {NULL, "Position 4", FIELD_p5, 0.01},
    {NULL, "Position 5", FIELD_p6, 0.01},
    {NULL, "Position 6", FIELD_p7, 0.01},
    {NULL, "Position 7", FIELD_p8, 0.01},
    {"mean_ttft_ms", "Mean TTFT (ms)", FIELD_ttft_us, 1e3},
    {"mean_tpot_ms", "Mean TPOT (ms)", FIELD_tpot_us, 1e3},
    {"mean_itl_ms", "Mean ITL (ms)", FIELD_itl_us, 1e3},
    {"step_time", NULL, FIELD_step_us, 1e6},
    {"input_len", NULL, TO_INPUT_TOKENS, 1},
    {"random_input_len", NULL, TO_INPUT_TOKENS, 1},
    {"tp_size", NULL, TO_RANKS, 1},
    {"tensor_parallel_size", NULL, TO_RANKS, 1},
};
enum { N_KEYS = sizeof keys / sizeof keys[0] };

/* What is known of a result; NaN where nothing is. */
struct facts {
    double v[TO_MAX];
};

static void facts_clear(struct facts *f)
{
    for (int i = 0; i < TO_MAX; i++)
        f->v[i] = NAN;
}

static int has(const struct facts *f, int k)
{
    return !isnan(f->v[k]);
}

/* Puts the result's records out; counts the row. Returns NULL, or why it was not taken. */
static const char *put(struct import *im, const struct facts *f, const char *method, int64_t line)
{
    struct record r;
    record_init(&r);
    r.line = line;
    snprintf(r.method, sizeof r.method, "%s", method);
    snprintf(r.label, sizeof r.label, "%s", im->label);
    snprintf(r.origin, sizeof r.origin, "%.255s", im->path);
    memcpy(r.field, f->v, sizeof r.field);
    for (int i = 0; i < FIELD_COUNT; i++)
        if (f->v[i] < 0 || isinf(f->v[i]))
            return "a negative number where none can be";
    double length = f->v[FIELD_accept_length], rate = f->v[FIELD_accept_rate];
    if (length < 1)
        return "an accept length below 1: it counts the bonus token";
    if (rate > 1.0005)
        return "an acceptance rate above 1";
    if (has(f, TO_RANKS) && f->v[TO_RANKS] >= 1 && f->v[TO_RANKS] < 1e6)
        r.ranks = (int)f->v[TO_RANKS];
    if (has(f, TO_INPUT_TOKENS))
        r.field[FIELD_context_tokens] = f->v[TO_INPUT_TOKENS];
    /* vLLM counts drafts: K is drafted tokens over drafts. */
    if (!has(f, FIELD_num_steps) && f->v[TO_COUNT] > 0 && f->v[FIELD_drafted] > 0)
        r.field[FIELD_num_steps] = rint(f->v[FIELD_drafted] / f->v[TO_COUNT]);
    if (isnan(length) && f->v[TO_COUNT] > 0 && has(f, FIELD_accepted))
        r.field[FIELD_accept_length] = length = 1 + f->v[FIELD_accepted] / f->v[TO_COUNT];

    double total = f->v[TO_TOTAL];
    if (isnan(total) && has(f, TO_PER_REQUEST))
        total = f->v[TO_PER_REQUEST] * (has(f, FIELD_batch) ? f->v[FIELD_batch] : 1);
    int kept = 0;
    if (has(f, TO_DECODE_S) && has(f, FIELD_batch) && isnan(length)) {
        /* sglang.bench_one_batch: one decode pass of batch rows. */
        if (!(f->v[TO_DECODE_S] > 0))
            return "a decode latency of 0 or less";
        r.what = WHAT_forward_pass;
        r.value = f->v[TO_DECODE_S] * 1e6;
        r.field[FIELD_rows] = f->v[FIELD_batch];
        kept |= import_record(im, &r) == 0;
    } else if (!isnan(total)) {
        if (!(total > 0) || isinf(total))
            return "a throughput of 0 or less";
        r.what = WHAT_server_window;
        r.value = total;
        kept |= import_record(im, &r) == 0;
    }
    if (!isnan(length) && (has(f, TO_COUNT) || isnan(total))) {
        r.what = WHAT_acceptance;
        r.value = length;
        r.field[FIELD_accept_length] = NAN;
        r.count = f->v[TO_COUNT] > 0 && f->v[TO_COUNT] < 9e15 ? (int64_t)f->v[TO_COUNT] : 0;
        kept |= import_record(im, &r) == 0;
    }
    if (!kept && !im->stopped)
        return "neither a throughput nor an accept length";
    im->rows++;
    return NULL;
}

/* --- Text blocks ----------------------------------------------------------------------------- */

struct text_reader {
    struct import *im;
    struct engine_flags flags;
    struct facts facts;
    int64_t block;   /* line where the block begins; 0 outside */
    int speculation; /* a block of speculation alone */
};

static void end_block(struct text_reader *rd)
{
    if (rd->block == 0)
        return;
    if (!has(&rd->facts, FIELD_num_steps) && rd->flags.num_steps >= 0)
        rd->facts.v[FIELD_num_steps] = rd->flags.num_steps;
    if (rd->flags.topk >= 0)
        rd->facts.v[FIELD_topk] = rd->flags.topk;
    if (rd->flags.num_draft_tokens >= 0)
        rd->facts.v[FIELD_num_draft_tokens] = rd->flags.num_draft_tokens;
    if (rd->flags.ranks >= 0)
        rd->facts.v[TO_RANKS] = rd->flags.ranks;
    /* vLLM prints the rate before the counts; with a draft length it gives the accept length. */
    if (!has(&rd->facts, FIELD_accept_length) && has(&rd->facts, FIELD_accept_rate) &&
        rd->flags.num_steps > 0 && !has(&rd->facts, TO_COUNT))
        rd->facts.v[FIELD_accept_length] = 1 + rd->facts.v[FIELD_accept_rate] * rd->flags.num_steps;
    const char *why = put(rd->im, &rd->facts, "bench-serve", rd->block);
    if (why != NULL)
        import_reject(rd->im, rd->block, "the result that begins here has %s", why);
    rd->block = 0;
    double ranks = rd->flags.ranks;
    engine_flags_init(&rd->flags); /* each block has its own configuration above it */
    rd->flags.ranks = ranks;
}

static void text_line(struct text_reader *rd, const char *s, size_t len, int64_t line)
{
    int title = text_find(s, len, "Serving Benchmark Result") != NULL;
    int speculation = text_find(s, len, "---Speculative Decoding---") != NULL;
    if (title || (speculation && rd->block == 0)) {
        end_block(rd);
        facts_clear(&rd->facts);
        rd->block = line;
        return;
    }
    if (rd->block == 0) {
        engine_flags_read(&rd->flags, s, len);
        return;
    }
    const char *text = s;
    while (len > 0 && strchr(" \t>#|", *text) != NULL)
        text++, len--;
    if (len >= 20 && strspn(text, "=") >= 20) {
        end_block(rd);
        return;
    }
    for (int k = 0; k < N_KEYS; k++) {
        size_t n = keys[k].text != NULL ? strlen(keys[k].text) : 0;
        if (n == 0 || len <= n || memcmp(text, keys[k].text, n) != 0 || text[n] != ':')
            continue;
        double x = number_after_key(text, len, keys[k].text);
        if (!isnan(x))
            rd->facts.v[keys[k].to] = x * keys[k].scale;
        return;
    }
}

static enum status parse_text(struct import *im, struct err *err)
{
    struct text_reader rd = {.im = im};
    engine_flags_init(&rd.flags);
    struct source_line l;
    while (!im->stopped && source_next(im->in, &l))
        if (l.cut)
            import_reject(im, l.number, "the line is longer than %d bytes", SOURCE_MAX_LINE);
        else
            text_line(&rd, l.text, l.len, l.number);
    end_block(&rd);
    if (im->rows == 0 && !im->stopped)
        return err_set(err, STATUS_INPUT,
                       "%s:%lld: no measurement: no benchmark result with a throughput or an "
                       "accept length",
                       im->path, (long long)(im->in->line > 0 ? im->in->line : 1));
    return STATUS_OK;
}

/* --- JSON ------------------------------------------------------------------------------------ */

struct json_reader {
    struct import *im;
    const struct json_doc *doc;
    int64_t first_line; /* of the document, in the file */
    int results;
};

static void walk(struct json_reader *rd, const cJSON *item, const struct facts *from_above,
                 int depth)
{
    if (depth > 16 || rd->im->stopped)
        return;
    struct facts f = *from_above;
    const cJSON *child;
    int own = 0;
    if (cJSON_IsObject(item)) {
        /* A result's own figures are not its parent's. */
        f.v[TO_TOTAL] = f.v[TO_PER_REQUEST] = f.v[TO_DECODE_S] = NAN;
        cJSON_ArrayForEach(child, item)
        {
            for (int k = 0; k < N_KEYS && cJSON_IsNumber(child); k++)
                if (keys[k].json != NULL && strcmp(keys[k].json, child->string) == 0)
                    f.v[keys[k].to] = child->valuedouble * keys[k].scale;
            if (strcmp(child->string, "spec_decode_per_position_acceptance_rates") == 0)
                for (int i = 0; i < 8 && i < cJSON_GetArraySize(child); i++)
                    if (cJSON_IsNumber(cJSON_GetArrayItem(child, i)))
                        f.v[FIELD_p1 + i] = cJSON_GetArrayItem(child, i)->valuedouble;
        }
        own = has(&f, TO_TOTAL) || has(&f, TO_PER_REQUEST) || has(&f, TO_DECODE_S);
    }
    if (own) {
        int64_t line = rd->first_line + json_doc_line(rd->doc, item) - 1;
        const char *why = put(rd->im, &f, "bench-json", line);
        if (why != NULL)
            import_reject(rd->im, line, "a result with %s", why);
        rd->results++;
        return;
    }
    cJSON_ArrayForEach(child, item)
    {
        if (cJSON_IsObject(child) || cJSON_IsArray(child))
            walk(rd, child, &f, depth + 1);
    }
}

static void read_document(struct import *im, const char *text, size_t len, int64_t line,
                          int *results)
{
    struct json_doc doc;
    struct err err = {STATUS_OK, ""};
    if (json_doc_parse(&doc, im->path, text, len, &err) != STATUS_OK) {
        import_reject(im, line, "no whole JSON document: is it cut?");
        return;
    }
    struct json_reader rd = {im, &doc, line, 0};
    struct facts none;
    facts_clear(&none);
    walk(&rd, doc.root, &none, 0);
    *results += rd.results;
    json_doc_release(&doc);
}

/* One document, or one a line. */
static enum status parse_json(struct import *im, struct err *err)
{
    const char *bytes;
    size_t len = source_peek(im->in, &bytes);
    int results = 0;
    const char *newline = memchr(bytes, '\n', len);
    size_t first = newline != NULL ? (size_t)(newline - bytes) : len;
    cJSON *probe = newline != NULL ? cJSON_ParseWithLength(bytes, first) : NULL;
    int by_line = cJSON_IsObject(probe);
    cJSON_Delete(probe);
    if (by_line) {
        struct source_line l;
        while (!im->stopped && source_next(im->in, &l)) {
            size_t blank = strspn(l.text, " \t");
            if (l.cut)
                import_reject(im, l.number, "the line is longer than %d bytes", SOURCE_MAX_LINE);
            else if (l.text[blank] == '{')
                read_document(im, l.text, l.len, l.number, &results);
        }
    } else {
        struct json_doc doc;
        enum status status = json_doc_from_source(&doc, im->in, err);
        if (status != STATUS_OK)
            return status;
        struct json_reader rd = {im, &doc, 1, 0};
        struct facts none;
        facts_clear(&none);
        walk(&rd, doc.root, &none, 0);
        json_doc_release(&doc);
    }
    if (im->rows == 0 && !im->stopped)
        return err_set(err, STATUS_INPUT,
                       "%s:1: no measurement: no object with a throughput of its own", im->path);
    return STATUS_OK;
}

static int sniff(const char *bytes, size_t len)
{
    if (memchr(bytes, '\0', len) != NULL)
        return 0;
    if (len > 0 && (bytes[0] == '{' || bytes[0] == '[')) {
        static const char *const marks[] = {"\"output_throughput\"", "\"median_decode_latency\"",
                                            "\"acc_length\""};
        for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
            if (text_find(bytes, len, marks[i]) != NULL)
                return 60;
        return 0;
    }
    if (text_find(bytes, len, "Serving Benchmark Result") != NULL)
        return 85;
    return text_find(bytes, len, "---Speculative Decoding---") != NULL ? 50 : 0;
}

static enum status parse(struct import *im, struct err *err)
{
    const char *bytes;
    size_t len = source_peek(im->in, &bytes);
    return len > 0 && (bytes[0] == '{' || bytes[0] == '[') ? parse_json(im, err)
                                                           : parse_text(im, err);
}

const struct importer import_bench = {
    .name = "serving-benchmark",
    .summary = "results of vllm bench serve, sglang's benchmarks and SpecForge, text or JSON",
    .sniff = sniff,
    .parse = parse,
};
