/* A JSON file in memory that knows where its values stand, so that messages can name the line. */
#ifndef UPDRAFT_TRACES_JSON_DOC_H
#define UPDRAFT_TRACES_JSON_DOC_H

#include <stddef.h>

#include <cjson/cJSON.h>

#include "model/err.h"

struct json_doc {
    char *name; /* what messages call it */
    char *text;
    size_t len;
    cJSON *root;
};

/* Reads and parses a whole file ("-": standard input), at most 64 MiB. STATUS_INPUT where it is
 * missing, a directory, empty, too large, or no JSON (message with line). *doc is to be released.
 */
enum status json_doc_read(struct json_doc *doc, const char *path, struct err *err);
/* The same from memory; the text is copied. */
enum status json_doc_parse(struct json_doc *doc, const char *name, const char *text, size_t len,
                           struct err *err);
void json_doc_release(struct json_doc *doc);

/* Line (1-based) on which a value of doc's tree starts; 0 if it is not in the tree. */
long json_doc_line(const struct json_doc *doc, const cJSON *item);

/* STATUS_INPUT with "NAME:LINE: KEY: message". */
enum status json_doc_error(const struct json_doc *doc, const cJSON *item, struct err *err,
                           const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
