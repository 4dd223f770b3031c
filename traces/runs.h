/* Measured runs of a server for `calibrate`: from traces, whatever import recognises, and tables of
 * served throughput.
 */
#ifndef UPDRAFT_TRACES_RUNS_H
#define UPDRAFT_TRACES_RUNS_H

#include <stdio.h>

#include "model/calibrate.h"

struct run_list {
    struct calibrate_run *v;
    char (*label)[96]; /* where each came from and what it is */
    size_t n, cap;
};
void run_list_release(struct run_list *l);

/* Appends the runs of a file. A CSV table gives a plain run, a speculative run, or both, a row;
 * where[0..n_where-1] are "COLUMN=VALUE" conditions on its rows. Records of a trace
 * (server_window, acceptance) of equal configuration are averaged; drafts that a record does not
 * number are `num_steps`. STATUS_UNSUPPORTED where the file holds no run. */
enum status run_list_load(struct run_list *l, const char *path, const char *const *where,
                          size_t n_where, int num_steps, FILE *log, struct err *err);

#endif
