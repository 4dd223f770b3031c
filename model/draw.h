/* Drawing the unknowns: one sampled world a call, reproducible from (seed, index) alone, so that
 * the result does not depend on how many threads share the work. Free of GSL.
 */
#ifndef UPDRAFT_MODEL_DRAW_H
#define UPDRAFT_MODEL_DRAW_H

#include <stdint.h>

#include "model/scenario.h"

/* xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64 from (seed, index). */
struct rng {
    uint64_t s[4];
};
void rng_init(struct rng *r, uint64_t seed, uint64_t index);
uint64_t rng_next(struct rng *r);
double rng_uniform(struct rng *r); /* in (0, 1) */
double rng_normal(struct rng *r);  /* standard normal, by inversion: one uniform each */

/* Quantile of the standard normal, p in (0, 1) (Wichura, AS 241, 1988). */
double normal_quantile(double p);

/* A draw from the quantity's 95 % interval: two-piece lognormal where low > 0, else two-piece
 * normal; `z` is a standard normal. The value itself where the interval is a point. */
double qty_draw(const struct qty *q, double z);

/* A world: *out is *mean with every quantity, the acceptance rates and the costs drawn. Every key
 * consumes the same stream of randoms whether or not it is uncertain, so that two scenarios that
 * differ in one key share the draws of all others. Today's reference state moves with the draw. */
void scenario_draw(const struct scenario *mean, uint64_t seed, uint64_t index,
                   struct scenario *out);

#endif
