/* Fabrics from files. docs/fabric.md describes the JSON, docs/fabric.schema.json is its schema. */
#ifndef UPDRAFT_TRACES_FABRIC_IO_H
#define UPDRAFT_TRACES_FABRIC_IO_H

#include <stdio.h>

#include "model/err.h"
#include "model/fabric.h"

/* Fills *f from `spec`: the id of a preset, a fabric's JSON file, or any file that holds records of
 * probes or topology (a trace, or what `import` recognises). A preset may carry its number of GPUs
 * behind a colon: "switch-4-2s:16". Warnings go to `log` (may be NULL). STATUS_USAGE where there is
 * neither such a preset nor such a file. */
enum status fabric_load(struct fabric *f, const char *spec, FILE *log, struct err *err);

/* Whether the file's first bytes are those of a fabric's JSON. */
int fabric_is_file(const char *path);

/* Parses fabric JSON from memory. STATUS_INPUT names file, line and key. */
enum status fabric_parse(struct fabric *f, const char *name, const char *text, size_t len,
                         struct err *err);

/* The fabric as JSON that fabric_parse() takes: nodes, links and every parameter; NULL: no memory.
 */
struct cJSON *fabric_json(const struct fabric *f);

/* Parses "0,1,4,5" into *n GPUs of f. STATUS_USAGE. */
enum status fabric_placement(const struct fabric *f, const char *text, int *placement, int *n,
                             struct err *err);

#endif
