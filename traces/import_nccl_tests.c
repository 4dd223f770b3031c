/* nccl-tests, all layouts from NCCL 1 to 2026. Columns come from the header's words; a row is found
 * by its three leading words (size, count, type) wherever a launcher's prefix puts them. See
 * docs/importing.md for the layouts and the damage that this reader knows.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/nccl_table.h"

enum { MAX_WORDS = 64, MAX_HEAD = 40, MAX_PENDING = 64 };

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

struct head {
    int n;
    unsigned char column[MAX_HEAD], side[MAX_HEAD];
    int sides;    /* groups of time, algbw, busbw: 1 or 2 */
    int cputime;  /* the time is the host's */
    int old;      /* before 2022 */
    double to_us; /* 1000 where the layout prints milliseconds */
    int64_t line;
};

struct reader {
    struct import *im;
    struct nccl_table *table;
    struct head head;  /* n 0: no header yet */
    int in_place_only; /* the line above the header names only in-place */
    int64_t first_header, last_trouble;
    char trouble[120]; /* the last line that reads like a failure */

    /* What the lines before a table say of it. */
    struct nccl_settings exported, run, info;
    int run_is_new; /* a command line has come since the last row */
    enum record_what what;
    int ranks_seen, rank_max;
    char device[64], title[64];
    int graph, agg;
    int rows_since_banner;

    int64_t split_line; /* the first half of a split row; 0 if none */
    int split_have;
    int64_t last_size;

    /* Rows without a header wait for one among them whose numbers prove the columns. */
    int n_pending;
    struct {
        char *text;
        int64_t line;
    } pending[MAX_PENDING];
    int warned_headless;
};

static int is_number_like(struct word w)
{
    struct printed x;
    return word_number(w, &x);
}

/* --- Header --------------------------------------------------------------------------------------
 */

static enum column column_of(struct word w)
{
    for (size_t i = 0; i < sizeof column_words / sizeof column_words[0]; i++)
        if (word_is(w, column_words[i].word))
            return column_words[i].column;
    return COL_OTHER;
}

/* Reads a header line. 1 where it is one. */
static int read_head(struct head *h, const char *text, size_t len, int64_t line, int in_place_only)
{
    struct word w[MAX_WORDS];
    int n = text_words(text, len, w, MAX_WORDS), i = 0;
    while (i < n && !(word_is(w[i], "size") || word_is(w[i], "bytes") || word_is(w[i], "#size") ||
                      word_is(w[i], "#bytes")))
        i++;
    if (n - i < 6 || column_of(w[i + 1]) != COL_COUNT || column_of(w[i + 2]) != COL_TYPE)
        return 0;
    *h = (struct head){.line = line,
                       .to_us = word_is(w[i], "bytes") || word_is(w[i], "#bytes") ? 1000 : 1};
    int times = 0;
    for (; i < n && h->n < MAX_HEAD; i++) {
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

/* A header from the numbers of a row that has none: every count of columns between the type and the
 * first time is tried (an operation, a root, both, neither), and the one that makes time, size and
 * algbw agree on both sides, to three digits, is the layout. 1 where exactly one does. */
static int head_from_row(struct head *h, const struct word *w, int n)
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
        struct head try;
        if (!read_head(&try, texts[k], strlen(texts[k]), 0, 0) || try.n != n)
            continue;
        int proof = 0;
        double size = strtod(w[0].p, NULL);
        for (int i = 3; i < n; i++) {
            struct printed t, a;
            if (try.column[i] == COL_REDOP && is_number_like(w[i]))
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

/* --- Rows ----------------------------------------------------------------------------------------
 */

/* Where the row begins among the words: at size, count, type. -1 where there is none. A prefix that
 * sticks to the size ("[1,0]<stdout>:4096") is cut off. */
static int find_row(struct word *w, int n)
{
    for (int i = 0; i + 2 < n; i++) {
        if (!isalpha((unsigned char)w[i + 2].p[0]) || text_dtype(w[i + 2], NULL) == NULL)
            continue;
        if (!is_number_like(w[i + 1]))
            continue;
        if (is_number_like(w[i]))
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

static int is_na(struct word w)
{
    return word_is(w, "N/A") || word_is(w, "n/a") || word_is(w, "NA");
}

/* Words of one row, by the header, into *row. NULL, or why not. *split is set where the line looks
 * like the first half of a row that other output broke. */
static const char *read_row(const struct reader *rd, const struct word *w, int n,
                            struct nccl_row *row, int *split, char *buf, size_t cap)
{
    const struct head *h = &rd->head;
    int want = h->n, shift = 0;
    while (want > 0 && (h->column[want - 1] == COL_TIMESTAMP || h->column[want - 1] == COL_OTHER))
        want--;
    row->reduces = -1;
    row->rooted = 0;
    int first_time = 3;
    while (first_time < want && h->column[first_time] != COL_TIME &&
           h->column[first_time] != COL_CPUTIME)
        first_time++;
    int group = (want - first_time) / h->sides;
    /* A row may leave the whole out-of-place side blank: that gap is wider than any between
     * columns. */
    if (h->sides == 2 && n == want - group && n > first_time &&
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
            if (!isalpha((unsigned char)w[i].p[0]) && !is_na(w[i])) {
                snprintf(buf, cap, "an operation was expected, not \"%.*s\"",
                         (int)(w[i].n < 20 ? w[i].n : 20), w[i].p);
                return buf;
            }
            continue;
        }
        if (is_na(w[i])) {
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

/* --- Tables --------------------------------------------------------------------------------------
 */

/* Ends the table: passes its rows on. */
static void end_table(struct reader *rd)
{
    nccl_table_flush(rd->table);
    rd->table->flushed = 0;
    rd->table->said_ranks = 0;
    rd->table->line = 0;
}

/* Forgets what was said of an earlier run, at the first line of a new one. */
static void new_run(struct reader *rd)
{
    end_table(rd);
    if (rd->rows_since_banner > 0) {
        rd->rows_since_banner = 0;
        rd->info = (struct nccl_settings){0};
        rd->ranks_seen = 0;
        rd->rank_max = -1;
        rd->graph = 0;
        rd->agg = 1;
        if (!rd->run_is_new) {
            rd->run = (struct nccl_settings){0};
            rd->what = WHAT_COUNT;
        }
        rd->head.n = 0;
    }
}

static void merge(struct nccl_settings *to, const struct nccl_settings *from)
{
    const struct {
        char *to;
        const char *from;
        size_t n;
    } all[] = {
        {to->algo, from->algo, sizeof to->algo},
        {to->proto, from->proto, sizeof to->proto},
        {to->channels_min, from->channels_min, sizeof to->channels_min},
        {to->channels_max, from->channels_max, sizeof to->channels_max},
        {to->buffsize, from->buffsize, sizeof to->buffsize},
        {to->nthreads, from->nthreads, sizeof to->nthreads},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].from[0] != '\0')
            memcpy(all[i].to, all[i].from, all[i].n);
}

/* Fills the table's description from what was read so far; before its first row. */
static void begin_table(struct reader *rd, int64_t line)
{
    struct nccl_table *t = rd->table;
    t->line = line;
    t->old = rd->head.old;
    t->what = rd->what;
    t->listed_ranks = rd->ranks_seen > 0 ? rd->rank_max + 1 : 0;
    struct nccl_settings s = rd->exported;
    merge(&s, &rd->run);
    merge(&s, &rd->info);
    nccl_settings_impl(&s, t->impl, sizeof t->impl);
    snprintf(t->device, sizeof t->device, "%s", rd->device);
    snprintf(t->method, sizeof t->method, "nccl-tests%s%s", rd->graph ? "/graph" : "",
             rd->agg > 1 ? "/aggregated" : "");
    snprintf(t->label, sizeof t->label, "%.90s%s%.64s", rd->im->label, rd->title[0] ? " " : "",
             rd->title);
    t->note[0] = '\0';
    if (rd->agg > 1)
        snprintf(t->note, sizeof t->note, "%d operations fused: not the latency of one", rd->agg);
    if (rd->head.cputime)
        snprintf(t->note, sizeof t->note, "cputime run: the time is size/algbw");
}

static void take_row(struct reader *rd, struct word *w, int n, int64_t line)
{
    char why[160];
    struct nccl_row row;
    row.line = line;
    int split = 0;
    const char *reason = read_row(rd, w, n, &row, &split, why, sizeof why);
    if (reason == NULL)
        reason = nccl_row_check(&row, rd->head.old, why, sizeof why);
    rd->split_line = reason != NULL && split ? line : 0;
    rd->split_have = n;
    if (reason != NULL) {
        import_reject(rd->im, line, "%s", reason);
        return;
    }
    if (rd->table->line == 0)
        begin_table(rd, line);
    rd->rows_since_banner++;
    rd->run_is_new = 0;
    rd->last_size = row.size;
    nccl_table_add(rd->table, &row);
}

/* Rows that came without a header, once one of them has proved the columns or none can. */
static void settle_pending(struct reader *rd, int proved)
{
    for (int i = 0; i < rd->n_pending; i++) {
        struct word w[MAX_WORDS];
        int n = text_words(rd->pending[i].text, strlen(rd->pending[i].text), w, MAX_WORDS);
        int at = find_row(w, n);
        if (proved && at >= 0)
            take_row(rd, w + at, n - at, rd->pending[i].line);
        else
            import_reject(rd->im, rd->pending[i].line,
                          "a row without a header, and its numbers do not show its columns");
        free(rd->pending[i].text);
    }
    rd->n_pending = 0;
}

static void headless_row(struct reader *rd, struct word *w, int n, const struct source_line *l)
{
    struct head h;
    if (head_from_row(&h, w, n)) {
        rd->head = h;
        if (!rd->warned_headless)
            import_warn(rd->im, rd->n_pending > 0 ? rd->pending[0].line : l->number,
                        "rows without a header: their columns were told from time = size/algbw");
        rd->warned_headless = 1;
        settle_pending(rd, 1);
        take_row(rd, w, n, l->number);
        return;
    }
    if (rd->n_pending == MAX_PENDING)
        settle_pending(rd, 0);
    char *copy = strndup(l->text, l->len);
    if (copy != NULL) {
        rd->pending[rd->n_pending].text = copy;
        rd->pending[rd->n_pending++].line = l->number;
    }
}

/* A line within a table that is no whole row: the second half of a split one, or a cut one. */
static void half_row(struct reader *rd, const struct word *w, int n, int64_t line)
{
    int numbers = n > 0;
    for (int i = 0; i < n && numbers; i++)
        numbers = is_number_like(w[i]) || is_na(w[i]);
    if (numbers && rd->split_line > 0 && n >= 2 && n < rd->head.n) {
        import_reject(rd->im, line, "the second half of the row of line %lld",
                      (long long)rd->split_line);
        rd->split_line = 0;
        return;
    }
    int64_t size;
    if (n >= 1 && n <= 3 && word_int64(w[0], &size) && size > 0 && size >= rd->last_size &&
        rd->rows_since_banner > 0 && (n < 2 || word_is_digits(w[1])) &&
        (n < 3 || isalpha((unsigned char)w[2].p[0])) && (n > 1 || size >= 1024))
        import_reject(rd->im, line, "the row is cut: %d of %d columns", n, rd->head.n);
}

/* --- The lines around tables
 * ---------------------------------------------------------------------- */

/* "NCCL_X=value" anywhere in the line, "NCCL_X set by environment to value". */
static void read_settings(struct reader *rd, const char *text, size_t len, int is_info, int is_run)
{
    const char *p = text, *end = text + len;
    int exported = text_find(text, len, "export ") != NULL;
    while ((p = text_find(p, (size_t)(end - p), "NCCL_")) != NULL) {
        const char *q = p;
        while (q < end && (isupper((unsigned char)*q) || isdigit((unsigned char)*q) || *q == '_'))
            q++;
        struct word name = {p, (size_t)(q - p)};
        static const char by_env[] = " set by environment to ";
        const char *v = NULL;
        if (q < end && *q == '=')
            v = q + 1;
        else if ((size_t)(end - q) > sizeof by_env && memcmp(q, by_env, sizeof by_env - 1) == 0)
            v = q + sizeof by_env - 1;
        p = q;
        if (v == NULL)
            continue;
        const char *stop = v;
        while (stop < end && !isspace((unsigned char)*stop))
            stop++;
        struct word value = {v, (size_t)(stop - v)};
        nccl_settings_take(is_info               ? &rd->info
                           : exported && !is_run ? &rd->exported
                                                 : &rd->run,
                           name, value);
        p = stop;
    }
}

static void read_device(struct reader *rd, const char *text, size_t len)
{
    const char *p = text_find(text, len, "Rank ");
    char *end;
    if (p == NULL)
        return;
    long rank = strtol(p + 5, &end, 10);
    if (end == p + 5 || rank < 0 || rank > 1000000)
        return;
    if (rd->rows_since_banner > 0)
        new_run(rd);
    rd->ranks_seen++;
    if (rd->ranks_seen == 1 || rank > rd->rank_max)
        rd->rank_max = (int)rank;
    const char *name = memrchr(text, ']', len);
    if (name == NULL)
        return;
    name++;
    while (name < text + len && *name == ' ')
        name++;
    word_copy((struct word){name, (size_t)(text + len - name)}, rd->device, sizeof rd->device);
}

static int number_after(const char *text, size_t len, const char *key, int otherwise)
{
    const char *p = text_find(text, len, key);
    return p == NULL ? otherwise : (int)strtol(p + strlen(key), NULL, 10);
}

/* "=== AllGather DEFAULT rep 1 ===": a title tells runs apart, repetitions of one aside. */
static void read_title(struct reader *rd, const char *text, size_t len)
{
    struct word w[12];
    int n = text_words(text, len, w, 12);
    char title[64] = "";
    size_t used = 0;
    for (int i = 1; i + 1 < n; i++) {
        static const char *const again[] = {"rep",        "run",       "trial",
                                            "repetition", "iteration", "pass"};
        int skip = 0;
        for (size_t k = 0; k < sizeof again / sizeof again[0]; k++)
            skip |= strlen(again[k]) == w[i].n && strncasecmp(w[i].p, again[k], w[i].n) == 0;
        if (skip) {
            if (i + 2 < n && word_is_digits(w[i + 1]))
                i++;
            continue;
        }
        if (used + w[i].n + 2 > sizeof title)
            break;
        if (used > 0)
            title[used++] = ' ';
        memcpy(title + used, w[i].p, w[i].n);
        used += w[i].n;
        title[used] = '\0';
    }
    new_run(rd);
    memcpy(rd->title, title, sizeof title);
}

/* A line that is neither header nor row: what it says of the run. */
static void read_context(struct reader *rd, const char *text, size_t len, int64_t line)
{
    if (text_find(text, len, "NCCL INFO") != NULL) {
        read_settings(rd, text, len, 1, 0);
        return;
    }
    struct word w[1];
    if (text_words(text, len, w, 1) == 1 && w[0].n >= 2 && strspn(w[0].p, "=") >= w[0].n)
        read_title(rd, text, len);
    if (text_find(text, len, " device ") != NULL && text_find(text, len, "Rank ") != NULL) {
        read_device(rd, text, len);
        return;
    }
    const char *perf = text_find(text, len, "_perf");
    int starting = text_find(text, len, "Collective test starting") != NULL;
    if (perf != NULL && text_find(text, len, "concluded") == NULL) {
        enum record_what what = WHAT_COUNT;
        const char *from = perf;
        while (from > text && !isspace((unsigned char)from[-1]))
            from--;
        what = nccl_collective(from, (size_t)(perf - from));
        if (starting)
            new_run(rd);
        if (what != WHAT_COUNT) {
            if (!starting) {
                end_table(rd);
                rd->run = (struct nccl_settings){0};
                rd->run_is_new = 1;
            }
            rd->what = what;
        }
    }
    if (text_find(text, len, "NCCL_") != NULL)
        read_settings(rd, text, len, 0, perf != NULL);
    if (text_find(text, len, "nThread ") != NULL && text_find(text, len, "minBytes") != NULL) {
        if (rd->rows_since_banner > 0)
            new_run(rd);
        rd->graph = number_after(text, len, "graph: ", 0) > 0;
        rd->agg = number_after(text, len, "agg iters: ", 1);
    }
    if (text_find_case(text, len, "fail") != NULL || text_find_case(text, len, "error") != NULL) {
        if (rd->last_trouble == 0 || text_find(text, len, "Test NCCL failure") != NULL) {
            rd->last_trouble = line;
            word_copy((struct word){text, len}, rd->trouble, sizeof rd->trouble);
        }
    }
    if (text_find(text, len, "out-of-place") != NULL || text_find(text, len, "in-place") != NULL)
        rd->in_place_only = text_find(text, len, "out-of-place") == NULL;
}

static void read_line(struct reader *rd, struct source_line *l)
{
    if (memchr(l->text, '<', l->len) != NULL || memchr(l->text, '\033', l->len) != NULL)
        l->len = text_strip_markup(l->text, l->len);
    struct word w[MAX_WORDS];
    int n = text_words(l->text, l->len, w, MAX_WORDS);
    int at = find_row(w, n);
    if (at >= 0) {
        if (rd->head.n > 0)
            take_row(rd, w + at, n - at, l->number);
        else
            headless_row(rd, w + at, n - at, l);
        return;
    }
    struct head h;
    if (text_find(l->text, l->len, "algbw") != NULL &&
        read_head(&h, l->text, l->len, l->number, rd->in_place_only)) {
        settle_pending(rd, 0);
        end_table(rd);
        rd->head = h;
        rd->last_size = 0;
        if (rd->first_header == 0)
            rd->first_header = l->number;
        return;
    }
    int skip = 0;
    while (skip < n && strspn(w[skip].p, "#>") >= w[skip].n)
        skip++;
    if (rd->head.n > 0 && n > skip && n - skip < rd->head.n)
        half_row(rd, w + skip, n - skip, l->number);
    read_context(rd, l->text, l->len, l->number);
}

static enum status parse_text(struct import *im, struct err *err)
{
    struct reader *rd = calloc(1, sizeof *rd);
    struct nccl_table *t = calloc(1, sizeof *t);
    enum status status = STATUS_OK;
    if (rd == NULL || t == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    *rd = (struct reader){.im = im, .table = t, .what = WHAT_COUNT, .rank_max = -1, .agg = 1};
    t->im = im;
    struct source_line l;
    while (!im->stopped && source_next(im->in, &l)) {
        if (l.cut)
            import_reject(im, l.number, "the line is longer than %d bytes", SOURCE_MAX_LINE);
        else
            read_line(rd, &l);
    }
    settle_pending(rd, 0);
    end_table(rd);
    if (im->rows == 0 && !im->stopped) {
        int64_t line = rd->first_header > 0 ? rd->first_header : 1;
        if (im->rejected > 0)
            status = err_set(err, STATUS_INPUT, "%s: no measurement: all %lld rows were rejected",
                             im->path, (long long)im->rejected);
        else if (rd->last_trouble > 0)
            status =
                err_set(err, STATUS_INPUT, "%s:%lld: no measurement: no row follows; line %lld: %s",
                        im->path, (long long)line, (long long)rd->last_trouble, rd->trouble);
        else
            status =
                err_set(err, STATUS_INPUT, "%s:%lld: no measurement: no row of nccl-tests follows",
                        im->path, (long long)line);
    }
out:
    if (rd != NULL)
        for (int i = 0; i < rd->n_pending; i++)
            free(rd->pending[i].text);
    free(rd);
    free(t);
    return status;
}

static int sniff(const char *bytes, size_t len)
{
    if (len > 0 && bytes[0] == '{')
        return text_find(bytes, len, "\"nccl_version\"") != NULL &&
                       text_find(bytes, len, "_perf") != NULL
                   ? 90
                   : 0;
    if (memchr(bytes, '\0', len) != NULL)
        return 0;
    if (text_find(bytes, len, "algbw") != NULL && text_find(bytes, len, "busbw") != NULL)
        return 90;
    if (text_find(bytes, len, "nThread ") != NULL && text_find(bytes, len, "minBytes") != NULL)
        return 80;
    if (text_find(bytes, len, "Collective test starting") != NULL)
        return 80;
    /* Rows alone: a size, a count, a type and numbers. */
    const char *p = bytes, *end = bytes + len;
    for (int i = 0; i < 200 && p < end; i++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (stop == NULL)
            stop = end;
        struct word w[16];
        int n = text_words(p, (size_t)(stop - p), w, 16);
        if (n >= 9 && word_is_digits(w[0]) && word_is_digits(w[1]) &&
            text_dtype(w[2], NULL) != NULL && is_number_like(w[n - 2]))
            return 60;
        p = stop + 1;
    }
    return 0;
}

static enum status parse(struct import *im, struct err *err)
{
    const char *bytes;
    size_t len = source_peek(im->in, &bytes);
    return len > 0 && bytes[0] == '{' ? nccl_json_parse(im, err) : parse_text(im, err);
}

const struct importer import_nccl_tests = {
    .name = "nccl-tests",
    .summary = "tables of nccl-tests, text or JSON (-J), NCCL 1 to today",
    .sniff = sniff,
    .parse = parse,
};
