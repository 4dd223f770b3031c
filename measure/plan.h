/* The plan of a campaign: which variants, sizes and methods, in which order.
 *
 * A cell is one record to be: variant x method x size x skew. Variants of equal ranks and dtype
 * form groups of at most GROUP that are set up together; the cells of a group come in rows that
 * differ only in the variant, and a row is measured forwards, then backwards (A B B A).
 */
#ifndef UPDRAFT_MEASURE_PLAN_H
#define UPDRAFT_MEASURE_PLAN_H

#include "measure/backend.h"
#include "measure/probe.h"
#include "model/record.h"

enum { GROUP = 4, MAX_OPTIONS = 64 };

/* A kind of plan: a row of the table in plan.c. */
struct plan_kind {
    const char *name, *summary;
    const int64_t *sizes;     /* all sizes, bytes, ending with 0; for the primary method */
    const int64_t *key_sizes; /* sizes of the other methods, ending with 0 */
    const int *ranks;       /* rank counts, ending with 0, those that the box has; 0 first: as many
                               as there are GPUs, or 2 */
    unsigned methods;       /* besides the primary method: graph where there is one, else back to
                               back */
    const double *skews_us; /* of METHOD_skewed, ending with 0 */
    int only_quick;         /* only implementations and cases marked quick */
    int iterations, warmup; /* a pass; there are two */
    double budget_us;       /* a pass */
};
extern const struct plan_kind plan_kinds[]; /* ends with name NULL */
const struct plan_kind *plan_kind_find(const char *name);

/* What the user asked for; a count of 0 means that the plan's kind decides. Pointers are borrowed
 * and must outlive the plan. */
struct plan_options {
    const struct plan_kind *kind;
    int n_ranks, n_sizes, n_impls, n_methods;
    const int64_t *ranks, *sizes;
    const char *const *impls; /* names or shell patterns */
    const enum method *methods;
    enum dtype dtype;
    int in_place, blocks, threads, iterations;
    int no_probes;
    const char *label; /* NULL: the backend's */
    uint64_t seed;
};

struct planned_variant {
    const struct backend *backend;
    struct backend_impl impl;
    struct variant v;
    char label[160], placement[96];
    int group;
};

struct cell {
    int variant; /* index */
    enum method method;
    int64_t size_bytes;
    double skew_us; /* 0 but for METHOD_skewed */
    int done;       /* it is in the journal */
};

struct planned_case {
    const struct probe *probe;
    const struct backend_host *host;
    struct probe_case c;
    int done;
};

/* Zero-initialised is empty. */
struct plan {
    struct planned_variant *variants;
    struct cell *cells;         /* by group, then by row */
    struct planned_case *cases; /* by probe */
    int n_variants, n_cells, n_cases, n_groups;
    int iterations, warmup, chain;
    double budget_us, compute_us;
};

/* One backend that is here, with what its scout() found. */
struct present {
    const struct backend *backend;
    struct backend_host host;
    int n_options; /* those of --option that are for it; the keys and values are borrowed */
    struct backend_option options[MAX_OPTIONS];
};

/* Fills the plan. STATUS_UNSUPPORTED where nothing is left to measure: the message says what does
 * not fit; STATUS_USAGE where an --impl matches nothing. */
enum status plan_make(struct plan *plan, const struct plan_options *o,
                      const struct present *present, int n_present, struct err *err);
void plan_release(struct plan *plan);

/* Whether one of the backends has an implementation of that name or shell pattern. */
int plan_knows(const char *impl, const struct present *present, int n_present);

/* The record of a cell, without its value: the keys by which it is known again. */
void cell_record(const struct plan *plan, const struct cell *cell, struct record *r);
/* The record that says that a whole variant could not be measured: size_bytes -1. */
void variant_record(const struct planned_variant *v, struct record *r);
/* Whether two records are of the same cell. */
int same_cell(const struct record *a, const struct record *b);

/* Marks what the records hold already; a variant's own record marks all its cells. Returns how many
 * cells and cases were marked. */
int plan_mark_done(struct plan *plan, const struct records *before);
/* Cells and cases that are not done. */
int plan_left(const struct plan *plan);

#endif
