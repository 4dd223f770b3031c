/* Which measurement would most reduce the expected regret.
 *
 * The decision is the best set or one of its neighbours: without one of its options, or with
 * another one put in for those that it excludes. A measurement tells some of the unknowns, phi.
 * Knowing them, one would choose the set with the largest E[throughput | phi], so it is worth
 *
 *     E_phi[ max_c E(U_c | phi) ] - max_c E(U_c)
 *
 * (expected value of partial perfect information). The inner expectation is a regression of U_c on
 * phi over the worlds that are drawn anyway (Strong, Oakley and Brennan, Med Decis Making 34, 311
 * (2014)), quadratic here; what the same regression finds on worlds shifted against phi, where
 * there is nothing to find, is subtracted.
 */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/draw.h"
#include "model/parallel.h"
#include "model/rank_work.h"

enum {
    MAX_CANDIDATES = 2 * SEARCH_MAX_OPTIONS + 1,
    MAX_IMPLS = 16,
    MAX_FEATURES = 96,
    MAX_PHI = 8,
    MAX_BASIS = 1 + 2 * MAX_PHI,
    MAX_WORLDS = 4096,
};

enum measurement_id {
#define MEASUREMENT(id, minutes, what, resolved) LEARN_##id,
#include "model/measurements.def"
#undef MEASUREMENT
    N_MEASUREMENTS
};

static const struct {
    const char *id;
    double minutes;
    const char *what;
    double resolved;
} measurements[] = {
#define MEASUREMENT(id, minutes, what, resolved) {#id, minutes, what, resolved},
#include "model/measurements.def"
#undef MEASUREMENT
};

/* Which measurement tells a key. */
static const struct {
    const char *prefix;
    enum measurement_id by;
} told[] = {
    {"allreduce.latency_us", LEARN_allreduce},
    {"allreduce.latency_scale", LEARN_allreduce},
    {"allreduce.box_scale", LEARN_allreduce},
    {"allreduce.insitu", LEARN_profile},
    {"allreduce.skew_us", LEARN_profile},
    {"draft.pass_us", LEARN_profile},
    {"draft.extend_us", LEARN_profile},
    {"host.", LEARN_profile},
    {"baseline.", LEARN_baseline},
};

struct feature {
    char name[64];
    double *v; /* [n] */
};

struct study {
    struct rank_work *w;
    size_t n; /* worlds */
    int n_candidates, n_features, n_impls;
    uint32_t candidate[MAX_CANDIDATES];
    double *u; /* [n_candidates][n] */
    struct feature feature[MAX_FEATURES];
    const struct scenario_key *key[MAX_FEATURES];
    const struct cost *impl[MAX_IMPLS];
    int at_keys, at_fit, at_tokens, at_compute, at_impls; /* first feature of each kind */
    int n_keys;
};

static void add_candidate(struct study *s, uint32_t set)
{
    for (int c = 0; c < s->n_candidates; c++)
        if (s->candidate[c] == set)
            return;
    if (s->n_candidates < MAX_CANDIDATES && search_allowed(&s->w->search, set))
        s->candidate[s->n_candidates++] = set;
}

static void candidates(struct study *s)
{
    const struct search_params *p = &s->w->search;
    const uint32_t best = s->w->r->best_set;
    add_candidate(s, best);
    for (int i = 0; i < p->n; i++) {
        uint32_t bit = (uint32_t)1 << i, set = best & ~bit;
        if (!(best & bit)) {
            set = (best | bit | p->needs[i]) & ~p->excludes[i];
            for (int j = 0; j < p->n; j++)
                if (p->needs[i] >> j & 1)
                    set &= ~p->excludes[j];
        }
        /* What needs something that is gone goes too. */
        for (int j = 0; j < p->n; j++)
            if ((set >> j & 1) && (p->needs[j] & ~set))
                set &= ~((uint32_t)1 << j);
        add_candidate(s, set);
    }
}

static int new_feature(struct study *s, const char *name)
{
    struct feature *f = &s->feature[s->n_features];
    snprintf(f->name, sizeof f->name, "%.63s", name);
    f->v = malloc(s->n * sizeof *f->v);
    return f->v == NULL ? -1 : s->n_features++;
}

static int features(struct study *s)
{
    const struct rank_work *w = s->w;
    int bad = 0;
    s->at_keys = s->n_features;
    for (size_t i = 0; i < scenario_n_keys && s->n_features < MAX_FEATURES - MAX_IMPLS - 3; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        if (key->type != KEY_TYPE_QTY)
            continue;
        const struct qty *q = scenario_member_const(w->p->mean, key);
        if (!(q->low < q->high))
            continue;
        s->key[s->n_features] = key;
        bad |= new_feature(s, key->path) < 0;
    }
    s->n_keys = s->n_features - s->at_keys;
    s->at_fit = new_feature(s, "fit of today's allreduce");
    s->at_tokens = new_feature(s, "accept length");
    s->at_compute = new_feature(s, "compute of a verify pass");
    bad |= s->at_fit < 0 || s->at_tokens < 0 || s->at_compute < 0;
    s->at_impls = s->n_features;
    for (int i = 0; i < w->search.n; i++)
        for (int e = 0; e < w->search.options[i]->n_effects; e++) {
            const struct cost *c = w->search.options[i]->effects[e].small;
            int known = c == NULL || c == w->p->mean->cost.small || s->n_impls == MAX_IMPLS;
            for (int k = 0; k < s->n_impls && !known; k++)
                known = strcmp(s->impl[k]->impl, c->impl) == 0;
            if (known || bad)
                continue;
            s->impl[s->n_impls++] = c;
            bad |= new_feature(s, c->impl) < 0;
        }
    return bad ? -1 : 0;
}

/* Luck of an implementation in a world, as options draw it. */
static double impl_luck(const struct study *s, const struct cost *c,
                        const struct option_draw *draws)
{
    for (int i = 0; i < s->w->search.n; i++)
        for (int e = 0; e < s->w->search.options[i]->n_effects; e++) {
            const struct cost *other = s->w->search.options[i]->effects[e].small;
            if (other != NULL && strcmp(other->impl, c->impl) == 0)
                return log(draws[i].effect[e].small_factor);
        }
    return 0;
}

static void study_worlds(void *ctx, size_t begin, size_t end)
{
    struct study *s = ctx;
    const struct rank_params *p = s->w->p;
    for (size_t d = begin; d < end; d++) {
        struct scenario world;
        struct outcome o;
        struct option_draw draws[SEARCH_MAX_OPTIONS];
        double t[MAX_CANDIDATES];
        search_worlds(&s->w->search, s->candidate, (size_t)s->n_candidates, d, t);
        for (int c = 0; c < s->n_candidates; c++)
            s->u[(size_t)c * s->n + d] = t[c];
        scenario_draw(p->mean, p->seed, d, &world);
        evaluate_cycle(&world, &o);
        for (int i = 0; i < s->w->search.n; i++)
            option_sample(s->w->search.options[i], p->mean, p->seed, d, &draws[i]);
        for (int k = 0; k < s->n_keys; k++) {
            int f = s->at_keys + k;
            s->feature[f].v[d] =
                ((const struct qty *)scenario_member_const(&world, s->key[f]))->value;
        }
        s->feature[s->at_fit].v[d] = log(world.cost.small_factor);
        s->feature[s->at_tokens].v[d] = o.tokens_per_cycle;
        s->feature[s->at_compute].v[d] = o.verify_compute_us;
        for (int k = 0; k < s->n_impls; k++)
            s->feature[s->at_impls + k].v[d] = impl_luck(s, s->impl[k], draws);
    }
}

/* --- Regression
 * ----------------------------------------------------------------------------------- */

/* phi standardised, blurred to the share of variance that the measurement resolves; 0 where phi
 * does not vary. */
static int standardise(const double *v, size_t n, double resolved, uint64_t seed, double *out)
{
    double mean = 0, square = 0;
    for (size_t d = 0; d < n; d++)
        mean += v[d] / (double)n;
    for (size_t d = 0; d < n; d++)
        square += (v[d] - mean) * (v[d] - mean) / (double)n;
    if (!(square > 1e-24 * (mean * mean + 1e-300)))
        return 0;
    double sd = sqrt(square), blur = sqrt(1 - resolved), keep = sqrt(resolved);
    struct rng r;
    rng_init(&r, seed, 0x6c6561726eu);
    for (size_t d = 0; d < n; d++)
        out[d] = keep * (v[d] - mean) / sd + (blur > 0 ? blur * rng_normal(&r) : 0);
    return 1;
}

/* E[max_c fitted_c] where row d of the basis is that of world (d + shift) mod n. */
static int fitted_maximum(const struct study *s, const double *basis, int p, size_t shift,
                          const gsl_matrix *chol, double *best)
{
    const size_t n = s->n;
    double *fit = calloc(n, sizeof *fit);
    gsl_vector *b = gsl_vector_alloc((size_t)p), *x = gsl_vector_alloc((size_t)p);
    double sum = 0;
    int bad = fit == NULL || b == NULL || x == NULL;
    /* Differences from candidate 0, which is the best set: its own difference is 0 everywhere. */
    for (int c = 1; c < s->n_candidates && !bad; c++) {
        gsl_vector_set_zero(b);
        for (size_t d = 0; d < n; d++) {
            double y = s->u[(size_t)c * n + d] - s->u[d];
            const double *row = basis + (d + shift) % n * (size_t)p;
            for (int k = 0; k < p; k++)
                b->data[k] += row[k] * y;
        }
        gsl_linalg_cholesky_solve(chol, b, x);
        for (size_t d = 0; d < n; d++) {
            const double *row = basis + (d + shift) % n * (size_t)p;
            double y = 0;
            for (int k = 0; k < p; k++)
                y += row[k] * x->data[k];
            if (y > fit[d])
                fit[d] = y;
        }
    }
    for (size_t d = 0; d < n && !bad; d++)
        sum += fit[d];
    free(fit);
    if (b != NULL)
        gsl_vector_free(b);
    if (x != NULL)
        gsl_vector_free(x);
    *best = sum / (double)n;
    return bad ? -1 : 0;
}

/* What knowing phi[0..n_phi-1] is worth, tokens per second; -1 without memory. */
static double value_of(const struct study *s, const double *const *phi, int n_phi, double resolved)
{
    const size_t n = s->n;
    double *basis = malloc(n * MAX_BASIS * sizeof *basis), *z = malloc(n * sizeof *z), value = -1;
    int p = 1;
    gsl_matrix *m = NULL;
    if (basis == NULL || z == NULL)
        goto out;
    double *columns[MAX_BASIS] = {0};
    int n_columns = 0, bad = 0;
    for (int k = 0; k < n_phi && k < MAX_PHI; k++) {
        if (!standardise(phi[k], n, resolved, s->w->p->seed + (uint64_t)k, z))
            continue;
        columns[n_columns] = malloc(n * sizeof *z);
        if (columns[n_columns] == NULL) {
            bad = 1;
            break;
        }
        memcpy(columns[n_columns++], z, n * sizeof *z);
    }
    p = 1 + 2 * n_columns;
    for (size_t d = 0; d < n && !bad; d++) {
        double *row = basis + d * (size_t)p;
        row[0] = 1;
        for (int k = 0; k < n_columns; k++) {
            row[1 + 2 * k] = columns[k][d];
            row[2 + 2 * k] = columns[k][d] * columns[k][d] - 1;
        }
    }
    for (int k = 0; k < n_columns; k++)
        free(columns[k]);
    m = bad ? NULL : gsl_matrix_calloc((size_t)p, (size_t)p);
    if (m == NULL)
        goto out;
    for (size_t d = 0; d < n; d++) {
        const double *row = basis + d * (size_t)p;
        for (int i = 0; i < p; i++)
            for (int j = 0; j <= i; j++)
                m->data[(size_t)i * m->tda + (size_t)j] += row[i] * row[j];
    }
    for (int i = 0; i < p; i++) {
        m->data[(size_t)i * m->tda + (size_t)i] *= 1 + 1e-9;
        for (int j = i + 1; j < p; j++)
            m->data[(size_t)i * m->tda + (size_t)j] = m->data[(size_t)j * m->tda + (size_t)i];
    }
    if (gsl_linalg_cholesky_decomp1(m) != GSL_SUCCESS) {
        value = 0;
        goto out;
    }
    double found, nothing;
    if (fitted_maximum(s, basis, p, 0, m, &found) == 0 &&
        fitted_maximum(s, basis, p, n / 2, m, &nothing) == 0)
        value = fmax(found - nothing, 0);
out:
    if (m != NULL)
        gsl_matrix_free(m);
    free(basis);
    free(z);
    return value;
}

/* --- The measurements
 * ------------------------------------------------------------------------------ */

static int add(struct study *s, struct learn l, const double *const *phi, int n_phi,
               double resolved, double before)
{
    struct ranking *r = s->w->r;
    if (n_phi == 0 || r->n_learn == RANK_MAX_LEARN)
        return 0;
    double value = value_of(s, phi, n_phi, resolved);
    if (value < 0)
        return -1;
    l.regret_before = before;
    l.regret_after = fmax(before - value, 0);
    int at = r->n_learn++;
    for (; at > 0 && r->learn[at - 1].regret_after > l.regret_after; at--)
        r->learn[at] = r->learn[at - 1];
    r->learn[at] = l;
    return 0;
}

static int standard_measurement(struct study *s, int id, double before)
{
    const double *phi[MAX_PHI];
    int n = 0;
    struct learn l = {.option = -1, .minutes = measurements[id].minutes};
    snprintf(l.id, sizeof l.id, "%s", measurements[id].id);
    snprintf(l.what, sizeof l.what, "%s", measurements[id].what);
#define TELL(f)                                                                                    \
    do {                                                                                           \
        size_t len_ = strlen(l.resolves);                                                          \
        if (n < MAX_PHI) {                                                                         \
            phi[n++] = s->feature[f].v;                                                            \
            snprintf(l.resolves + len_, sizeof l.resolves - len_, "%s%s", len_ ? ", " : "",        \
                     s->feature[f].name);                                                          \
        }                                                                                          \
    } while (0)
    for (int k = 0; k < s->n_keys; k++)
        for (size_t t = 0; t < sizeof told / sizeof told[0]; t++)
            if ((int)told[t].by == id &&
                strncmp(s->key[s->at_keys + k]->path, told[t].prefix, strlen(told[t].prefix)) == 0)
                TELL(s->at_keys + k);
    if (id == LEARN_allreduce)
        TELL(s->at_fit);
    if (id == LEARN_acceptance)
        TELL(s->at_tokens);
    if (id == LEARN_rows)
        TELL(s->at_compute);
    /* What nobody has measured here. */
    for (int k = 0; k < s->n_impls && id == LEARN_kernels; k++)
        if (s->impl[k]->source == COST_SYNTHESIZED)
            TELL(s->at_impls + k);
#undef TELL
    return add(s, l, phi, n, measurements[id].resolved, before);
}

/* Trying an option tells how well it does: its own gain in the world. */
static int trial(struct study *s, int k, double before)
{
    const struct rank_work *w = s->w;
    const struct option *o = &w->p->catalogue->v[w->ok[k]];
    double *gain = malloc(s->n * sizeof *gain);
    if (gain == NULL)
        return -1;
    for (size_t d = 0; d < s->n; d++)
        gain[d] = w->alone[(size_t)k * w->draws + d] / w->today[d] - 1;
    /* A benchmark of it costs a quarter of an hour after the work of a first version. */
    struct learn l = {.option = w->ok[k], .minutes = 15 + 480 * o->effort_low};
    snprintf(l.id, sizeof l.id, "try_%.60s", o->id);
    snprintf(l.what, sizeof l.what, "a first version of it, benchmarked: %.120s", o->title);
    snprintf(l.resolves, sizeof l.resolves, "gain of %.64s", o->id);
    const double *phi[] = {gain};
    double sd = w->r->v[k].gain.high - w->r->v[k].gain.low, noise = w->r->noise;
    double resolved = sd > 0 ? 1 / (1 + noise * noise / (sd * sd / 16 + 1e-12)) : 1;
    int bad = add(s, l, phi, 1, resolved, before);
    free(gain);
    return bad;
}

enum status rank_learn(struct rank_work *w, struct err *err)
{
    struct study *s = calloc(1, sizeof *s);
    int bad = s == NULL;
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    if (!bad) {
        s->w = w;
        s->n = w->draws < MAX_WORLDS ? w->draws : MAX_WORLDS;
        candidates(s);
        s->u = malloc((size_t)s->n_candidates * s->n * sizeof *s->u);
        bad = s->u == NULL || features(s) != 0;
    }
    if (!bad) {
        double perfect = 0, chosen = 0;
        parallel_for(w->p->threads, s->n, study_worlds, s);
        for (size_t d = 0; d < s->n; d++) {
            double best = s->u[d];
            for (int c = 1; c < s->n_candidates; c++)
                best = fmax(best, s->u[(size_t)c * s->n + d]);
            perfect += best / (double)s->n;
            chosen += s->u[d] / (double)s->n;
        }
        for (int id = 0; id < N_MEASUREMENTS && !bad; id++)
            bad = standard_measurement(s, id, perfect - chosen) != 0;
        for (int k = 0; k < w->n_ok && !bad; k++)
            if (w->r->v[k].searched)
                bad = trial(s, k, perfect - chosen) != 0;
    }
    /* The most valuable probe or run. Trying an option counts as a run where it takes no more than
     * an hour; beyond that it is the work itself. */
    for (int i = 0; i < w->r->n_learn && w->r->decisive < 0; i++)
        if ((w->r->learn[i].option < 0 || w->r->learn[i].minutes <= 60) &&
            w->r->learn[i].regret_before - w->r->learn[i].regret_after > 1e-4 * w->r->today.mean)
            w->r->decisive = i;
    if (s != NULL) {
        for (int f = 0; f < s->n_features; f++)
            free(s->feature[f].v);
        free(s->u);
    }
    free(s);
    gsl_set_error_handler(handler);
    return bad ? err_set(err, STATUS_FAILED, "out of memory") : STATUS_OK;
}
