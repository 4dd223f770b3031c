/* The one pure function that everything calls: what a scenario gives. About a microsecond, no
 * allocation, no I/O, no GSL; docs/model.md derives it.
 */
#ifndef UPDRAFT_MODEL_EVALUATE_H
#define UPDRAFT_MODEL_EVALUATE_H

#include "model/scenario.h"

enum outcome_flags {
    OUTCOME_COST_EXTRAPOLATED = 1,   /* a message lies outside the measured sizes */
    OUTCOME_COST_SYNTHESIZED = 2,    /* an allreduce was priced without a measurement */
    OUTCOME_ROWS_EXTRAPOLATED = 4,   /* a pass has more rows than the measured curve */
    OUTCOME_ACCEPT_EXTRAPOLATED = 8, /* drafts deeper than the acceptance list */
    OUTCOME_GATHER_DERIVED = 16,     /* the all-gather is derived from the allreduce */
    OUTCOME_ROOFLINE = 32,           /* compute growth with rows comes from a roofline */
    OUTCOME_ANCHOR_CLIPPED = 64,     /* collectives alone exceed the measured step */
    OUTCOME_GRAPH_MISS = 128,        /* the batch lies outside the captured graphs */
    OUTCOME_RANKS_CHANGED = 256,     /* other ranks than the measured baseline's */
};

enum { OUTCOME_VERIFY, OUTCOME_DRAFT, OUTCOME_EXTEND, OUTCOME_MESSAGES };

/* Times in microseconds of one cycle of all `batch` requests together. */
struct outcome {
    double baseline_tokens_per_s, speculative_tokens_per_s; /* all requests together */
    double speedup, tokens_per_cycle, baseline_step_us;
    double cycle_us; /* the sum of the five below */
    double draft_us, verify_compute_us, verify_allreduce_us, draft_allreduce_us, host_us;
    /* Parts of the above, for explanations. */
    double extend_us;             /* of draft_us */
    double graph_miss_us;         /* of verify_compute_us */
    double logits_gather_us;      /* of verify_allreduce_us */
    double draft_gather_us;       /* of draft_allreduce_us */
    double allreduce_us;          /* one allreduce of the verify pass */
    double baseline_allreduce_us; /* one allreduce of the plain pass */
    double message_bytes;         /* per rank, of one verify allreduce */
    double verify_rows;
    int allreduce_count, draft_allreduce_count;
    /* The allreduces by message: verify, one draft pass, extend. raw_us is what the cost model and
     * the in-situ factor give, before latency_scale, extra_us and skew_us. */
    struct outcome_message {
        double count, bytes, raw_us;
    } message[OUTCOME_MESSAGES];
    unsigned flags; /* enum outcome_flags */
};

/* `s` must have passed scenario_check and scenario_bind, and been anchored where it has a baseline
 * or curve. Always fills all of *o with finite numbers. */
void evaluate(const struct scenario *s, struct outcome *o);

/* The same without the plain step: baseline_* and speedup stay 0. What a search over edits needs.
 */
void evaluate_cycle(const struct scenario *s, struct outcome *o);

/* One allreduce of `bytes` per rank under s, microseconds, in situ. */
double evaluate_allreduce_us(const struct scenario *s, double bytes);

/* Compute of one target pass of `rows` rows of `requests` requests without collectives, us. */
double evaluate_compute_us(const struct scenario *s, double rows, double requests, unsigned *flags);

/* reach[i]: probability that a cycle accepts more than i drafts, for i < draft.num_steps. Of a
 * tree: that of the chain with as many tokens per cycle. */
void evaluate_reach(const struct scenario *s, double *reach);

#endif
