/* One rank of a group of NCCL processes, and the memory that the group shares. */
#ifndef UPDRAFT_MEASURE_NCCL_RANK_H
#define UPDRAFT_MEASURE_NCCL_RANK_H

#include <semaphore.h>
#include <stdatomic.h>

#include "measure/nccl.h"
#include "measure/variant_nccl.h"

enum { NCCL_MAX_SAMPLES = 20000 };

enum nccl_command { NCCL_OPEN, NCCL_VERIFY, NCCL_TIME, NCCL_QUIT };

/* In shared anonymous memory, made before the ranks are forked. */
struct nccl_group {
    struct variant v;
    struct nccl_variant settings;
    char library[256]; /* "" as found */
    int shared_gpu;    /* 1: ranks share a GPU: a host id each, sockets */

    enum nccl_command command;
    int64_t size_bytes;
    struct timing timing;
    sem_t go[MAX_RANKS], done;

    struct nccl_id id;
    atomic_int arrived, generation; /* the ranks' barrier */
    double value[MAX_RANKS];        /* for the maximum over ranks */
    int64_t free_before;            /* of rank 0's GPU, before the communicator */
    int ranks_on_gpu;               /* on rank 0's */

    atomic_int failed; /* 1 + the first rank that failed; its outcome and message */
    enum outcome outcome;
    struct err err;
    int64_t checked[MAX_RANKS], wrong[MAX_RANKS];
    struct result result; /* samples: see below */
    double samples[NCCL_MAX_SAMPLES];
};

/* Serves commands until NCCL_QUIT or a failure. Runs in the rank's own process; does not return
 * normally there: the caller ends the process. */
void nccl_rank_main(struct nccl_group *g, int rank);

#endif
