#include "measure/cuda_comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/probes.h"
#include "measure/oracle.h"

enum {
    SKEW_LEN = 4093, /* delays in a table; prime, so that replays do not repeat each other */
    DEFAULT_CAPACITY = 1024 * 1024,
    HEAD_START_CYCLES = 40000, /* keeps the GPU busy until what is timed is queued */
    COMPUTE_BLOCKS = 64,
    GRAPH_NODES = 64, /* looked at for the kernel's name */
};

void cuda_load_eagerly(void)
{
    (void)setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

enum outcome cuda_error(struct err *err, int e, const char *doing)
{
    cudaError_t error = (cudaError_t)e;
    err_set(err, STATUS_FAILED, "%.200s: %s (%s)", doing, cudaGetErrorString(error),
            cudaGetErrorName(error));
    (void)cudaGetLastError();
    if (error == cudaErrorMemoryAllocation)
        return OUTCOME_OOM;
    if (error == cudaErrorCooperativeLaunchTooLarge)
        return OUTCOME_UNSUPPORTED;
    return OUTCOME_FAILED;
}

static enum kernels_dtype kernels_dtype_of(enum dtype d)
{
    return d == DTYPE_bf16 ? KERNELS_BF16 : d == DTYPE_fp16 ? KERNELS_FP16 : KERNELS_FP32;
}

static size_t shift(const struct cuda_comm *c)
{
    return (size_t)c->setup.misalign * (size_t)dtype_bytes(c->setup.dtype);
}

static char *in_of(const struct cuda_comm *c, int rank)
{
    return c->in[rank] + shift(c);
}

static char *out_of(const struct cuda_comm *c, int rank)
{
    return c->setup.in_place ? in_of(c, rank) : c->out[rank] + shift(c);
}

static enum outcome enable_peers(const struct cuda_comm *c, const struct cuda_group *g,
                                 struct err *err)
{
    for (int j = 0; j < c->n_groups; j++) {
        if (c->group[j].gpu == g->gpu)
            continue;
        cudaError_t e = cudaDeviceEnablePeerAccess(c->group[j].gpu, 0);
        if (e != cudaSuccess && e != cudaErrorPeerAccessAlreadyEnabled) {
            (void)cuda_error(err, (int)e, "peer access");
            return OUTCOME_UNSUPPORTED;
        }
        (void)cudaGetLastError();
    }
    return OUTCOME_OK;
}

static enum outcome make_groups(struct cuda_comm *c, struct err *err)
{
    const struct cuda_setup *s = &c->setup;
    for (int r = 0; r < s->ranks; r++) {
        if (c->n_groups > 0 && c->group[c->n_groups - 1].gpu == s->gpu[r])
            c->group[c->n_groups - 1].ranks++;
        else
            c->group[c->n_groups++] = (struct cuda_group){.gpu = s->gpu[r], .first = r, .ranks = 1};
    }
    for (int i = 0; i < c->n_groups; i++) {
        struct cuda_group *g = &c->group[i];
        int khz;
        CUDA_TRY(cudaSetDevice(g->gpu));
        CUDA_TRY(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking));
        CUDA_TRY(cudaEventCreate(&g->start));
        CUDA_TRY(cudaEventCreate(&g->end));
        CUDA_TRY(cudaMalloc((void **)&g->turn, sizeof *g->turn));
        CUDA_TRY(cudaMalloc((void **)&g->wrong, sizeof *g->wrong));
        CUDA_TRY(cudaMalloc((void **)&g->skew, SKEW_LEN * sizeof *g->skew));
        CUDA_TRY(cudaMemset(g->turn, 0, sizeof *g->turn));
        CUDA_TRY(cudaMemset(g->wrong, 0, sizeof *g->wrong));
        CUDA_TRY(cudaMemset(g->skew, 0, SKEW_LEN * sizeof *g->skew));
        CUDA_TRY(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, g->gpu));
        g->cycles_per_us = khz / 1e3;
        enum outcome outcome = s->host ? OUTCOME_OK : enable_peers(c, g, err);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    return OUTCOME_OK;
}

static enum outcome make_buffers(struct cuda_comm *c, struct err *err)
{
    const struct cuda_setup *s = &c->setup;
    size_t data = ((size_t)s->max_bytes + shift(c) + 255) / 256 * 256;
    size_t exchange = s->kernel->code->exchange_bytes(&c->layout);
    if (s->host) {
        CUDA_TRY(cudaHostAlloc(&c->host_exchange, exchange,
                               cudaHostAllocPortable | cudaHostAllocMapped));
        memset(c->host_exchange, 0xff, exchange); /* as kernels_reset_exchange() */
    }
    for (int i = 0; i < c->n_groups; i++) {
        struct cuda_group *g = &c->group[i];
        CUDA_TRY(cudaSetDevice(g->gpu));
        for (int r = g->first; r < g->first + g->ranks; r++) {
            CUDA_TRY(cudaMalloc((void **)&c->in[r], data));
            CUDA_TRY(cudaMemsetAsync(c->in[r], 0, data, g->stream));
            if (!s->in_place) {
                CUDA_TRY(cudaMalloc((void **)&c->out[r], data));
                CUDA_TRY(cudaMemsetAsync(c->out[r], 0, data, g->stream));
            }
            CUDA_TRY(cudaMalloc(&c->control[r], KERNELS_CONTROL_BYTES));
            if (s->host) {
                c->exchange[r] = c->host_exchange;
            } else {
                CUDA_TRY(cudaMalloc(&c->exchange[r], exchange));
                CUDA_TRY(kernels_reset_exchange(c->exchange[r], exchange, g->stream));
            }
        }
        CUDA_TRY(cudaStreamSynchronize(g->stream));
    }
    for (int i = 0; i < c->n_groups; i++) { /* now that all exchange buffers are there */
        struct cuda_group *g = &c->group[i];
        CUDA_TRY(cudaSetDevice(g->gpu));
        for (int r = g->first; r < g->first + g->ranks; r++)
            CUDA_TRY(kernels_reset_control(c->control[r], c->exchange, s->ranks, g->stream));
        CUDA_TRY(cudaStreamSynchronize(g->stream));
    }
    c->memory_bytes = KERNELS_CONTROL_BYTES + (s->host ? 0 : (int64_t)exchange);
    return OUTCOME_OK;
}

enum outcome cuda_comm_open(struct cuda_comm *c, const struct cuda_setup *setup, struct err *err)
{
    int64_t capacity = setup->capacity_bytes > 0 ? setup->capacity_bytes : DEFAULT_CAPACITY;
    int64_t most =
        (setup->max_bytes + KERNELS_PACK_BYTES - 1) / KERNELS_PACK_BYTES * KERNELS_PACK_BYTES;
    *c = (struct cuda_comm){.setup = *setup};
    cuda_load_eagerly();
    c->layout = (struct kernels_layout){
        .ranks = setup->ranks,
        .islands = setup->islands,
        .shared = setup->host,
        .capacity_bytes = most < capacity && most > 0 ? most : capacity,
    };
    enum outcome outcome = make_groups(c, err);
    if (outcome == OUTCOME_OK)
        outcome = make_buffers(c, err);
    return outcome;
}

void cuda_comm_close(struct cuda_comm *c)
{
    for (int i = 0; i < c->n_groups; i++) {
        struct cuda_group *g = &c->group[i];
        (void)cudaSetDevice(g->gpu);
        (void)cudaDeviceSynchronize();
        if (g->exec != NULL)
            (void)cudaGraphExecDestroy(g->exec);
        for (int r = g->first; r < g->first + g->ranks; r++) {
            (void)cudaFree(c->in[r]);
            (void)cudaFree(c->out[r]);
            (void)cudaFree(c->control[r]);
            if (!c->setup.host)
                (void)cudaFree(c->exchange[r]);
        }
        (void)cudaFree(g->turn);
        (void)cudaFree(g->wrong);
        (void)cudaFree(g->skew);
        if (g->start != NULL)
            (void)cudaEventDestroy(g->start);
        if (g->end != NULL)
            (void)cudaEventDestroy(g->end);
        if (g->stream != NULL)
            (void)cudaStreamDestroy(g->stream);
    }
    if (c->host_exchange != NULL)
        (void)cudaFreeHost(c->host_exchange);
    *c = (struct cuda_comm){.n_groups = 0};
}

static enum outcome enqueue_call(const struct cuda_comm *c, const struct cuda_group *g,
                                 int64_t size_bytes, struct cuda_grid grid, int skewed,
                                 struct err *err)
{
    struct kernels_call call = {
        .layout = c->layout,
        .first_rank = g->first,
        .local_ranks = g->ranks,
        .dtype = kernels_dtype_of(c->setup.dtype),
        .count = size_bytes / dtype_bytes(c->setup.dtype),
        .blocks = grid.blocks,
        .threads = grid.threads,
        .skew = skewed ? g->skew : NULL,
        .skew_len = SKEW_LEN,
    };
    for (int r = 0; r < c->setup.ranks; r++) {
        call.in[r] = in_of(c, r);
        call.out[r] = out_of(c, r);
        call.control[r] = c->control[r];
    }
    int e = kernels_enqueue(c->setup.kernel, &call, g->stream);
    return e == 0 ? OUTCOME_OK : cuda_error(err, e, c->setup.kernel->name);
}

static struct kernels_data data_of(const struct cuda_comm *c, const struct cuda_group *g,
                                   int64_t size_bytes)
{
    return (struct kernels_data){
        .dtype = kernels_dtype_of(c->setup.dtype),
        .seed = c->setup.seed,
        .turn = g->turn,
        .ranks = c->setup.ranks,
        .islands = c->setup.kernel->cut == KERNELS_BY_MEMBERS ? c->setup.islands : 1,
        .count = size_bytes / dtype_bytes(c->setup.dtype),
    };
}

static enum outcome enqueue_node(const struct cuda_comm *c, const struct cuda_group *g,
                                 enum cuda_node_kind kind, int64_t size_bytes,
                                 struct cuda_grid grid, double compute_us, struct err *err)
{
    int checked = kind == CUDA_CHECKED || kind == CUDA_CHECKED_SKEWED;
    int skewed = kind == CUDA_SKEWED || kind == CUDA_CHECKED_SKEWED;
    struct kernels_data data = data_of(c, g, size_bytes);
    if (checked)
        for (int r = g->first; r < g->first + g->ranks; r++)
            CUDA_TRY(kernels_fill(&data, r, in_of(c, r), g->stream));
    if (kind == CUDA_DEPENDENT || kind == CUDA_COMPUTE_ONLY)
        CUDA_TRY(probes_compute(COMPUTE_BLOCKS, (unsigned)(compute_us * g->cycles_per_us),
                                c->in[g->first], (int)(size_bytes < 65536 ? size_bytes : 65536),
                                g->stream));
    if (kind != CUDA_COMPUTE_ONLY) {
        enum outcome outcome = enqueue_call(c, g, size_bytes, grid, skewed, err);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    if (checked) {
        for (int r = g->first; r < g->first + g->ranks; r++)
            CUDA_TRY(kernels_count_wrong(&data, out_of(c, r), g->wrong, g->stream));
        CUDA_TRY(kernels_next_turn(g->turn, g->stream));
    }
    return OUTCOME_OK;
}

/* The name of the kernel by the graph itself: of its nodes, the first that is no helper's. */
static void read_kernel_name(struct cuda_comm *c, cudaGraph_t graph)
{
    cudaGraphNode_t nodes[GRAPH_NODES];
    size_t n = GRAPH_NODES;
    if (cudaGraphGetNodes(graph, nodes, &n) != cudaSuccess)
        return;
    for (size_t i = 0; i < n && i < GRAPH_NODES; i++) {
        struct cudaKernelNodeParams p;
        enum cudaGraphNodeType type;
        if (cudaGraphNodeGetType(nodes[i], &type) != cudaSuccess ||
            type != cudaGraphNodeTypeKernel ||
            cudaGraphKernelNodeGetParams(nodes[i], &p) != cudaSuccess)
            continue;
        char name[sizeof c->kernel_name];
        kernels_name(p.func, name, sizeof name);
        if (strstr(name, "::probe_") == NULL && strstr(name, "::reference_") == NULL) {
            memcpy(c->kernel_name, name, sizeof name);
            return;
        }
    }
}

static enum outcome capture_group(struct cuda_comm *c, struct cuda_group *g,
                                  enum cuda_node_kind kind, int64_t size_bytes,
                                  struct cuda_grid grid, int chain, double compute_us,
                                  struct err *err)
{
    cudaGraph_t graph = NULL;
    enum outcome outcome = OUTCOME_OK;
    CUDA_TRY(cudaSetDevice(g->gpu));
    if (g->exec != NULL)
        CUDA_TRY(cudaGraphExecDestroy(g->exec));
    g->exec = NULL;
    CUDA_TRY(cudaStreamBeginCapture(g->stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < chain && outcome == OUTCOME_OK; i++)
        outcome = enqueue_node(c, g, kind, size_bytes, grid, compute_us, err);
    cudaError_t e = cudaStreamEndCapture(g->stream, &graph);
    if (outcome == OUTCOME_OK && e != cudaSuccess)
        outcome = cuda_error(err, (int)e, "capture of a graph");
    if (outcome == OUTCOME_OK && kind != CUDA_COMPUTE_ONLY)
        read_kernel_name(c, graph);
    if (outcome == OUTCOME_OK) {
        e = cudaGraphInstantiate(&g->exec, graph, 0);
        if (e == cudaSuccess)
            e = cudaGraphUpload(g->exec, g->stream);
        if (e != cudaSuccess)
            outcome = cuda_error(err, (int)e, "instantiation of a graph");
    }
    if (graph != NULL)
        (void)cudaGraphDestroy(graph);
    return outcome;
}

enum outcome cuda_comm_capture(struct cuda_comm *c, enum cuda_node_kind kind, int64_t size_bytes,
                               struct cuda_grid grid, int chain, double compute_us, struct err *err)
{
    enum outcome outcome = OUTCOME_OK;
    for (int i = 0; i < c->n_groups && outcome == OUTCOME_OK; i++)
        outcome = capture_group(c, &c->group[i], kind, size_bytes, grid, chain, compute_us, err);
    c->parts = (int)((size_bytes + c->layout.capacity_bytes - 1) / c->layout.capacity_bytes);
    return outcome;
}

/* One group's part of a timed run. */
struct run {
    const struct cuda_comm *c;
    const struct cuda_group *g;
    pthread_barrier_t *barrier; /* NULL: there is one group only */
    int64_t size_bytes;
    struct cuda_grid grid;
    int calls; /* 0: replay the graph */
    double us;
    enum outcome outcome;
    struct err err;
};

static enum outcome run_group_body(struct run *run)
{
    const struct cuda_group *g = run->g;
    struct err *err = &run->err;
    float ms;
    CUDA_TRY(cudaSetDevice(g->gpu));
    if (run->barrier != NULL)
        (void)pthread_barrier_wait(run->barrier);
    CUDA_TRY(probes_compute(1, HEAD_START_CYCLES, NULL, 0, g->stream));
    CUDA_TRY(cudaEventRecord(g->start, g->stream));
    if (run->calls == 0)
        CUDA_TRY(cudaGraphLaunch(g->exec, g->stream));
    for (int i = 0; i < run->calls; i++) {
        enum outcome outcome = enqueue_call(run->c, g, run->size_bytes, run->grid, 0, err);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    CUDA_TRY(cudaEventRecord(g->end, g->stream));
    CUDA_TRY(cudaEventSynchronize(g->end));
    CUDA_TRY(cudaEventElapsedTime(&ms, g->start, g->end));
    run->us = (double)ms * 1e3;
    return OUTCOME_OK;
}

static void *run_group(void *arg)
{
    struct run *run = arg;
    run->outcome = run_group_body(run);
    return NULL;
}

/* Where one group fails, the others wait for it for ever: the caller's watchdog ends the process.
 */
static enum outcome run_all(const struct cuda_comm *c, int64_t size_bytes, struct cuda_grid grid,
                            int calls, double *us, struct err *err)
{
    struct run runs[MAX_RANKS];
    pthread_t threads[MAX_RANKS];
    pthread_barrier_t barrier;
    *us = 0;
    if (c->n_groups > 1 && pthread_barrier_init(&barrier, NULL, (unsigned)c->n_groups) != 0) {
        err_set(err, STATUS_FAILED, "cannot make a barrier of threads");
        return OUTCOME_FAILED;
    }
    for (int i = 0; i < c->n_groups; i++)
        runs[i] = (struct run){.c = c,
                               .g = &c->group[i],
                               .barrier = c->n_groups > 1 ? &barrier : NULL,
                               .size_bytes = size_bytes,
                               .grid = grid,
                               .calls = calls};
    for (int i = 1; i < c->n_groups; i++)
        if (pthread_create(&threads[i], NULL, run_group, &runs[i]) != 0) {
            err_set(err, STATUS_FAILED, "cannot start %d threads", c->n_groups);
            return OUTCOME_FAILED;
        }
    run_group(&runs[0]);
    for (int i = 1; i < c->n_groups; i++)
        (void)pthread_join(threads[i], NULL);
    if (c->n_groups > 1)
        (void)pthread_barrier_destroy(&barrier);
    for (int i = 0; i < c->n_groups; i++) {
        if (runs[i].outcome != OUTCOME_OK) {
            *err = runs[i].err;
            return runs[i].outcome;
        }
        *us = runs[i].us > *us ? runs[i].us : *us;
    }
    return OUTCOME_OK;
}

enum outcome cuda_comm_replay(struct cuda_comm *c, double *us, struct err *err)
{
    return run_all(c, 0, (struct cuda_grid){0, 0}, 0, us, err);
}

enum outcome cuda_comm_eager(struct cuda_comm *c, int64_t size_bytes, struct cuda_grid grid,
                             int calls, double *us, struct err *err)
{
    return run_all(c, size_bytes, grid, calls, us, err);
}

enum outcome cuda_comm_set_skew(struct cuda_comm *c, double skew_us, uint64_t seed, struct err *err)
{
    uint32_t cycles[SKEW_LEN];
    for (int i = 0; i < c->n_groups; i++) {
        const struct cuda_group *g = &c->group[i];
        for (int k = 0; k < SKEW_LEN; k++)
            cycles[k] = (uint32_t)(uniform_at(seed, (uint64_t)k) * skew_us * g->cycles_per_us);
        CUDA_TRY(cudaSetDevice(g->gpu));
        CUDA_TRY(cudaMemcpy(g->skew, cycles, sizeof cycles, cudaMemcpyHostToDevice));
    }
    return OUTCOME_OK;
}

enum outcome cuda_comm_wrong(struct cuda_comm *c, int64_t *wrong, struct err *err)
{
    *wrong = 0;
    for (int i = 0; i < c->n_groups; i++) {
        unsigned long long n = 0;
        CUDA_TRY(cudaSetDevice(c->group[i].gpu));
        CUDA_TRY(cudaStreamSynchronize(c->group[i].stream));
        CUDA_TRY(cudaMemcpy(&n, c->group[i].wrong, sizeof n, cudaMemcpyDeviceToHost));
        CUDA_TRY(cudaMemset(c->group[i].wrong, 0, sizeof n));
        *wrong += (int64_t)n;
    }
    return OUTCOME_OK;
}

static enum outcome check_with(struct cuda_comm *c, const struct oracle *o, void *buffer,
                               int64_t size_bytes, struct cuda_grid grid, int64_t *checked,
                               int64_t *wrong, struct err *err)
{
    size_t n = (size_t)size_bytes / (size_t)dtype_bytes(c->setup.dtype);
    double us;
    for (int r = 0; r < c->setup.ranks; r++) {
        oracle_fill(o, r, n, buffer);
        CUDA_TRY(cudaMemcpy(in_of(c, r), buffer, (size_t)size_bytes, cudaMemcpyHostToDevice));
        if (!c->setup.in_place)
            CUDA_TRY(cudaMemset(out_of(c, r), 0xb5, (size_t)size_bytes));
    }
    CUDA_TRY(cudaDeviceSynchronize());
    enum outcome outcome = cuda_comm_eager(c, size_bytes, grid, 1, &us, err);
    for (int r = 0; r < c->setup.ranks && outcome == OUTCOME_OK; r++) {
        CUDA_TRY(cudaMemcpy(buffer, out_of(c, r), (size_t)size_bytes, cudaMemcpyDeviceToHost));
        *checked += (int64_t)n;
        *wrong += oracle_wrong(o, n, buffer);
    }
    return outcome;
}

enum outcome cuda_comm_check_on_host(struct cuda_comm *c, int64_t size_bytes, struct cuda_grid grid,
                                     int64_t *checked, int64_t *wrong, struct err *err)
{
    struct oracle o = {c->setup.kernel->cut == KERNELS_BY_MEMBERS ? ORACLE_EXACT : ORACLE_FLOAT,
                       c->setup.dtype, c->setup.ranks, random_at(~c->setup.seed, c->host_checks++)};
    char *buffer = malloc((size_t)size_bytes + 16);
    if (buffer == NULL) {
        err_set(err, STATUS_FAILED, "out of memory");
        return OUTCOME_OOM;
    }
    enum outcome outcome = check_with(c, &o, buffer, size_bytes, grid, checked, wrong, err);
    free(buffer);
    return outcome;
}
