/* What the parts of the ranking share. Internal to model/rank*.c. */
#ifndef UPDRAFT_MODEL_RANK_WORK_H
#define UPDRAFT_MODEL_RANK_WORK_H

#include "model/evaluate.h"
#include "model/rank.h"

struct rank_work {
    const struct rank_params *p;
    struct ranking *r;
    size_t draws;
    int n_ok;                    /* options that are possible */
    int ok[OPTION_MAX];          /* their catalogue indices */
    int ranked_of[OPTION_MAX];   /* catalogue index -> index in r->v */
    double *today, *residual;    /* [draws] */
    unsigned char *works;        /* [n_ok][draws] */
    double *alone;               /* [n_ok][draws] */
    double *effort;              /* [n_ok][draws], of the option and what it needs */
    struct search_params search; /* of the searched options */
    struct search found;
    struct outcome now; /* the scenario as it stands */
};

/* The options of a catalogue mask applied to s, at their middles. */
void rank_apply(const struct catalogue *c, uint64_t with, struct scenario *s);
/* Catalogue mask -> bits of the search, and -1 where an option was not searched. */
int rank_search_set(const struct rank_work *w, uint64_t with, uint32_t *set);
uint64_t rank_catalogue_set(const struct rank_work *w, uint32_t set);

/* Mean, interval and error of v[0..n-1]; scratch has room for n. */
struct estimate rank_estimate(const double *v, size_t n, double *scratch);

enum status rank_sets(struct rank_work *w, struct err *err);    /* rank_sets.c */
enum status rank_roadmap(struct rank_work *w, struct err *err); /* rank_roadmap.c */
void rank_policies(struct rank_work *w);                        /* rank_roadmap.c */
enum status rank_learn(struct rank_work *w, struct err *err);   /* rank_learn.c */
void rank_thresholds(struct rank_work *w);                      /* rank_thresholds.c */
void rank_tornado(struct rank_work *w);                         /* rank_thresholds.c */
void rank_reason(const struct rank_work *w, struct ranked *v);  /* rank_reason.c */

#endif
