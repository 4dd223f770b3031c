/* Fitted models on disk, and costs from whatever a user has: a model file, a trace, or another
 * tool's output. docs/model-format.md describes the file.
 */
#ifndef UPDRAFT_TRACES_MODEL_IO_H
#define UPDRAFT_TRACES_MODEL_IO_H

#include <stdio.h>

#include "model/cost.h"
#include "model/err.h"
#include "model/fit.h"
#include "traces/trace.h"

enum { MODEL_VERSION = 1 };

struct cJSON;

/* The fits of a trace's curves. Zero-initialised is empty. */
struct fits {
    struct trace trace; /* what was fitted; the rest borrows from it */
    struct curves curves;
    struct fit *v; /* in the order in which costs_find should meet them: see fits_load */
    size_t n;
    struct unfit {
        const struct curve *curve;
        size_t n_points;
        struct err err; /* why this curve has no model */
    } * unfit;
    size_t n_unfit;
};
void fits_release(struct fits *fs);

/* Which curves to take; empty and 0 match all. */
struct fits_filter {
    const char *impl, *label, *collective;
    int ranks;
};

/* Loads n files (trace_load) and fits every curve of latency against size in them. Where several
 * curves are of one implementation and rank count, those come first that say most about a served
 * model: not timed by eager launches before eager ones, out of place before in place, then by
 * label. Warnings go to `log` (may be NULL). A curve without enough sizes is unfit, not an error;
 * none that fits is STATUS_UNSUPPORTED. */
enum status fits_load(struct fits *fs, const char *const *paths, size_t n,
                      const struct fits_filter *filter, FILE *log, struct err *err);

/* The document that `fit --json` prints and model_read reads; NULL without memory. */
struct cJSON *fits_to_json(const struct fits *fs);

/* One cost as an object of "models"; NULL without memory. */
struct cJSON *cost_to_json(const struct cost *c, const char *form);

/* Appends the costs of a model file. STATUS_INPUT with file and line on anything that is not one.
 */
enum status model_read(struct costs *cs, const char *path, struct err *err);
/* The same from memory; `name` is what messages call it. */
enum status model_parse(struct costs *cs, const char *name, const char *text, size_t len,
                        struct err *err);

/* Appends the costs of `path`: a model file as it is; a trace, or what import recognises, fitted.
 * "-" is standard input. Warnings go to `log` (may be NULL). */
enum status costs_load(struct costs *cs, const char *path, FILE *log, struct err *err);

#endif
