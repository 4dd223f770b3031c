/* nccl-tests, all layouts from NCCL 1 to 2026. Columns come from the header's words; a row is found
 * by its three leading words (size, count, type) wherever a launcher's prefix puts them. See
 * docs/importing.md for the layouts and the damage that this reader knows.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/nccl_layout.h"

enum { MAX_PENDING = 64 };

struct reader {
    struct import *im;
    struct nccl_table *table;
    struct nccl_head head; /* n 0: no header yet */
    int in_place_only;     /* the line above the header names only in-place */
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

/* --- Tables ---------------------------------------------------------------------------------- */

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
    const char *reason = nccl_row_read(&rd->head, w, n, &row, &split, why, sizeof why);
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
        struct word w[NCCL_MAX_WORDS];
        int n = text_words(rd->pending[i].text, strlen(rd->pending[i].text), w, NCCL_MAX_WORDS);
        int at = nccl_row_find(w, n);
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
    struct nccl_head h;
    if (nccl_head_from_row(&h, w, n)) {
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
        numbers = nccl_is_number(w[i]) || nccl_is_na(w[i]);
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
 * -------------------------------------------------------------- */

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

/* "#  Rank  0 Group  0 Pid 1234 on boxA device  0 [0x01] NAME", however it is spaced. 1 where the
 * line is one. */
static int read_device(struct reader *rd, const char *text, size_t len)
{
    const char *p = text_find(text, len, "Rank");
    char *end;
    if (p == NULL || text_find(text, len, "device") == NULL || text_find(text, len, "Pid") == NULL)
        return 0;
    long rank = strtol(p + 4, &end, 10);
    if (end == p + 4 || rank < 0 || rank > 1000000)
        return 0;
    if (rd->rows_since_banner > 0)
        new_run(rd);
    rd->ranks_seen++;
    if (rd->ranks_seen == 1 || rank > rd->rank_max)
        rd->rank_max = (int)rank;
    const char *name = memrchr(text, ']', len);
    if (name == NULL)
        return 1;
    name++;
    while (name < text + len && isspace((unsigned char)*name))
        name++;
    word_copy((struct word){name, (size_t)(text + len - name)}, rd->device, sizeof rd->device);
    return 1;
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
    if (read_device(rd, text, len))
        return;
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
    struct word w[NCCL_MAX_WORDS];
    int n = text_words(l->text, l->len, w, NCCL_MAX_WORDS);
    int at = nccl_row_find(w, n);
    if (at >= 0) {
        if (rd->head.n > 0)
            take_row(rd, w + at, n - at, l->number);
        else
            headless_row(rd, w + at, n - at, l);
        return;
    }
    struct nccl_head h;
    if (text_find(l->text, l->len, "algbw") != NULL &&
        nccl_head_read(&h, l->text, l->len, l->number, rd->in_place_only)) {
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
    for (const char *p = bytes, *end = bytes + len; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (stop == NULL)
            stop = end;
        struct word w[NCCL_MAX_WORDS];
        int n = text_words(p, (size_t)(stop - p), w, NCCL_MAX_WORDS), at = nccl_row_find(w, n);
        if (at >= 0 && n - at >= 9 && nccl_is_number(w[n - 2]))
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
