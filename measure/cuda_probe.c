/* The work of GPU probes, with CUDA. Times of flags, chases, fences and streams are taken on the
 * device, of nodes and copies by events, of launches by the host's clock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/probes.h"
#include "measure/cuda_comm.h"
#include "measure/gpu_probe.h"

enum {
    ROUNDS = 1000,
    CHASE_STRIDE = 4096 + 128, /* another line, and another page now and then */
    CHASE_LINKS = 256,
    MEMORY_BYTES = 64 << 20, /* of a flow at most */
    WINDOW_US = 1500,
    LAUNCHES = 500,
    CPU_PATIENCE_NS = 2000000000,
};

/* Memory of a GPU (or GPU_HOST), kept for later calls that ask for the same slot. */
struct buffer {
    int gpu, slot;
    size_t bytes;
    char *p;
};
enum { OWN_SLOT = GPU_MAX_FLOWS, MAX_BUFFERS = 512 };

struct probing {
    struct backend_host host;
    cudaStream_t stream[MAX_GPUS], flow_stream[GPU_MAX_FLOWS];
    int flow_gpu[GPU_MAX_FLOWS];
    struct probes_report *report[MAX_GPUS]; /* device memory, one a flow */
    int n_buffers;
    struct buffer buffers[MAX_BUFFERS];
    uint32_t *flags; /* pinned host memory, 4 KiB: ping-pong at 0 and 128, go at 256 */
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

const struct backend_host *gpu_probe_host(const void *context)
{
    return &((const struct probing *)context)->host;
}

static enum outcome begin_all(struct probing *p, struct err *err)
{
    CUDA_TRY(cudaHostAlloc((void **)&p->flags, 4096, cudaHostAllocPortable | cudaHostAllocMapped));
    for (int g = 0; g < p->host.n_gpus; g++) {
        CUDA_TRY(cudaSetDevice(g));
        CUDA_TRY(cudaStreamCreateWithFlags(&p->stream[g], cudaStreamNonBlocking));
        CUDA_TRY(cudaMalloc((void **)&p->report[g], GPU_MAX_FLOWS * sizeof *p->report[g]));
        for (int k = 0; k < p->host.n_gpus; k++) {
            if (k == g || (!p->host.peer_write[g][k] && !p->host.peer_read[g][k]))
                continue;
            cudaError_t e = cudaDeviceEnablePeerAccess(k, 0);
            if (e != cudaSuccess && e != cudaErrorPeerAccessAlreadyEnabled)
                return cuda_error(err, (int)e, "peer access");
            (void)cudaGetLastError();
        }
    }
    return OUTCOME_OK;
}

enum outcome gpu_probe_begin(void **context, const struct backend_host *host, struct err *err)
{
    struct probing *p = calloc(1, sizeof *p);
    if (p == NULL) {
        err_set(err, STATUS_FAILED, "out of memory");
        return OUTCOME_OOM;
    }
    *context = p;
    p->host = *host;
    cuda_load_eagerly();
    return begin_all(p, err);
}

static void free_buffer(struct buffer *b)
{
    if (b->gpu == GPU_HOST)
        (void)cudaFreeHost(b->p);
    else
        (void)cudaFree(b->p);
    b->p = NULL;
    b->bytes = 0;
}

void gpu_probe_end(void *context)
{
    struct probing *p = context;
    if (p == NULL)
        return;
    for (int i = 0; i < p->n_buffers; i++)
        if (p->buffers[i].p != NULL)
            free_buffer(&p->buffers[i]);
    for (int g = 0; g < p->host.n_gpus; g++) {
        (void)cudaFree(p->report[g]);
        if (p->stream[g] != NULL)
            (void)cudaStreamDestroy(p->stream[g]);
    }
    for (int i = 0; i < GPU_MAX_FLOWS; i++)
        if (p->flow_stream[i] != NULL)
            (void)cudaStreamDestroy(p->flow_stream[i]);
    if (p->flags != NULL)
        (void)cudaFreeHost(p->flags);
    free(p);
}

/* The buffer `slot` of a memory (a GPU, or GPU_HOST), at least `bytes` long. */
static enum outcome buffer_of(struct probing *p, int memory, int slot, size_t bytes, char **out,
                              struct err *err)
{
    struct buffer *b = NULL;
    for (int i = 0; i < p->n_buffers && b == NULL; i++)
        if (p->buffers[i].gpu == memory && p->buffers[i].slot == slot)
            b = &p->buffers[i];
    if (b == NULL) {
        if (p->n_buffers == MAX_BUFFERS) {
            err_set(err, STATUS_FAILED, "too many buffers for one probe");
            return OUTCOME_FAILED;
        }
        b = &p->buffers[p->n_buffers++];
        *b = (struct buffer){memory, slot, 0, NULL};
    }
    if (b->bytes < bytes) {
        free_buffer(b);
        if (memory == GPU_HOST) {
            CUDA_TRY(
                cudaHostAlloc((void **)&b->p, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
            memset(b->p, 0, bytes);
        } else {
            CUDA_TRY(cudaSetDevice(memory));
            CUDA_TRY(cudaMalloc((void **)&b->p, bytes));
            CUDA_TRY(cudaMemset(b->p, 0, bytes));
            CUDA_TRY(cudaDeviceSynchronize());
        }
        b->bytes = bytes;
    }
    *out = b->p;
    return OUTCOME_OK;
}

static enum outcome take_report(struct probing *p, int gpu, int slot, struct probes_report *out,
                                struct err *err)
{
    CUDA_TRY(cudaSetDevice(gpu));
    CUDA_TRY(cudaMemcpy(out, p->report[gpu] + slot, sizeof *out, cudaMemcpyDeviceToHost));
    return OUTCOME_OK;
}

/* --- Flags --------------------------------------------------------------------------------------
 */
struct answering {
    uint32_t *mine;
    const uint32_t *theirs;
};

static void *answer(void *arg)
{
    const struct answering *a = arg;
    int64_t until = now_ns() + CPU_PATIENCE_NS;
    for (uint32_t k = 1; k <= ROUNDS; k++) {
        for (int spins = 0; __atomic_load_n(a->theirs, __ATOMIC_ACQUIRE) < k; spins++)
            if ((spins & 0xffff) == 0 && now_ns() > until)
                return NULL;
        __atomic_store_n(a->mine, k, __ATOMIC_RELEASE);
    }
    return NULL;
}

enum outcome gpu_pingpong(void *context, int a, int b, int through_host, double *us,
                          struct err *err)
{
    struct probing *p = context;
    struct probes_report report;
    char *at_a = (char *)p->flags, *at_b = (char *)p->flags + 128;
    enum outcome outcome;
    if (!through_host && b != GPU_CPU) {
        outcome = buffer_of(p, a, 0, 4096, &at_a, err);
        if (outcome == OUTCOME_OK)
            outcome = buffer_of(p, b, a == b, 4096, &at_b, err);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    CUDA_TRY(cudaMemset(at_a, 0, 4));
    CUDA_TRY(cudaMemset(at_b, 0, 4));
    CUDA_TRY(cudaDeviceSynchronize());
    uint32_t *flag_a = (uint32_t *)(void *)at_a, *flag_b = (uint32_t *)(void *)at_b;
    struct answering answering = {flag_a, flag_b};
    pthread_t thread;
    if (b == GPU_CPU && pthread_create(&thread, NULL, answer, &answering) != 0) {
        err_set(err, STATUS_FAILED, "cannot start a thread");
        return OUTCOME_FAILED;
    }
    CUDA_TRY(cudaSetDevice(a));
    CUDA_TRY(probes_pingpong(flag_a, flag_b, ROUNDS, 1, a == b, p->report[a], p->stream[a]));
    if (b >= 0 && b != a) {
        CUDA_TRY(cudaSetDevice(b));
        CUDA_TRY(probes_pingpong(flag_b, flag_a, ROUNDS, 0, 0, p->report[b], p->stream[b]));
        CUDA_TRY(cudaStreamSynchronize(p->stream[b]));
    }
    CUDA_TRY(cudaStreamSynchronize(p->stream[a]));
    if (b == GPU_CPU)
        (void)pthread_join(thread, NULL);
    outcome = take_report(p, a, 0, &report, err);
    *us = (double)report.elapsed_ns * 1e-3 / ROUNDS / 2;
    return outcome;
}

enum outcome gpu_chase(void *context, int gpu, int memory, double *us, struct err *err)
{
    struct probing *p = context;
    struct probes_report report;
    uint64_t chain[CHASE_STRIDE / 8 * CHASE_LINKS];
    char *at;
    enum outcome outcome = buffer_of(p, memory, 0, MEMORY_BYTES, &at, err);
    if (outcome != OUTCOME_OK)
        return outcome;
    memset(chain, 0, sizeof chain);
    for (uint64_t i = 0; i < CHASE_LINKS; i++) /* an odd multiplier visits all, in no order */
        chain[i * 37 % CHASE_LINKS * (CHASE_STRIDE / 8)] =
            (i + 1) * 37 % CHASE_LINKS * CHASE_STRIDE;
    CUDA_TRY(cudaMemcpy(at, chain, sizeof chain, cudaMemcpyDefault));
    CUDA_TRY(cudaSetDevice(gpu));
    for (int pass = 0; pass < 2; pass++)
        CUDA_TRY(probes_chase(at, ROUNDS, p->report[gpu], p->stream[gpu]));
    CUDA_TRY(cudaStreamSynchronize(p->stream[gpu]));
    outcome = take_report(p, gpu, 0, &report, err);
    *us = (double)report.elapsed_ns * 1e-3 / ROUNDS;
    return outcome;
}

enum outcome gpu_fence(void *context, int gpu, int memory, int threads, int fence, double *us,
                       struct err *err)
{
    struct probing *p = context;
    struct probes_report report;
    char *at;
    enum outcome outcome = buffer_of(p, memory, 0, MEMORY_BYTES, &at, err);
    if (outcome != OUTCOME_OK)
        return outcome;
    CUDA_TRY(cudaSetDevice(gpu));
    for (int pass = 0; pass < 2; pass++)
        CUDA_TRY(probes_fence(at, threads, 1, ROUNDS, fence, p->report[gpu], p->stream[gpu]));
    CUDA_TRY(cudaStreamSynchronize(p->stream[gpu]));
    outcome = take_report(p, gpu, 0, &report, err);
    *us = (double)report.elapsed_ns * 1e-3 / ROUNDS;
    return outcome;
}

/* --- Nodes and launches --------------------------------------------------------------------------
 */
static enum outcome timed_graph(struct probing *p, int gpu, cudaGraph_t graph, double *us,
                                struct err *err)
{
    cudaGraphExec_t exec;
    cudaEvent_t start, end;
    float ms = 0;
    CUDA_TRY(cudaGraphInstantiate(&exec, graph, 0));
    CUDA_TRY(cudaEventCreate(&start));
    CUDA_TRY(cudaEventCreate(&end));
    for (int pass = 0; pass < 2; pass++) {
        CUDA_TRY(probes_compute(1, 40000, NULL, 0, p->stream[gpu]));
        CUDA_TRY(cudaEventRecord(start, p->stream[gpu]));
        CUDA_TRY(cudaGraphLaunch(exec, p->stream[gpu]));
        CUDA_TRY(cudaEventRecord(end, p->stream[gpu]));
        CUDA_TRY(cudaEventSynchronize(end));
        CUDA_TRY(cudaEventElapsedTime(&ms, start, end));
    }
    *us = (double)ms * 1e3;
    CUDA_TRY(cudaEventDestroy(start));
    CUDA_TRY(cudaEventDestroy(end));
    CUDA_TRY(cudaGraphExecDestroy(exec));
    return OUTCOME_OK;
}

enum outcome gpu_node(void *context, int gpu, int blocks, int threads, int ranks, int size_bytes,
                      int chain, double *us, struct err *err)
{
    struct probing *p = context;
    cudaGraph_t graph;
    char *in, *out;
    size_t bytes = (size_t)size_bytes * (size_t)ranks + 4096;
    enum outcome outcome = buffer_of(p, gpu, 0, bytes, &in, err);
    if (outcome == OUTCOME_OK)
        outcome = buffer_of(p, gpu, 1, bytes, &out, err);
    if (outcome != OUTCOME_OK)
        return outcome;
    CUDA_TRY(cudaSetDevice(gpu));
    CUDA_TRY(cudaStreamBeginCapture(p->stream[gpu], cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < chain; i++)
        CUDA_TRY(probes_node(blocks, ranks, threads, i % 2 ? out : in, i % 2 ? in : out, size_bytes,
                             p->stream[gpu]));
    CUDA_TRY(cudaStreamEndCapture(p->stream[gpu], &graph));
    outcome = timed_graph(p, gpu, graph, us, err);
    *us /= chain;
    (void)cudaGraphDestroy(graph);
    return outcome;
}

enum outcome gpu_launch(void *context, int gpu, int until_done, double *us, struct err *err)
{
    struct probing *p = context;
    int64_t start = 0;
    CUDA_TRY(cudaSetDevice(gpu));
    for (int i = -LAUNCHES / 10; i < LAUNCHES; i++) {
        if (i == 0) {
            CUDA_TRY(cudaStreamSynchronize(p->stream[gpu]));
            start = now_ns();
        }
        CUDA_TRY(probes_node(1, 1, 32, NULL, NULL, 0, p->stream[gpu]));
        if (until_done)
            CUDA_TRY(cudaStreamSynchronize(p->stream[gpu]));
    }
    CUDA_TRY(cudaStreamSynchronize(p->stream[gpu]));
    *us = (double)(now_ns() - start) * 1e-3 / LAUNCHES;
    return OUTCOME_OK;
}

/* --- Streams -------------------------------------------------------------------------------------
 */
static int copies(const struct gpu_flow *f)
{
    return f->kind == GPU_COPY_OUT || f->kind == GPU_COPY_IN;
}

static enum outcome flow_stream(struct probing *p, int i, int gpu, struct err *err)
{
    CUDA_TRY(cudaSetDevice(gpu));
    if (p->flow_stream[i] != NULL && p->flow_gpu[i] != gpu) {
        CUDA_TRY(cudaStreamDestroy(p->flow_stream[i]));
        p->flow_stream[i] = NULL;
    }
    if (p->flow_stream[i] == NULL)
        CUDA_TRY(cudaStreamCreateWithFlags(&p->flow_stream[i], cudaStreamNonBlocking));
    p->flow_gpu[i] = gpu;
    return OUTCOME_OK;
}

/* A copy flow is as many copies as fill the window at about 50 GB/s, between two events. */
struct copying {
    cudaEvent_t start, end;
    int n;
    int64_t bytes;
};

static enum outcome enqueue_copies(struct probing *p, int i, const struct gpu_flow *f, char *memory,
                                   char *own, struct copying *c, struct err *err)
{
    c->bytes = f->size_bytes;
    c->n = (int)(WINDOW_US * 50e3 / (double)f->size_bytes) + 1;
    CUDA_TRY(cudaSetDevice(f->gpu));
    CUDA_TRY(cudaEventCreate(&c->start));
    CUDA_TRY(cudaEventCreate(&c->end));
    CUDA_TRY(probes_compute(1, 100000, NULL, 0, p->flow_stream[i]));
    CUDA_TRY(cudaEventRecord(c->start, p->flow_stream[i]));
    for (int k = 0; k < c->n; k++)
        CUDA_TRY(cudaMemcpyAsync(f->kind == GPU_COPY_OUT ? memory : own,
                                 f->kind == GPU_COPY_OUT ? own : memory, (size_t)f->size_bytes,
                                 cudaMemcpyDefault, p->flow_stream[i]));
    CUDA_TRY(cudaEventRecord(c->end, p->flow_stream[i]));
    return OUTCOME_OK;
}

static enum outcome finish_copies(struct copying *c, double *gb_per_s, struct err *err)
{
    float ms;
    CUDA_TRY(cudaEventElapsedTime(&ms, c->start, c->end));
    *gb_per_s = (double)c->n * (double)c->bytes / ((double)ms * 1e6);
    CUDA_TRY(cudaEventDestroy(c->start));
    CUDA_TRY(cudaEventDestroy(c->end));
    return OUTCOME_OK;
}

enum outcome gpu_flows(void *context, const struct gpu_flow *flows, int n, double *gb_per_s,
                       struct err *err)
{
    struct probing *p = context;
    struct copying copying[GPU_MAX_FLOWS] = {{.n = 0}};
    struct probes_stream s[GPU_MAX_FLOWS];
    char *own[GPU_MAX_FLOWS];
    volatile uint32_t *go = p->flags + 64;
    enum outcome outcome;
    /* Everything is allocated before the first kernel waits for *go: allocations wait for kernels.
     */
    *go = 0;
    for (int i = 0; i < n; i++) {
        const struct gpu_flow *f = &flows[i];
        char *memory;
        outcome = buffer_of(p, f->memory, i, (size_t)f->size_bytes, &memory, err);
        if (outcome == OUTCOME_OK && copies(f))
            outcome = buffer_of(p, f->gpu, OWN_SLOT + i, (size_t)f->size_bytes, &own[i], err);
        if (outcome == OUTCOME_OK)
            outcome = flow_stream(p, i, f->gpu, err);
        if (outcome != OUTCOME_OK)
            return outcome;
        s[i] = (struct probes_stream){
            .kind = f->kind == GPU_STORES  ? PROBES_STORE
                    : f->kind == GPU_LOADS ? PROBES_LOAD
                                           : PROBES_BOTH,
            .memory = memory,
            .bytes = (size_t)f->size_bytes,
            .blocks = f->blocks,
            .threads = f->threads,
            .window_us = WINDOW_US,
            .go = go,
            .report = p->report[f->gpu] + i,
        };
        CUDA_TRY(cudaMemset(s[i].report, 0, sizeof *s[i].report));
        CUDA_TRY(cudaDeviceSynchronize());
    }
    for (int i = 0; i < n; i++) {
        CUDA_TRY(cudaSetDevice(flows[i].gpu));
        if (!copies(&flows[i]))
            CUDA_TRY(probes_stream(&s[i], p->flow_stream[i]));
    }
    for (int i = 0; i < n; i++)
        if (copies(&flows[i])) {
            outcome = enqueue_copies(p, i, &flows[i], s[i].memory, own[i], &copying[i], err);
            if (outcome != OUTCOME_OK)
                return outcome;
        }
    *go = 1;
    for (int i = 0; i < n; i++)
        CUDA_TRY(cudaStreamSynchronize(p->flow_stream[i]));
    for (int i = 0; i < n; i++) {
        struct probes_report report = {0, 0};
        outcome = copies(&flows[i]) ? finish_copies(&copying[i], &gb_per_s[i], err)
                                    : take_report(p, flows[i].gpu, i, &report, err);
        if (outcome != OUTCOME_OK)
            return outcome;
        if (!copies(&flows[i]))
            gb_per_s[i] = (double)report.bytes / (double)report.elapsed_ns;
    }
    return OUTCOME_OK;
}
