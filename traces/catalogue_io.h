/* Reads catalogues of optimizations. docs/catalogue.md describes them, docs/catalogue.schema.json
 * is generated from the table of effects.
 */
#ifndef UPDRAFT_TRACES_CATALOGUE_IO_H
#define UPDRAFT_TRACES_CATALOGUE_IO_H

#include "model/option.h"
#include "traces/json_doc.h"

enum { CATALOGUE_VERSION = 1 };

/* Reads and checks a catalogue; exclusions are completed (catalogue_close). STATUS_INPUT names file
 * and line: unknown keys and effects, probabilities outside [0, 1], quantities out of order,
 * unknown ids, cycles of prerequisites, an option that excludes itself or what it needs. */
enum status catalogue_read(struct catalogue *c, const char *path, struct err *err);
/* The same from a document. */
enum status catalogue_parse(struct catalogue *c, const struct json_doc *doc, struct err *err);

/* The JSON Schema of catalogues (draft 2020-12); NULL without memory. */
cJSON *catalogue_schema(void);

#endif
