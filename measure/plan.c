#include "measure/plan.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t quick_sizes[] = {8,     1024,   8192,   16384,   32768, 43008,
                                      65536, 131072, 262144, 1048576, 0};
static const int64_t full_sizes[] = {8,       64,      256,     1024,     2048,   4096,   8192,
                                     14336,   16384,   28672,   32768,    43008,  57344,  65536,
                                     86016,   131072,  172032,  262144,   344064, 524288, 1048576,
                                     2097152, 4194304, 8388608, 16777216, 0};
static const int64_t quick_key_sizes[] = {8, 8192, 43008, 262144, 0};
static const int64_t full_key_sizes[] = {8, 8192, 43008, 131072, 524288, 0};
static const int quick_ranks[] = {0, 0};
static const int full_ranks[] = {2, 4, 8, 0};
static const double quick_skews_us[] = {0};
static const double full_skews_us[] = {5, 20, 0};

const struct plan_kind plan_kinds[] = {
    {.name = "quick",
     .summary = "the common implementations, ten sizes; under a minute on eight GPUs",
     .sizes = quick_sizes,
     .key_sizes = quick_key_sizes,
     .ranks = quick_ranks,
     .methods = 1u << METHOD_back_to_back | 1u << METHOD_dependent,
     .skews_us = quick_skews_us,
     .only_quick = 1,
     .iterations = 50,
     .warmup = 50,
     .budget_us = 3e4},
    {.name = "full",
     .summary = "every implementation, rank count, probe and method; minutes",
     .sizes = full_sizes,
     .key_sizes = full_key_sizes,
     .ranks = full_ranks,
     .methods = 1u << METHOD_back_to_back | 1u << METHOD_dependent | 1u << METHOD_skewed |
                1u << METHOD_loaded,
     .skews_us = full_skews_us,
     .iterations = 200,
     .warmup = 50,
     .budget_us = 4e4},
    {.name = NULL},
};

enum { CHAIN = 122 }; /* allreduces of one pass of the reference model */
static const double compute_us = 10;

const struct plan_kind *plan_kind_find(const char *name)
{
    for (const struct plan_kind *k = plan_kinds; k->name != NULL; k++)
        if (strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

/* Grows an array by one element; NULL without memory. */
static void *grow(void **v, int *n, size_t size)
{
    if ((*n & (*n - 1)) == 0) { /* room doubles at powers of two */
        void *bigger = realloc(*v, (size_t)(*n == 0 ? 1 : 2 * *n) * size);
        if (bigger == NULL)
            return NULL;
        *v = bigger;
    }
    char *p = (char *)*v + (size_t)(*n)++ * size;
    memset(p, 0, size);
    return p;
}

static int matches(const struct plan_options *o, const char *impl)
{
    if (o->n_impls == 0)
        return 1;
    for (int i = 0; i < o->n_impls; i++)
        if (strcmp(o->impls[i], impl) == 0 || fnmatch(o->impls[i], impl, 0) == 0)
            return 1;
    return 0;
}

static int out_of_memory(struct err *err)
{
    err_set(err, STATUS_FAILED, "out of memory");
    return -1;
}

static int add_variant(struct plan *plan, const struct plan_options *o, const struct present *p,
                       const struct backend_impl *impl, int ranks, struct err *err)
{
    if (ranks < impl->min_ranks || ranks > impl->max_ranks || !(impl->dtypes & 1u << o->dtype))
        return 0;
    struct planned_variant *pv =
        grow((void **)&plan->variants, &plan->n_variants, sizeof *plan->variants);
    if (pv == NULL)
        return out_of_memory(err);
    pv->backend = p->backend;
    pv->impl = *impl;
    pv->v.ranks = ranks;
    pv->v.dtype = o->dtype;
    pv->v.in_place = o->in_place;
    pv->v.blocks = o->blocks;
    pv->v.threads = o->threads;
    pv->v.seed = o->seed + (uint64_t)plan->n_variants;
    pv->v.n_options = p->n_options;
    pv->v.options = p->options;
    snprintf(pv->v.impl, sizeof pv->v.impl, "%s", impl->name);
    snprintf(pv->label, sizeof pv->label, "%s", o->label != NULL ? o->label : p->host.label);
    int gpus = p->host.n_gpus;
    for (int r = 0; r < ranks && gpus > 0; r++)
        pv->v.gpu[r] = ranks <= gpus ? r : r * gpus / ranks;
    if (gpus > 0 && ranks > gpus)
        snprintf(pv->placement, sizeof pv->placement, "%d ranks on %d GPU%s", ranks, gpus,
                 gpus == 1 ? "" : "s");
    return 0;
}

/* Every implementation of a backend that the user and the kind of plan want. */
static int add_impls(struct plan *plan, const struct plan_options *o, const struct present *p,
                     int ranks, struct err *err)
{
    struct backend_impl impl;
    for (int i = 0; memset(&impl, 0, sizeof impl), p->backend->impl(i, &p->host, &impl); i++) {
        if (!matches(o, impl.name) || (o->n_impls == 0 && o->kind->only_quick && !impl.quick))
            continue;
        if (add_variant(plan, o, p, &impl, ranks, err) != 0)
            return -1;
    }
    for (int i = 0; p->backend->named != NULL && i < o->n_impls; i++) {
        int listed = 0;
        for (int k = 0; memset(&impl, 0, sizeof impl), p->backend->impl(k, &p->host, &impl); k++)
            listed = listed || fnmatch(o->impls[i], impl.name, 0) == 0;
        memset(&impl, 0, sizeof impl);
        if (!listed && p->backend->named(o->impls[i], &p->host, &impl) &&
            add_variant(plan, o, p, &impl, ranks, err) != 0)
            return -1;
    }
    return 0;
}

int plan_knows(const char *impl_name, const struct present *present, int n)
{
    struct backend_impl impl;
    for (int b = 0; b < n; b++) {
        const struct backend *backend = present[b].backend;
        for (int k = 0; memset(&impl, 0, sizeof impl), backend->impl(k, &present[b].host, &impl);
             k++)
            if (fnmatch(impl_name, impl.name, 0) == 0 || strcmp(impl_name, impl.name) == 0)
                return 1;
        if (backend->named != NULL && backend->named(impl_name, &present[b].host, &impl))
            return 1;
    }
    return 0;
}

/* Whether any backend knows the names at all; else lists what there is. */
static enum status check_impls(const struct plan_options *o, const struct present *present, int n,
                               struct err *err)
{
    struct backend_impl impl;
    for (int i = 0; i < o->n_impls; i++) {
        if (plan_knows(o->impls[i], present, n))
            continue;
        char all[700] = "";
        for (int b = 0; b < n; b++)
            for (int k = 0; memset(&impl, 0, sizeof impl),
                     present[b].backend->impl(k, &present[b].host, &impl);
                 k++) {
                size_t at = strlen(all);
                snprintf(all + at, sizeof all - at, "%s%s", at > 0 ? ", " : "", impl.name);
            }
        return err_set(err, STATUS_USAGE, "--impl %s: no such implementation; there are: %s",
                       o->impls[i], all);
    }
    return STATUS_OK;
}

static int has_rank(const int *ranks, int n, int rank)
{
    for (int i = 0; i < n; i++)
        if (ranks[i] == rank)
            return 1;
    return 0;
}

/* The rank counts for one backend; returns how many. */
static int choose_ranks(const struct plan_options *o, const struct backend_host *host,
                        int ranks[static MAX_RANKS])
{
    int n = 0;
    if (o->n_ranks > 0) {
        for (int i = 0; i < o->n_ranks && n < MAX_RANKS; i++)
            if (o->ranks[i] <= host->max_ranks && !has_rank(ranks, n, (int)o->ranks[i]))
                ranks[n++] = (int)o->ranks[i];
        return n;
    }
    const int *want = o->kind->ranks;
    if (want[0] == 0) {
        /* One GPU stands in for many: the smallest and the usual group. */
        ranks[n++] = host->n_gpus >= 2 ? host->n_gpus : 2;
        if (host->n_gpus == 1 && host->max_ranks >= 8)
            ranks[n++] = 8;
        return n;
    }
    for (int i = 0; want[i] != 0; i++)
        if (want[i] <= host->max_ranks && (host->n_gpus < 2 || want[i] <= host->n_gpus))
            ranks[n++] = want[i];
    if (host->n_gpus >= 2 && host->n_gpus <= host->max_ranks && !has_rank(ranks, n, host->n_gpus))
        ranks[n++] = host->n_gpus;
    return n;
}

static int method_at(const struct plan_options *o, const struct backend_impl *impl, enum method m,
                     int *primary)
{
    enum method first = impl->methods & 1u << METHOD_graph ? METHOD_graph : METHOD_back_to_back;
    *primary = m == first;
    if (!(impl->methods & 1u << m))
        return 0;
    if (o->n_methods > 0) {
        *primary = 1;
        for (int i = 0; i < o->n_methods; i++)
            if (o->methods[i] == m)
                return 1;
        return 0;
    }
    return *primary || (o->kind->methods & 1u << m);
}

static int in_sizes(const int64_t *sizes, int64_t size)
{
    for (; *sizes != 0; sizes++)
        if (*sizes == size)
            return 1;
    return 0;
}

/* Adds the row of cells of one group, method, size and skew. */
static int add_row(struct plan *plan, const struct plan_options *o, int first, int end,
                   enum method m, int64_t size, double skew_us, struct err *err)
{
    for (int i = first; i < end; i++) {
        const struct planned_variant *pv = &plan->variants[i];
        int primary;
        if (!method_at(o, &pv->impl, m, &primary) ||
            (pv->impl.max_bytes > 0 && size > pv->impl.max_bytes) ||
            size % dtype_bytes(pv->v.dtype) != 0)
            continue;
        if (!primary && o->n_sizes == 0 && !in_sizes(o->kind->key_sizes, size))
            continue;
        struct cell *c = grow((void **)&plan->cells, &plan->n_cells, sizeof *plan->cells);
        if (c == NULL)
            return out_of_memory(err);
        *c = (struct cell){i, m, size, skew_us, 0};
        if (size > plan->variants[i].v.max_bytes)
            plan->variants[i].v.max_bytes = size;
    }
    return 0;
}

static int add_cells(struct plan *plan, const struct plan_options *o, int first, int end,
                     struct err *err)
{
    static const double default_skews_us[] = {5, 20, 0}, none[] = {0, 0};
    for (int m = 0; m < METHOD_COUNT; m++) {
        const double *skews = none;
        if (m == METHOD_skewed)
            skews = o->n_methods > 0 ? default_skews_us : o->kind->skews_us;
        for (int s = 0; s < o->n_sizes || (o->n_sizes == 0 && o->kind->sizes[s] != 0); s++)
            for (int k = 0; k == 0 || skews[k] != 0; k++) {
                if (m == METHOD_skewed && skews[k] == 0)
                    break;
                int64_t size = o->n_sizes > 0 ? o->sizes[s] : o->kind->sizes[s];
                if (add_row(plan, o, first, end, (enum method)m, size, skews[k], err) != 0)
                    return -1;
            }
    }
    return 0;
}

static int add_cases(struct plan *plan, const struct plan_options *o, const struct present *p,
                     struct err *err)
{
    for (int i = 0; probes[i] != NULL && !o->no_probes; i++) {
        if (strcmp(probes[i]->backend, p->backend->id) != 0)
            continue;
        struct probe_case c;
        for (int k = 0;; k++) {
            memset(&c, 0, sizeof c);
            record_init(&c.record);
            c.index = k;
            if (!probes[i]->case_at(k, &p->host, &c))
                break;
            if (o->kind->only_quick && !c.quick)
                continue;
            struct planned_case *pc =
                grow((void **)&plan->cases, &plan->n_cases, sizeof *plan->cases);
            if (pc == NULL)
                return out_of_memory(err);
            *pc = (struct planned_case){probes[i], &p->host, c, 0};
            snprintf(pc->c.record.label, sizeof pc->c.record.label, "%s",
                     o->label != NULL ? o->label : p->host.label);
        }
    }
    return 0;
}

static enum status fill(struct plan *plan, const struct plan_options *o,
                        const struct present *present, int n_present, struct err *err)
{
    for (int b = 0; b < n_present; b++)
        if (add_cases(plan, o, &present[b], err) != 0)
            return STATUS_FAILED;
    /* Backends are mixed in a group, so that ours and a library's stand side by side. */
    for (int ranks = 1; ranks <= MAX_RANKS; ranks++) {
        int first = plan->n_variants;
        for (int b = 0; b < n_present; b++) {
            int wanted[MAX_RANKS], n = choose_ranks(o, &present[b].host, wanted);
            if (has_rank(wanted, n, ranks) && add_impls(plan, o, &present[b], ranks, err) != 0)
                return STATUS_FAILED;
        }
        for (int i = first; i < plan->n_variants; i += GROUP) {
            int end = i + GROUP < plan->n_variants ? i + GROUP : plan->n_variants;
            for (int k = i; k < end; k++)
                plan->variants[k].group = plan->n_groups;
            if (add_cells(plan, o, i, end, err) != 0)
                return STATUS_FAILED;
            plan->n_groups++;
        }
    }
    return STATUS_OK;
}

enum status plan_make(struct plan *plan, const struct plan_options *o,
                      const struct present *present, int n_present, struct err *err)
{
    *plan = (struct plan){
        .iterations = o->iterations > 0 ? o->iterations : o->kind->iterations,
        .warmup = o->kind->warmup,
        .chain = CHAIN,
        .budget_us = o->iterations > 0 ? 0 : o->kind->budget_us,
        .compute_us = compute_us,
    };
    enum status status = check_impls(o, present, n_present, err);
    if (status == STATUS_OK)
        status = fill(plan, o, present, n_present, err);
    if (status == STATUS_OK && plan->n_cells + plan->n_cases == 0)
        status = err_set(
            err, STATUS_UNSUPPORTED,
            "nothing to measure: no implementation here takes these ranks, sizes, dtype and "
            "methods together in this plan (up to %d ranks; --list shows all, --plan "
            "full or --impl takes more)",
            n_present > 0 ? present[0].host.max_ranks : 0);
    if (status != STATUS_OK)
        plan_release(plan);
    return status;
}

void plan_release(struct plan *plan)
{
    free(plan->variants);
    free(plan->cells);
    free(plan->cases);
    *plan = (struct plan){0};
}

void variant_record(const struct planned_variant *pv, struct record *r)
{
    record_init(r);
    r->what = WHAT_allreduce;
    r->ranks = pv->v.ranks;
    r->in_place = pv->v.in_place;
    memcpy(r->impl, pv->v.impl, sizeof r->impl);
    memcpy(r->label, pv->label, sizeof r->label);
    memcpy(r->placement, pv->placement, sizeof r->placement);
    snprintf(r->dtype, sizeof r->dtype, "%s", dtype_name(pv->v.dtype));
    snprintf(r->origin, sizeof r->origin, "measure");
}

void cell_record(const struct plan *plan, const struct cell *cell, struct record *r)
{
    variant_record(&plan->variants[cell->variant], r);
    r->size_bytes = cell->size_bytes;
    snprintf(r->method, sizeof r->method, "%s", method_name(cell->method));
    if (cell->method == METHOD_skewed) { /* curves of different skew must not be mixed */
        snprintf(r->method, sizeof r->method, "%s %g us", method_name(cell->method), cell->skew_us);
        r->field[FIELD_skew_us] = cell->skew_us;
    }
}

int same_cell(const struct record *a, const struct record *b)
{
    static const enum record_field keys[] = {FIELD_skew_us, FIELD_flows};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        double x = a->field[keys[i]], y = b->field[keys[i]];
        if (isnan(x) != isnan(y) || (!isnan(x) && fabs(x - y) > 0))
            return 0;
    }
    return a->what == b->what && a->ranks == b->ranks && a->in_place == b->in_place &&
           a->size_bytes == b->size_bytes && strcmp(a->impl, b->impl) == 0 &&
           strcmp(a->label, b->label) == 0 && strcmp(a->dtype, b->dtype) == 0 &&
           strcmp(a->method, b->method) == 0 && strcmp(a->placement, b->placement) == 0;
}

/* Probes vary blocks too; there it is part of the question, not a winner. */
static int same_case(const struct record *a, const struct record *b)
{
    double x = a->field[FIELD_blocks], y = b->field[FIELD_blocks];
    return same_cell(a, b) && (isnan(x) || isnan(y) || fabs(x - y) <= 0);
}

int plan_mark_done(struct plan *plan, const struct records *before)
{
    int marked = 0;
    struct record want;
    for (int i = 0; i < plan->n_variants; i++) {
        variant_record(&plan->variants[i], &want);
        for (size_t k = 0; k < before->n; k++)
            if (same_cell(&want, &before->v[k]))
                for (int c = 0; c < plan->n_cells; c++)
                    plan->cells[c].done |= plan->cells[c].variant == i;
    }
    for (int c = 0; c < plan->n_cells; c++) {
        cell_record(plan, &plan->cells[c], &want);
        for (size_t k = 0; k < before->n && !plan->cells[c].done; k++)
            plan->cells[c].done = same_cell(&want, &before->v[k]);
        marked += plan->cells[c].done;
    }
    for (int c = 0; c < plan->n_cases; c++) {
        want = plan->cases[c].c.record;
        for (size_t k = 0; k < before->n && !plan->cases[c].done; k++)
            plan->cases[c].done = same_case(&want, &before->v[k]);
        marked += plan->cases[c].done;
    }
    return marked;
}

int plan_left(const struct plan *plan)
{
    int left = 0;
    for (int c = 0; c < plan->n_cells; c++)
        left += !plan->cells[c].done;
    for (int c = 0; c < plan->n_cases; c++)
        left += !plan->cases[c].done;
    return left;
}
