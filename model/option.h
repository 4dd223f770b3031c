/* An optimization: what it needs, what it changes, what it costs, and where that is known from.
 * Plain data; traces/catalogue_io.h reads catalogues.
 */
#ifndef UPDRAFT_MODEL_OPTION_H
#define UPDRAFT_MODEL_OPTION_H

#include <stdint.h>

#include "model/effect.h"

enum {
    OPTION_MAX = 64, /* options of a catalogue: sets of them are masks of 64 bits */
    OPTION_MAX_EFFECTS = 8,
    OPTION_MAX_REQUIREMENTS = 8,
    OPTION_MAX_EVIDENCE = 6,
    CONDITION_MAX_VALUES = 8,
};

/* A condition on one scenario key. Several parts must all hold. */
struct condition {
    const struct scenario_key *key; /* NULL: always holds */
    int has_min, has_max, n_numbers, n_words;
    double min, max, numbers[CONDITION_MAX_VALUES];
    char words[CONDITION_MAX_VALUES][32];    /* a text key must equal one of these */
    char version_min[32], version_below[32]; /* dotted numbers; below is exclusive */
};

enum { CONDITION_NO, CONDITION_YES, CONDITION_UNKNOWN /* the scenario does not say */ };
int condition_holds(const struct condition *c, const struct scenario *s);
/* "engine.flashinfer_version at least 0.6.17" */
void condition_text(const struct condition *c, char *text, size_t size);

/* -1, 0, 1 by dotted numbers: 0.6.9 < 0.6.17; what is not a number ends a part. */
int version_compare(const char *a, const char *b);

/* Where `when` holds, `must` has to hold. */
struct requirement {
    struct condition when, must;
    char why[256];
};

struct option {
    char id[64], title[160], risk[256];
    int n_requirements, n_effects, n_evidence;
    struct requirement requirements[OPTION_MAX_REQUIREMENTS];
    struct effect effects[OPTION_MAX_EFFECTS];
    struct evidence {
        char source[200], says[320];
    } evidence[OPTION_MAX_EVIDENCE];
    double effort_low, effort_likely, effort_high; /* days */
    double p_works;                                /* probability that it works at all */
    int changes_summation;    /* another order of adding: acceptance may change */
    uint64_t excludes, needs; /* options of the same catalogue, by index */
    long line;                /* in the catalogue's file */
};

struct catalogue {
    struct option *v; /* owned */
    int n;
};
void catalogue_release(struct catalogue *c);

int catalogue_find(const struct catalogue *c, const char *id); /* index or -1 */

/* Completes the exclusions: both ways, and between options that set the same key outright. */
void catalogue_close(struct catalogue *c);

/* An option on a cycle of `needs`, or that needs what it excludes, or -1. */
int catalogue_cycle(const struct catalogue *c);
int catalogue_contradiction(const struct catalogue *c);

/* Whether the scenario can have it: 1, or 0 with the reason. Binds its effects to costs, which must
 * outlive the option. An option that would change nothing is refused as already in place. */
int option_possible(struct option *o, const struct scenario *s, const struct costs *costs,
                    char *reason, size_t size);

unsigned option_terms(const struct option *o);

/* What one world says about one option. */
struct option_draw {
    int works;
    double effort_days;
    struct effect_draw effect[OPTION_MAX_EFFECTS];
};
/* Reproducible from (seed, index) and the option's own id, whatever else stands in the catalogue;
 * implementations of the same name have the same luck in every option. */
void option_sample(const struct option *o, const struct scenario *mean, uint64_t seed,
                   uint64_t index, struct option_draw *d);
void option_mean(const struct option *o, struct option_draw *d);
/* Applies all effects, or none where it does not work in that world. */
void option_apply(const struct option *o, const struct option_draw *d, struct scenario *s);

double option_mean_effort(const struct option *o);

#endif
