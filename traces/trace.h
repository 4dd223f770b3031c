/* The trace: JSON Lines, one record a line. docs/trace-format.md is its specification.
 *
 *   {"updraft_trace":1, "host":{...}}                      first line: schema version, host facts
 *   {"defaults":{"ranks":8,"label":"box A",...}}           keys that later records need not repeat
 *   {"what":"allreduce","impl":"nccl/auto","size_bytes":1024,"latency_us":23.4, ...}
 *
 * A line is the unit of loss: a crash costs at most the line being written, and a reader that meets
 * a last line without its newline drops it and says so.
 */
#ifndef UPDRAFT_TRACES_TRACE_H
#define UPDRAFT_TRACES_TRACE_H

#include <stdio.h>

#include "model/err.h"
#include "model/record.h"

enum { TRACE_VERSION = 1 };

struct cJSON;

/* A trace in memory. Zero-initialised is empty. */
struct trace {
    struct records records;
    struct cJSON *host; /* the first line's "host" object; owned; NULL if none */
    int torn;           /* 1: the last line was cut and has been dropped */
};
void trace_release(struct trace *t);

/* Reads JSON Lines from `in` until its end; `name` is what messages call it. Records are appended
 * to t. Malformed input: STATUS_INPUT with name and line. */
enum status trace_read(struct trace *t, FILE *in, const char *name, struct err *err);

/* Whether the first bytes of a file look like a trace. */
int trace_sniff(const char *buf, size_t len);

/* Parses one record line (no newline needed) of `len` bytes. `defaults` (may be NULL) supplies
 * absent keys. The line number goes into messages. STATUS_INPUT on anything malformed, an unknown
 * key (unless it starts with x_) included. */
enum status trace_parse_record(struct record *r, const struct record *defaults, const char *line,
                               size_t len, const char *name, long line_no, struct err *err);

/* Writes the first line. `host` may be NULL. Returns -1 where writing failed (errno is set). */
int trace_write_header(FILE *out, const struct cJSON *host);
/* Writes one record line; keys that are empty or NaN are left out, and so are those equal to
 * `defaults` (may be NULL). Returns -1 where writing failed. */
int trace_write_record(FILE *out, const struct record *r, const struct record *defaults);
/* Writes a defaults line with r's non-empty keys (`what` excluded). */
int trace_write_defaults(FILE *out, const struct record *r);

#endif
