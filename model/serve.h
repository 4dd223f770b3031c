/* A serving engine's day in events: requests arrive, wait, are prefilled, decode in cycles that
 * accept different numbers of drafts, and leave, some in the middle of a cycle. For what the closed
 * form cannot say: time to first token, tails, queues behind a cap of running requests.
 *
 * Pure: no I/O, the same seed gives the same result. One random number a request and cycle. Free of
 * GSL. docs/model.md describes the engine that is imitated.
 */
#ifndef UPDRAFT_MODEL_SERVE_H
#define UPDRAFT_MODEL_SERVE_H

#include <stddef.h>
#include <stdint.h>

#include "model/err.h"
#include "model/scenario.h"

enum serve_arrival {
    SERVE_CLOSED,   /* `concurrency` users, each sends its next request when the last one ends */
    SERVE_POISSON,  /* rate_per_s on average, independent of the server */
    SERVE_RECORDED, /* arrival_us[], ascending */
};

/* Lengths of prompts or outputs in tokens, >= 1. cv: standard deviation over mean of a lognormal;
 * 0: all alike. */
struct serve_length {
    double mean, cv;
};

struct serve_workload {
    enum serve_arrival arrival;
    int n_requests;
    int concurrency;          /* SERVE_CLOSED */
    double rate_per_s;        /* SERVE_POISSON */
    const double *arrival_us; /* SERVE_RECORDED: n_requests of them; not owned */
    struct serve_length prompt, output;
    /* Recorded lengths, n_requests of them, instead of the two above; NULL: none. Not owned. */
    const int *prompt_tokens, *output_tokens;
};

enum { SERVE_MAX_RUNNING = 4096, SERVE_MAX_STEPS = 64 };

struct serve_engine {
    int max_running;               /* requests decoded together, 1..SERVE_MAX_RUNNING */
    int num_steps;                 /* K, 0: no speculation */
    double reach[SERVE_MAX_STEPS]; /* reach[i]: probability that more than i drafts are accepted */
    /* One cycle of r running requests takes step_us[r - 1] + context_us[r - 1] * (mean context -
     * ref_context_tokens). max_running of each; not owned; context_us may be NULL. */
    const double *step_us, *context_us;
    double ref_context_tokens;
    double prefill_fixed_us, prefill_us_per_token;
    int prefill_chunk_tokens; /* most prompt tokens of one step, > 0 */
    int mixed_prefill; /* 1: prompts share the step with decoding (vLLM); 0: decoding waits (SGLang)
                        */
};

struct serve_quantiles {
    double mean, p50, p90, p99;
};

struct serve_result {
    double duration_us;
    double tokens_per_s;        /* all output tokens over the whole duration */
    double steady_tokens_per_s; /* between a tenth and nine tenths of the requests done */
    double tokens_per_cycle;    /* emitted per request and cycle, discarded tails not counted */
    double mean_running, mean_waiting; /* over time */
    struct serve_quantiles ttft_us, tpot_us, itl_us, request_us;
    int64_t cycles, request_cycles, tokens, prefill_steps;
    int64_t discarded_tokens; /* accepted beyond a request's end */
    int requests;
};

/* STATUS_UNSUPPORTED names what is out of range; STATUS_FAILED where memory ran out. */
enum status serve_run(const struct serve_engine *engine, const struct serve_workload *workload,
                      uint64_t seed, struct serve_result *result, struct err *err);

/* The closed form for a saturated closed loop of r requests whose outputs are `output` long: tokens
 * per second. A request needs (output - 1 + overshoot) / E cycles, where the overshoot of the last
 * cycle is (E[t^2] / E - 1) / 2 (renewal theory), shares each with r - 1 others, and its prefill
 * stops everyone. */
double serve_closed_form(const struct serve_engine *engine, int running, double prompt,
                         double output);

/* Prompt tokens a second for prompts of that many tokens (0 or less: 1024), alone on the engine. */
double serve_prefill_tokens_per_s(const struct serve_engine *engine, double prompt_tokens);

/* An engine from a scenario: cycles by running requests from evaluate(), speculating or not. Fills
 * step_us and context_us (max_running each, the caller's) and *engine, which points to them. The
 * prefill's speed is serve.prefill_tokens_per_s; where that is not set, each chunk is a pass priced
 * by the line through those of 1024 and 2048 rows. */
void serve_engine_from(const struct scenario *s, int speculative, int max_running, double *step_us,
                       double *context_us, struct serve_engine *engine);

#endif
