/* A ranking in words and in JSON. */
#ifndef UPDRAFT_TRACES_RANK_IO_H
#define UPDRAFT_TRACES_RANK_IO_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "model/rank.h"

/* CONTRACT's `rank --json`. NULL without memory. */
cJSON *ranking_json(const struct ranking *r, const struct rank_params *p, const char *scenario);

void ranking_print(FILE *out, const struct ranking *r, const struct rank_params *p);

/* One option's arithmetic line by line, at the middle of every quantity: whoever adds up the lines
 * gets the numbers. Index k in r->v. */
void ranking_explain(FILE *out, const struct ranking *r, const struct rank_params *p, int k);

#endif
