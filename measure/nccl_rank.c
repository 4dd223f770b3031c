/* What one rank does. All ranks take the same decisions: whatever they depend on is exchanged first
 * (over_ranks), so that none waits in a collective that another does not enter. */
#include "measure/nccl_rank.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kernels/kernels.h"
#include "kernels/probes.h"
#include "measure/cuda_comm.h"
#include "measure/oracle.h"

enum { BATCH = 20, MIN_SAMPLES = 3, FIRST_BYTES = 8, GRAPH_NODES = 64, DELAYS = 61 };

struct rank {
    struct nccl_group *g;
    int rank, ranks, nccl_type;
    size_t element_bytes;
    struct nccl_lib lib;
    nccl_comm comm;
    cudaStream_t stream;
    cudaEvent_t start, end;
    char *in, *out;   /* equal where in place */
    void *handles[2]; /* of registered buffers */
    char *host;       /* for verification */
    double cycles_per_us;
    uint64_t turn;
};

/* What a chain in a graph is made of. */
enum chain { CHAIN_CALLS, CHAIN_COMPUTE, CHAIN_COMPUTE_AND_CALLS, CHAIN_NO_DELAY, CHAIN_DELAYED };

static enum outcome nccl_error(const struct rank *k, int code, const char *doing, struct err *err)
{
    const char *last = k->lib.last_error == NULL ? NULL : k->lib.last_error(k->comm);
    err_set(err, STATUS_FAILED, "rank %d: %s: %s%s%.200s", k->rank, doing,
            k->lib.error_string == NULL ? "error" : k->lib.error_string(code),
            last != NULL && last[0] != '\0' ? ": " : "", last != NULL ? last : "");
    return strstr(err->msg, "out of memory") != NULL ? OUTCOME_OOM : OUTCOME_FAILED;
}
#define NCCL_TRY(call, doing)                                                                      \
    do {                                                                                           \
        int nccl_try_code = (call);                                                                \
        if (nccl_try_code != 0)                                                                    \
            return nccl_error(k, nccl_try_code, doing, err);                                       \
    } while (0)

/* All ranks meet. Ends the process where another failed. */
static void meet(struct rank *k)
{
    struct nccl_group *g = k->g;
    int generation = atomic_load(&g->generation);
    if (atomic_fetch_add(&g->arrived, 1) == k->ranks - 1) {
        atomic_store(&g->arrived, 0);
        atomic_fetch_add(&g->generation, 1);
        return;
    }
    while (atomic_load(&g->generation) == generation) {
        if (atomic_load(&g->failed) != 0)
            _exit(1);
        sched_yield();
    }
}

/* The maximum of x over the ranks, the same for all. */
static double over_ranks(struct rank *k, double x)
{
    k->g->value[k->rank] = x;
    meet(k);
    double most = k->g->value[0];
    for (int r = 1; r < k->ranks; r++)
        most = fmax(most, k->g->value[r]);
    meet(k);
    return most;
}

static enum outcome call(struct rank *k, int64_t size_bytes, struct err *err)
{
    NCCL_TRY(k->lib.all_reduce(k->in, k->out, (size_t)size_bytes / k->element_bytes, k->nccl_type,
                               NCCL_SUM, k->comm, k->stream),
             "ncclAllReduce");
    return OUTCOME_OK;
}

static void set_environment(struct rank *k)
{
    const struct nccl_group *g = k->g;
    for (int i = 0; i < g->settings.n_env; i++)
        setenv(g->settings.env[i].name, g->settings.env[i].value, 1);
    if (!g->shared_gpu)
        return;
    char host[64];
    snprintf(host, sizeof host, "updraft-%ld-%d", (long)getppid(), k->rank);
    setenv("NCCL_HOSTID", host, 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    setenv("NCCL_IB_DISABLE", "1", 0);
}

static enum outcome allocate(struct rank *k, struct err *err)
{
    const struct variant *v = &k->g->v;
    size_t bytes = (size_t)(v->max_bytes > FIRST_BYTES ? v->max_bytes : FIRST_BYTES);
    char **buffers[2] = {&k->in, &k->out};
    k->host = malloc(bytes);
    if (k->host == NULL) {
        err_set(err, STATUS_FAILED, "rank %d: out of host memory", k->rank);
        return OUTCOME_OOM;
    }
    for (int i = 0; i < (v->in_place ? 1 : 2); i++) {
        void *p = NULL;
        if (k->g->settings.registered) {
            if (k->lib.mem_alloc == NULL || k->lib.comm_register == NULL) {
                err_set(err, STATUS_UNSUPPORTED, "NCCL %d cannot register buffers", k->lib.version);
                return OUTCOME_UNSUPPORTED;
            }
            NCCL_TRY(k->lib.mem_alloc(&p, bytes), "ncclMemAlloc");
        } else {
            CUDA_TRY(cudaMalloc(&p, bytes));
        }
        *buffers[i] = p;
        CUDA_TRY(cudaMemset(p, 0, bytes));
    }
    if (v->in_place)
        k->out = k->in;
    return OUTCOME_OK;
}

static int64_t free_bytes(void)
{
    size_t available = 0, total = 0;
    return cudaMemGetInfo(&available, &total) == cudaSuccess ? (int64_t)available : -1;
}

static enum outcome open_rank(struct rank *k, struct err *err)
{
    struct nccl_group *g = k->g;
    int gpu = g->v.gpu[k->rank], khz = 0;
    set_environment(k);
    if (nccl_lib_open(&k->lib, g->library[0] == '\0' ? NULL : g->library, err) != STATUS_OK)
        return OUTCOME_FAILED;
    CUDA_TRY(cudaSetDevice(gpu));
    CUDA_TRY(cudaStreamCreateWithFlags(&k->stream, cudaStreamNonBlocking));
    CUDA_TRY(cudaEventCreate(&k->start));
    CUDA_TRY(cudaEventCreate(&k->end));
    CUDA_TRY(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, gpu));
    k->cycles_per_us = khz > 0 ? khz / 1e3 : 1e3;
    enum outcome outcome = allocate(k, err);
    if (outcome != OUTCOME_OK)
        return outcome;
    meet(k); /* all contexts and buffers are there: what follows is NCCL's */
    if (k->rank == 0) {
        g->free_before = free_bytes();
        NCCL_TRY(k->lib.get_unique_id(&g->id), "ncclGetUniqueId");
    }
    meet(k);
    NCCL_TRY(k->lib.comm_init_rank(&k->comm, k->ranks, g->id, k->rank), "ncclCommInitRank");
    if (g->settings.registered) {
        size_t bytes = (size_t)(g->v.max_bytes > FIRST_BYTES ? g->v.max_bytes : FIRST_BYTES);
        NCCL_TRY(k->lib.comm_register(k->comm, k->in, bytes, &k->handles[0]), "ncclCommRegister");
        if (!g->v.in_place)
            NCCL_TRY(k->lib.comm_register(k->comm, k->out, bytes, &k->handles[1]),
                     "ncclCommRegister");
    }
    outcome = call(k, FIRST_BYTES, err); /* connects */
    if (outcome == OUTCOME_OK)
        CUDA_TRY(cudaStreamSynchronize(k->stream));
    meet(k);
    return outcome;
}

static enum outcome verify_rank(struct rank *k, struct err *err)
{
    struct nccl_group *g = k->g;
    size_t bytes = (size_t)g->size_bytes, n = bytes / k->element_bytes;
    struct oracle o = {ORACLE_EXACT, g->v.dtype, k->ranks, random_at(g->v.seed, k->turn++)};
    oracle_fill(&o, k->rank, n, k->host);
    CUDA_TRY(
        cudaMemsetAsync(k->out, 0xff, bytes, k->stream)); /* NaNs: nothing is right by chance */
    CUDA_TRY(cudaMemcpyAsync(k->in, k->host, bytes, cudaMemcpyHostToDevice, k->stream));
    enum outcome outcome = call(k, g->size_bytes, err);
    if (outcome != OUTCOME_OK)
        return outcome;
    CUDA_TRY(cudaMemcpyAsync(k->host, k->out, bytes, cudaMemcpyDeviceToHost, k->stream));
    CUDA_TRY(cudaStreamSynchronize(k->stream));
    g->checked[k->rank] = (int64_t)n;
    g->wrong[k->rank] = oracle_wrong(&o, n, k->host);
    meet(k);
    return OUTCOME_OK;
}

/* The name of the kernel in a captured graph. */
static void read_kernel_name(cudaGraph_t graph, char *name, size_t room)
{
    cudaGraphNode_t nodes[GRAPH_NODES];
    size_t n = GRAPH_NODES;
    if (cudaGraphGetNodes(graph, nodes, &n) != cudaSuccess)
        return;
    for (size_t i = 0; i < n && i < GRAPH_NODES; i++) {
        struct cudaKernelNodeParams p;
        enum cudaGraphNodeType type;
        if (cudaGraphNodeGetType(nodes[i], &type) == cudaSuccess &&
            type == cudaGraphNodeTypeKernel &&
            cudaGraphKernelNodeGetParams(nodes[i], &p) == cudaSuccess) {
            kernels_name(p.func, name, room);
            if (strstr(name, "nccl") != NULL)
                break;
        }
    }
    (void)cudaGetLastError();
}

static enum outcome enqueue_chain(struct rank *k, enum chain kind, int i, struct err *err)
{
    const struct timing *t = &k->g->timing;
    unsigned cycles = 0;
    if (kind == CHAIN_COMPUTE || kind == CHAIN_COMPUTE_AND_CALLS)
        cycles = (unsigned)(t->compute_us * k->cycles_per_us);
    if (kind == CHAIN_DELAYED)
        cycles = (unsigned)(uniform_at(k->g->v.seed + (uint64_t)k->rank, (uint64_t)(i % DELAYS)) *
                            t->skew_us * k->cycles_per_us);
    if (kind != CHAIN_CALLS)
        CUDA_TRY(probes_compute(1, cycles, NULL, 0, k->stream));
    return kind == CHAIN_COMPUTE || kind == CHAIN_NO_DELAY ? OUTCOME_OK
                                                           : call(k, t->size_bytes, err);
}

static enum outcome capture(struct rank *k, enum chain kind, int chain, cudaGraphExec_t *exec,
                            struct err *err)
{
    cudaGraph_t graph = NULL;
    enum outcome outcome = OUTCOME_OK;
    CUDA_TRY(cudaStreamBeginCapture(k->stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < chain && outcome == OUTCOME_OK; i++)
        outcome = enqueue_chain(k, kind, i, err);
    cudaError_t e = cudaStreamEndCapture(k->stream, &graph);
    if (outcome == OUTCOME_OK && e != cudaSuccess)
        outcome = cuda_error(err, (int)e, "capture of a graph");
    if (outcome != OUTCOME_OK)
        return outcome;
    if (k->rank == 0 && kind == CHAIN_CALLS)
        read_kernel_name(graph, k->g->result.kernel, sizeof k->g->result.kernel);
    e = cudaGraphInstantiate(exec, graph, 0);
    cudaGraphDestroy(graph);
    if (e == cudaSuccess)
        e = cudaGraphUpload(*exec, k->stream);
    return e == cudaSuccess ? OUTCOME_OK : cuda_error(err, (int)e, "instantiation of a graph");
}

/* Microseconds of a replay, or of `calls` calls from the host where exec is NULL: the maximum over
 * the ranks. */
static enum outcome run_once(struct rank *k, cudaGraphExec_t exec, int calls, double *us,
                             struct err *err)
{
    float ms = 0;
    CUDA_TRY(cudaEventRecord(k->start, k->stream));
    if (exec != NULL)
        CUDA_TRY(cudaGraphLaunch(exec, k->stream));
    for (int i = 0; exec == NULL && i < calls; i++) {
        enum outcome outcome = call(k, k->g->timing.size_bytes, err);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    CUDA_TRY(cudaEventRecord(k->end, k->stream));
    CUDA_TRY(cudaEventSynchronize(k->end));
    CUDA_TRY(cudaEventElapsedTime(&ms, k->start, k->end));
    *us = over_ranks(k, (double)ms * 1e3);
    return OUTCOME_OK;
}

/* Samples of `calls` calls each, less `base` microseconds of something else in each replay. */
static enum outcome sample(struct rank *k, cudaGraphExec_t exec, cudaGraphExec_t base, int calls,
                           struct err *err)
{
    const struct timing *t = &k->g->timing;
    struct result *r = &k->g->result;
    double pilot = 0, us, base_us = 0;
    enum outcome outcome = OUTCOME_OK;
    for (int i = 0; i < 2 && outcome == OUTCOME_OK; i++) /* the second is warm */
        outcome = run_once(k, exec, calls, &pilot, err);
    int warm = (t->warmup + calls - 1) / calls, n = t->iterations;
    if (t->budget_us > 0 && pilot > 0) {
        double room = t->budget_us / pilot;
        n = room < n ? (int)fmax(room, MIN_SAMPLES) : n;
        warm = room < warm ? (int)room : warm;
    }
    if (k->g->shared_gpu && warm > n) /* a call takes milliseconds there */
        warm = n;
    for (int i = 0; i < warm && outcome == OUTCOME_OK; i++)
        outcome = run_once(k, exec, calls, &us, err);
    for (int i = 0; base != NULL && i < MIN_SAMPLES && outcome == OUTCOME_OK; i++) {
        outcome = run_once(k, base, calls, &us, err);
        base_us = i == 0 ? us : fmin(base_us, us);
    }
    int samples = 0;
    while (samples < n && samples < NCCL_MAX_SAMPLES && outcome == OUTCOME_OK) {
        outcome = run_once(k, exec, calls, &us, err);
        if (k->rank == 0)
            k->g->samples[samples] = (us - base_us) / calls;
        samples++;
    }
    if (k->rank == 0 && outcome == OUTCOME_OK) {
        r->n = samples;
        if (t->method == METHOD_dependent)
            r->compute_us = base_us / calls;
    }
    return outcome;
}

/* What NCCL itself expects of this size. */
static void ask_prediction(struct rank *k, struct err *err)
{
    struct nccl_sim_info info = {sizeof info, NCCL_SIM_INFO_MAGIC, (unsigned)k->lib.version, -1};
    if (k->lib.group_simulate_end == NULL || k->lib.group_start() != 0)
        return;
    (void)call(k, k->g->timing.size_bytes, err);
    if (k->lib.group_simulate_end(&info) == 0 && info.estimated_us > 0 && k->rank == 0)
        k->g->result.predicted_us = (double)info.estimated_us;
}

static enum outcome time_rank(struct rank *k, struct err *err)
{
    const struct timing *t = &k->g->timing;
    cudaGraphExec_t exec = NULL, base = NULL;
    enum outcome outcome = OUTCOME_OK;
    int shared = k->g->shared_gpu;
    ask_prediction(k, err);
    switch (t->method) {
    case METHOD_back_to_back:
        if (!shared) { /* one call in a graph tells its kernel */
            outcome = capture(k, CHAIN_CALLS, 1, &exec, err);
            if (exec != NULL)
                cudaGraphExecDestroy(exec);
            exec = NULL;
        }
        if (outcome == OUTCOME_OK)
            outcome = sample(k, NULL, NULL, shared ? 1 : BATCH, err);
        break;
    case METHOD_graph:
        outcome = capture(k, CHAIN_CALLS, t->chain, &exec, err);
        if (outcome == OUTCOME_OK)
            outcome = sample(k, exec, NULL, t->chain, err);
        break;
    case METHOD_dependent:
    case METHOD_skewed:
        outcome = capture(k, t->method == METHOD_skewed ? CHAIN_DELAYED : CHAIN_COMPUTE_AND_CALLS,
                          t->chain, &exec, err);
        if (outcome == OUTCOME_OK)
            outcome = capture(k, t->method == METHOD_skewed ? CHAIN_NO_DELAY : CHAIN_COMPUTE,
                              t->chain, &base, err);
        if (outcome == OUTCOME_OK)
            outcome = sample(k, exec, base, t->chain, err);
        break;
    default:
        err_set(err, STATUS_UNSUPPORTED, "backend nccl has no method %s", method_name(t->method));
        return OUTCOME_UNSUPPORTED;
    }
    if (exec != NULL)
        cudaGraphExecDestroy(exec);
    if (base != NULL)
        cudaGraphExecDestroy(base);
    meet(k);
    if (k->rank == 0 && k->g->free_before >= 0) {
        int64_t now = free_bytes();
        if (now >= 0 && k->g->free_before > now)
            k->g->result.memory_bytes = (k->g->free_before - now) / k->g->ranks_on_gpu;
    }
    meet(k);
    return outcome;
}

void nccl_rank_main(struct nccl_group *g, int rank)
{
    static const int types[DTYPE_COUNT] = {
        [DTYPE_bf16] = NCCL_BFLOAT16, [DTYPE_fp16] = NCCL_FLOAT16, [DTYPE_fp32] = NCCL_FLOAT32};
    struct rank rank_state = {.g = g,
                              .rank = rank,
                              .ranks = g->v.ranks,
                              .nccl_type = types[g->v.dtype],
                              .element_bytes = (size_t)dtype_bytes(g->v.dtype)};
    struct rank *k = &rank_state;
    for (;;) {
        struct err err = {STATUS_OK, ""};
        enum outcome outcome = OUTCOME_OK;
        while (sem_wait(&g->go[rank]) != 0)
            ;
        switch (g->command) {
        case NCCL_OPEN:
            outcome = open_rank(k, &err);
            break;
        case NCCL_VERIFY:
            outcome = verify_rank(k, &err);
            break;
        case NCCL_TIME:
            outcome = time_rank(k, &err);
            break;
        case NCCL_QUIT:
            if (k->comm != NULL) {
                for (int i = 0; i < 2; i++)
                    if (k->handles[i] != NULL)
                        k->lib.comm_deregister(k->comm, k->handles[i]);
                k->lib.comm_destroy(k->comm);
            }
            free(k->host);
            sem_post(&g->done);
            return;
        }
        int none = 0;
        if (outcome != OUTCOME_OK && atomic_compare_exchange_strong(&g->failed, &none, 1 + rank)) {
            g->outcome = outcome;
            g->err = err;
        }
        sem_post(&g->done);
        /* The others may wait in a collective for this rank: the group is over. */
        if (outcome != OUTCOME_OK)
            break;
    }
    free(k->host);
}
