/* For tests of importers: imports a text from memory and keeps what came of it. */
#ifndef UPDRAFT_TESTS_COLLECT_H
#define UPDRAFT_TESTS_COLLECT_H

#include <stdio.h>
#include <string.h>

#include "traces/import.h"

struct collect {
    struct import_sink sink;
    struct records records;
    char rejected[2048]; /* "14 why\n" */
    char warned[2048];
    struct import im;
    struct err err;
    enum status status;
};

static int collect_record(struct import_sink *sink, const struct record *r)
{
    return records_add(&((struct collect *)sink)->records, r);
}

static void collect_line(char *to, size_t cap, int64_t line, const char *text)
{
    size_t n = strlen(to);
    snprintf(to + n, cap - n, "%lld %s\n", (long long)line, text);
}

static void collect_reject(struct import_sink *sink, int64_t line, const char *reason)
{
    struct collect *c = (struct collect *)sink;
    collect_line(c->rejected, sizeof c->rejected, line, reason);
}

static void collect_warn(struct import_sink *sink, int64_t line, const char *text)
{
    struct collect *c = (struct collect *)sink;
    collect_line(c->warned, sizeof c->warned, line, text);
}

static void collect_with(struct collect *c, const struct importer *importer,
                         const struct columns *columns, const char *name, const char *bytes,
                         size_t len)
{
    struct source in;
    memset(c, 0, sizeof *c);
    c->sink = (struct import_sink){collect_record, collect_reject, collect_warn, NULL};
    c->status = source_open_memory(&in, name, bytes, len, &c->err);
    if (c->status == STATUS_OK)
        c->status = import_source(&c->im, &in, importer, columns, &c->sink, &c->err);
    source_close(&in);
}

static inline void collect_bytes(struct collect *c, const struct importer *importer,
                                 const char *name, const char *bytes, size_t len)
{
    collect_with(c, importer, NULL, name, bytes, len);
}

static inline void collect_text(struct collect *c, const char *importer, const char *text)
{
    collect_bytes(c, importer == NULL ? NULL : importer_find(importer), "t.txt", text,
                  strlen(text));
}

static inline void collect_release(struct collect *c)
{
    records_release(&c->records);
}

#endif
