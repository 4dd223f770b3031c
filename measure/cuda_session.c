/* Verifying searches as well: every grid that may win is checked on fresh data before it is timed,
 * and the best for the size is kept, then checked again, longer and with delays. Timing uses it. */
#include "measure/cuda_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/probes.h"
#include "measure/cuda_comm.h"
#include "measure/oracle.h"
#include "measure/worker.h"

enum {
    MAX_SIZES = 128,
    MAX_GRIDS = 64,
    HOST_CHECK_BYTES = 64 * 1024, /* up to here the host's oracle checks too */
    TRAFFIC_BLOCKS = 4,
    TRAFFIC_THREADS = 512,
    TRAFFIC_BYTES = 16 << 20,
};

struct chosen {
    int64_t size_bytes;
    struct cuda_grid grid;
    double us; /* a call, as seen in the search */
};

/* What runs beside an allreduce: a kernel that stores to and loads from host memory. */
struct traffic {
    cudaStream_t stream;
    char *memory;
    uint32_t *stop;
    struct probes_report *report;
};

struct session {
    struct cuda_comm comm;
    struct variant v;
    int shards; /* of the kernel: what a tile covers is a part of a shard */
    int sm_count, n_chosen;
    struct chosen chosen[MAX_SIZES];
    struct traffic traffic;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum outcome cuda_session_open(void **session, const struct variant *v, struct err *err)
{
    int kernel, host, islands, count = 0;
    if (cuda_impl_parse(v->impl, &kernel, &host, &islands) != 0 || islands > v->ranks) {
        err_set(err, STATUS_UNSUPPORTED, "backend cuda has no %s for %d ranks", v->impl, v->ranks);
        return OUTCOME_UNSUPPORTED;
    }
    struct session *s = calloc(1, sizeof *s);
    if (s == NULL) {
        err_set(err, STATUS_FAILED, "out of memory");
        return OUTCOME_OOM;
    }
    *session = s;
    s->v = *v;
    s->shards = kernels[kernel].cut == KERNELS_WHOLE      ? 1
                : kernels[kernel].cut == KERNELS_BY_RANKS ? v->ranks
                                                          : v->ranks / islands;
    struct cuda_setup setup = {
        .kernel = &kernels[kernel],
        .host = host,
        .islands = islands,
        .ranks = v->ranks,
        .dtype = v->dtype,
        .in_place = v->in_place,
        .max_bytes = v->max_bytes,
        .seed = v->seed,
    };
    memcpy(setup.gpu, v->gpu, sizeof setup.gpu);
    cuda_load_eagerly();
    CUDA_TRY(cudaGetDeviceCount(&count));
    CUDA_TRY(cudaDeviceGetAttribute(&s->sm_count, cudaDevAttrMultiProcessorCount, v->gpu[0]));
    return cuda_comm_open(&s->comm, &setup, err);
}

void cuda_session_close(void *session)
{
    struct session *s = session;
    if (s == NULL)
        return;
    cuda_comm_close(&s->comm);
    if (s->traffic.stream != NULL)
        (void)cudaStreamDestroy(s->traffic.stream);
    (void)cudaFree(s->traffic.report);
    if (s->traffic.memory != NULL)
        (void)cudaFreeHost(s->traffic.memory);
    if (s->traffic.stop != NULL)
        (void)cudaFreeHost(s->traffic.stop);
    free(s);
}

/* --- Search
 * --------------------------------------------------------------------------------------- */
static void add_grid(struct cuda_grid *grids, int *n, int blocks, int threads)
{
    blocks = blocks > KERNELS_MAX_BLOCKS ? KERNELS_MAX_BLOCKS : blocks;
    for (int i = 0; i < *n; i++)
        if (grids[i].blocks == blocks && grids[i].threads == threads)
            return;
    if (blocks >= 1 && *n < MAX_GRIDS)
        grids[(*n)++] = (struct cuda_grid){blocks, threads};
}

/* Grids that may be best: as many blocks as there are tiles, or a whole fraction of that, or as the
 * GPU can hold at a time, or few. */
static int candidate_grids(const struct session *s, int64_t size_bytes, struct cuda_grid *grids)
{
    static const int thread_counts[] = {64, 128, 256, 512};
    int n = 0, ranks = s->v.ranks, peers = s->shards > 1 && s->shards < ranks ? s->shards : ranks;
    int local = s->comm.group[0].ranks;
    int64_t part =
        size_bytes < s->comm.layout.capacity_bytes ? size_bytes : s->comm.layout.capacity_bytes;
    int packs = (int)((part + KERNELS_PACK_BYTES - 1) / KERNELS_PACK_BYTES);
    int shard = (packs + s->shards - 1) / s->shards;
    if (s->v.blocks > 0 || s->v.threads > 0) {
        add_grid(grids, &n, s->v.blocks > 0 ? s->v.blocks : 8,
                 s->v.threads > 0 ? s->v.threads : 256);
        return n;
    }
    for (unsigned t = 0; t < sizeof thread_counts / sizeof thread_counts[0]; t++) {
        int threads = thread_counts[t], warps = threads / 32;
        int tile = 32 * (warps < peers ? 1 : warps / peers), tiles = (shard + tile - 1) / tile;
        for (int divisor = 1; divisor <= 8; divisor *= 2)
            if (tiles / divisor <= 2 * KERNELS_MAX_BLOCKS)
                add_grid(grids, &n, (tiles + divisor - 1) / divisor, threads);
        for (int k = 1; k <= 3; k++)
            if (k * s->sm_count / local < tiles)
                add_grid(grids, &n, k * s->sm_count / local, threads);
        for (int few = 1; few <= 4 && s->comm.setup.host; few *= 2)
            if (few < tiles)
                add_grid(grids, &n, few, threads);
    }
    return n;
}

/* Median of three replays after one, microseconds a call. */
static enum outcome quick_time(struct session *s, int64_t size_bytes, struct cuda_grid grid,
                               int chain, double *us, struct err *err)
{
    double x[4];
    enum outcome outcome = cuda_comm_capture(&s->comm, CUDA_CALLS, size_bytes, grid, chain, 0, err);
    for (int i = 0; i < 4 && outcome == OUTCOME_OK; i++)
        outcome = cuda_comm_replay(&s->comm, &x[i], err);
    if (outcome != OUTCOME_OK)
        return outcome;
    qsort(x + 1, 3, sizeof x[0], by_value);
    *us = x[2] / chain;
    return OUTCOME_OK;
}

static enum outcome check(struct session *s, enum cuda_node_kind kind, int64_t size_bytes,
                          struct cuda_grid grid, int chain, int replays, struct result *r,
                          struct err *err)
{
    double us;
    int64_t wrong = 0;
    enum outcome outcome = cuda_comm_capture(&s->comm, kind, size_bytes, grid, chain, 0, err);
    for (int i = 0; i < replays && outcome == OUTCOME_OK; i++)
        outcome = cuda_comm_replay(&s->comm, &us, err);
    if (outcome == OUTCOME_OK)
        outcome = cuda_comm_wrong(&s->comm, &wrong, err);
    r->wrong += wrong;
    r->checked += size_bytes / dtype_bytes(s->v.dtype) * s->v.ranks * chain * replays;
    return outcome;
}

static enum outcome search(struct session *s, int64_t size_bytes, struct chosen *best,
                           struct result *r, struct err *err)
{
    struct cuda_grid grids[MAX_GRIDS];
    int n = candidate_grids(s, size_bytes, grids);
    int chain = s->comm.setup.host || size_bytes > 256 * 1024 ? 4 : 24;
    enum outcome outcome = OUTCOME_UNSUPPORTED;
    *best = (struct chosen){size_bytes, {0, 0}, INFINITY};
    for (int i = 0; i < n && r->wrong == 0; i++) {
        double us;
        outcome = check(s, CUDA_CHECKED, size_bytes, grids[i], 2, 1, r, err);
        if (outcome == OUTCOME_OK)
            outcome =
                quick_time(s, size_bytes, grids[i], size_bytes > 4 << 20 ? 1 : chain, &us, err);
        if (outcome == OUTCOME_UNSUPPORTED)
            continue; /* this grid cannot be resident; others can */
        if (outcome != OUTCOME_OK)
            return outcome;
        if (us < best->us) {
            best->us = us;
            best->grid = grids[i];
        }
    }
    return best->grid.blocks > 0 || r->wrong > 0 ? OUTCOME_OK : outcome;
}

static struct chosen *chosen_for(struct session *s, int64_t size_bytes)
{
    for (int i = 0; i < s->n_chosen; i++)
        if (s->chosen[i].size_bytes == size_bytes)
            return &s->chosen[i];
    return NULL;
}

static void report_grid(const struct session *s, struct cuda_grid grid, struct result *r)
{
    r->blocks = grid.blocks;
    r->threads = grid.threads;
    r->memory_bytes = s->comm.memory_bytes;
    snprintf(r->kernel, sizeof r->kernel, "%s", s->comm.kernel_name);
}

enum outcome cuda_session_verify(void *session, int64_t size_bytes, struct result *r,
                                 struct err *err)
{
    struct session *s = session;
    struct chosen *c = chosen_for(s, size_bytes), found;
    int small = size_bytes <= HOST_CHECK_BYTES;
    int64_t capacity = s->comm.layout.capacity_bytes;
    enum outcome outcome = OUTCOME_OK;
    if (c == NULL) {
        /* What goes in parts is best as its parts are. */
        struct chosen *part = size_bytes > capacity ? chosen_for(s, capacity) : NULL;
        if (part != NULL) {
            found = *part;
            found.size_bytes = size_bytes;
            found.us *= (double)size_bytes / (double)capacity;
        } else {
            outcome = search(s, size_bytes, &found, r, err);
        }
        if (outcome != OUTCOME_OK || r->wrong > 0)
            return outcome;
        if (s->n_chosen == MAX_SIZES)
            s->n_chosen = 0; /* forgetting costs a search, no more */
        c = &s->chosen[s->n_chosen++];
        *c = found;
    }
    outcome = check(s, CUDA_CHECKED, size_bytes, c->grid, small ? 8 : 2, 2, r, err);
    if (outcome == OUTCOME_OK)
        outcome =
            cuda_comm_set_skew(&s->comm, 10.0, random_at(s->v.seed, (uint64_t)size_bytes), err);
    if (outcome == OUTCOME_OK)
        outcome = check(s, CUDA_CHECKED_SKEWED, size_bytes, c->grid, small ? 8 : 2, 1, r, err);
    if (outcome == OUTCOME_OK && small)
        outcome =
            cuda_comm_check_on_host(&s->comm, size_bytes, c->grid, &r->checked, &r->wrong, err);
    report_grid(s, c->grid, r);
    return outcome;
}

/* --- Timing
 * ---------------------------------------------------------------------------------------- */
static enum outcome start_traffic(struct session *s, struct err *err)
{
    struct traffic *t = &s->traffic;
    CUDA_TRY(cudaSetDevice(s->comm.group[0].gpu));
    if (t->stream == NULL) {
        CUDA_TRY(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking));
        CUDA_TRY(cudaHostAlloc((void **)&t->memory, TRAFFIC_BYTES, cudaHostAllocMapped));
        CUDA_TRY(cudaHostAlloc((void **)&t->stop, 4096, cudaHostAllocMapped));
        CUDA_TRY(cudaMalloc((void **)&t->report, sizeof *t->report));
    }
    *(volatile uint32_t *)t->stop = 0;
    struct probes_stream stream = {
        .kind = PROBES_BOTH,
        .memory = t->memory,
        .bytes = TRAFFIC_BYTES,
        .blocks = TRAFFIC_BLOCKS,
        .threads = TRAFFIC_THREADS,
        .stop = t->stop,
        .report = t->report,
    };
    CUDA_TRY(probes_stream(&stream, t->stream));
    return OUTCOME_OK;
}

static enum outcome stop_traffic(struct session *s, struct err *err)
{
    *(volatile uint32_t *)s->traffic.stop = 1;
    CUDA_TRY(cudaStreamSynchronize(s->traffic.stream));
    return OUTCOME_OK;
}

/* Takes samples until there are enough or the budget is spent. `less` is taken off the whole. */
static enum outcome sample(struct session *s, const struct timing *t, int64_t size_bytes,
                           struct cuda_grid grid, int chain, double less_us, struct result *r,
                           struct err *err)
{
    double begun = clock_us(), us;
    int warm = t->warmup / chain + 1;
    for (int i = -warm; i < t->iterations && r->n < r->cap; i++) {
        enum outcome outcome = t->method == METHOD_back_to_back
                                   ? cuda_comm_eager(&s->comm, size_bytes, grid, chain, &us, err)
                                   : cuda_comm_replay(&s->comm, &us, err);
        if (outcome != OUTCOME_OK)
            return outcome;
        if (i < 0 && t->budget_us > 0 && clock_us() - begun > t->budget_us / 4)
            i = -1;
        if (i >= 0)
            r->samples[r->n++] = (us - less_us) / chain;
        if (t->budget_us > 0 && clock_us() - begun > t->budget_us && r->n >= 3)
            break;
    }
    return OUTCOME_OK;
}

/* The chain without the allreduces: the fastest of some replays, microseconds of all. */
static enum outcome compute_alone(struct session *s, const struct timing *t, struct cuda_grid grid,
                                  int chain, double *us, struct err *err)
{
    enum outcome outcome = cuda_comm_capture(&s->comm, CUDA_COMPUTE_ONLY, t->size_bytes, grid,
                                             chain, t->compute_us, err);
    double x[7];
    for (int i = 0; i < 7 && outcome == OUTCOME_OK; i++)
        outcome = cuda_comm_replay(&s->comm, &x[i], err);
    if (outcome != OUTCOME_OK)
        return outcome;
    qsort(x, 7, sizeof x[0], by_value);
    *us = x[3];
    return OUTCOME_OK;
}

/* Traffic takes room on four multiprocessors: the grid must fit beside it. */
static struct cuda_grid grid_beside_traffic(const struct session *s, struct cuda_grid g)
{
    while (g.blocks > 1 && g.blocks * s->comm.group[0].ranks * g.threads > (s->sm_count - 8) * 1024)
        g.blocks /= 2;
    return g;
}

enum outcome cuda_session_time(void *session, const struct timing *t, struct result *r,
                               struct err *err)
{
    static const enum cuda_node_kind kinds[METHOD_COUNT] = {
        [METHOD_graph] = CUDA_CALLS,
        [METHOD_dependent] = CUDA_DEPENDENT,
        [METHOD_skewed] = CUDA_SKEWED,
        [METHOD_loaded] = CUDA_CALLS,
    };
    struct session *s = session;
    struct chosen *c = chosen_for(s, t->size_bytes);
    double alone = 0;
    enum outcome outcome = OUTCOME_OK;
    if (c == NULL) {
        err_set(err, STATUS_FAILED, "%lld bytes: to be verified first", (long long)t->size_bytes);
        return OUTCOME_UNSUPPORTED;
    }
    struct cuda_grid grid = c->grid;
    int chain = t->chain > 0 ? t->chain : 1;
    /* A long call needs no long chain; three replays must fit the budget. */
    while (chain > 1 && t->budget_us > 0 && c->us * chain > t->budget_us / 5)
        chain = (chain + 1) / 2;
    if (t->method == METHOD_loaded)
        grid = grid_beside_traffic(s, grid);
    if (t->method == METHOD_skewed)
        outcome = cuda_comm_set_skew(&s->comm, t->skew_us, random_at(~s->v.seed, 1), err);
    if (t->method == METHOD_dependent && outcome == OUTCOME_OK)
        outcome = compute_alone(s, t, grid, chain, &alone, err);
    if (t->method != METHOD_back_to_back && outcome == OUTCOME_OK)
        outcome = cuda_comm_capture(&s->comm, kinds[t->method], t->size_bytes, grid, chain,
                                    t->compute_us, err);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (t->method == METHOD_loaded)
        outcome = start_traffic(s, err);
    if (outcome == OUTCOME_OK)
        outcome = sample(s, t, t->size_bytes, grid, chain, alone, r, err);
    if (t->method == METHOD_loaded && s->traffic.stop != NULL) {
        struct err ignored;
        enum outcome stopped = stop_traffic(s, outcome == OUTCOME_OK ? err : &ignored);
        outcome = outcome == OUTCOME_OK ? stopped : outcome;
        snprintf(r->note, sizeof r->note, "GPU %d stores to and loads from host memory meanwhile",
                 s->comm.group[0].gpu);
    } else if (chain != t->chain && t->chain > 0) {
        snprintf(r->note, sizeof r->note, "chain of %d", chain);
    }
    if (t->method == METHOD_dependent)
        r->compute_us = alone / chain;
    report_grid(s, grid, r);
    return outcome;
}
