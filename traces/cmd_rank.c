/* rank: the optimizations in the order in which to do them, and why. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/parallel.h"
#include "traces/catalogue_io.h"
#include "traces/rank_io.h"
#include "traces/rank_run.h"

static void progress(void *ctx, const char *what, double done)
{
    FILE *log = ctx;
    if (done < 1)
        fprintf(log, "\rrank: %s %3.0f %%", what, 100 * done);
    else
        fprintf(log, "\r%40s\r", "");
    fflush(log);
}

static enum status read_numbers(const struct invocation *inv, struct rank_params *p,
                                struct err *err)
{
    int64_t seed = 1, draws = 4000, threads = parallel_default_threads();
    enum status status = invocation_integer(inv, "seed", 0, INT64_MAX, &seed, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "draws", 200, 1000000, &draws, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "threads", 1, PARALLEL_MAX_THREADS, &threads, err);
    if (status == STATUS_OK)
        status = invocation_number(inv, "budget", 1e-3, 1e5, &p->budget_days, err);
    if (status == STATUS_OK)
        status = invocation_number(inv, "deadline", 1e-3, 1e5, &p->horizon_days, err);
    p->seed = (uint64_t)seed;
    p->draws = (size_t)draws;
    p->threads = (int)threads;
    return status;
}

static void add_memory(cJSON *root, const struct rank_run *run)
{
    cJSON *list = cJSON_AddArrayToObject(root, "memory_measured");
    for (int i = 0; i < run->n_memory; i++) {
        const struct memory_check *m = &run->memory[i];
        cJSON *j = cJSON_CreateObject();
        cJSON_AddItemToArray(list, j);
        cJSON_AddStringToObject(j, "impl", m->impl);
        cJSON_AddNumberToObject(j, "ranks", m->ranks);
        cJSON_AddNumberToObject(j, "measured_bytes", m->measured);
        cJSON_AddNumberToObject(j, "predicted_bytes", m->predicted);
        cJSON_AddNumberToObject(j, "rel_error", fabs(m->predicted / m->measured - 1));
    }
}

static void print_memory(FILE *out, const struct rank_run *run)
{
    for (int i = 0; i < run->n_memory; i++) {
        const struct memory_check *m = &run->memory[i];
        fprintf(out,
                "  memory of %s at %d ranks: %.0f MiB measured, %.0f MiB predicted (%+.0f %%)%s\n",
                m->impl, m->ranks, m->measured / 1048576, m->predicted / 1048576,
                100 * (m->predicted / m->measured - 1),
                fabs(m->predicted / m->measured - 1) > 0.1
                    ? ": more than 10 % off, do not trust the sum above"
                    : "");
    }
}

static enum status print(struct invocation *inv, const struct rank_run *run, struct err *err)
{
    const struct ranking *r = &run->ranking;
    const struct rank_params *p = &run->params;
    const char *id = invocation_value(inv, "explain");
    if (id == NULL && inv->json) {
        cJSON *root = ranking_json(r, p, inv->args[0]);
        if (root != NULL)
            add_memory(root, run);
        return print_json(inv->out, root, err);
    }
    if (id == NULL) {
        ranking_print(inv->out, r, p);
        print_memory(inv->out, run);
        return STATUS_OK;
    }
    for (int k = 0; k < r->n; k++)
        if (strcmp(p->catalogue->v[r->v[k].option].id, id) == 0) {
            ranking_explain(inv->out, r, p, k);
            return STATUS_OK;
        }
    return err_set(err, STATUS_USAGE,
                   "--explain %s: the catalogue has no such option (without --explain, rank lists "
                   "them)",
                   id);
}

/* Every --memory. */
static enum status read_memory(const struct invocation *inv, struct rank_run *run, struct err *err)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < inv->n_given && status == STATUS_OK; i++)
        if (strcmp(inv->given[i].name, "memory") == 0)
            status = rank_run_memory(run, inv->given[i].value, inv->log, err);
    return status;
}

static enum status run(struct invocation *inv, struct err *err)
{
    if (invocation_has(inv, "schema"))
        return print_json(inv->out, catalogue_schema(), err);
    if (inv->n_args != 1)
        return err_set(err, STATUS_USAGE, "usage: updraft rank %s", inv->command->synopsis);
    struct rank_run *r = calloc(1, sizeof *r);
    if (r == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    enum status status = read_numbers(inv, &r->params, err);
    if (status == STATUS_OK)
        status = rank_run_catalogue(r, invocation_value(inv, "catalogue"), err);
    if (status == STATUS_OK)
        status = scenario_file_open(&r->file, inv, inv->log, err);
    if (isatty(fileno(inv->log))) {
        r->params.progress = progress;
        r->params.progress_ctx = inv->log;
    }
    if (status == STATUS_OK)
        status = rank_run(r, inv->log, err);
    if (status == STATUS_OK)
        status = read_memory(inv, r, err);
    if (status == STATUS_OK)
        status = print(inv, r, err);
    rank_run_release(r);
    free(r);
    return status;
}

static const struct command_option options[] = {
    {"catalogue", "FILE", 0, "options to rank, instead of those that ship"},
    {"set", "KEY=VALUE", 1, "edit the scenario: what if?"},
    {"costs", "FILE", 1, "a trace or model that prices collectives, before the scenario's own"},
    {"budget", "DAYS", 0, "days of work that may be spent"},
    {"deadline", "DAYS", 0, "throughput counts until then (60, or twice the budget)"},
    {"memory", "TRACE", 1, "compare the prediction with device memory that measure recorded"},
    {"explain", "ID", 0, "one option's arithmetic, line by line"},
    {"draws", "N", 0, "worlds drawn (4000)"},
    {"seed", "N", 0, "seed of the draws (1)"},
    {"threads", "N", 0, "threads (all processors); the result does not depend on it"},
    {"schema", NULL, 0, "print the JSON Schema of catalogues"},
    {0},
};

const struct command cmd_rank = {
    .name = "rank",
    .synopsis = "SCENARIO [--catalogue FILE] [--set KEY=VALUE]... [--budget DAYS] [--explain ID]",
    .summary = "the optimizations in the order in which to do them, and why",
    .details =
        "Every option is judged alone, on top of the others and in every allowed set, in the same\n"
        "drawn worlds. Blocked ones stay in the table with the reason; docs/rank.md derives the\n"
        "numbers, docs/catalogue.md says how to add an option.",
    .min_args = 0,
    .max_args = 1,
    .options = options,
    .run = run,
};
