/* Fits a scenario's free terms to measured runs, and says which of them the runs identify.
 *
 * Plain runs (no drafts) give the plain batch curve, or where there is one batch only the baseline.
 * Accept lengths give the chain's conditional acceptance. Speculative throughput gives the terms of
 * calibrate_terms.def, each with a prior around what the scenario says; a run's own accept length
 * is an input where it is known.
 */
#ifndef UPDRAFT_MODEL_CALIBRATE_H
#define UPDRAFT_MODEL_CALIBRATE_H

#include <stddef.h>

#include "model/mapfit.h"
#include "model/scenario.h"

/* One measured run. */
struct calibrate_run {
    int batch;                  /* requests decoded together */
    int num_steps;              /* K; 0: plain */
    int topk, num_draft_tokens; /* 0: as the scenario; verified tokens 0: K + 1 */
    int set;                    /* data set: index into the mix; -1: none of it */
    double context_tokens;      /* NaN: the scenario's */
    double tokens_per_s;        /* all requests; NaN: unknown */
    double tokens_per_cycle;    /* bonus token included; NaN: unknown */
    double noise;               /* relative; 0: by the number of requests */
};

enum calibrate_term_id {
#define TERM(id, path, member, guess, spread, when, doc) CALIBRATE_##id,
#include "model/calibrate_terms.def"
#undef TERM
    CALIBRATE_TERMS
};

struct calibrate_term {
    const char *path, *apart; /* key; what runs would tell it apart */
    double prior, value, low, high;
    double learned; /* share of the prior's variance (of the logarithm) that the runs removed */
    int identified; /* learned >= 0.5 */
    int with;       /* the term it is entangled with (|correlation| > 0.5), or -1 */
    double correlation;
};

struct calibrate_case {
    double measured, predicted, left_out; /* tokens/s; left_out: predicted by a fit without it */
};

struct calibration {
    struct scenario s; /* calibrated and anchored; costs still those of the input */
    int n_plain, n_speculative, n_lengths; /* runs used for each part */
    int n_terms;
    struct calibrate_term term[CALIBRATE_TERMS];
    /* Acceptance: p_i = first * exp(-fall (i - 1)). */
    double accept_first, accept_first_sd, accept_fall, accept_fall_sd;
    double accept_first_learned, accept_fall_learned;
    struct calibrate_case *v; /* by run, in the order given; plain runs' left_out is NaN. Owned. */
    size_t n;
    double median_rel_error, left_out_median_rel_error, left_out_max_rel_error; /* speculative */
};

/* `s` bound and anchored. mix[0..n_sets-1] are the shares of the emitted tokens that each data set
 * has in what will be served: acceptance is then fitted by set and mixed (n_sets 0: all runs
 * alike). STATUS_UNSUPPORTED where no run can be used, and says what is missing. */
enum status calibrate(const struct scenario *s, const struct calibrate_run *runs, size_t n,
                      const double *mix, int n_sets, struct calibration *out, struct err *err);
void calibration_release(struct calibration *c);

/* Conditional acceptance from measured accept lengths (tokens per cycle) of chains or trees: fills
 * first, fall and their deviations; the prior of `fall` is acceptance.h's. `noise`: relative
 * deviation of one length, of what exceeds 1. */
enum status accept_fit(const struct calibrate_run *runs, size_t n, double noise, double *first,
                       double *first_sd, double *fall, double *fall_sd, double learned[2],
                       struct err *err);

#endif
