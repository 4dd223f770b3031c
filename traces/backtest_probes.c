/* Allreduces priced from the probes of their own trace: a trace that holds probes of a machine and
 * allreduces measured on it. The fabric is made of the probes alone; no allreduce is looked at
 * until it is priced. Graph replays of 1 KiB to 1 MiB of kernels whose schedule is known.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/synth.h"
#include "traces/backtest.h"

struct point {
    char where[96]; /* file and family: "custom" or "host" */
    char name[48];  /* of the algorithm */
    int ranks, push;
    double bytes, us, predicted, low, high;
};

struct state {
    struct point *v;
    size_t n, cap;
    struct fabric *f;
    struct synth *s;
};

static void *begin(void)
{
    struct state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->f = malloc(sizeof *s->f);
    s->s = synth_new();
    if (s->f != NULL && s->s != NULL)
        return s;
    free(s->f);
    synth_free(s->s);
    free(s);
    return NULL;
}

static void end(void *state)
{
    struct state *s = state;
    if (s == NULL)
        return;
    free(s->f);
    synth_free(s->s);
    free(s->v);
    free(s);
}

/* The algorithm of "custom/twoshot:blocks=4" and its family's length, or NULL. */
static const char *algorithm_of(const char *impl, size_t *family)
{
    const char *slash = strchr(impl, '/');
    if (slash == NULL || (strncmp(impl, "custom/", 7) != 0 && strncmp(impl, "host/", 5) != 0) ||
        !synth_knows(impl))
        return NULL;
    *family = (size_t)(slash - impl);
    return slash + 1;
}

static int usable(const struct record *r)
{
    size_t family;
    return r->what == WHAT_allreduce && record_usable(r) && strcmp(r->method, "graph") == 0 &&
           r->ranks >= 2 && r->ranks <= FABRIC_MAX_GPUS && r->size_bytes >= 1024 &&
           r->size_bytes <= 1 << 20 && algorithm_of(r->impl, &family) != NULL;
}

static enum status add_point(struct state *s, const struct record *r, const char *file,
                             struct err *err)
{
    size_t family = 0;
    const char *name = algorithm_of(r->impl, &family);
    struct synth_query q = {r->impl, r->ranks, (double)r->size_bytes, NULL};
    struct synth_estimate e;
    struct err why;
    if (synth_price(s->s, s->f, &q, &e, &why) != STATUS_OK)
        return STATUS_OK;
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        struct point *v = realloc(s->v, cap * sizeof *v);
        if (v == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        s->v = v;
        s->cap = cap;
    }
    struct point *p = &s->v[s->n];
    memset(p, 0, sizeof *p);
    snprintf(p->where, sizeof p->where, "%.56s %s%s%.*s", file, r->dtype,
             r->in_place ? " in place " : " ", (int)family, r->impl);
    snprintf(p->name, sizeof p->name, "%.*s", (int)strcspn(name, ":"), name);
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].ranks == r->ranks && s->v[i].bytes == (double)r->size_bytes &&
            strcmp(s->v[i].where, p->where) == 0 && strcmp(s->v[i].name, p->name) == 0)
            return STATUS_OK; /* measured again: the first counts */
    s->n++;
    p->push = strcmp(p->name, "oneshot") == 0 || strcmp(p->name, "twoshot") == 0 ||
              strcmp(p->name, "staged") == 0;
    p->ranks = r->ranks;
    p->bytes = (double)r->size_bytes;
    p->us = r->value;
    p->predicted = e.us;
    p->low = e.low_us;
    p->high = e.high_us;
    return STATUS_OK;
}

static enum status take(void *state, struct backtest_file *file, int *taken, struct err *err)
{
    struct state *s = state;
    const struct trace *t = backtest_trace(file);
    struct err why;
    enum status status = STATUS_OK;
    size_t before = s->n, allreduces = 0;
    *taken = 0;
    for (size_t i = 0; t != NULL && i < t->records.n; i++)
        allreduces += (size_t)usable(&t->records.v[i]);
    if (allreduces == 0)
        return STATUS_OK;
    /* The fabric sees a trace in which there are no allreduces. */
    struct records probes = {0};
    for (size_t i = 0; i < t->records.n && status == STATUS_OK; i++)
        if (t->records.v[i].what != WHAT_allreduce && records_add(&probes, &t->records.v[i]) != 0)
            status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK && fabric_from_records(s->f, &probes, &why) == STATUS_OK)
        for (size_t i = 0; i < t->records.n && status == STATUS_OK; i++)
            if (usable(&t->records.v[i]))
                status = add_point(s, &t->records.v[i], file->name, err);
    records_release(&probes);
    *taken = s->n > before;
    return status;
}

/* Order: of all pairs of algorithms at one place and size, how many stand as measured; and at how
 * many places the best is the best. */
static void order(const struct state *s, int push, struct backtest_errors *e)
{
    double pairs = 0, right = 0, places = 0, best_right = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct point *p = &s->v[i];
        int first = 1, others = 0, best = 1, best_predicted = 1;
        for (size_t k = 0; k < s->n; k++) {
            const struct point *o = &s->v[k];
            if (k == i || o->push != p->push || o->ranks != p->ranks || o->bytes != p->bytes ||
                strcmp(o->where, p->where) != 0 || strcmp(o->name, p->name) == 0)
                continue;
            others++;
            first &= k > i;
            best &= p->us <= o->us;
            best_predicted &= p->predicted <= o->predicted;
            /* Two of the same schedule (two-shot and staged, on 2 ranks) have one price: no pair.
             */
            if (k > i && p->push == push && p->predicted != o->predicted) {
                pairs++;
                right += (p->us < o->us) == (p->predicted < o->predicted);
            }
        }
        if (p->push != push || others == 0)
            continue;
        places += first;
        best_right += best && best_predicted;
    }
    e->sign_accuracy = right / pairs; /* NaN where there are none */
    e->argmax_accuracy = best_right / places;
}

static enum status finish(void *state, struct backtest_results *rs, struct err *err)
{
    struct state *s = state;
    for (int push = 1; push >= 0; push--) {
        struct backtest_result *r = NULL;
        for (size_t i = 0; i < s->n; i++) {
            const struct point *p = &s->v[i];
            if (p->push != push)
                continue;
            if (r == NULL) {
                if ((r = backtest_add(rs)) == NULL)
                    return err_set(err, STATUS_FAILED, "out of memory");
                snprintf(r->table, sizeof r->table,
                         "allreduces priced from their trace's probes, %s",
                         push ? "one-shot, two-shot, staged" : "pull and islands");
                snprintf(r->target, sizeof r->target,
                         "latency, 1 KiB to 1 MiB (sign: order of pairs)");
                snprintf(r->fitted_on, sizeof r->fitted_on, "no allreduce");
                r->n_naive = 1;
                snprintf(r->naive[0].formula, sizeof r->naive[0].formula, "5 us everywhere");
            }
            struct backtest_case c = {.error = fabs(p->predicted / p->us - 1),
                                      .naive_error = fabs(5 / p->us - 1),
                                      .measured = p->us,
                                      .predicted = p->predicted,
                                      .low = p->low,
                                      .high = p->high};
            snprintf(c.name, sizeof c.name, "%.90s/%.40s, %d ranks, %.0f B", p->where, p->name,
                     p->ranks, p->bytes);
            if (backtest_add_case(r, &c) != 0)
                return err_set(err, STATUS_FAILED, "out of memory");
        }
        if (r == NULL)
            continue;
        if (backtest_summarise_cases(r) != 0)
            return err_set(err, STATUS_FAILED, "out of memory");
        order(s, push, &r->errors);
    }
    return STATUS_OK;
}

const struct backtest backtest_probes = {
    .id = "probes",
    .doc = "traces with probes and kernels: the kernels priced from the probes alone",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
