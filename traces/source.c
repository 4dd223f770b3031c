#include "traces/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/input.h"

enum { BLOCK = 1 << 18 };

/* Makes room for BLOCK more bytes behind `end` and reads once. 0 where nothing came. */
static size_t fill(struct source *s)
{
    if (s->eof || s->fd < 0)
        return 0;
    if (s->begin > 0 && s->cap - s->end < BLOCK) {
        memmove(s->buf, s->buf + s->begin, s->end - s->begin);
        s->end -= s->begin;
        s->begin = 0;
    }
    if (s->cap - s->end < BLOCK) {
        size_t cap = s->cap * 2 > s->end + BLOCK ? s->cap * 2 : s->end + BLOCK;
        char *buf = realloc(s->buf, cap + 1);
        if (buf == NULL) {
            s->error = ENOMEM;
            s->eof = 1;
            return 0;
        }
        s->buf = buf;
        s->cap = cap;
    }
    ssize_t got;
    do
        got = read(s->fd, s->buf + s->end, BLOCK);
    while (got < 0 && errno == EINTR);
    if (got <= 0) {
        s->error = got < 0 ? errno : 0;
        s->eof = 1;
        return 0;
    }
    s->end += (size_t)got;
    return (size_t)got;
}

enum status source_open(struct source *s, const char *path, struct err *err)
{
    int is_stdin = strcmp(path, "-") == 0;
    *s = (struct source){.name = is_stdin ? "standard input" : path, .fd = -1};
    struct stat st;
    /* A pipe is read as it comes; what has been kept of one, or a file, from its start. */
    int piped = is_stdin && fstat(STDIN_FILENO, &st) == 0 && !S_ISREG(st.st_mode);
    s->fd = piped ? dup(STDIN_FILENO) : input_open(path);
    if (s->fd < 0)
        return err_set(err, STATUS_INPUT, "%s: %s", s->name, strerror(errno));
    if (fstat(s->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        source_close(s);
        return err_set(err, STATUS_INPUT, "%s: is a directory (name the files in it)", s->name);
    }
    fill(s);
    if (s->error != 0) {
        enum status status = source_status(s, err);
        source_close(s);
        return status;
    }
    if (s->end == 0) {
        source_close(s);
        return err_set(err, STATUS_INPUT, "%s: the file is empty", s->name);
    }
    return STATUS_OK;
}

enum status source_open_memory(struct source *s, const char *name, const char *data, size_t len,
                               struct err *err)
{
    *s = (struct source){.name = name, .fd = -1, .eof = 1};
    s->buf = malloc(len + 1);
    if (s->buf == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    if (len > 0)
        memcpy(s->buf, data, len);
    s->cap = s->end = len;
    return STATUS_OK;
}

void source_close(struct source *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->buf);
    s->buf = NULL;
    s->fd = -1;
    s->begin = s->end = s->cap = 0;
}

size_t source_peek(struct source *s, const char **bytes)
{
    while (s->end - s->begin < SOURCE_PEEK && fill(s) > 0)
        ;
    *bytes = s->buf + s->begin;
    size_t n = s->end - s->begin;
    return n < SOURCE_PEEK ? n : SOURCE_PEEK;
}

int source_next(struct source *s, struct source_line *line)
{
    size_t seen = 0; /* bytes behind begin that hold no line end */
    char *stop = NULL;
    while (stop == NULL && seen < SOURCE_MAX_LINE) {
        size_t have = s->end - s->begin;
        if (have > seen)
            stop = memchr(s->buf + s->begin + seen, '\n', have - seen);
        if (stop == NULL) {
            seen = have;
            if (fill(s) == 0)
                break;
        }
    }
    line->text = s->buf + s->begin;
    line->len = stop != NULL ? (size_t)(stop - line->text) : s->end - s->begin;
    line->cut = 0;
    if (stop == NULL && line->len == 0)
        return 0;
    line->number = ++s->line;
    s->begin += line->len + (stop != NULL);
    if (line->len >= SOURCE_MAX_LINE) {
        while (stop == NULL) {
            s->begin = s->end = 0;
            if (fill(s) == 0)
                break;
            stop = memchr(s->buf, '\n', s->end);
            if (stop != NULL)
                s->begin = (size_t)(stop - s->buf) + 1;
        }
        line->text = s->buf + s->cap; /* the spare byte: an empty text */
        line->len = 0;
        line->cut = 1;
    }
    if (line->len > 0 && line->text[line->len - 1] == '\r')
        line->len--;
    line->text[line->len] = '\0';
    return 1;
}

size_t source_read(struct source *s, char *bytes, size_t cap)
{
    if (s->begin == s->end) {
        s->begin = s->end = 0;
        fill(s);
    }
    size_t n = s->end - s->begin;
    n = n < cap ? n : cap;
    memcpy(bytes, s->buf + s->begin, n);
    s->begin += n;
    for (const char *p = bytes; (p = memchr(p, '\n', n - (size_t)(p - bytes))) != NULL; p++)
        s->line++;
    return n;
}

enum status source_status(const struct source *s, struct err *err)
{
    if (s->error == 0)
        return STATUS_OK;
    return err_set(err, STATUS_INPUT, "%s:%lld: %s", s->name, (long long)s->line,
                   strerror(s->error));
}

static ssize_t stream_read(void *cookie, char *bytes, size_t cap)
{
    return (ssize_t)source_read(cookie, bytes, cap);
}

FILE *source_stream(struct source *s)
{
    return fopencookie(s, "r", (cookie_io_functions_t){.read = stream_read});
}
