/* Measured runs of a server for `calibrate`: from traces, whatever import recognises, and tables of
 * served throughput.
 */
#ifndef UPDRAFT_TRACES_RUNS_H
#define UPDRAFT_TRACES_RUNS_H

#include <stdio.h>

#include "model/calibrate.h"

struct run_list {
    /* Names of the data sets that runs are told apart by: set first, not owned. A run's `set` is
     * its index, -1 for every other. */
    const char *const *set;
    int n_sets;
    struct calibrate_run *v;
    char (*label)[96]; /* where each came from and what it is */
    size_t n, cap;
};
void run_list_release(struct run_list *l);

/* Appends the runs of a file. A CSV table gives a plain run, a speculative run, or both, a row;
 * where[0..n_where-1] are "COLUMN=VALUE" conditions on its rows. Records of a trace
 * (server_window, acceptance; forward_pass as plain steps) of equal configuration are averaged;
 * drafts that a record does not number are `num_steps`. STATUS_UNSUPPORTED where the file holds no
 * run. */
enum status run_list_load(struct run_list *l, const char *path, const char *const *where,
                          size_t n_where, int num_steps, FILE *log, struct err *err);

/* Appends what an engine printed about acceptance: "QUANTITY=VALUE[,VALUE...][@K]", a row of
 * accept_quantities.def, its number or numbers by position, and the draft steps (absent:
 * `num_steps`). STATUS_USAGE names the quantities there are. */
enum status run_list_add_accept(struct run_list *l, const char *text, int num_steps,
                                struct err *err);

#endif
