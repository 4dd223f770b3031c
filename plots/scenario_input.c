#include "plots/scenario_input.h"

#include <stdlib.h>
#include <string.h>

#include "model/parallel.h"

/* The values of an option that may be given many times; the caller frees the array. */
static const char **option_values(const struct invocation *inv, const char *name, size_t *n)
{
    const char **values = calloc((size_t)inv->n_given + 1, sizeof *values);
    *n = 0;
    for (int i = 0; values != NULL && i < inv->n_given; i++)
        if (strcmp(inv->given[i].name, name) == 0)
            values[(*n)++] = inv->given[i].value;
    return values;
}

enum status plot_open_scenario(struct scenario_file *f, const struct plot_request *request,
                               uint64_t *seed, struct err *err)
{
    size_t n_edits = 0, n_costs = 0;
    const char **edits = option_values(request->inv, "set", &n_edits);
    const char **costs = option_values(request->inv, "costs", &n_costs);
    int64_t given = 1;
    enum status status = STATUS_OK;
    if (edits == NULL || costs == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK)
        status = invocation_integer(request->inv, "seed", 0, INT64_MAX, &given, err);
    if (status == STATUS_OK)
        status = scenario_file_read(f, request->input, costs, n_costs, request->inv->log, err);
    if (status == STATUS_OK)
        status = scenario_file_edit(f, edits, n_edits, err);
    *seed = (uint64_t)given;
    free(edits);
    free(costs);
    return status;
}

enum status plot_simulate_with(const struct scenario *s, const char *key, int value, uint64_t seed,
                               struct simulation *sim, struct err *err)
{
    struct scenario edited = *s;
    enum status status = STATUS_OK;
    if (key != NULL)
        status = scenario_set_number(&edited, scenario_key_find(key), value, err);
    if (status == STATUS_OK)
        status = scenario_check(&edited, err);
    if (status == STATUS_OK)
        status = simulate(&edited, seed, PLOT_DRAWS, parallel_default_threads(), sim, err);
    return status;
}

void plot_baseline(FILE *program, const struct scenario *s, const struct simulation *sim)
{
    plot_number(program, "baseline", sim->mean.baseline_tokens_per_s);
    plot_number(program, "baseline_low", sim->low.baseline_tokens_per_s);
    plot_number(program, "baseline_high", sim->high.baseline_tokens_per_s);
    plot_text(program, "band_name", "shaded: 95 % interval");
    plot_text(program, "subtitle", s->title[0] != '\0' ? s->title : "scenario");
}
