/* `simulate --serve`: a workload from options, and what came of it in words and in JSON. */
#ifndef UPDRAFT_TRACES_SERVE_IO_H
#define UPDRAFT_TRACES_SERVE_IO_H

#include <stdio.h>

#include "model/scenario.h"
#include "model/serve.h"
#include "traces/command.h"

struct cJSON;

/* Rows for a command's option table. */
#define SERVE_OPTIONS                                                                              \
    {"serve", "N", 0,                                                                              \
     "serve N requests in a simulation of events: TTFT, TPOT, ITL and their tails"},               \
        {"concurrency", "C", 0, "of --serve: C users, each sends when its last request ends"},     \
        {"rate", "R", 0, "of --serve: R requests a second on average, at random (Poisson)"},       \
        {"arrivals", "FILE", 0,                                                                    \
         "of --serve: a CSV with columns arrival_s, prompt_tokens, output_tokens"},                \
        {"prompt-tokens", "TOKENS[:CV]", 0,                                                        \
         "of --serve: mean prompt length and its variation (1024, all alike)"},                    \
        {"output-tokens", "TOKENS[:CV]", 0,                                                        \
         "of --serve: mean output length and its variation (256, all alike)"},

/* The simulated day, without and with speculation. */
struct serve_report {
    struct serve_result plain, speculative;
    int speculates;
    int max_running;
    int prefill_assumed; /* 1: no prefill speed was given */
    double prefill_tokens_per_s;
    double closed_form_tokens_per_s; /* of the speculative engine at max_running; NaN: not closed */
};

/* Whether the command line asks for it. */
int serve_wanted(const struct invocation *inv);
/* Reads the options and runs both engines. */
enum status serve_from_options(const struct invocation *inv, const struct scenario *s,
                               uint64_t seed, struct serve_report *report, struct err *err);
void serve_print(FILE *out, const struct serve_report *r);
struct cJSON *serve_json(const struct serve_report *r);

#endif
