/* A stream of lines from a file or standard input, in bounded memory, that can be looked at before
 * it is read. Importers read through it, so that a format is recognised from content alone, a pipe
 * included, and a file without line ends cannot fill the memory.
 */
#ifndef UPDRAFT_TRACES_SOURCE_H
#define UPDRAFT_TRACES_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/err.h"

enum {
    SOURCE_PEEK = 1 << 20,     /* bytes that source_peek shows at most */
    SOURCE_MAX_LINE = 1 << 20, /* longer lines are skipped */
};

struct source {
    const char *name; /* what messages call it; "standard input" for "-". Borrowed. */
    int fd;           /* -1: the buffer is all there is */
    int error;        /* errno of a failed read, or 0 */
    int eof;
    char *buf;
    size_t cap, begin, end; /* unread bytes are buf[begin, end) */
    int64_t line;           /* number of the line last returned, 1-based */
};

struct source_line {
    char *text; /* without line end ("\n" or "\r\n"), followed by '\0'; valid until the next call */
    size_t len;
    int64_t number;
    int cut; /* 1: longer than SOURCE_MAX_LINE; text is then empty */
};

/* Opens a path, or standard input for "-". STATUS_INPUT where it is missing, unreadable, a
 * directory or empty. On success source_close() must follow. */
enum status source_open(struct source *s, const char *path, struct err *err);
/* A source over `len` bytes in memory, copied. STATUS_FAILED without memory. */
enum status source_open_memory(struct source *s, const char *name, const char *data, size_t len,
                               struct err *err);
void source_close(struct source *s); /* safe twice and after a failed open */

/* The next bytes, at most SOURCE_PEEK, without consuming them. */
size_t source_peek(struct source *s, const char **bytes);
/* The next line: 1, or 0 at the end. A failed read ends the stream; see source_status. */
int source_next(struct source *s, struct source_line *line);
/* Consumes up to `cap` raw bytes; 0 at the end. Line numbers go on counting. */
size_t source_read(struct source *s, char *bytes, size_t cap);
/* STATUS_OK, or STATUS_INPUT where a read failed. Call at the end. */
enum status source_status(const struct source *s, struct err *err);

/* A stdio stream over the rest of the source (which must outlive it), or NULL without memory. */
FILE *source_stream(struct source *s);

#endif
