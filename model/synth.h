/* Synthesized costs: the latency of an allreduce that nobody has measured, from its schedule and a
 * fabric. docs/fabric.md derives the model.
 *
 * An implementation is named as in records:
 *   custom/ALGORITHM   kernels that reach peers' memory: custom/oneshot, custom/twoshot-pull, ...
 *   host/ALGORITHM     the same through host memory, each datum stored once and loaded by all
 *   nccl/ring/ll, nccl/ring/ll128, nccl/ring/simple, nccl/tree/PROTO, nccl/nvls/simple
 *   nccl/auto          what NCCL's tuning model picks, priced on the fabric
 *   nccl/model         NCCL's tuning model itself: what NCCL believes, no fabric
 * and settings after a colon: payload=plain|sentinel|ll|ll128 and end=barrier|none for custom and
 * host, channels=N for nccl. blocks=, threads= and buffsize= are taken and change nothing.
 */
#ifndef UPDRAFT_MODEL_SYNTH_H
#define UPDRAFT_MODEL_SYNTH_H

#include "model/cost.h"
#include "model/fabric.h"
#include "model/schedule.h"

struct synth_query {
    const char *impl;
    int ranks;            /* 2 to FABRIC_MAX_GPUS */
    double bytes;         /* per rank, > 0 */
    const int *placement; /* the GPU of each rank; NULL: rank r on GPU r, round again where there
                             are fewer GPUs */
};

/* An estimate. fixed_us + transfer_us = us. */
struct synth_estimate {
    double us, low_us, high_us; /* low, high: 95 % interval */
    double sigma;               /* standard deviation of log us: parameters and model */
    double sigma_params;        /* the parameters' share */
    double fixed_us, transfer_us;
    double wire_out_bytes,
        wire_in_bytes; /* through the busiest rank's own link, encoding included */
    int rounds, waits; /* rounds, and those that wait for something */
    enum payload payload;
    char priced[64]; /* what was priced: "ring/ll, 2 channels" */
    /* Where the time goes: microseconds by parameter, in sum us; and how much of the variance of
     * log us each parameter carries. */
    double share_us[FABRIC_PARAM_COUNT];
    double variance[FABRIC_PARAM_COUNT];
};

/* Memory between calls, so that pricing many does not allocate each time. One a thread. */
struct synth;
struct synth *synth_new(void); /* NULL: no memory */
void synth_free(struct synth *s);

/* Prices one allreduce. `s` may be NULL. STATUS_USAGE: no such implementation or setting.
 * STATUS_UNSUPPORTED: the fabric cannot run it (no peer access, no multicast) or the ranks or size
 * are out of range; the message says what can be priced instead. */
enum status synth_price(struct synth *s, const struct fabric *f, const struct synth_query *q,
                        struct synth_estimate *e, struct err *err);

/* The whole curve as a cost with source COST_SYNTHESIZED, from min_bytes to max_bytes (0, 0: 8
 * bytes to 64 MiB). placement as in synth_query. Statuses as synth_price(). */
enum status synth_cost(const struct fabric *f, const char *impl, int ranks, const int *placement,
                       double min_bytes, double max_bytes, struct cost *c, struct err *err);

/* The flows that a round of an algorithm puts on each link, for pictures: gb[2 * link + direction]
 * is the fraction of the message that crosses it over the whole schedule. `load` has 2 * n_links.
 */
enum status synth_link_load(struct synth *s, const struct fabric *f, const struct synth_query *q,
                            double *load, struct err *err);

/* Whether synth_price() knows the name, for catalogues: 1 or 0. */
int synth_knows(const char *impl);

/* All implementations that can be priced on the fabric with that many ranks, for tables and
 * crossovers: fills up to `cap` names, returns how many. */
enum { SYNTH_MAX_IMPLS = 32 };
struct synth_name {
    char name[48];
};
int synth_impls(const struct fabric *f, int ranks, struct synth_name *impl, int cap);

#endif
