/* NCCL, loaded at run time through a table of symbols: the program neither needs its header to
 * build nor its library to start. The prototypes are its stable ABI, with its enums as int. And the
 * backend's session, which measure/nccl_session.c keeps. */
#ifndef UPDRAFT_MEASURE_NCCL_H
#define UPDRAFT_MEASURE_NCCL_H

#include <stddef.h>

#include "measure/backend.h"

struct nccl_id { /* ncclUniqueId; passed by value */
    char internal[128];
};
struct nccl_sim_info { /* ncclSimInfo_v22200 */
    size_t size;
    unsigned magic, version;
    float estimated_us;
};
enum { NCCL_SIM_INFO_MAGIC = 0x74685283 };
enum { NCCL_FLOAT16 = 6, NCCL_FLOAT32 = 7, NCCL_BFLOAT16 = 9, NCCL_SUM = 0 };

typedef void *nccl_comm;
typedef void *nccl_stream; /* cudaStream_t */

/* NCCL_SYMBOL(member, NCCL's name, 1: must be there, arguments). All but the string ones return 0
 * for success. */
#define NCCL_SYMBOLS(NCCL_SYMBOL)                                                                  \
    NCCL_SYMBOL(get_version, ncclGetVersion, 1, (int *))                                           \
    NCCL_SYMBOL(get_unique_id, ncclGetUniqueId, 1, (struct nccl_id *))                             \
    NCCL_SYMBOL(comm_init_rank, ncclCommInitRank, 1, (nccl_comm *, int, struct nccl_id, int))      \
    NCCL_SYMBOL(comm_destroy, ncclCommDestroy, 1, (nccl_comm))                                     \
    NCCL_SYMBOL(all_reduce, ncclAllReduce, 1,                                                      \
                (const void *, void *, size_t, int, int, nccl_comm, nccl_stream))                  \
    NCCL_SYMBOL(group_start, ncclGroupStart, 1, (void))                                            \
    NCCL_SYMBOL(group_simulate_end, ncclGroupSimulateEnd, 0, (struct nccl_sim_info *))             \
    NCCL_SYMBOL(mem_alloc, ncclMemAlloc, 0, (void **, size_t))                                     \
    NCCL_SYMBOL(mem_free, ncclMemFree, 0, (void *))                                                \
    NCCL_SYMBOL(comm_register, ncclCommRegister, 0, (nccl_comm, void *, size_t, void **))          \
    NCCL_SYMBOL(comm_deregister, ncclCommDeregister, 0, (nccl_comm, void *))

struct nccl_lib {
    void *handle;
    int version; /* 22809 */
    char path[256];
    const char *(*error_string)(int);
    const char *(*last_error)(nccl_comm);
#define NCCL_SYMBOL(member, name, needed, args) int(*member) args;
    NCCL_SYMBOLS(NCCL_SYMBOL)
#undef NCCL_SYMBOL
};

/* Loads `path` (absolute), or where that is NULL libnccl.so.2 as the loader finds it, then from
 * NCCL_HOME and CUDA's folder; never from the current folder. STATUS_MISSING says what to do. */
enum status nccl_lib_open(struct nccl_lib *lib, const char *path, struct err *err);

enum status nccl_scout(struct backend_host *host, const char *library, struct err *err);
enum outcome nccl_open(void **session, const struct variant *v, struct err *err);
enum outcome nccl_verify(void *session, int64_t size_bytes, struct result *r, struct err *err);
enum outcome nccl_time(void *session, const struct timing *t, struct result *r, struct err *err);
void nccl_close(void *session);

#endif
