/* The journal: a trace that is appended to while a campaign runs, and that outlives it.
 *
 * - One write() per line, O_APPEND: what journal_append() has returned from survives kill -9 of the
 *   process. A machine that loses power loses at most the last second: the file is synced once a
 *   second, when it is created (its folder too) and when it is closed.
 * - A line cut by a kill in the middle of its write is dropped when the journal is opened again, so
 *   a record is whole or not there.
 * - The file is locked while it is open: two campaigns never write one journal.
 * - Records are facts: nothing here changes a line that is complete.
 */
#ifndef UPDRAFT_TRACES_JOURNAL_H
#define UPDRAFT_TRACES_JOURNAL_H

#include <time.h>

#include "model/err.h"
#include "model/record.h"
#include "traces/trace.h"

struct journal {
    int fd;      /* -1: not open */
    int is_file; /* 0: standard output */
    int torn;    /* 1: a cut last line was dropped on opening */
    char *path;  /* owned */
    struct timespec synced;
};

/* Opens `path` ("-": standard output) and writes the first line with `host` (may be NULL) where the
 * file is new. Without `resume` a file that exists is an error (STATUS_USAGE). With it, the records
 * that are there are appended to *before (must be released), and writing goes on behind them; where
 * there is no file yet it is begun. STATUS_INPUT where the file is no trace, STATUS_FAILED where it
 * is locked or cannot be written. On failure *j is closed. */
enum status journal_open(struct journal *j, const char *path, int resume, const struct cJSON *host,
                         struct trace *before, struct err *err);
/* Appends one record. On failure no part of the line stays in a file. */
enum status journal_append(struct journal *j, const struct record *r, struct err *err);
/* Appends a line {"updraft_trace":1,"x_KEY":VALUE}, which readers skip: what is known at the end.
 */
enum status journal_remark(struct journal *j, const char *key, const struct cJSON *value,
                           struct err *err);
/* Syncs and closes. Safe on a closed journal. */
enum status journal_close(struct journal *j, struct err *err);

#endif
