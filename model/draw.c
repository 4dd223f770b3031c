#include "model/draw.h"

#include <math.h>

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void rng_init(struct rng *r, uint64_t seed, uint64_t index)
{
    uint64_t x = seed, y = splitmix(&x) ^ (index * 0xd1342543de82ef95u);
    for (int i = 0; i < 4; i++)
        r->s[i] = splitmix(&y);
}

static uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

uint64_t rng_next(struct rng *r)
{
    uint64_t result = rotl(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;
    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = rotl(r->s[3], 45);
    return result;
}

double rng_uniform(struct rng *r)
{
    return ((double)(rng_next(r) >> 11) + 0.5) * 0x1.0p-53;
}

double normal_quantile(double p)
{
    double q = p - 0.5;
    if (fabs(q) <= 0.425) {
        double r = 0.180625 - q * q;
        return q *
               (((((((2.5090809287301226727e3 * r + 3.3430575583588128105e4) * r +
                     6.7265770927008700853e4) *
                        r +
                    4.5921953931549871457e4) *
                       r +
                   1.3731693765509461125e4) *
                      r +
                  1.9715909503065514427e3) *
                     r +
                 1.3314166789178437745e2) *
                    r +
                3.387132872796366608) /
               (((((((5.226495278852545925e3 * r + 2.8729085735721942674e4) * r +
                     3.9307895800092710610e4) *
                        r +
                    2.1213794301586595867e4) *
                       r +
                   5.3941960214247511077e3) *
                      r +
                  6.8718700749205790830e2) *
                     r +
                 4.2313330701600911252e1) *
                    r +
                1);
    }
    double r = sqrt(-log(q < 0 ? p : 1 - p)), x;
    if (r <= 5) {
        r -= 1.6;
        x = (((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r +
                  2.41780725177450611770e-1) *
                     r +
                 1.27045825245236838258) *
                    r +
                3.64784832476320460504) *
                   r +
               5.76949722146069140550) *
                  r +
              4.63033784615654529590) *
                 r +
             1.42343711074968357734) /
            (((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r +
                  1.51986665636164571966e-2) *
                     r +
                 1.48103976427480074590e-1) *
                    r +
                6.89767334985100004550e-1) *
                   r +
               1.67638483018380384940) *
                  r +
              2.05319162663775882187) *
                 r +
             1);
    } else {
        r -= 5;
        x = (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r +
                  1.24266094738807843860e-3) *
                     r +
                 2.65321895265761230930e-2) *
                    r +
                2.96560571828504891230e-1) *
                   r +
               1.78482653991729133580) *
                  r +
              5.46378491116411436990) *
                 r +
             6.65790464350110377720) /
            (((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r +
                  1.84631831751005468180e-5) *
                     r +
                 7.86869131145613259100e-4) *
                    r +
                1.48753612908506148525e-2) *
                   r +
               1.36929880922735805310e-1) *
                  r +
              5.99832206555887937690e-1) *
                 r +
             1);
    }
    return q < 0 ? -x : x;
}

double rng_normal(struct rng *r)
{
    return normal_quantile(rng_uniform(r));
}

double qty_draw(const struct qty *q, double z)
{
    const double z95 = 1.959963984540054;
    if (!(q->low < q->high))
        return q->value;
    if (q->low > 0)
        return q->value * pow((z < 0 ? q->value / q->low : q->high / q->value), z / z95);
    return q->value + z / z95 * (z < 0 ? q->value - q->low : q->high - q->value);
}

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* Standard deviation of one acceptance probability: binomial from the cycles that reached that
 * position; 0.04 where nobody counted (runs of half a minute differ by that much). */
static double accept_sigma(double p, double reached)
{
    return reached > 0 ? sqrt(p * (1 - p) / reached + 1e-6) : 0.04;
}

void scenario_draw(const struct scenario *mean, uint64_t seed, uint64_t index, struct scenario *out)
{
    struct rng r;
    rng_init(&r, seed, index);
    *out = *mean;
    for (size_t i = 0; i < scenario_n_keys; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        if (key->type != KEY_TYPE_QTY)
            continue;
        double u = rng_uniform(&r);
        struct qty *q = scenario_member(out, key);
        if (q->low < q->high)
            q->value = clamp(qty_draw(q, normal_quantile(u)), key->min, key->max);
    }
    /* One shift of all positions together (another prompt mix), a smaller one of each. */
    struct qty_list *p = &out->draft.accept_rate;
    double common = rng_normal(&r), reached = mean->draft.accept_cycles;
    for (int i = 0; i < SCENARIO_MAX_LIST; i++) {
        double own = rng_normal(&r);
        if (i >= p->n)
            continue;
        double sigma = accept_sigma(mean->draft.accept_rate.v[i], reached);
        p->v[i] = clamp(mean->draft.accept_rate.v[i] + sigma * (0.9 * common + 0.436 * own), 0, 1);
        reached *= mean->draft.accept_rate.v[i];
    }
    double small = rng_normal(&r), large = rng_normal(&r), gather = rng_normal(&r);
    double other_small = rng_normal(&r), other_large = rng_normal(&r);
    struct scenario_costs *c = &out->cost, *ref = &out->ref.cost;
    double message = (double)mean->batch * scenario_verify_tokens(mean) * mean->model.hidden *
                     mean->model.dtype_bytes;
    if (c->small != NULL)
        c->small_factor = exp(small * cost_sigma(c->small, message));
    if (c->large != NULL)
        c->large_factor = exp(large * cost_sigma(c->large, message));
    if (c->gather != NULL)
        c->gather_factor = exp(gather * cost_sigma(c->gather, message));
    if (!out->ref.set)
        return;
    /* Today's costs: the same draw where it is the same curve. */
    if (ref->small != NULL)
        ref->small_factor =
            exp((ref->small == c->small ? small : other_small) * cost_sigma(ref->small, message));
    if (ref->large != NULL)
        ref->large_factor =
            exp((ref->large == c->large ? large : other_large) * cost_sigma(ref->large, message));
    if (ref->gather != NULL)
        ref->gather_factor = exp(gather * cost_sigma(ref->gather, message));
    const struct scenario *m = mean;
    if (m->allreduce.latency_us.set && m->ref.latency_us == m->allreduce.latency_us.value)
        out->ref.latency_us = out->allreduce.latency_us.value;
    if (m->ref.latency_scale == m->allreduce.latency_scale.value)
        out->ref.latency_scale = out->allreduce.latency_scale.value;
    if (m->ref.extra_us == m->allreduce.extra_us.value)
        out->ref.extra_us = out->allreduce.extra_us.value;
    if (m->ref.skew_us == m->allreduce.skew_us.value)
        out->ref.skew_us = out->allreduce.skew_us.value;
    if (m->ref.weight_scale == m->pass.weight_scale.value)
        out->ref.weight_scale = out->pass.weight_scale.value;
    if (m->ref.context_scale == m->pass.context_scale.value)
        out->ref.context_scale = out->pass.context_scale.value;
    if (m->ref.host_step_us == m->host.step_us.value)
        out->ref.host_step_us = out->host.step_us.value;
    if (m->logits.latency_us.set && m->ref.logits_latency_us == m->logits.latency_us.value)
        out->ref.logits_latency_us = out->logits.latency_us.value;
}
