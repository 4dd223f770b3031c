/* Logs of an SGLang server: its "Decode batch" lines, one every few steps.
 *
 * "accept len" includes the bonus token, as our accept_length does. "accept rate" has had two
 * meanings: accept len / num_draft_tokens, and since 2026 (accept len - 1) / num_steps. Which one a
 * log uses is told from its own numbers; ours is the second. docs/importing.md has the sources.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/engine_flags.h"
#include "traces/import.h"
#include "traces/text.h"

enum { MAX_HELD = 256 };

struct window {
    int64_t line;
    double running, tokens, tokens_per_s, accept_len, accept_rate, queued, iter_ms;
    int warmup, ramp, no_graph;
};

struct reader {
    struct import *im;
    struct engine_flags flags;
    /* Windows wait until the meaning of "accept rate" is known. */
    struct window held[MAX_HELD];
    int n_held;
    int settled;
    double steps; /* draft steps told from accept len and accept rate; -1 if they do not tell */
    int idle_prefill, prefill;
};

/* The whole number k in [1, 64] for which numerator/k rounds to the printed rate in every window;
 * -1 where none or several do. */
static double divisor(const struct reader *rd, double bonus)
{
    double found = -1;
    for (int k = 1; k <= 64; k++) {
        int windows = 0, fits = 1;
        for (int i = 0; i < rd->n_held && fits; i++) {
            const struct window *w = &rd->held[i];
            if (isnan(w->accept_len) || isnan(w->accept_rate) || !(w->accept_len > 1))
                continue;
            windows++;
            fits = fabs((w->accept_len - bonus) / k - w->accept_rate) <= 0.0051 + 0.0051 / k;
        }
        if (windows == 0 || !fits)
            continue;
        if (found > 0)
            return -1;
        found = k;
    }
    return found;
}

static void settle_meaning(struct reader *rd)
{
    rd->settled = 1;
    rd->steps = -1;
    double tokens = divisor(rd, 0), steps = divisor(rd, 1);
    if (rd->flags.num_steps > 0)
        rd->steps = rd->flags.num_steps;
    else if (steps > 0 && tokens < 0)
        rd->steps = steps;
    else if (tokens > 1 && steps < 0)
        rd->steps = tokens - 1; /* a chain; a tree of topk > 1 is in the server's arguments */
}

static void put_window(struct reader *rd, const struct window *w)
{
    struct record r;
    record_init(&r);
    r.what = WHAT_server_window;
    r.value = w->tokens_per_s;
    r.line = w->line;
    snprintf(r.method, sizeof r.method, "sglang-log");
    snprintf(r.label, sizeof r.label, "%s", rd->im->label);
    snprintf(r.origin, sizeof r.origin, "%.255s", rd->im->path);
    engine_flags_apply(&rd->flags, &r);
    r.field[FIELD_batch] = w->running;
    if (!isnan(w->queued))
        r.field[FIELD_concurrency] = w->running + w->queued;
    if (w->tokens > 0 && w->running > 0)
        r.field[FIELD_context_tokens] = w->tokens / w->running;
    if (!isnan(w->iter_ms))
        r.field[FIELD_step_us] = w->iter_ms * 1e3;
    if (!isnan(w->accept_len)) {
        r.field[FIELD_accept_length] = w->accept_len;
        if (rd->steps > 0) {
            r.field[FIELD_num_steps] = rd->steps;
            r.field[FIELD_accept_rate] = (w->accept_len - 1) / rd->steps;
        }
    }
    if (w->no_graph)
        snprintf(r.note, sizeof r.note, "without CUDA graph");
    if (w->warmup)
        snprintf(r.state, sizeof r.state, "warmup");
    else if (w->ramp)
        snprintf(r.state, sizeof r.state, "ramp");
    import_record(rd->im, &r);
    rd->im->rows++;
}

static void flush(struct reader *rd)
{
    if (!rd->settled) {
        settle_meaning(rd);
        /* The first window of a log, where its beginning is not shown. */
        const struct window *w = rd->held;
        if (rd->n_held > 1 &&
            w[0].tokens_per_s / w[0].running < 0.2 * w[1].tokens_per_s / w[1].running)
            rd->held[0].warmup = 1;
    }
    for (int i = 0; i < rd->n_held && !rd->im->stopped; i++)
        put_window(rd, &rd->held[i]);
    rd->n_held = 0;
}

static void read_decode(struct reader *rd, const char *s, size_t len, int64_t line)
{
    struct window w = {.line = line};
    w.running = number_after_key(s, len, "#running-req");
    w.tokens = number_after_key(s, len, "#token");
    if (isnan(w.tokens))
        w.tokens = number_after_key(s, len, "#full token");
    w.tokens_per_s = number_after_key(s, len, "gen throughput (token/s)");
    w.accept_len = number_after_key(s, len, "accept len");
    w.accept_rate = number_after_key(s, len, "accept rate");
    w.queued = number_after_key(s, len, "#queue-req");
    w.iter_ms = number_after_key(s, len, "iter latency (ms)");
    w.no_graph = text_find(s, len, "cuda graph: False") != NULL;
    if (isnan(w.running) || isnan(w.tokens_per_s)) {
        import_reject(rd->im, line, "a decode line without %s: is it cut?",
                      isnan(w.running) ? "#running-req" : "gen throughput");
        return;
    }
    if (!(w.tokens_per_s > 0) || !(w.running > 0)) {
        if (w.tokens_per_s < 0 || w.running < 0)
            import_reject(rd->im, line, "a negative throughput or number of requests");
        return; /* idle */
    }
    if (!isnan(w.accept_len) && w.accept_len < 1) {
        import_reject(rd->im, line, "accept len %g: it counts the bonus token, so it is 1 at least",
                      w.accept_len);
        return;
    }
    /* A window that began idle counts the wait before it. */
    w.warmup = rd->idle_prefill;
    w.ramp = rd->prefill && !(w.queued > 0);
    rd->idle_prefill = rd->prefill = 0;
    rd->held[rd->n_held++] = w;
    if (rd->n_held == MAX_HELD || rd->settled)
        flush(rd);
}

static enum status parse(struct import *im, struct err *err)
{
    struct reader *rd = calloc(1, sizeof *rd);
    if (rd == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    rd->im = im;
    engine_flags_init(&rd->flags);
    struct source_line l;
    while (!im->stopped && source_next(im->in, &l)) {
        if (l.cut) {
            import_reject(im, l.number, "the line is longer than %d bytes", SOURCE_MAX_LINE);
        } else if (text_find(l.text, l.len, "Decode batch") != NULL) {
            read_decode(rd, l.text, l.len, l.number);
        } else if (text_find(l.text, l.len, "Prefill batch") != NULL) {
            rd->prefill = 1;
            rd->idle_prefill |= number_after_key(l.text, l.len, "#running-req") == 0;
        } else {
            engine_flags_read(&rd->flags, l.text, l.len);
        }
    }
    flush(rd);
    free(rd);
    if (im->rows == 0 && !im->stopped)
        return err_set(err, STATUS_INPUT,
                       "%s:%lld: no measurement: no \"Decode batch\" line with a throughput",
                       im->path, (long long)(im->in->line > 0 ? im->in->line : 1));
    return STATUS_OK;
}

static int sniff(const char *bytes, size_t len)
{
    if (memchr(bytes, '\0', len) != NULL)
        return 0;
    return text_find(bytes, len, "Decode batch") != NULL &&
                   text_find(bytes, len, "#running-req") != NULL
               ? 80
               : 0;
}

const struct importer import_sglang = {
    .name = "sglang-log",
    .summary = "decode windows of an SGLang server's log",
    .sniff = sniff,
    .parse = parse,
};
