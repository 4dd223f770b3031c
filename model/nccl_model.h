/* NCCL's own tuning model: what NCCL believes an allreduce takes, and so which algorithm, protocol,
 * channels and threads it picks. Facts of NCCL 2.30 (src/graph/tuning.cc, src/enqueue.cc), one
 * node. It is a model of a choice, not of the hardware: model/synth.h prices what was chosen.
 */
#ifndef UPDRAFT_MODEL_NCCL_MODEL_H
#define UPDRAFT_MODEL_NCCL_MODEL_H

enum nccl_algo { NCCL_TREE, NCCL_RING, NCCL_NVLS, NCCL_ALGOS };
enum nccl_proto { NCCL_LL, NCCL_LL128, NCCL_SIMPLE, NCCL_PROTOS };

/* What the topology search found. */
struct nccl_topology {
    int ranks;              /* 2 or more, on one node */
    int search_channels;    /* channels of the search, before they are doubled */
    double search_gb_per_s; /* bandwidth a channel */
    int channels;           /* of the communicator, after doubling and limits; 0: 2 x search */
    int nvlink;             /* 1: all pairs through NVLink */
    int nvls;               /* 1: the NVSwitch multicasts and NVLS is on */
    int compute_capability; /* 90, 120; 0: taken as 90 */
};

/* Modelled time, us, of one allreduce of `bytes`; negative where NCCL would not use the pair.
 * forced: 1 prices LL128 over PCIe as if NCCL_PROTO had named it. */
double nccl_model_us(const struct nccl_topology *t, enum nccl_algo a, enum nccl_proto p,
                     double bytes, int forced);

/* The pair that NCCL picks for `bytes`; returns its modelled time. */
double nccl_model_choose(const struct nccl_topology *t, double bytes, enum nccl_algo *a,
                         enum nccl_proto *p);

/* Channels and threads a channel for one lone message. */
void nccl_model_channels(const struct nccl_topology *t, enum nccl_algo a, enum nccl_proto p,
                         double bytes, int *channels, int *threads);

const char *nccl_algo_name(enum nccl_algo a);
const char *nccl_proto_name(enum nccl_proto p);

#endif
