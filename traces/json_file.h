/* Whole JSON documents from a source. */
#ifndef UPDRAFT_TRACES_JSON_FILE_H
#define UPDRAFT_TRACES_JSON_FILE_H

#include "model/err.h"
#include "traces/source.h"

struct cJSON;

enum { JSON_MAX_BYTES = 256 << 20 };

/* Reads the rest of the source as one document; *json is the caller's to cJSON_Delete. STATUS_INPUT
 * with the line where it breaks off or is no JSON, or where it is larger than JSON_MAX_BYTES. */
enum status json_read(struct cJSON **json, struct source *in, struct err *err);

#endif
