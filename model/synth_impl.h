/* The name of an implementation, taken apart. Internal to model/synth*.c. */
#ifndef UPDRAFT_MODEL_SYNTH_IMPL_H
#define UPDRAFT_MODEL_SYNTH_IMPL_H

#include "model/nccl_model.h"
#include "model/schedule.h"
#include "model/err.h"

enum synth_family { SYNTH_CUSTOM, SYNTH_HOST, SYNTH_NCCL };

struct synth_impl {
    enum synth_family family;
    const struct algorithm *algorithm; /* NULL: nccl/auto, nccl/model */
    int nccl_model;                    /* 1: nccl/model */
    enum nccl_algo nccl_algo;
    enum nccl_proto proto;
    enum payload payload;
    int end_barrier; /* -1: the algorithm's own */
    int channels;    /* 0: chosen */
    int islands;     /* neighbours in so many; 0: as the fabric has them */
};

enum status synth_impl_parse(struct synth_impl *impl, const char *name, struct err *err);
/* Sets algorithm and payload for NCCL's pair. */
void synth_impl_nccl(struct synth_impl *impl, enum nccl_algo a, enum nccl_proto p);

#endif
