/* A schedule on a fabric, reduced to what does not depend on the message's size: how often each
 * latency is paid, and what a byte costs where. Internal to model/synth*.c. */
#ifndef UPDRAFT_MODEL_SYNTH_PLAN_H
#define UPDRAFT_MODEL_SYNTH_PLAN_H

#include "model/fabric.h"
#include "model/maxmin.h"
#include "model/synth_impl.h"

struct synth_plan {
    double count[FABRIC_PARAM_COUNT];       /* latency parameters: how often each is paid */
    double us_per_byte[FABRIC_PARAM_COUNT]; /* transfer, by the capacity that bounds it */
    double fanout_us_per_byte[2];           /* d(transfer) / d(fanout_loss), PCIe and NVLink */
    double out_fraction, in_fraction;       /* of the message, busiest rank, no encoding */
    double issue_fraction; /* sum over rounds of what the busiest rank puts out, no encoding */
    int rounds;
};

/* One flow as the links see it. */
struct leg {
    short from, to; /* ends */
    unsigned char kind;
    double size; /* fraction of the message, encoding included */
    double weight_first,
        weight_last; /* of the first and last link: below 1 where a copy is shared */
};
enum leg_kind { LEG_STORE, LEG_LOAD, LEG_HOST_STORE, LEG_HOST_LOAD };

struct synth {
    struct schedule schedule;
    int n_legs, cap_legs, n_uses, cap_uses, cap_resources;
    struct leg *legs;
    int *start, *use;       /* n_legs + 1; n_uses */
    double *weight;         /* n_uses */
    double *rate;           /* n_legs */
    int *binding;           /* n_legs */
    int *slot_of, *of_slot; /* resource number <-> slot among those in use */
    double *capacity, *load, *active, *fanout;
    int *param;        /* of each slot */
    double *link_load; /* NULL, or 2 * n_links: fractions of the message, added up */
};

/* placement[r]: end of each rank. island[r]: its island. */
enum status synth_plan(struct synth *s, const struct fabric *f, const struct synth_impl *impl,
                       int ranks, const int *placement, const int *island, int n_islands,
                       struct synth_plan *plan, struct err *err);

#endif
