/* Results of other commands as the JSON they promise: a picture or page built on them needs nothing
 * but that promise. */
#ifndef UPDRAFT_PLOTS_ASK_H
#define UPDRAFT_PLOTS_ASK_H

#include "traces/command.h"
#include "traces/json_doc.h"

/* Runs `updraft COMMAND ARGS... --json` in this process and parses what it prints; progress and
 * warnings go to `log`, or nowhere where that is NULL. args ends with NULL. *doc is to be released.
 * The command's own errors. */
enum status ask_command(const char *command, const char *const *args, FILE *log,
                        struct json_doc *doc, struct err *err);

/* Fills args (ASK_MAX_ARGS of them) with `input` and every option given whose name is
 * in `passed` ("--set", ...; ended by NULL), as words for ask_command. */
enum { ASK_MAX_ARGS = 200 };
void ask_pass_options(const char **args, const char *input, const struct invocation *inv,
                      const char *const *passed);

/* A member as number (NaN where absent or no number), as text ("" likewise), or as the two numbers
 * of an interval (NaN). Any object may be NULL. */
double json_number(const cJSON *object, const char *key);
const char *json_text(const cJSON *object, const char *key);
void json_interval(const cJSON *object, const char *key, double *low, double *high);
/* The first array or object of that name, or NULL. */
const cJSON *json_member(const cJSON *object, const char *key);

#endif
