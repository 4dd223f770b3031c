/* The speculation counters that a vLLM server shows at /metrics (Prometheus text). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/command.h"
#include "traces/import.h"
#include "traces/text.h"

enum { MAX_POSITIONS = 64 };

static const char prefix[] = "vllm:spec_decode_num_";

/* Counters add up over engines. */
struct counters {
    double drafts, drafted, accepted, at[MAX_POSITIONS];
    int positions;
    int64_t line;
};

static void read_line(struct import *im, struct counters *c, const char *s, size_t len,
                      int64_t line)
{
    while (len > 0 && strchr(" \t>", *s) != NULL)
        s++, len--;
    if (len < sizeof prefix || memcmp(s, prefix, sizeof prefix - 1) != 0)
        return;
    const char *name = s + sizeof prefix - 1;
    size_t n = strcspn(name, "{ \t");
    const char *space = memrchr(s, ' ', len);
    char text[64];
    double x;
    if (space == NULL)
        return;
    word_copy((struct word){space + 1, (size_t)(s + len - space - 1)}, text, sizeof text);
    if (parse_double(text, &x) != 0 || x < 0) {
        import_reject(im, line, "a counter of 0 or more was expected, not \"%.30s\"", text);
        return;
    }
    struct word w = {name, n};
    if (word_is(w, "drafts_total") || word_is(w, "drafts")) {
        c->drafts += x;
        c->line = line;
    } else if (word_is(w, "draft_tokens_total") || word_is(w, "draft_tokens")) {
        c->drafted += x;
    } else if (word_is(w, "accepted_tokens_total") || word_is(w, "accepted_tokens")) {
        c->accepted += x;
    } else if (word_is(w, "accepted_tokens_per_pos_total") ||
               word_is(w, "accepted_tokens_per_pos")) {
        static const char key[] = "position=\"";
        const char *p = text_find(s, len, key);
        long k = p == NULL ? -1 : strtol(p + sizeof key - 1, NULL, 10);
        if (k >= 0 && k < MAX_POSITIONS) {
            c->at[k] += x;
            c->positions = k >= c->positions ? (int)k + 1 : c->positions;
        }
    }
}

static enum status parse(struct import *im, struct err *err)
{
    struct counters c = {0};
    struct source_line l;
    while (source_next(im->in, &l))
        if (!l.cut)
            read_line(im, &c, l.text, l.len, l.number);
    if (!(c.drafts > 0) || !(c.drafted > 0) || c.accepted > c.drafted)
        return err_set(
            err, STATUS_INPUT,
            "%s:%lld: no measurement: the counters drafts, draft_tokens and accepted_tokens of "
            "vllm:spec_decode_num_* are needed, and drafts above 0",
            im->path, (long long)(c.line > 0 ? c.line : 1));
    struct record r;
    record_init(&r);
    r.what = WHAT_acceptance;
    r.value = 1 + c.accepted / c.drafts;
    r.line = c.line;
    r.count = c.drafts < 9e15 ? (int64_t)c.drafts : 0;
    r.field[FIELD_num_steps] = rint(c.drafted / c.drafts);
    r.field[FIELD_accepted] = c.accepted;
    r.field[FIELD_drafted] = c.drafted;
    r.field[FIELD_accept_rate] = c.accepted / c.drafted;
    for (int i = 0; i < c.positions && i < 8; i++)
        r.field[FIELD_p1 + i] = c.at[i] / c.drafts;
    snprintf(r.method, sizeof r.method, "vllm-metrics");
    snprintf(r.label, sizeof r.label, "%s", im->label);
    snprintf(r.origin, sizeof r.origin, "%.255s", im->path);
    import_record(im, &r);
    im->rows = 1;
    return STATUS_OK;
}

static int sniff(const char *bytes, size_t len)
{
    return text_find(bytes, len, prefix) != NULL && memchr(bytes, '\0', len) == NULL ? 75 : 0;
}

const struct importer import_vllm_metrics = {
    .name = "vllm-metrics",
    .summary = "speculation counters of a vLLM server's /metrics page",
    .sniff = sniff,
    .parse = parse,
};
