/* Backtests: the predictor put to measured tables. One const struct each, at the bottom of its own
 * traces/backtest_X.c; a row of backtests.def makes it exist. Tables are recognised by their
 * columns or by what import makes of them, never by their names.
 *
 * `updraft backtest DIR` shows every file to every backtest; each keeps what it can use and, when
 * all files have been seen, adds its results.
 */
#ifndef UPDRAFT_TRACES_BACKTEST_H
#define UPDRAFT_TRACES_BACKTEST_H

#include <stddef.h>
#include <stdint.h>

#include "model/err.h"
#include "traces/csv.h"
#include "traces/trace.h"

/* Errors of one way to predict, all relative: |predicted - measured| / measured. NaN: unknown. */
struct backtest_errors {
    char formula[96]; /* what predicted, where it is a naive formula: "log-log interpolation" */
    double median_rel_error, mean_rel_error, p90_rel_error, max_rel_error;
    /* Where they apply; NaN where not. */
    double sign_accuracy;   /* share of cases where "gain or loss" was predicted right */
    double argmax_accuracy; /* share of groups where the best choice was predicted right */
    double mean_regret;     /* mean loss by following the predicted best choice, as a fraction */
    double kendall_tau;     /* rank correlation of predicted and measured orders */
};

/* One case of a result: what was predicted and what was measured. */
struct backtest_case {
    char name[224];
    double error, naive_error;             /* relative */
    double measured, predicted, low, high; /* NaN where one number does not say it */
    double naive_predicted;                /* by the naive formula; 0 where that does not say it */
};

enum { BACKTEST_MAX_NAIVE = 4 };

/* One line of the report. */
struct backtest_result {
    char table[160];  /* which table, or which kind of tables taken together */
    char target[160]; /* what was predicted, over what the errors are taken */
    int64_t cases;
    int fitted_parameters; /* numbers in the predictor that were fitted to these measurements */
    char fitted_on[160];   /* to which of them; "nothing" where to none */
    struct backtest_errors errors;
    double interval_coverage; /* share of measurements inside their 95 % interval; NaN if none */
    int n_naive;
    struct backtest_errors naive[BACKTEST_MAX_NAIVE];
    struct backtest_case *v; /* owned; in any order; may be NULL */
    size_t n_v;
};

struct backtest_results {
    struct backtest_result *v;
    size_t n;
};
/* Appends an empty result: no text, no cases, every number NaN. NULL without memory. The pointer
 * holds until the next call. */
struct backtest_result *backtest_add(struct backtest_results *rs);
void backtest_results_release(struct backtest_results *rs);
/* Appends a case. 0, or -1 without memory. */
int backtest_add_case(struct backtest_result *r, const struct backtest_case *c);
/* median, mean, p90 and max of n relative errors into e; the array is sorted. */
void backtest_summarise(struct backtest_errors *e, double *rel_errors, size_t n);
/* Fills cases, errors and naive[0] (whose formula the caller sets) from the cases; the coverage
 * from those that have measured, low and high. 0, or -1 without memory. */
int backtest_summarise_cases(struct backtest_result *r);
/* Kendall's tau-b of n pairs; NaN where one side is constant. */
double backtest_kendall_tau(const double *a, const double *b, size_t n);

/* One file of the folder, read when first asked for. */
struct backtest_file {
    const char *path, *name; /* name: without folders */
    struct csv csv_table;
    struct trace records;
    int csv_tried, trace_tried, csv_ok, trace_ok;
};
/* The file as a CSV table; NULL where it is none. */
const struct csv *backtest_csv(struct backtest_file *f);
/* The file's records: of a trace, or of what import recognises; NULL where there are none. */
const struct trace *backtest_trace(struct backtest_file *f);
void backtest_file_release(struct backtest_file *f);

struct backtest {
    const char *id;
    const char *doc; /* one line: which tables, what is predicted */
    /* A state for one run; NULL without memory. */
    void *(*begin)(void);
    /* Looks at a file. *taken = 1 where it can be used (and what is needed of it was kept). */
    enum status (*take)(void *state, struct backtest_file *f, int *taken, struct err *err);
    /* Predicts and adds results; none where nothing was taken. */
    enum status (*finish)(void *state, struct backtest_results *rs, struct err *err);
    void (*end)(void *state); /* frees it; safe on NULL */
};

/* All backtests, in the order of backtests.def, ended by NULL. */
extern const struct backtest *const backtests[];

#endif
