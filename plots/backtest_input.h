/* What the plots errors and predicted read: backtests' results. */
#ifndef UPDRAFT_PLOTS_BACKTEST_INPUT_H
#define UPDRAFT_PLOTS_BACKTEST_INPUT_H

#include "plots/ask.h"
#include "plots/plot.h"

/* The document of `updraft backtest --json --cases`: run over request->input where that is a
 * folder, else read from it. STATUS_INPUT where it has no tables. *doc is to be released. */
enum status backtest_input(const struct plot_request *request, struct json_doc *doc,
                           struct err *err);

#endif
