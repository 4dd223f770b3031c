/* Throughput of speculation by configuration and data set, from few runs of a model: what one
 * output token takes is the share of prompts and queues, which the data set brings, plus a cycle
 * shared by the tokens that it emits:
 *
 *   period = q + step (base + draft K + [tree] (tree + tree_draft K)) / tau
 *   q      = own (plain - step) + others step excess
 *
 * plain: the same data set's period without speculation; step: the least such period of the model,
 * the closest that the table comes to a bare decode step; excess: by how much other models' plain
 * periods on this data set exceed theirs. All periods are per request.
 */
#ifndef UPDRAFT_MODEL_CONFIG_LAW_H
#define UPDRAFT_MODEL_CONFIG_LAW_H

enum config_law_param {
    CONFIG_LAW_BASE,
    CONFIG_LAW_DRAFT,
    CONFIG_LAW_TREE,
    CONFIG_LAW_TREE_DRAFT,
    CONFIG_LAW_OWN,
    CONFIG_LAW_OTHERS,
    CONFIG_LAW_PARAMS
};

/* Before any run: a verify pass costs a plain step, each draft 8 % of one, a tree 10 % more and 2 %
 * a step, and most of what a data set adds to the plain period it adds to the speculative one. */
extern const double config_law_prior_mean[CONFIG_LAW_PARAMS];
extern const double config_law_prior_sd[CONFIG_LAW_PARAMS];

struct config_law_run {
    double num_steps, topk, tau; /* tau: tokens per cycle */
    double plain_us, step_us, excess;
};

/* The period in microseconds, > 0. */
double config_law_us(const double *params, const struct config_law_run *run);

#endif
