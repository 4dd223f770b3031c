/* Stories: what was done to a served model, variant by variant or step by step, and what came of
 * it. The predictor orders the choices from what was known before; here is how an order is judged.
 */
#ifndef UPDRAFT_TRACES_STORY_H
#define UPDRAFT_TRACES_STORY_H

#include "model/cost.h"
#include "traces/backtest.h"

enum { STORY_MAX_CHOICES = 32 };

/* One point of a story: choices between which one was free, in the same conditions. */
struct story_point {
    char name[96];
    int n;
    struct story_choice {
        char name[96];
        double predicted; /* throughput or saving, any unit, above 0 */
        double sigma;     /* standard deviation of its log */
        double measured;  /* the same unit */
    } choice[STORY_MAX_CHOICES];
    double noise; /* of the measurements: a relative difference below it decides nothing */
    int absolute; /* 1: predictions are in the unit of the measurements; 0: only their ratios count,
                     and the first choice's measurement was known */
};

struct story_points {
    struct story_point *v;
    size_t n;
};
void story_points_release(struct story_points *s);
/* A new empty point, or NULL without memory; valid until the next call. */
struct story_point *story_points_add(struct story_points *s);
struct story_choice *story_choice_add(struct story_point *p);

/* Adds one result over the points. Kendall's tau counts the pairs of choices at the same point
 * whose measured difference exceeds the noise: concordant less discordant, over all of them (a
 * predicted tie counts as neither). The top choice is right where the measured best is among those
 * that the prediction cannot tell from its own best, or where the predicted best measures within
 * the noise of the best. */
enum status story_report(struct backtest_results *rs, const struct story_points *s,
                         const char *table, const char *target, const char *fitted_on,
                         struct err *err);

/* Relative run-to-run noise of a served benchmark at that many requests: 3.5 % at one, under 1 % at
 * 64 (eight repeats each on 8x RTX PRO 6000; rtx6kpro commit e2c2b957, models/kimi-k26-v3.md). */
double story_noise(double concurrency);

#endif
