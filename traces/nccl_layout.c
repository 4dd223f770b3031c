#include "traces/nccl_layout.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a column of the header is. */
enum column {
    COL_OTHER,
    COL_SIZE,
    COL_COUNT,
    COL_TYPE,
    COL_REDOP,
    COL_ROOT,
    COL_TIME,
    COL_CPUTIME,
    COL_ALGBW,
    COL_BUSBW,
    COL_WRONG,
    COL_ERROR,
    COL_MIN,
    COL_MAX,
    COL_P99,
    COL_TIMESTAMP,
};

static const struct {
    const char *word;
    enum column column;
} column_words[] = {
    {"size", COL_SIZE},       {"bytes", COL_SIZE},          {"count", COL_COUNT},
    {"N", COL_COUNT},         {"type", COL_TYPE},           {"redop", COL_REDOP},
    {"op", COL_REDOP},        {"root", COL_ROOT},           {"time", COL_TIME},
    {"cputime", COL_CPUTIME}, {"algbw", COL_ALGBW},         {"busbw", COL_BUSBW},
    {"wrong", COL_WRONG},     {"#wrong", COL_WRONG},        {"error", COL_ERROR},
    {"res", COL_ERROR},       {"i_min", COL_MIN},           {"i_max", COL_MAX},
    {"i_p99", COL_P99},       {"timestamp", COL_TIMESTAMP},
};

int nccl_is_number(struct word w)
{
    struct printed x;
    return word_number(w, &x);
}

/* --- Header ---------------------------------------------------------------------------------- */

static enum column column_of(struct word w)
{
    for (size_t i = 0; i < sizeof column_words / sizeof column_words[0]; i++)
        if (word_is(w, column_words[i].word))
            return column_words[i].column;
    return COL_OTHER;
}

int nccl_head_read(struct nccl_head *h, const char *text, size_t len, int64_t line,
                   int in_place_only)
{
    struct word w[NCCL_MAX_WORDS];
    int n = text_words(text, len, w, NCCL_MAX_WORDS), i = 0;
    while (i < n && !(word_is(w[i], "size") || word_is(w[i], "bytes") || word_is(w[i], "#size") ||
                      word_is(w[i], "#bytes")))
        i++;
    if (n - i < 6 || column_of(w[i + 1]) != COL_COUNT || column_of(w[i + 2]) != COL_TYPE)
        return 0;
    *h = (struct nccl_head){.line = line,
                            .to_us = word_is(w[i], "bytes") || word_is(w[i], "#bytes") ? 1000 : 1};
    int times = 0;
    for (; i < n && h->n < NCCL_MAX_HEAD; i++) {
        if (word_is(w[i], "#"))
            continue;
        enum column c = h->n == 0 ? COL_SIZE : column_of(w[i]);
        if (c == COL_TIME || c == COL_CPUTIME)
            times++;
        h->cputime |= c == COL_CPUTIME;
        h->old |= c == COL_ERROR;
        h->column[h->n] = (unsigned char)c;
        h->side[h->n++] = times > 1 || in_place_only ? NCCL_IN_PLACE : NCCL_OUT_OF_PLACE;
    }
    h->sides = times > 2 ? 0 : times;
    return h->sides > 0;
}

/* Each layout has an operation, a root, both or neither between the type and the first time. */
int nccl_head_from_row(struct nccl_head *h, const struct word *w, int n)
{
    static const char *const texts[] = {
        "size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
        "size count type redop time algbw busbw error time algbw busbw error",
        "size count type root time algbw busbw error time algbw busbw error",
        "size count type time algbw busbw error time algbw busbw error",
        "bytes N type redop time algbw busbw res time algbw busbw res",
        "bytes N type time algbw busbw res time algbw busbw res",
    };
    int found = 0;
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        struct nccl_head try;
        if (!nccl_head_read(&try, texts[k], strlen(texts[k]), 0, 0) || try.n != n)
            continue;
        int proof = 0;
        double size = strtod(w[0].p, NULL);
        for (int i = 3; i < n; i++) {
            struct printed t, a;
            if (try.column[i] == COL_REDOP && nccl_is_number(w[i]))
                proof = -99;
            if (try.column[i] != COL_TIME || !word_number(w[i], &t) || !word_number(w[i + 1], &a))
                continue;
            double expect = size / (t.value * try.to_us * 1e3);
            /* 1/2: two ranks in a layout that leaves out a rank's own part. */
            int whole = fabs(a.value - expect) < 0.01 * expect;
            int half = try.old && a.value > 0.495 * expect && a.value < expect;
            proof += (whole || half) && a.half < 0.005 * a.value;
        }
        if (proof == try.sides) {
            *h = try;
            found++;
        }
    }
    return found == 1;
}

/* --- Rows ------------------------------------------------------------------------------------ */

int nccl_row_find(struct word *w, int n)
{
    for (int i = 0; i + 2 < n; i++) {
        if (!isalpha((unsigned char)w[i + 2].p[0]) || text_dtype(w[i + 2], NULL) == NULL)
            continue;
        if (!nccl_is_number(w[i + 1]))
            continue;
        if (nccl_is_number(w[i]))
            return i;
        size_t k = w[i].n;
        while (k > 0 && isdigit((unsigned char)w[i].p[k - 1]))
            k--;
        if (k < w[i].n && k > 0 && strchr(":>#]", w[i].p[k - 1]) != NULL) {
            w[i] = (struct word){w[i].p + k, w[i].n - k};
            return i;
        }
    }
    return -1;
}

int nccl_is_na(struct word w)
{
    return word_is(w, "N/A") || word_is(w, "n/a") || word_is(w, "NA");
}

const char *nccl_row_read(const struct nccl_head *h, const struct word *w, int n,
                          struct nccl_row *row, int *split, char *buf, size_t cap)
{
    int want = h->n, shift = 0;
    while (want > 0 && (h->column[want - 1] == COL_TIMESTAMP || h->column[want - 1] == COL_OTHER))
        want--;
    row->reduces = -1;
    row->rooted = 0;
    int first_time = 3;
    while (first_time < want && h->column[first_time] != COL_TIME &&
           h->column[first_time] != COL_CPUTIME)
        first_time++;
    int group = 1;
    while (first_time + group < h->n && h->column[first_time + group] != h->column[first_time])
        group++;
    /* A row may leave the whole out-of-place side blank: that gap is wider than any between
     * columns. */
    if (h->sides == 2 && n < want && n >= want - group && n > first_time &&
        w[first_time].p - (w[first_time - 1].p + w[first_time - 1].n) >= 32)
        shift = group;
    for (int side = 0; side < 2; side++) {
        struct nccl_side *s = &row->side[side];
        s->present = 0;
        s->wrong = -1;
        s->error = s->min_us = s->max_us = s->p99_us = NAN;
        s->algbw = s->busbw = s->us = (struct printed){0, 0};
    }
    if (!word_int64(w[0], &row->size) || !word_int64(w[1], &row->count)) {
        snprintf(buf, cap, "size \"%.*s\" and count \"%.*s\": whole numbers were expected",
                 (int)(w[0].n < 20 ? w[0].n : 20), w[0].p, (int)(w[1].n < 20 ? w[1].n : 20),
                 w[1].p);
        return buf;
    }
    row->dtype = text_dtype(w[2], &row->dtype_bytes);
    for (int c = 3; c < want; c++) {
        if (shift > 0 && c >= first_time && c < first_time + group)
            continue;
        int i = c >= first_time ? c - shift : c;
        if (i >= n) {
            *split = 1;
            snprintf(buf, cap, "the row is cut: %d of %d columns", n, want);
            return buf;
        }
        enum column col = (enum column)h->column[c];
        struct nccl_side *s = &row->side[h->side[c]];
        struct printed x;
        if (col == COL_OTHER || col == COL_TIMESTAMP)
            continue;
        if (col == COL_REDOP) {
            row->reduces = !word_is(w[i], "none");
            if (!isalpha((unsigned char)w[i].p[0]) && !nccl_is_na(w[i])) {
                snprintf(buf, cap, "an operation was expected, not \"%.*s\"",
                         (int)(w[i].n < 20 ? w[i].n : 20), w[i].p);
                return buf;
            }
            continue;
        }
        if (nccl_is_na(w[i])) {
            if (col == COL_TIME || col == COL_CPUTIME)
                s->present = -1;
            continue;
        }
        if (!word_number(w[i], &x)) {
            *split = 1;
            snprintf(buf, cap, "a number was expected, not \"%.*s\": the row is split or damaged",
                     (int)(w[i].n < 24 ? w[i].n : 24), w[i].p);
            return buf;
        }
        switch (col) {
        case COL_ROOT:
            row->rooted = x.value >= 0;
            break;
        case COL_TIME:
        case COL_CPUTIME:
            s->present = s->present < 0 ? 0 : 1;
            /* Milliseconds have three decimals: shifted, not multiplied. */
            s->us.value = h->to_us > 1 ? rint(x.value * h->to_us * 1e4) / 1e4 : x.value;
            s->us.half = x.half * h->to_us;
            break;
        case COL_ALGBW:
            s->algbw = x;
            break;
        case COL_BUSBW:
            s->busbw = x;
            break;
        case COL_WRONG:
            s->wrong = x.value;
            break;
        case COL_ERROR:
            s->error = x.value;
            break;
        case COL_MIN:
            s->min_us = x.value;
            break;
        case COL_MAX:
            s->max_us = x.value;
            break;
        case COL_P99:
            s->p99_us = x.value;
            break;
        default:
            break;
        }
    }
    for (int side = 0; side < 2; side++) {
        struct nccl_side *s = &row->side[side];
        s->present = s->present > 0;
        if (s->present && h->cputime) {
            /* The device's time is size/algbw, where that has the digits for it. */
            if (s->algbw.value <= 100 * s->algbw.half)
                return "the time is the host's (cputime), and algbw is too coarse to give the "
                       "device's";
            double us = (double)row->size / (s->algbw.value * 1e3);
            s->us = (struct printed){us, us * s->algbw.half / s->algbw.value};
        }
    }
    return NULL;
}
