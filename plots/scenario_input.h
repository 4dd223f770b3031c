/* What the plots of a scenario share. */
#ifndef UPDRAFT_PLOTS_SCENARIO_INPUT_H
#define UPDRAFT_PLOTS_SCENARIO_INPUT_H

#include "model/simulate.h"
#include "plots/plot.h"
#include "traces/scenario_io.h"

/* Worlds drawn for one point of a curve: enough for its 95 % interval to be steady to the eye. */
enum { PLOT_DRAWS = 600 };

/* Opens request->input with the --set and --costs given. *f must be zero-initialised and is to be
 * released. *seed is --seed's, or 1. */
enum status plot_open_scenario(struct scenario_file *f, const struct plot_request *request,
                               uint64_t *seed, struct err *err);

/* Simulates s with one integer key changed. */
enum status plot_simulate_with(const struct scenario *s, const char *key, int value, uint64_t seed,
                               struct simulation *sim, struct err *err);

/* The band and the level of the plain step: variables baseline, baseline_low, baseline_high; also
 * band_name and subtitle (the scenario's title). */
void plot_baseline(FILE *program, const struct scenario *s, const struct simulation *sim);

#endif
