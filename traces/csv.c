#include "traces/csv.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "traces/command.h"
#include "traces/input.h"

enum { MAX_BYTES = 64 << 20, MAX_COLUMNS = 512 };

/* Splits the line that starts at *p into cells, in place, and moves *p behind it. Returns the
 * number of cells, or -1 where there are more than cap. A quoted cell may span lines. */
static int split(char **p, char *end, char **cells, int cap)
{
    char *in = *p;
    int n = 0, more = 1;
    while (more) {
        if (n == cap)
            return -1;
        while (in < end && (*in == ' ' || *in == '\t'))
            in++;
        char *out = in, *start = in;
        if (in < end && *in == '"') {
            start = out = ++in;
            while (in < end) {
                if (*in == '"') {
                    if (in + 1 >= end || in[1] != '"')
                        break;
                    in++;
                }
                *out++ = *in++;
            }
            if (in < end)
                in++;
        }
        while (in < end && *in != ',' && *in != '\n')
            *out++ = *in++;
        more = in < end && *in == ',';
        if (in < end)
            in++;
        while (out > start && (out[-1] == ' ' || out[-1] == '\t' || out[-1] == '\r'))
            out--;
        *out = '\0';
        cells[n++] = start;
    }
    *p = in;
    return n;
}

static int blank(const char *p, const char *end)
{
    while (p < end && *p != '\n')
        if (!isspace((unsigned char)*p++))
            return 0;
    return 1;
}

struct builder {
    struct csv *t;
    size_t cap;
    char *pending[MAX_COLUMNS]; /* the last comment line's cells, while there is no header */
    int n_pending;
    const char *name;
};

static enum status set_header(struct csv *t, char **cells, int n, struct err *err)
{
    if (n < 1)
        return STATUS_OK;
    t->header = malloc((size_t)n * sizeof *t->header);
    if (t->header == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    memcpy(t->header, cells, (size_t)n * sizeof *cells);
    t->n_columns = n;
    return STATUS_OK;
}

static enum status add_row(struct builder *b, char **cells, int n, long line, struct err *err)
{
    static char empty[] = "";
    struct csv *t = b->t;
    if (n > t->n_columns)
        return err_set(err, STATUS_INPUT, "%s:%ld: %d cells, but the header has %d", b->name, line,
                       n, t->n_columns);
    size_t columns = (size_t)t->n_columns;
    if (t->n_rows == b->cap) {
        size_t cap = b->cap ? 2 * b->cap : 64;
        char **grown = realloc(t->cells, cap * columns * sizeof *grown);
        if (grown == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        t->cells = grown;
        long *lines = realloc(t->lines, cap * sizeof *lines);
        if (lines == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        t->lines = lines;
        b->cap = cap;
    }
    char **row = t->cells + t->n_rows * columns;
    for (int i = 0; i < t->n_columns; i++)
        row[i] = i < n ? cells[i] : empty;
    t->lines[t->n_rows++] = line;
    return STATUS_OK;
}

static enum status take_line(struct builder *b, char **cells, int n, int comment, long line,
                             struct err *err)
{
    if (comment) {
        if (b->t->header == NULL && n > 1) {
            memcpy(b->pending, cells, (size_t)n * sizeof *cells);
            b->n_pending = n;
        }
        return STATUS_OK;
    }
    if (b->t->header != NULL)
        return add_row(b, cells, n, line, err);
    /* The first line of data: the header itself, unless a comment before it was one. A comment of
     * prose rarely has as many commas; a header has no numbers. */
    int numbers = 0;
    double x;
    for (int i = 0; i < n; i++)
        numbers += parse_double(cells[i], &x) == 0;
    if (numbers > 0 && b->n_pending == n) {
        enum status status = set_header(b->t, b->pending, n, err);
        return status == STATUS_OK ? add_row(b, cells, n, line, err) : status;
    }
    return set_header(b->t, cells, n, err);
}

enum status csv_parse(struct csv *t, const char *name, const char *text, size_t len,
                      struct err *err)
{
    *t = (struct csv){0};
    if (memchr(text, '\0', len) != NULL)
        return err_set(err, STATUS_INPUT, "%s: zero bytes in it; a CSV table was expected", name);
    t->text = malloc(len + 1);
    if (t->text == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    memcpy(t->text, text, len);
    t->text[len] = '\0';
    struct builder b = {.t = t, .name = name};
    char *p = t->text, *end = t->text + len, *cells[MAX_COLUMNS];
    if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    enum status status = STATUS_OK;
    long line = 1;
    while (p < end && status == STATUS_OK) {
        char *start = p;
        if (blank(p, end)) {
            p = memchr(p, '\n', (size_t)(end - p));
            p = p == NULL ? end : p + 1;
            line++;
            continue;
        }
        int comment = *p == '#', lines = 0;
        while (p < end && comment && (*p == '#' || *p == ' '))
            p++;
        char *from = p, *stop = comment ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        /* Count lines before split() writes into the text. */
        int n = split(&p, stop != NULL ? stop + 1 : end, cells, MAX_COLUMNS);
        for (const char *q = text + (from - t->text); q < text + (p - t->text); q++)
            lines += *q == '\n';
        if (n < 0)
            status =
                err_set(err, STATUS_INPUT, "%s:%ld: more than %d cells", name, line, MAX_COLUMNS);
        else
            status = take_line(&b, cells, n, comment, line, err);
        line += lines > 0 ? lines : 1;
        if (p == start)
            break;
    }
    if (status == STATUS_OK && t->n_rows == 0)
        status =
            err_set(err, STATUS_INPUT, "%s: no table in it: a header and rows were expected", name);
    if (status != STATUS_OK)
        csv_release(t);
    return status;
}

enum status csv_read(struct csv *t, const char *path, struct err *err)
{
    *t = (struct csv){0};
    struct stat st;
    const char *name = input_name(path);
    FILE *f = input_stream(path);
    if (f == NULL)
        return err_set(err, STATUS_INPUT, "%s: %s", name, strerror(errno));
    enum status status = STATUS_OK;
    char *text = NULL;
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode))
        status = err_set(err, STATUS_INPUT, "%s: not a file; a CSV table was expected", name);
    else if (st.st_size > MAX_BYTES)
        status =
            err_set(err, STATUS_INPUT, "%s: larger than 64 MiB; a CSV table was expected", name);
    else if ((text = malloc((size_t)st.st_size + 1)) == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    else
        status = csv_parse(t, name, text, fread(text, 1, (size_t)st.st_size, f), err);
    free(text);
    fclose(f);
    return status;
}

void csv_release(struct csv *t)
{
    free(t->text);
    free(t->header);
    free(t->cells);
    free(t->lines);
    *t = (struct csv){0};
}

int csv_column(const struct csv *t, const char *name)
{
    for (int i = 0; i < t->n_columns; i++)
        if (strcasecmp(t->header[i], name) == 0)
            return i;
    return -1;
}

int csv_has(const struct csv *t, const char *names)
{
    char name[128];
    while (*names != '\0') {
        size_t n = strcspn(names, " ");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        if (n > 0 && csv_column(t, name) < 0)
            return 0;
        names += n + (names[n] == ' ');
    }
    return 1;
}

const char *csv_text(const struct csv *t, size_t row, int column)
{
    return column < 0 ? "" : t->cells[row * (size_t)t->n_columns + (size_t)column];
}

double csv_number(const struct csv *t, size_t row, int column)
{
    double x;
    return parse_double(csv_text(t, row, column), &x) == 0 ? x : (double)NAN;
}
