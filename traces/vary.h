/* A grid over scenario keys: what `--vary KEY=LIST|A:B[:STEP]` says. */
#ifndef UPDRAFT_TRACES_VARY_H
#define UPDRAFT_TRACES_VARY_H

#include <stddef.h>

#include "model/scenario.h"

/* One axis of the grid. */
struct axis {
    const struct scenario_key *key;
    size_t n;
    double *numbers; /* [n]; NULL where the key is text */
    char **texts;    /* [n]; NULL where it is a number */
    char *text;      /* owns texts' bytes */
};

enum { VARY_MAX_AXES = 8, VARY_MAX_POINTS = 200000000 };

/* Parses "KEY=1,2,3", "KEY=1:8", "KEY=0:244:2" or "KEY=word,word". STATUS_USAGE on anything else.
 */
enum status axis_parse(struct axis *a, const char *text, struct err *err);
void axis_release(struct axis *a);

/* Sets the axis's value number i. */
enum status axis_set(const struct axis *a, size_t i, struct scenario *s, struct err *err);

#endif
