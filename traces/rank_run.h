/* A ranking from files: the scenario, the catalogue, and the costs of what the catalogue names. */
#ifndef UPDRAFT_TRACES_RANK_RUN_H
#define UPDRAFT_TRACES_RANK_RUN_H

#include <stdint.h>
#include <stdio.h>

#include "model/rank.h"
#include "traces/scenario_io.h"

/* Device memory that a measurement recorded against what is predicted. */
enum { RANK_MAX_MEMORY = 16 };
struct memory_check {
    char impl[SCENARIO_TEXT];
    int ranks;
    double measured, predicted; /* bytes of a rank */
};

/* Zero-initialised is empty. Must not move once run. */
struct rank_run {
    struct scenario_file file;
    struct catalogue catalogue;
    struct rank_params params; /* seed, draws, threads, budget, horizon: the caller's */
    struct ranking ranking;
    int n_memory;
    struct memory_check memory[RANK_MAX_MEMORY]; /* of NCCL's communicators, where measured */
};
void rank_run_release(struct rank_run *run);

/* Reads the catalogue: `path`, or the one that ships where it is NULL. */
enum status rank_run_catalogue(struct rank_run *run, const char *path, struct err *err);

/* Collects the device memory that a trace records of NCCL's communicators, with the prediction. */
enum status rank_run_memory(struct rank_run *run, const char *trace, FILE *log, struct err *err);

/* Ranks; run->file is open. Implementations that nobody measured are priced on the scenario's
 * fabric where it names one; warnings go to `log` (may be NULL). */
enum status rank_run(struct rank_run *run, FILE *log, struct err *err);

/* The measurement that probes of this machine can make and that is worth most, for
 * `measure --plan decisive:SCENARIO`. */
enum { DECISIVE_MAX_IMPLS = 16, DECISIVE_MAX_SIZES = 6 };
struct decisive {
    char id[80], what[200];
    double minutes, regret_before, regret_after; /* tokens per second */
    int ranks;
    int n_impls, n_sizes;
    char impls[DECISIVE_MAX_IMPLS][SCENARIO_TEXT]; /* allreduces to time */
    int64_t sizes[DECISIVE_MAX_SIZES];             /* bytes per rank: the scenario's messages */
    int probes;                                    /* 1: the fabric's micro-probes too */
};
/* STATUS_UNSUPPORTED where no probe would change the choice: the message names the run that would,
 * if there is one. */
enum status decisive_find(struct decisive *d, const char *scenario, FILE *log, struct err *err);

#endif
