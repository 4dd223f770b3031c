#include "model/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/draw.h"
#include "model/evaluate.h"
#include "model/parallel.h"

enum { L = SEARCH_LANES, TABLE_BYTES = 48 << 20, MAX_BATCH = 64, BLOCK = 2048 };

/* One term: the distinct choices among the options that touch it. */
struct term {
    uint32_t mask, affine; /* options that touch it; those that do so by one number */
    size_t n;
    uint32_t *choice; /* [n], projections of allowed sets on mask */
    uint32_t *state;  /* [n], which evaluated state it starts from */
    uint32_t *of_set; /* [n_sets], which choice a set is */
    /* The affine options in two halves, so that what they do together is two small tables. */
    struct half {
        uint32_t mask;
        size_t n;
        uint32_t *sets; /* [n], distinct sets of its options */
        uint32_t *of;   /* [choices], which of them a choice has */
    } half[2];
    size_t offset; /* of its rows in a world group's table */
};

struct parts;
struct numbers;
struct plan {
    const struct search_params *p;
    const struct search *r;
    struct term term[N_TERMS];
    size_t n_states;
    uint32_t *states; /* sets of options that are evaluated */
    size_t rows;      /* of a group's table, all terms */
    /* One batch of world groups. */
    size_t first_group, n_groups;
    double *table; /* [n_groups][rows][L] */
    double *sum;   /* [n_sets] */
    size_t batch, most_numbers;
    struct parts *parts;           /* [batch][n_states] */
    struct numbers *numbers;       /* [batch][2][most_numbers] */
    uint32_t *keep_at;             /* [n_keep], index of set */
    size_t n_blocks;               /* of BLOCK sets */
    double *block_best, *block_at; /* [n_blocks][MAX_BATCH][L] */
};

int search_allowed(const struct search_params *p, uint32_t set)
{
    for (int i = 0; i < p->n; i++)
        if ((set >> i & 1) && ((set & p->excludes[i]) || (p->needs[i] & ~set)))
            return 0;
    return 1;
}

static size_t list_sets(const struct search_params *p, uint32_t *out)
{
    size_t n = 0;
    for (uint32_t set = 0; set < (uint32_t)1 << p->n; set++)
        if (search_allowed(p, set)) {
            if (out != NULL)
                out[n] = set;
            n++;
        }
    return n;
}

static size_t find_set(const struct search *r, uint32_t set)
{
    size_t lo = 0, hi = r->n_sets;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (r->sets[mid] < set)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < r->n_sets && r->sets[lo] == set ? lo : r->n_sets;
}

double search_mean(const struct search *r, uint32_t set)
{
    size_t k = find_set(r, set);
    return k < r->n_sets ? r->mean[k] : (double)NAN;
}

/* Which way an option acts on a term. */
static void classify(struct plan *plan)
{
    static const enum effect_affine kinds[N_TERMS][2] = {
        [2] = {AFFINE_COMPUTE_SCALE, AFFINE_COMPUTE_SCALE},
        [3] = {AFFINE_WIRE_SCALE, AFFINE_WIRE_ADD},
    };
    for (int i = 0; i < plan->p->n; i++) {
        const struct option *o = plan->p->options[i];
        for (int t = 0; t < N_TERMS; t++) {
            int touches = 0, affine = 1;
            for (int e = 0; e < o->n_effects; e++) {
                if (!(effect_terms(&o->effects[e]) >> t & 1))
                    continue;
                enum effect_affine a = o->effects[e].type->affine;
                touches = 1;
                affine &= a != AFFINE_NONE && (a == kinds[t][0] || a == kinds[t][1]);
            }
            if (touches)
                plan->term[t].mask |= (uint32_t)1 << i;
            if (touches && affine)
                plan->term[t].affine |= (uint32_t)1 << i;
        }
    }
}

/* Numbers the distinct values of (sets[k] & mask): *values gets them, of[k] their indices. map is
 * scratch of 2^n. Returns how many. */
static size_t number_distinct(const uint32_t *sets, size_t n, uint32_t mask, int32_t *map,
                              size_t map_size, uint32_t *values, uint32_t *of)
{
    size_t found = 0;
    memset(map, 0xff, map_size * sizeof *map);
    for (size_t k = 0; k < n; k++) {
        uint32_t v = sets[k] & mask;
        if (map[v] < 0) {
            map[v] = (int32_t)found;
            values[found++] = v;
        }
        if (of != NULL)
            of[k] = (uint32_t)map[v];
    }
    return found;
}

static int plan_term(struct plan *plan, struct term *t, int32_t *map, size_t map_size,
                     int32_t *state_map)
{
    const struct search *r = plan->r;
    size_t n = r->n_sets;
    t->of_set = malloc(n * sizeof *t->of_set);
    t->choice = malloc(n * sizeof *t->choice);
    if (t->of_set == NULL || t->choice == NULL)
        return -1;
    t->n = number_distinct(r->sets, n, t->mask, map, map_size, t->choice, t->of_set);
    t->state = malloc(t->n * sizeof *t->state);
    if (t->state == NULL)
        return -1;
    uint32_t low = 0;
    for (uint32_t rest = t->affine; 2 * __builtin_popcount(low) < __builtin_popcount(t->affine);
         rest &= rest - 1)
        low |= rest & (~rest + 1);
    for (int k = 0; k < 2; k++) {
        struct half *h = &t->half[k];
        h->mask = k == 0 ? low : t->affine & ~low;
        h->sets = malloc(t->n * sizeof *h->sets);
        h->of = malloc(t->n * sizeof *h->of);
        if (h->sets == NULL || h->of == NULL)
            return -1;
        h->n = number_distinct(t->choice, t->n, h->mask, map, map_size, h->sets, h->of);
    }
    for (size_t c = 0; c < t->n; c++) {
        uint32_t s = t->choice[c] & ~t->affine;
        if (state_map[s] < 0) {
            state_map[s] = (int32_t)plan->n_states;
            plan->states[plan->n_states++] = s;
        }
        t->state[c] = (uint32_t)state_map[s];
    }
    t->offset = plan->rows;
    plan->rows += t->n;
    return 0;
}

static int make_plan(struct plan *plan)
{
    size_t size = (size_t)1 << plan->p->n;
    int32_t *map = malloc(size * sizeof *map), *state_map = malloc(size * sizeof *state_map);
    int bad = map == NULL || state_map == NULL;
    plan->states = malloc(size * sizeof *plan->states);
    bad |= plan->states == NULL;
    if (!bad) {
        memset(state_map, 0xff, size * sizeof *state_map);
        classify(plan);
        for (int t = 0; t < N_TERMS && !bad; t++)
            bad = plan_term(plan, &plan->term[t], map, size, state_map) != 0;
    }
    free(map);
    free(state_map);
    return bad ? -1 : 0;
}

static void release_plan(struct plan *plan)
{
    for (int t = 0; t < N_TERMS; t++) {
        free(plan->term[t].choice);
        free(plan->term[t].state);
        free(plan->term[t].of_set);
        for (int k = 0; k < 2; k++) {
            free(plan->term[t].half[k].sets);
            free(plan->term[t].half[k].of);
        }
    }
    free(plan->states);
    free(plan->table);
    free(plan->parts);
    free(plan->numbers);
    free(plan->sum);
    free(plan->keep_at);
    free(plan->block_best);
    free(plan->block_at);
}

/* What evaluation of one state gives, eight worlds side by side. */
struct parts {
    double tokens[L], draft[L], compute[L], miss[L], host[L], gathers[L];
    double count[OUTCOME_MESSAGES][L], raw[OUTCOME_MESSAGES][L], scale[L], extra[L], skew[L];
};

static void apply_set(const struct search_params *p, uint32_t set, const struct option_draw *draws,
                      struct scenario *s)
{
    for (int i = 0; i < p->n; i++)
        if (set >> i & 1)
            option_apply(p->options[i], &draws[i], s);
}

static void evaluate_state(const struct search_params *p, uint32_t set,
                           const struct scenario *world, const struct option_draw *draws,
                           struct parts *out, int lane)
{
    struct scenario s = *world;
    struct outcome o;
    apply_set(p, set, draws, &s);
    evaluate_cycle(&s, &o);
    out->tokens[lane] = s.batch * o.tokens_per_cycle * 1e6;
    out->draft[lane] = o.draft_us;
    out->compute[lane] = o.verify_compute_us - o.graph_miss_us;
    out->miss[lane] = o.graph_miss_us;
    out->host[lane] = o.host_us;
    out->gathers[lane] = o.logits_gather_us + o.draft_gather_us;
    for (int m = 0; m < OUTCOME_MESSAGES; m++) {
        out->count[m][lane] = o.message[m].count;
        out->raw[m][lane] = o.message[m].raw_us;
    }
    out->scale[lane] = s.allreduce.latency_scale.value;
    out->extra[lane] = s.allreduce.extra_us.value;
    out->skew[lane] = s.allreduce.skew_us.value;
}

/* The numbers by which option i acts on a term in a world. */
static void numbers_of(const struct option *o, const struct option_draw *d, int term, double *scale,
                       double *add)
{
    *scale = 1;
    *add = 0;
    if (!d->works)
        return;
    for (int e = 0; e < o->n_effects; e++) {
        if (!(effect_terms(&o->effects[e]) >> term & 1))
            continue;
        if (o->effects[e].type->affine == AFFINE_WIRE_ADD)
            *add += d->effect[e].amount;
        else
            *scale *= d->effect[e].amount;
    }
}

/* What the affine options do to a term: numbers[k][a] for set a of half k. */
struct numbers {
    double scale[L], add[L];
};

static void fill_numbers(const struct search_params *p, const struct term *t, int term,
                         struct option_draw (*draws)[SEARCH_MAX_OPTIONS], struct numbers **numbers)
{
    struct numbers own[SEARCH_MAX_OPTIONS];
    for (int i = 0; i < p->n; i++)
        for (int l = 0; l < L; l++)
            numbers_of(p->options[i], &draws[l][i], term, &own[i].scale[l], &own[i].add[l]);
    for (int k = 0; k < 2; k++)
        for (size_t a = 0; a < t->half[k].n; a++) {
            struct numbers x = {{0}, {0}};
            for (int l = 0; l < L; l++)
                x.scale[l] = 1;
            for (int i = 0; i < p->n; i++)
                for (int l = 0; l < L && (t->half[k].sets[a] >> i & 1); l++) {
                    x.scale[l] *= own[i].scale[l];
                    x.add[l] += own[i].add[l];
                }
            numbers[k][a] = x;
        }
}

static void fill_wire(const struct term *t, const struct parts *parts,
                      struct numbers *const *numbers, double *rows)
{
    for (size_t c = 0; c < t->n; c++) {
        const struct parts *q = &parts[t->state[c]];
        const struct numbers *a = &numbers[0][t->half[0].of[c]], *b = &numbers[1][t->half[1].of[c]];
        double *out = rows + c * L;
        double sum[L], factor[L], plus[L];
        for (int l = 0; l < L; l++) {
            sum[l] = q->gathers[l];
            factor[l] = q->scale[l] * (a->scale[l] * b->scale[l]);
            plus[l] = q->extra[l] + (a->add[l] + b->add[l]);
        }
        for (int m = 0; m < OUTCOME_MESSAGES; m++)
            for (int l = 0; l < L; l++) {
                double us = q->raw[m][l] * factor[l] + plus[l] + q->skew[l];
                sum[l] += q->count[m][l] * (us > 0 ? us : 0);
            }
        for (int l = 0; l < L; l++)
            out[l] = sum[l];
    }
}

static void fill_compute(const struct term *t, const struct parts *parts,
                         struct numbers *const *numbers, double *rows)
{
    for (size_t c = 0; c < t->n; c++) {
        const struct parts *q = &parts[t->state[c]];
        const double *a = numbers[0][t->half[0].of[c]].scale,
                     *b = numbers[1][t->half[1].of[c]].scale;
        double *out = rows + c * L;
        for (int l = 0; l < L; l++)
            out[l] = q->compute[l] * (a[l] * b[l]) + q->miss[l];
    }
}

static void fill_plain(const struct term *t, const struct parts *parts, size_t member, double *rows)
{
    for (size_t c = 0; c < t->n; c++)
        memcpy(rows + c * L, (const char *)&parts[t->state[c]] + member, L * sizeof(double));
}

/* The table of one group of eight worlds, in slot `slot` of the batch. */
static void fill_group(struct plan *plan, size_t slot)
{
    const struct search_params *p = plan->p;
    const struct term *t = plan->term;
    struct option_draw draws[L][SEARCH_MAX_OPTIONS];
    double *rows = plan->table + slot * plan->rows * L;
    struct parts *parts = plan->parts + slot * plan->n_states;
    struct numbers *numbers[2];
    for (size_t k = 0; k < 2; k++)
        numbers[k] = plan->numbers + (2 * slot + k) * plan->most_numbers;
    for (int l = 0; l < L; l++) {
        struct scenario world;
        uint64_t index = (plan->first_group + slot) * L + (uint64_t)l;
        scenario_draw(p->mean, p->seed, index, &world);
        for (int i = 0; i < p->n; i++)
            option_sample(p->options[i], p->mean, p->seed, index, &draws[l][i]);
        for (size_t u = 0; u < plan->n_states; u++)
            evaluate_state(p, plan->states[u], &world, draws[l], &parts[u], l);
    }
    fill_plain(&t[0], parts, offsetof(struct parts, tokens), rows + t[0].offset * L);
    fill_plain(&t[1], parts, offsetof(struct parts, draft), rows + t[1].offset * L);
    fill_numbers(p, &t[2], 2, draws, numbers);
    fill_compute(&t[2], parts, numbers, rows + t[2].offset * L);
    fill_numbers(p, &t[3], 3, draws, numbers);
    fill_wire(&t[3], parts, numbers, rows + t[3].offset * L);
    fill_plain(&t[4], parts, offsetof(struct parts, host), rows + t[4].offset * L);
}

static void fill_groups(void *ctx, size_t begin, size_t end)
{
    for (size_t g = begin; g < end; g++)
        fill_group(ctx, g);
}

static void throughput(const struct plan *plan, const double *rows, size_t k, double *out)
{
    const struct term *t = plan->term;
    const double *tokens = rows + (t[0].offset + t[0].of_set[k]) * L;
    const double *draft = rows + (t[1].offset + t[1].of_set[k]) * L;
    const double *compute = rows + (t[2].offset + t[2].of_set[k]) * L;
    const double *wire = rows + (t[3].offset + t[3].of_set[k]) * L;
    const double *host = rows + (t[4].offset + t[4].of_set[k]) * L;
    for (int l = 0; l < L; l++)
        out[l] = tokens[l] / (draft[l] + compute[l] + wire[l] + host[l]);
}

/* Adds up the batch's worlds for the sets of some blocks, and notes the best set of each block in
 * each world. */
static void add_blocks(void *ctx, size_t begin, size_t end)
{
    struct plan *plan = ctx;
    size_t n_sets = plan->r->n_sets;
    for (size_t g = 0; g < plan->n_groups; g++) {
        const double *rows = plan->table + g * plan->rows * L;
        for (size_t block = begin; block < end; block++) {
            double best[L] = {0}, at[L] = {0};
            size_t last = (block + 1) * BLOCK < n_sets ? (block + 1) * BLOCK : n_sets;
            for (size_t k = block * BLOCK; k < last; k++) {
                double x[L], index = (double)k;
                throughput(plan, rows, k, x);
                plan->sum[k] += ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
                for (int l = 0; l < L; l++) {
                    at[l] = x[l] > best[l] ? index : at[l];
                    best[l] = x[l] > best[l] ? x[l] : best[l];
                }
            }
            size_t to = (block * MAX_BATCH + g) * L;
            memcpy(plan->block_best + to, best, sizeof best);
            memcpy(plan->block_at + to, at, sizeof at);
        }
    }
}

/* The best set of every world of the batch, and the kept sets. */
static void finish_groups(struct plan *plan)
{
    const struct search *r = plan->r;
    for (size_t g = 0; g < plan->n_groups; g++) {
        const double *rows = plan->table + g * plan->rows * L;
        size_t world = (plan->first_group + g) * L;
        for (size_t l = 0; l < L; l++) {
            double best = 0, at = 0;
            for (size_t block = 0; block < plan->n_blocks; block++) {
                size_t from = (block * MAX_BATCH + g) * L + l;
                if (plan->block_best[from] > best) {
                    best = plan->block_best[from];
                    at = plan->block_at[from];
                }
            }
            r->best[world + l] = best;
            r->best_set[world + l] = r->sets[(size_t)at];
        }
        for (size_t j = 0; j < plan->p->n_keep; j++) {
            double x[L];
            throughput(plan, rows, plan->keep_at[j], x);
            memcpy(r->kept + j * r->draws + world, x, sizeof x);
        }
    }
}

/* Memory for one batch: as many groups as fit into TABLE_BYTES, at least two where there are two.
 */
static int allocate(struct plan *plan)
{
    const size_t groups = plan->p->draws / L, row = L * sizeof(double);
    const struct term *t = plan->term;
    for (int i = 2; i < 4; i++)
        for (int k = 0; k < 2; k++)
            if (t[i].half[k].n > plan->most_numbers)
                plan->most_numbers = t[i].half[k].n;
    size_t batch = TABLE_BYTES / (plan->rows * row);
    batch = batch < 2 ? 2 : batch > MAX_BATCH ? MAX_BATCH : batch;
    plan->batch = batch < groups ? batch : groups;
    plan->n_blocks = (plan->r->n_sets + BLOCK - 1) / BLOCK;
    const size_t cells = plan->n_blocks * MAX_BATCH * L;
    plan->table = malloc(plan->batch * plan->rows * row);
    plan->parts = malloc(plan->batch * plan->n_states * sizeof *plan->parts);
    plan->numbers = malloc(plan->batch * 2 * plan->most_numbers * sizeof *plan->numbers);
    plan->sum = calloc(plan->r->n_sets, sizeof *plan->sum);
    plan->block_best = malloc(cells * sizeof *plan->block_best);
    plan->block_at = malloc(cells * sizeof *plan->block_at);
    const void *const all[] = {plan->table, plan->parts,      plan->numbers,
                               plan->sum,   plan->block_best, plan->block_at};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] == NULL)
            return -1;
    return 0;
}

static void run_batches(struct plan *plan)
{
    const struct search_params *p = plan->p;
    const size_t groups = p->draws / L;
    for (size_t g = 0; g < groups; g += plan->batch) {
        plan->first_group = g;
        plan->n_groups = groups - g < plan->batch ? groups - g : plan->batch;
        parallel_for(p->threads, plan->n_groups, fill_groups, plan);
        parallel_for(p->threads, plan->n_blocks, add_blocks, plan);
        finish_groups(plan);
        if (p->progress != NULL)
            p->progress(p->progress_ctx, (double)(g + plan->n_groups) / (double)groups);
    }
}

void search_release(struct search *r)
{
    free(r->sets);
    free(r->mean);
    free(r->best_set);
    free(r->best);
    free(r->kept);
    *r = (struct search){0};
}

enum status search_run(struct search *r, const struct search_params *p, struct err *err)
{
    struct plan plan = {.p = p, .r = r};
    enum status status = STATUS_OK;
    *r = (struct search){.draws = p->draws};
    r->n_sets = list_sets(p, NULL);
    r->sets = malloc(r->n_sets * sizeof *r->sets);
    r->mean = malloc(r->n_sets * sizeof *r->mean);
    r->best = malloc(p->draws * sizeof *r->best);
    r->best_set = malloc(p->draws * sizeof *r->best_set);
    r->kept = malloc((p->n_keep ? p->n_keep : 1) * p->draws * sizeof *r->kept);
    plan.keep_at = malloc((p->n_keep ? p->n_keep : 1) * sizeof *plan.keep_at);
    if (r->sets == NULL || r->mean == NULL || r->best == NULL || r->best_set == NULL ||
        r->kept == NULL || plan.keep_at == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    list_sets(p, r->sets);
    for (size_t j = 0; j < p->n_keep; j++)
        plan.keep_at[j] = (uint32_t)find_set(r, p->keep[j]);
    if (make_plan(&plan) != 0 || allocate(&plan) != 0) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    r->evaluated = plan.n_states;
    run_batches(&plan);
    for (size_t k = 0; k < r->n_sets; k++)
        r->mean[k] = plan.sum[k] / (double)p->draws;
out:
    release_plan(&plan);
    if (status != STATUS_OK)
        search_release(r);
    return status;
}

void search_worlds(const struct search_params *p, const uint32_t *sets, size_t n, uint64_t index,
                   double *tokens_per_s)
{
    struct scenario world;
    struct option_draw draws[SEARCH_MAX_OPTIONS];
    scenario_draw(p->mean, p->seed, index, &world);
    for (int i = 0; i < p->n; i++)
        option_sample(p->options[i], p->mean, p->seed, index, &draws[i]);
    for (size_t k = 0; k < n; k++) {
        struct scenario s = world;
        struct outcome o;
        apply_set(p, sets[k], draws, &s);
        evaluate_cycle(&s, &o);
        tokens_per_s[k] = o.speculative_tokens_per_s;
    }
}

double search_world(const struct search_params *p, uint32_t set, uint64_t index)
{
    double x;
    search_worlds(p, &set, 1, index, &x);
    return x;
}
