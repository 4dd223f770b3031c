#include "model/simulate.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "model/draw.h"
#include "model/parallel.h"

static const size_t numbers[] = {
#define X(member) offsetof(struct outcome, member),
    OUTCOME_NUMBERS(X)
#undef X
};
enum { N_NUMBERS = sizeof numbers / sizeof numbers[0] };

struct job {
    const struct scenario *s;
    uint64_t seed;
    double *v; /* [N_NUMBERS][draws] */
    int draws;
};

static double get(const struct outcome *o, int i)
{
    return *(const double *)(const void *)((const char *)o + numbers[i]);
}

static void set(struct outcome *o, int i, double x)
{
    *(double *)(void *)((char *)o + numbers[i]) = x;
}

static void run(void *ctx, size_t begin, size_t end)
{
    struct job *job = ctx;
    for (size_t d = begin; d < end; d++) {
        struct scenario world;
        struct outcome o;
        scenario_draw(job->s, job->seed, d, &world);
        evaluate(&world, &o);
        for (int i = 0; i < N_NUMBERS; i++)
            job->v[(size_t)i * (size_t)job->draws + d] = get(&o, i);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile_sorted(const double *v, int n, double q)
{
    double at = q * (n - 1);
    int i = (int)floor(at);
    if (i >= n - 1)
        return v[n - 1];
    return v[i] + (at - i) * (v[i + 1] - v[i]);
}

enum status simulate(const struct scenario *s, uint64_t seed, int draws, int threads,
                     struct simulation *out, struct err *err)
{
    *out = (struct simulation){.draws = draws};
    struct job job = {s, seed, malloc((size_t)N_NUMBERS * (size_t)draws * sizeof(double)), draws};
    if (job.v == NULL)
        return err_set(err, STATUS_FAILED, "out of memory for %d draws", draws);
    evaluate(s, &out->mean);
    parallel_for(threads, (size_t)draws, run, &job);
    int pays = 0;
    for (int i = 0; i < N_NUMBERS; i++) {
        double *v = job.v + (size_t)i * (size_t)draws;
        if (numbers[i] == offsetof(struct outcome, speedup))
            for (int d = 0; d < draws; d++)
                pays += v[d] > 1;
        qsort(v, (size_t)draws, sizeof *v, compare);
        set(&out->low, i, quantile_sorted(v, draws, 0.025));
        set(&out->high, i, quantile_sorted(v, draws, 0.975));
    }
    out->p_speedup = (double)pays / draws;
    free(job.v);
    return STATUS_OK;
}
