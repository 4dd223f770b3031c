/* Whole JSON documents from a source, for importers. */
#ifndef UPDRAFT_TRACES_JSON_FILE_H
#define UPDRAFT_TRACES_JSON_FILE_H

#include "traces/json_doc.h"
#include "traces/source.h"

enum { JSON_FILE_MAX_BYTES = 256 << 20 };

/* Reads the rest of the source as one document; *doc is to be released. STATUS_INPUT with the line
 * where it breaks off or is no JSON, or where it is larger than JSON_FILE_MAX_BYTES. */
enum status json_doc_from_source(struct json_doc *doc, struct source *in, struct err *err);

#endif
