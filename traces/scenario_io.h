/* Reads scenario files. docs/scenario.md describes them, docs/scenario.schema.json is generated
 * from the same key table.
 */
#ifndef UPDRAFT_TRACES_SCENARIO_IO_H
#define UPDRAFT_TRACES_SCENARIO_IO_H

#include <stdio.h>

#include "model/fabric.h"
#include "model/scenario.h"
#include "traces/command.h"
#include "traces/json_doc.h"

enum { SCENARIO_VERSION = 1 };

/* A scenario file with what it needs to be evaluated. */
struct scenario_file {
    struct scenario s; /* bound to costs below and anchored, in today's state plus --set edits */
    struct scenario today; /* the same without the edits */
    struct costs costs;    /* from the files that "costs" names, and what the fabric priced */
    struct fabric *fabric; /* of hardware.fabric; owned; NULL until something is priced on it */
    char *path;            /* the scenario's own, for paths beside it; owned */
    struct json_doc doc;
};
void scenario_file_release(struct scenario_file *f);

/* Rewrites a scenario's list "costs", whose paths lie relative to the folder of file `from`, for a
 * scenario in file `to`: whole paths where the folders differ. `costs` may be NULL. */
void scenario_move_costs(cJSON *costs, const char *from, const char *to);

/* Reads `path`, loads the costs it names (relative to the file's folder; `more` adds n_more paths
 * of --costs, which come first), checks, binds and anchors. A costs file that is a trace is
 * fitted; warnings about that go to `log`. f->s and f->today are then equal. */
enum status scenario_file_read(struct scenario_file *f, const char *path, const char *const *more,
                               size_t n_more, FILE *log, struct err *err);

/* Applies KEY=VALUE edits to f->s, in order, then checks and binds again. A key that restates what
 * was measured (what_if 0 in the table) moves today's state too and anchors anew. */
enum status scenario_file_edit(struct scenario_file *f, const char *const *edits, size_t n_edits,
                               struct err *err);

/* Sees to it that an allreduce implementation has a cost at that many ranks: where none was
 * measured and hardware.fabric names a fabric, it is priced there and added to f->costs as
 * synthesized (s and today are bound again). Where there is no fabric, or it does not know the
 * name, nothing happens and scenario_bind() will say so. STATUS_UNSUPPORTED where the fabric cannot
 * run it. */
enum status scenario_file_price(struct scenario_file *f, const char *impl, int ranks,
                                struct err *err);

/* The whole way of a command: reads the scenario named by its first argument with --costs, applies
 * every --set. */
enum status scenario_file_open(struct scenario_file *f, const struct invocation *inv, FILE *log,
                               struct err *err);

/* Parses a scenario document without costs, checks or binding. */
enum status scenario_parse(struct scenario *s, const struct json_doc *doc, struct err *err);

/* The JSON node of a key ("draft.accept_rate") in the document, or NULL where it is absent. */
const cJSON *scenario_doc_find(const struct json_doc *doc, const char *path);
/* The "source" text of a key's node, or NULL. */
const char *scenario_doc_source(const struct json_doc *doc, const char *path);

/* The JSON Schema of scenario files (draft 2020-12), made from the key table; NULL without memory.
 */
cJSON *scenario_schema(void);

/* A scenario document with every key that differs from the defaults; NULL without memory. */
cJSON *scenario_to_json(const struct scenario *s);

#endif
