/* Outcomes in words and in JSON, shared by the commands that print them. */
#ifndef UPDRAFT_TRACES_OUTCOME_IO_H
#define UPDRAFT_TRACES_OUTCOME_IO_H

#include <cjson/cJSON.h>

#include "model/simulate.h"

/* The object that CONTRACT's `simulate --json` promises. NULL without memory. */
cJSON *simulation_json(const struct scenario *s, const struct simulation *sim);

/* What the scenario's measured speculative throughput says against the prediction: the microseconds
 * of a cycle that no term explains (with the interval of both), and the accept length that would
 * explain all of it. measured.speculative_tokens_per_s must be set and above 0. */
struct residual {
    double measured_tokens_per_s, unexplained_us, low_us, high_us, tokens_per_cycle;
};
struct residual outcome_residual(const struct scenario *s, const struct simulation *sim);

/* Words for the flags that are set: an array of strings. */
cJSON *outcome_warnings_json(unsigned flags);
/* Calls fn for each flag that is set, with its name and its sentence. */
void outcome_warnings(unsigned flags, void (*fn)(void *ctx, const char *name, const char *text),
                      void *ctx);

#endif
