#include "traces/rank_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/evaluate.h"
#include "model/parallel.h"
#include "traces/catalogue_io.h"
#include "traces/load.h"
#include "traces/share.h"

void rank_run_release(struct rank_run *run)
{
    scenario_file_release(&run->file);
    catalogue_release(&run->catalogue);
    *run = (struct rank_run){0};
}

enum status rank_run_catalogue(struct rank_run *run, const char *path, struct err *err)
{
    if (path != NULL)
        return catalogue_read(&run->catalogue, path, err);
    char *shipped = share_path("traces/catalogue.json", err);
    if (shipped == NULL)
        return STATUS_MISSING;
    enum status status = catalogue_read(&run->catalogue, shipped, err);
    free(shipped);
    return status;
}

/* Plain names before those with settings: a plain name is content with a cost that has some. */
static void price(struct rank_run *run, FILE *log)
{
    for (int settings = 0; settings < 2; settings++)
        for (int i = 0; i < run->catalogue.n; i++)
            for (int e = 0; e < run->catalogue.v[i].n_effects; e++) {
                const struct effect *f = &run->catalogue.v[i].effects[e];
                struct err err;
                if (f->impl[0] == '\0' || (strchr(f->impl, ':') != NULL) != settings)
                    continue;
                if (scenario_file_price(&run->file, f->impl, run->file.s.ranks, &err) !=
                        STATUS_OK &&
                    log != NULL)
                    fprintf(log, "updraft: %s: %s\n", run->catalogue.v[i].id, err.msg);
            }
}

enum status rank_run(struct rank_run *run, FILE *log, struct err *err)
{
    price(run, log);
    run->params.mean = &run->file.s;
    run->params.catalogue = &run->catalogue;
    run->params.costs = &run->file.costs;
    return rank_options(&run->ranking, &run->params, err);
}

enum status rank_run_memory(struct rank_run *run, const char *path, FILE *log, struct err *err)
{
    struct trace t = {0};
    enum status status = trace_load(&t, path, log, err);
    for (size_t i = 0; i < t.records.n && status == STATUS_OK; i++) {
        const struct record *m = &t.records.v[i];
        double predicted = memory_of_impl(&run->file.s, m->impl);
        if (m->what != WHAT_device_memory || isnan(predicted) || !(m->value > 0) ||
            run->n_memory == RANK_MAX_MEMORY)
            continue;
        struct memory_check *check = &run->memory[run->n_memory++];
        *check =
            (struct memory_check){.ranks = m->ranks, .measured = m->value, .predicted = predicted};
        snprintf(check->impl, sizeof check->impl, "%.120s", m->impl);
    }
    trace_release(&t);
    return status;
}

static void add_size(struct decisive *d, double bytes)
{
    int64_t size = (int64_t)bytes;
    for (int i = 0; i < d->n_sizes; i++)
        if (d->sizes[i] == size)
            return;
    if (size > 0 && d->n_sizes < DECISIVE_MAX_SIZES)
        d->sizes[d->n_sizes++] = size;
}

static void add_impl(struct decisive *d, const char *impl)
{
    for (int i = 0; i < d->n_impls; i++)
        if (strcmp(d->impls[i], impl) == 0)
            return;
    if (impl[0] != '\0' && d->n_impls < DECISIVE_MAX_IMPLS)
        strcpy(d->impls[d->n_impls++], impl);
}

static void fill(struct decisive *d, const struct rank_run *run, const struct learn *l)
{
    const struct scenario *s = &run->file.s;
    const struct ranking *r = &run->ranking;
    struct outcome o;
    evaluate(s, &o);
    *d = (struct decisive){.minutes = l->minutes,
                           .regret_before = l->regret_before,
                           .regret_after = l->regret_after,
                           .ranks = s->ranks};
    strcpy(d->id, l->id);
    strcpy(d->what, l->what);
    for (int m = 0; m < OUTCOME_MESSAGES; m++)
        if (o.message[m].count > 0)
            add_size(d, o.message[m].bytes);
    add_size(d, (double)s->batch * s->model.hidden * s->model.dtype_bytes);
    add_impl(d, s->allreduce.impl);
    d->probes = strcmp(l->id, "kernels") == 0;
    for (int k = 0; k < r->n && d->probes; k++) {
        const struct option *option = &run->catalogue.v[r->v[k].option];
        for (int e = 0; e < option->n_effects && r->v[k].status != RANK_BLOCKED; e++)
            add_impl(d, option->effects[e].impl);
    }
}

enum status decisive_find(struct decisive *d, const char *scenario, FILE *log, struct err *err)
{
    struct rank_run *run = calloc(1, sizeof *run);
    if (run == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    enum status status = rank_run_catalogue(run, NULL, err);
    if (status == STATUS_OK)
        status = scenario_file_read(&run->file, scenario, NULL, 0, log, err);
    run->params.seed = 1;
    run->params.draws = 4000;
    run->params.threads = parallel_default_threads();
    if (status == STATUS_OK)
        status = rank_run(run, log, err);
    if (status == STATUS_OK) {
        const struct ranking *r = &run->ranking;
        const struct learn *best = NULL;
        for (int i = 0; i < r->n_learn && best == NULL; i++)
            if ((strcmp(r->learn[i].id, "allreduce") == 0 ||
                 strcmp(r->learn[i].id, "kernels") == 0) &&
                r->learn[i].regret_after < r->learn[i].regret_before)
                best = &r->learn[i];
        if (best != NULL)
            fill(d, run, best);
        else if (r->decisive >= 0)
            status = err_set(err, STATUS_UNSUPPORTED,
                             "%s: no probe would change what to do; what would: %s", scenario,
                             r->learn[r->decisive].what);
        else
            status = err_set(err, STATUS_UNSUPPORTED, "%s: no measurement would change what to do",
                             scenario);
    }
    rank_run_release(run);
    free(run);
    return status;
}
