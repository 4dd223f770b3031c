/* Reading measurements, whatever they come as: what every command uses where it takes a TRACE. */
#ifndef UPDRAFT_TRACES_LOAD_H
#define UPDRAFT_TRACES_LOAD_H

#include <stdio.h>

#include "model/err.h"
#include "traces/trace.h"

/* Appends to *t (zero-initialised or holding earlier files) the records of a trace, of any file
 * that `import` recognises, or of standard input for "-". Rejected lines and remarks go to `log`
 * as warnings, one a line; log may be NULL. STATUS_INPUT as import_file and trace_read give it. */
enum status trace_load(struct trace *t, const char *path, FILE *log, struct err *err);

#endif
