#include "model/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where two records belong to different curves: which comes first. */
static int compare_keys(const struct record *a, const struct record *b)
{
    int d;
    if (a->what != b->what)
        return a->what < b->what ? -1 : 1;
    if ((d = strcmp(a->impl, b->impl)) != 0)
        return d;
    if (a->ranks != b->ranks)
        return a->ranks < b->ranks ? -1 : 1;
    if ((d = strcmp(a->label, b->label)) != 0)
        return d;
    if (a->in_place != b->in_place)
        return a->in_place - b->in_place;
    if ((d = strcmp(a->dtype, b->dtype)) != 0)
        return d;
    if ((d = strcmp(a->method, b->method)) != 0)
        return d;
    return strcmp(a->placement, b->placement);
}

/* What is sorted. */
struct ref {
    const struct record *record;
};

static int compare_records(const void *va, const void *vb)
{
    const struct record *a = ((const struct ref *)va)->record;
    const struct record *b = ((const struct ref *)vb)->record;
    int d = compare_keys(a, b);
    if (d != 0)
        return d;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return a < b ? -1 : a > b; /* as in the trace */
}

static int compare_doubles(const void *va, const void *vb)
{
    double a = *(const double *)va, b = *(const double *)vb;
    return (a > b) - (a < b);
}

static double median_sorted(const double *v, size_t n)
{
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static int default_want(const struct record *r)
{
    return r->size_bytes >= 0 && record_what_is_collective(r->what);
}

/* From a picosecond to eleven days: what lies outside is no latency, and its square no number. */
static int has_point(const struct record *r)
{
    return record_usable(r) && r->size_bytes > 0 && r->value >= 1e-6 && r->value <= 1e12;
}

/* The records of one size become one point. `logs` has room for n numbers. */
static struct point combine(const struct ref *r, size_t n, double *logs)
{
    size_t used = 0;
    double one = 0; /* kept as it was written, not through log and exp */
    struct point p = {.bytes = (double)r[0].record->size_bytes, .spread = NAN};
    for (size_t i = 0; i < n; i++) {
        if (!has_point(r[i].record))
            continue;
        if (used == 0) {
            p.origin = r[i].record->origin;
            p.line = r[i].record->line;
        }
        one = r[i].record->value;
        logs[used++] = log(one);
    }
    p.records = (int)used;
    if (used == 0)
        return p;
    qsort(logs, used, sizeof *logs, compare_doubles);
    double m = median_sorted(logs, used);
    p.us = used == 1 ? one : exp(m);
    if (used > 1) {
        for (size_t i = 0; i < used; i++)
            logs[i] = fabs(logs[i] - m);
        qsort(logs, used, sizeof *logs, compare_doubles);
        p.spread = 1.4826 * median_sorted(logs, used);
    }
    return p;
}

enum status curves_collect(struct curves *cs, const struct records *rs,
                           int (*want)(const struct record *), struct err *err)
{
    *cs = (struct curves){0};
    size_t n = 0, cap = 0;
    struct ref *r = malloc((rs->n ? rs->n : 1) * sizeof *r);
    double *logs = malloc((rs->n ? rs->n : 1) * sizeof *logs);
    if (r == NULL || logs == NULL)
        goto memory;
    for (size_t i = 0; i < rs->n; i++)
        if ((want ? want : default_want)(&rs->v[i]))
            r[n++].record = &rs->v[i];
    qsort(r, n, sizeof *r, compare_records);
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && compare_keys(r[i].record, r[end].record) == 0)
            end++;
        if (cs->n == cap) {
            cap = cap ? 2 * cap : 16;
            struct curve *v = realloc(cs->v, cap * sizeof *v);
            if (v == NULL)
                goto memory;
            cs->v = v;
        }
        struct curve *c = &cs->v[cs->n++];
        *c = (struct curve){.key = r[i].record, .points = malloc((end - i) * sizeof *c->points)};
        if (c->points == NULL)
            goto memory;
        while (i < end) {
            size_t same = i + 1;
            while (same < end && r[same].record->size_bytes == r[i].record->size_bytes)
                same++;
            struct point p = combine(r + i, same - i, logs);
            if (p.records > 0)
                c->points[c->n_points++] = p;
            c->records += (size_t)p.records;
            c->skipped += same - i - (size_t)p.records;
            i = same;
        }
    }
    free(r);
    free(logs);
    return STATUS_OK;
memory:
    free(r);
    free(logs);
    curves_release(cs);
    return err_set(err, STATUS_FAILED, "out of memory");
}

void curves_release(struct curves *cs)
{
    for (size_t i = 0; i < cs->n; i++)
        free(cs->v[i].points);
    free(cs->v);
    *cs = (struct curves){0};
}
