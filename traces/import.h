/* Importers: other tools' output into records. One const struct each, at the bottom of its own
 * traces/import_X.c; a row of importers.def makes it exist. Formats are recognised from content.
 *
 * An importer reads lines from a source and hands records to a sink, in memory that does not grow
 * with the input. What it cannot believe it rejects by line, with the reason; the rest it keeps.
 * docs/importing.md says how to add one.
 */
#ifndef UPDRAFT_TRACES_IMPORT_H
#define UPDRAFT_TRACES_IMPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "model/err.h"
#include "model/record.h"
#include "traces/source.h"

/* Where an import goes. Callers embed it in a struct of their own. */
struct import_sink {
    /* Takes a record (a copy is made if it is to be kept). 0, or -1 to stop: the caller knows why.
     */
    int (*record)(struct import_sink *sink, const struct record *r);
    /* A line that was not taken, and why; and a remark that does not stop anything. line 0: none.
     */
    void (*reject)(struct import_sink *sink, int64_t line, const char *reason);
    void (*warn)(struct import_sink *sink, int64_t line, const char *text);
    const char *label; /* begins the records' labels; NULL: the file's name */
};

/* A label from a path: its name without suffix, and the folder before it where asked for. */
void import_label(char *label, size_t cap, const char *path, int with_folder);

struct columns; /* traces/columns.h: what the columns of CSV tables mean */

/* One file being imported, and what came of it. */
struct import {
    struct source *in;
    const char *path;
    struct import_sink *sink;
    const struct columns *columns; /* the column map for CSV tables; NULL: the built-in one alone */
    char label[128]; /* the file's name without folder and suffix: for record labels */

    const struct importer *importer; /* whose format it is */
    char collective[96];             /* "allreduce"; several are joined by commas; "" where none */
    int ranks;                       /* 0 if unknown or several */
    int64_t rows;                    /* table rows kept */
    int64_t rows_wrong;              /* of them, those whose results were wrong */
    int64_t rejected;
    int64_t records;
    int stopped; /* the sink asked to stop */
};

struct importer {
    const char *name;    /* "nccl-tests", as --format takes it */
    const char *summary; /* one line for help: what it reads */
    /* How sure the first bytes make it that this is its format: 0 no ... 100 certain. */
    int (*sniff)(const char *bytes, size_t len);
    /* Reads im->in to its end. STATUS_INPUT where nothing in it can be used. */
    enum status (*parse)(struct import *im, struct err *err);
};

/* All importers, in the order of importers.def, ended by NULL; the one of that name, or NULL. */
extern const struct importer *const importers[];
const struct importer *importer_find(const char *name);

/* Imports one file, or standard input for "-". `importer` NULL: recognised from content; `columns`
 * may be NULL. On every status *im holds what was found until then. STATUS_INPUT where the file
 * cannot be read, is of no known format, or holds no measurement. */
enum status import_file(struct import *im, const char *path, const struct importer *importer,
                        const struct columns *columns, struct import_sink *sink, struct err *err);
/* The same from an open source. */
enum status import_source(struct import *im, struct source *in, const struct importer *importer,
                          const struct columns *columns, struct import_sink *sink, struct err *err);

/* For importers. A record: fills origin, counts, passes it on; -1 where the sink wants no more. */
int import_record(struct import *im, struct record *r);
/* A line that is not taken; a remark. printf-like, cut at 200 characters. */
void import_reject(struct import *im, int64_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void import_warn(struct import *im, int64_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes a collective and a rank count for the summary. */
void import_saw(struct import *im, const char *collective, int ranks);

#endif
