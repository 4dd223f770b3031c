/* Writes a stream of records as a trace: the first line when the first record comes, and lines of
 * defaults where they save repeating.
 */
#ifndef UPDRAFT_TRACES_TRACE_WRITER_H
#define UPDRAFT_TRACES_TRACE_WRITER_H

#include <stdio.h>

#include "model/record.h"

struct trace_writer {
    FILE *out;
    int headed;
    struct record defaults;
};

void trace_writer_init(struct trace_writer *w, FILE *out);
/* -1 where writing failed (errno is set). */
int trace_writer_add(struct trace_writer *w, const struct record *r);

#endif
