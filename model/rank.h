/* What to do first, in which order, and what would change the answer.
 *
 * Everything is judged in the same drawn worlds (model/draw.h), so two options are compared under
 * the same luck. docs/rank.md derives the numbers. Throughputs are tokens per second of all
 * requests together, of the configuration that the scenario runs; gains are fractions over today.
 */
#ifndef UPDRAFT_MODEL_RANK_H
#define UPDRAFT_MODEL_RANK_H

#include "model/memory.h"
#include "model/option.h"
#include "model/search.h"

enum { RANK_MAX_LEARN = 80, RANK_MAX_TORNADO = 32, RANK_MAX_POLICIES = 8, RANK_TEXT = 640 };

struct rank_params {
    const struct scenario *mean; /* bound, anchored, checked; must outlive the ranking */
    struct catalogue *catalogue; /* its options are bound to the scenario here */
    const struct costs *costs;
    uint64_t seed;
    size_t draws; /* rounded up to a multiple of SEARCH_LANES */
    int threads;
    double budget_days;  /* effort that may be spent; 0: no limit */
    double horizon_days; /* the deadline: throughput counts until then; 0: 60, or the budget */
    void (*progress)(void *ctx, const char *what, double done);
    void *progress_ctx;
};

enum rank_status { RANK_OK, RANK_BLOCKED, RANK_HARMFUL };
const char *rank_status_name(enum rank_status s);

/* Three numbers with their place in the draws. */
struct estimate {
    double mean, low, high; /* low, high: 95 % */
    double error;           /* standard error of the mean from the number of draws */
};

/* What would have to be true, everything else as it stands: for no loss against today, and to beat
 * the best option. NaN where no value does it. */
struct threshold {
    double allreduce_us; /* of one allreduce of the verify pass with the option in place */
    double accept_length;
    double allreduce_count;
};

struct ranked {
    int option; /* index in the catalogue */
    enum rank_status status;
    char reason[RANK_TEXT];
    /* Alone (with what it needs), in tokens per second; NaN where blocked. */
    struct estimate tokens_per_s, gain;
    struct estimate gain_works; /* in the worlds where it and what it needs work */
    double effort_days, gain_per_day;
    double p_best;          /* probability that it is the best of all alone, ties shared */
    double p_gain;          /* probability that it gains anything */
    double regret;          /* expected tokens per second lost by choosing it instead of the best */
    int undecidable;        /* the gain is below the noise of the user's benchmark */
    int coin_flip;          /* a gain and a loss are both likely */
    int reaccept;           /* changes the order of summation: measure the accept length again */
    int searched;           /* it took part in the search of sets */
    double last_in;         /* gain on top of the best set with it; NaN where not searched */
    double shapley;         /* its share of the best set's gain */
    double crossover_bytes; /* where its allreduce and today's cost the same; NaN: nowhere */
    double ar_us_now, ar_us_then;
    struct threshold no_loss, win;
    uint64_t with; /* the option and what it needs, as catalogue bits */
    struct memory memory;
};

struct roadmap_step {
    int option;
    double done_days;             /* mean effort up to and with it */
    struct estimate tokens_per_s; /* of everything up to it */
    double marginal;              /* mean gain over the step before */
    int fallback;                 /* what to do if it fails, or -1 */
};

/* "Try first; then the other only if it fails" against going straight for the other. */
struct policy {
    int first, then;
    int only_if_it_fails; /* 0: then anyway */
    double value;         /* mean throughput until the horizon */
    double straight;      /* the better of the two done alone */
    double p_first_fails;
};

/* A measurement and what it would be worth. */
struct learn {
    char id[80], what[200], resolves[200];
    double minutes;
    double regret_before, regret_after; /* expected, tokens per second, of the best set chosen */
    int option;                         /* the option that it tries, or -1 */
};

struct tornado_row {
    char key[64];
    double low, value, high;      /* of the key */
    double today_low, today_high; /* throughput there */
    double gain_low, gain_high;   /* the leader's gain there */
};

struct ranking {
    size_t draws;
    struct estimate today;
    struct estimate unexplained_us; /* of a measured cycle, by no term; where it was measured */
    int has_measured, speculates;
    double p_today_best, noise, horizon_days;
    int n;
    struct ranked v[OPTION_MAX]; /* in order */
    int leader;                  /* index in v of the first that is ok, or -1 */

    int n_searched;
    int searched[SEARCH_MAX_OPTIONS]; /* catalogue indices; bit i of sets */
    size_t n_sets;
    uint32_t best_set;
    double best_mean, perfect_mean; /* of the best set; if every world's best set were known */
    double best_change;             /* relative change of best_mean between halves of the draws */

    int n_steps;
    struct roadmap_step steps[SEARCH_MAX_OPTIONS];
    double roadmap_value; /* mean throughput until the horizon along it */

    int n_policies;
    struct policy policies[RANK_MAX_POLICIES];
    int n_learn;
    struct learn learn[RANK_MAX_LEARN]; /* most valuable first */
    int decisive; /* index, or -1 where nothing that can be measured matters */
    int n_tornado;
    struct tornado_row tornado[RANK_MAX_TORNADO];
    /* Where speculation breaks even: of the scenario as it stands. */
    struct threshold speculation;
    struct memory memory; /* today */
};

/* Ranks. STATUS_UNSUPPORTED where the scenario's own numbers are impossible (rank_guard). */
enum status rank_options(struct ranking *r, const struct rank_params *p, struct err *err);

/* Inputs that cannot be: a speculative step cheaper than its verify, an accept length below 1 or
 * above the drafts + 1. STATUS_UNSUPPORTED says which and why. */
enum status rank_guard(const struct scenario *s, struct err *err);

/* Parts, each over what the earlier ones filled in. */
struct rank_work; /* rank_work.h */

#endif
