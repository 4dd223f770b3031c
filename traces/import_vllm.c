/* Logs of a vLLM server: "Engine 000" lines (throughput and requests) and the speculation metrics
 * that follow them. vLLM's mean acceptance length includes the bonus token; its rates do not, and
 * those by position are unconditional (vllm/v1/spec_decode/metrics.py), as our fields are.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/engine_flags.h"
#include "traces/import.h"
#include "traces/text.h"

struct reader {
    struct import *im;
    struct engine_flags flags;
    struct record window; /* an "Engine" line that may still get its speculation metrics */
    int has_window;
    double running_before;
    int said_perfect;
};

static void start_record(const struct reader *rd, struct record *r, enum record_what what,
                         int64_t line)
{
    record_init(r);
    r->what = what;
    r->line = line;
    snprintf(r->method, sizeof r->method, "vllm-log");
    snprintf(r->label, sizeof r->label, "%s", rd->im->label);
    snprintf(r->origin, sizeof r->origin, "%.255s", rd->im->path);
    engine_flags_apply(&rd->flags, r);
}

static void flush(struct reader *rd)
{
    if (rd->has_window)
        import_record(rd->im, &rd->window);
    rd->has_window = 0;
}

static void read_engine(struct reader *rd, const char *s, size_t len, int64_t line)
{
    flush(rd);
    double tokens_per_s = number_after_key(s, len, "Avg generation throughput");
    double prompt = number_after_key(s, len, "Avg prompt throughput");
    double running = number_after_key(s, len, "Running"),
           waiting = number_after_key(s, len, "Waiting");
    if (isnan(waiting))
        waiting = number_after_key(s, len, "Pending");
    if (isnan(tokens_per_s) || isnan(running)) {
        import_reject(rd->im, line, "an engine line without %s: is it cut?",
                      isnan(running) ? "Running" : "a generation throughput");
        return;
    }
    double before = rd->running_before;
    rd->running_before = running;
    if (!(tokens_per_s > 0) || !(running > 0)) {
        if (tokens_per_s < 0 || running < 0)
            import_reject(rd->im, line, "a negative throughput or number of requests");
        return; /* idle, or prefill alone */
    }
    start_record(rd, &rd->window, WHAT_server_window, line);
    rd->window.value = tokens_per_s;
    rd->window.field[FIELD_batch] = running;
    if (!isnan(waiting))
        rd->window.field[FIELD_concurrency] = running + waiting;
    /* Requests that came or went within the window, where none waits to take their place. */
    if (!(waiting > 0) && ((before >= 0 && running != before) || prompt > 0))
        snprintf(rd->window.state, sizeof rd->window.state, "ramp");
    rd->has_window = 1;
    rd->im->rows++;
}

/* "Per-position acceptance rate: 0.826, 0.652, 0.348, Avg ..." into p1, p2, ...; how many. */
static int read_positions(struct record *r, const char *s, size_t len)
{
    static const char key[] = "Per-position acceptance rate:";
    const char *p = text_find(s, len, key), *end = s + len;
    int n = 0;
    if (p == NULL)
        return 0;
    p += sizeof key - 1;
    while (p < end) {
        while (p < end && (*p == ' ' || *p == ','))
            p++;
        size_t digits = 0;
        while (p + digits < end && (isdigit((unsigned char)p[digits]) || p[digits] == '.'))
            digits++;
        struct printed x;
        if (digits == 0 || !word_number((struct word){p, digits}, &x))
            break;
        if (FIELD_p1 + n <= FIELD_p8)
            r->field[FIELD_p1 + n] = x.value;
        n++;
        p += digits;
    }
    return n;
}

static void put_acceptance(struct reader *rd, struct record *r, double rate, int64_t line)
{
    double accepted = r->field[FIELD_accepted], drafted = r->field[FIELD_drafted];
    if (!(r->value >= 1) || rate < 0 || rate > 1.0005 || accepted > drafted) {
        import_reject(rd->im, line,
                      "acceptance length %g, rate %g: a length of 1 at least and a rate in [0, 1] "
                      "were expected",
                      r->value, rate);
        return;
    }
    if (!isnan(rate))
        r->field[FIELD_accept_rate] = rate;
    /* The metrics follow the engine line of the same window. */
    if (rd->has_window) {
        rd->window.field[FIELD_accept_length] = r->value;
        rd->window.field[FIELD_accept_rate] = r->field[FIELD_accept_rate];
        if (!isnan(r->field[FIELD_num_steps]))
            rd->window.field[FIELD_num_steps] = r->field[FIELD_num_steps];
        r->field[FIELD_batch] = rd->window.field[FIELD_batch];
    }
    if (rate >= 0.9995 && drafted >= 20) {
        snprintf(r->state, sizeof r->state, "suspect");
        snprintf(r->note, sizeof r->note, "every draft accepted: does the output repeat itself?");
        if (rd->has_window)
            memcpy(rd->window.state, r->state, sizeof r->state);
        if (!rd->said_perfect)
            import_warn(
                rd->im, line,
                "every draft was accepted: does the output repeat itself? Not to be trusted");
        rd->said_perfect = 1;
    }
    flush(rd);
    import_record(rd->im, r);
    rd->im->rows++;
}

static void read_metrics(struct reader *rd, const char *s, size_t len, int64_t line)
{
    struct record r;
    start_record(rd, &r, WHAT_acceptance, line);
    r.value = number_after_key(s, len, "Mean acceptance length");
    r.field[FIELD_accepted] = number_after_key(s, len, "Accepted");
    r.field[FIELD_drafted] = number_after_key(s, len, "Drafted");
    double rate = number_after_key(s, len, "Avg Draft acceptance rate") / 100;
    if (isnan(r.value)) {
        import_reject(rd->im, line,
                      "speculation metrics without a mean acceptance length: is the line cut?");
        return;
    }
    int positions = read_positions(&r, s, len);
    if (positions > 0) {
        r.field[FIELD_num_steps] = positions;
        if (r.field[FIELD_drafted] > 0)
            r.count = llround(r.field[FIELD_drafted] / positions);
    }
    put_acceptance(rd, &r, rate, line);
}

/* vLLM 0: "Speculative metrics: Draft acceptance rate: 0.6, System efficiency: 0.7, Number of
 * speculative tokens: 4, ...". The efficiency is emitted tokens over the most that could be. */
static void read_old_metrics(struct reader *rd, const char *s, size_t len, int64_t line)
{
    struct record r;
    start_record(rd, &r, WHAT_acceptance, line);
    double k = number_after_key(s, len, "Number of speculative tokens");
    r.value = number_after_key(s, len, "System efficiency") * (k + 1);
    r.field[FIELD_num_steps] = k;
    r.field[FIELD_accepted] = number_after_key(s, len, "Number of accepted tokens");
    r.field[FIELD_drafted] = number_after_key(s, len, "Number of draft tokens");
    if (isnan(r.value)) {
        import_reject(
            rd->im, line,
            "speculation metrics without efficiency or number of tokens: is the line cut?");
        return;
    }
    put_acceptance(rd, &r, number_after_key(s, len, "Draft acceptance rate"), line);
}

static enum status parse(struct import *im, struct err *err)
{
    struct reader rd = {.im = im, .running_before = -1};
    engine_flags_init(&rd.flags);
    struct source_line l;
    while (!im->stopped && source_next(im->in, &l)) {
        if (l.cut)
            import_reject(im, l.number, "the line is longer than %d bytes", SOURCE_MAX_LINE);
        else if (text_find(l.text, l.len, "Avg generation throughput") != NULL)
            read_engine(&rd, l.text, l.len, l.number);
        else if (text_find(l.text, l.len, "SpecDecoding metrics") != NULL)
            read_metrics(&rd, l.text, l.len, l.number);
        else if (text_find(l.text, l.len, "Speculative metrics:") != NULL)
            read_old_metrics(&rd, l.text, l.len, l.number);
        else
            engine_flags_read(&rd.flags, l.text, l.len);
    }
    flush(&rd);
    if (im->records == 0 && !im->stopped)
        return err_set(err, STATUS_INPUT,
                       "%s:%lld: no measurement: no engine or speculation metrics of vLLM",
                       im->path, (long long)(im->in->line > 0 ? im->in->line : 1));
    return STATUS_OK;
}

static int sniff(const char *bytes, size_t len)
{
    if (memchr(bytes, '\0', len) != NULL)
        return 0;
    if (text_find(bytes, len, "Avg generation throughput") != NULL ||
        text_find(bytes, len, "SpecDecoding metrics") != NULL ||
        text_find(bytes, len, "Speculative metrics:") != NULL)
        return 80;
    return 0;
}

const struct importer import_vllm = {
    .name = "vllm-log",
    .summary = "throughput windows and speculation metrics of a vLLM server's log",
    .sniff = sniff,
    .parse = parse,
};
