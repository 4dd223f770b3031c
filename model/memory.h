/* Device memory of one rank: does it fit? Formulas and sources: docs/memory.md. Bytes. */
#ifndef UPDRAFT_MODEL_MEMORY_H
#define UPDRAFT_MODEL_MEMORY_H

#include "model/scenario.h"

struct memory {
    double weights, draft_weights, kv_cache, communicators, workspaces;
    double runtime;      /* context, modules, graphs, activations: an allowance */
    double total, limit; /* limit 0: the scenario does not say what there is */
    /* NCCL's buffers of one communicator. */
    double nccl_per_channel, nccl_ring, nccl_ring_tree;
    int nccl_channels;
    int fits; /* 1 also where the limit or the weights are unknown */
    int known;
};

/* Receive and send buffers of one channel of one NCCL communicator over peer access, in bytes:
 * receive = 4096 + LL + LL128 + buffsize rounded up to 2 MiB, send = 2 MiB (NCCL 2.28-2.30,
 * init.cc:810-826, transport/p2p.cc:406-410, 486-491). buffsize 0: the default of 4 MiB. */
double nccl_channel_memory(double buffsize_bytes);

/* `trees` 1: rings and trees are connected, 0: rings alone. */
double nccl_communicator_memory(int channels, double buffsize_bytes, int trees);

/* What a communicator of an implementation takes on a rank: channels and buffers from the settings
 * of its name ("nccl/ring/ll:channels=2,buffsize=131072"), else from the scenario; rings, or rings
 * and trees, from the name. NaN where it is not NCCL's. */
double memory_of_impl(const struct scenario *s, const char *impl);

void memory_predict(const struct scenario *s, struct memory *m);

/* "weights 73.8 + draft 0.5 + KV 0.1 + NCCL 0.8 + workspaces 0.0 + runtime 2.0 = 77.2 of 86.0 GiB"
 */
void memory_text(const struct memory *m, char *text, size_t size);

#endif
