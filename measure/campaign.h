/* The campaign: carries out a plan and journals every cell as it is done.
 *
 * For each group of variants: sessions are opened, each in its own child; row by row every variant
 * is verified and then timed in the order A B .. B A, so that drift hits all alike. The two passes
 * of one variant are an A/A comparison: their difference is recorded and gives the noise floor. A
 * variant that hangs, crashes or runs out of memory gets a record that says so, and the campaign
 * goes on; after two failures in a row the variant is given up.
 */
#ifndef UPDRAFT_MEASURE_CAMPAIGN_H
#define UPDRAFT_MEASURE_CAMPAIGN_H

#include <stdio.h>

#include "measure/plan.h"
#include "measure/session.h"
#include "traces/journal.h"

struct monitor;

struct campaign {
    /* Set by the caller; all borrowed. */
    struct plan *plan;
    struct journal *journal;
    struct interrupts *interrupts;
    struct monitor *monitor; /* what the GPUs do meanwhile; may be NULL */
    int timeout_ms;          /* for one call of a session */
    FILE *log;               /* progress */
    int is_terminal;         /* progress may overwrite its line */
    struct records *records; /* those of the journal; the campaign appends the new ones */

    /* Results. */
    int measured, wrong, failed, skipped; /* cells and cases of this run */
    int interrupted;                      /* the signal that ended it; 0 none */

    /* Progress. */
    double started_us, shown_us;
    int to_do;
    char doing[160];
};

/* Runs what is not done. STATUS_OK also where single variants failed or a signal ended it; anything
 * else is a failure of the journal or of this process. */
enum status campaign_run(struct campaign *c, struct err *err);

#endif
