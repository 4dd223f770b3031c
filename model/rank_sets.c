/* Sets of options: the search, what each adds last, and Shapley's share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/parallel.h"
#include "model/rank_work.h"

/* What an option may be worth at its best: the mean of its gains where it gains. */
static double promise(const struct rank_work *w, int k)
{
    double sum = 0;
    for (size_t d = 0; d < w->draws; d++)
        sum += fmax(w->alone[(size_t)k * w->draws + d] / w->today[d] - 1, 0);
    return sum / (double)w->draws;
}

/* Most promising options first, each with what it needs, as many as can be searched; then in the
 * catalogue's order. */
static void choose(struct rank_work *w)
{
    double worth[OPTION_MAX];
    uint64_t taken = 0;
    int n = 0;
    for (int k = 0; k < w->n_ok; k++)
        worth[k] = promise(w, k);
    for (;;) {
        int best = -1;
        for (int k = 0; k < w->n_ok; k++)
            if (!(taken >> w->ok[k] & 1) && worth[k] >= 0 && (best < 0 || worth[k] > worth[best]))
                best = k;
        if (best < 0)
            break;
        uint64_t with = w->r->v[best].with | taken;
        int count = 0;
        for (int i = 0; i < OPTION_MAX; i++)
            count += (int)(with >> i & 1);
        worth[best] = -1;
        if (count <= SEARCH_MAX_OPTIONS)
            taken = with;
    }
    for (int i = 0; i < w->p->catalogue->n; i++)
        if (taken >> i & 1)
            w->r->searched[n++] = i;
    w->r->n_searched = n;
}

static uint32_t to_bits(const struct rank_work *w, uint64_t mask)
{
    uint32_t bits = 0;
    for (int i = 0; i < w->r->n_searched; i++)
        if (mask >> w->r->searched[i] & 1)
            bits |= (uint32_t)1 << i;
    return bits;
}

/* Everything that needs option i, through others too, and i. */
static uint32_t dependents(const struct search_params *p, int i)
{
    uint32_t set = (uint32_t)1 << i, last;
    do {
        last = set;
        for (int j = 0; j < p->n; j++)
            if (p->needs[j] & set)
                set |= (uint32_t)1 << j;
    } while (set != last);
    return set;
}

static void last_in(struct rank_work *w)
{
    const struct search *f = &w->found;
    for (int i = 0; i < w->r->n_searched; i++) {
        size_t best = f->n_sets;
        for (size_t k = 0; k < f->n_sets; k++)
            if ((f->sets[k] >> i & 1) && (best == f->n_sets || f->mean[k] > f->mean[best]))
                best = k;
        struct ranked *v = &w->r->v[w->ranked_of[w->r->searched[i]]];
        if (best == f->n_sets)
            continue;
        double without = search_mean(f, f->sets[best] & ~dependents(&w->search, i));
        v->last_in = f->mean[best] / without - 1;
    }
}

/* Shapley's value of the game in which a set of options is worth its best allowed part. The values
 * add up to the best set's gain; an option that only harms gets 0. */
static int shapley(struct rank_work *w)
{
    const int n = w->r->n_searched;
    const size_t size = (size_t)1 << n;
    const struct search *f = &w->found;
    double *v = malloc(size * sizeof *v), weight[SEARCH_MAX_OPTIONS + 1];
    if (v == NULL)
        return -1;
    for (size_t s = 0; s < size; s++)
        v[s] = f->mean[0];
    for (size_t k = 0; k < f->n_sets; k++)
        v[f->sets[k]] = fmax(v[f->sets[k]], f->mean[k]);
    for (int i = 0; i < n; i++)
        for (size_t s = 0; s < size; s++)
            if ((s >> i & 1) && v[s & ~((size_t)1 << i)] > v[s])
                v[s] = v[s & ~((size_t)1 << i)];
    /* |S|! (n - 1 - |S|)! / n! */
    for (int k = 0; k < n; k++)
        weight[k] = exp(lgamma(k + 1.0) + lgamma((double)n - k) - lgamma(n + 1.0));
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (size_t s = 0; s < size; s++)
            if (!(s >> i & 1)) {
                double more = v[s | (size_t)1 << i] - v[s];
                if (more > 0)
                    sum += weight[__builtin_popcountll(s)] * more;
            }
        w->r->v[w->ranked_of[w->r->searched[i]]].shapley = sum / f->mean[0];
    }
    free(v);
    return 0;
}

struct halves {
    const struct rank_work *w;
    uint32_t set;
    double *t;
};

static void set_worlds(void *ctx, size_t begin, size_t end)
{
    struct halves *h = ctx;
    for (size_t d = begin; d < end; d++)
        h->t[d] = search_world(&h->w->search, h->set, d);
}

static int convergence(struct rank_work *w)
{
    struct halves h = {w, w->r->best_set, malloc(w->draws * sizeof(double))};
    double sum[2] = {0, 0};
    if (h.t == NULL)
        return -1;
    parallel_for(w->p->threads, w->draws, set_worlds, &h);
    for (size_t d = 0; d < w->draws; d++)
        sum[d % 2] += h.t[d];
    w->r->best_change = fabs(sum[0] - sum[1]) / fmax(sum[0], sum[1]);
    free(h.t);
    return 0;
}

struct progress {
    const struct rank_params *p;
};

static void pass_on(void *ctx, double done)
{
    const struct rank_params *p = ((struct progress *)ctx)->p;
    p->progress(p->progress_ctx, "sets of options", done);
}

enum status rank_sets(struct rank_work *w, struct err *err)
{
    struct ranking *r = w->r;
    const struct catalogue *c = w->p->catalogue;
    struct progress progress = {w->p};
    choose(w);
    w->search = (struct search_params){.mean = w->p->mean,
                                       .n = r->n_searched,
                                       .seed = w->p->seed,
                                       .draws = w->draws,
                                       .threads = w->p->threads,
                                       .progress = w->p->progress ? pass_on : NULL,
                                       .progress_ctx = &progress};
    for (int i = 0; i < r->n_searched; i++) {
        const struct option *o = &c->v[r->searched[i]];
        w->search.options[i] = o;
        w->search.excludes[i] = to_bits(w, o->excludes);
        w->search.needs[i] = to_bits(w, o->needs);
        r->v[w->ranked_of[r->searched[i]]].searched = 1;
    }
    for (int k = 0; k < r->n; k++)
        r->v[k].last_in = r->v[k].shapley = (double)NAN;
    enum status status = search_run(&w->found, &w->search, err);
    if (status != STATUS_OK)
        return status;
    const struct search *f = &w->found;
    r->n_sets = f->n_sets;
    size_t best = 0;
    for (size_t k = 1; k < f->n_sets; k++)
        if (f->mean[k] > f->mean[best])
            best = k;
    r->best_set = f->sets[best];
    r->best_mean = f->mean[best];
    for (size_t d = 0; d < w->draws; d++)
        r->perfect_mean += f->best[d] / (double)w->draws;
    r->perfect_mean = fmax(r->perfect_mean, r->best_mean); /* but for rounding */
    last_in(w);
    if (shapley(w) != 0 || convergence(w) != 0)
        return err_set(err, STATUS_FAILED, "out of memory");
    return STATUS_OK;
}
