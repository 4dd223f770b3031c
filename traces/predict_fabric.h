/* predict --fabric: one allreduce priced on a fabric. */
#ifndef UPDRAFT_TRACES_PREDICT_FABRIC_H
#define UPDRAFT_TRACES_PREDICT_FABRIC_H

#include "traces/command.h"

/* Prices --impl at --bytes on --fabric with --ranks and --placement, and prints it as predict does,
 * with where the time goes. `ranks` 0: one a GPU. */
enum status predict_on_fabric(struct invocation *inv, const char *impl, int ranks, int64_t bytes,
                              struct err *err);

#endif
