/* Every allreduce kernel against the reference, on this machine's GPUs: all rank counts and types,
 * odd sizes, unaligned tails and pointers, in place, messages in parts, grids that vary from
 * call to call, replayed graphs, skewed arrivals. Exits with 77 where there is no GPU.
 * `check_kernels quick [NAME]` takes a part of it (for compute-sanitizer), of one kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/cuda_comm.h"
#include "measure/oracle.h"

static const int64_t counts[] = {1, 3, 4, 8, 9, 17, 128, 1003, 21504, 33331, 70001};
static const int block_counts[] = {1, 2, 3, 5, 8};
static const int thread_counts[] = {32, 64, 128, 256, 512};
enum { COUNTS = sizeof counts / sizeof counts[0], CAPACITY = 49168 };

struct totals {
    long comms, calls;
    int64_t wrong;
};

static struct cuda_grid grid_for(uint64_t random, int ranks, int quick)
{
    int most = 128 / ranks; /* blocks of one GPU with at least 128 resident ones */
    struct cuda_grid g = {block_counts[random % 5], thread_counts[(random >> 8) % 5]};
    g.blocks = g.blocks > most ? most : g.blocks;
    if (quick && g.threads > 128)
        g.threads = 128;
    return g;
}

/* The grid on which a message is one pass of a warp a peer and 32 packs: some kernels have a short
 * way for it. 0 where there is none. */
static int straight_grid(int ranks, int64_t bytes, int quick, struct cuda_grid *g)
{
    int64_t tiles = (bytes + 32 * KERNELS_PACK_BYTES - 1) / (32 * KERNELS_PACK_BYTES);
    if (tiles > KERNELS_MAX_BLOCKS || (quick && tiles > 8))
        return 0;
    *g = (struct cuda_grid){(int)tiles, 32 * ranks};
    return 1;
}

static enum outcome check_graph(struct cuda_comm *c, enum cuda_node_kind kind, int64_t bytes,
                                struct cuda_grid grid, int chain, int replays, struct totals *t,
                                struct err *err)
{
    double us;
    int64_t wrong = 0;
    enum outcome outcome = cuda_comm_capture(c, kind, bytes, grid, chain, 0, err);
    for (int i = 0; i < replays && outcome == OUTCOME_OK; i++)
        outcome = cuda_comm_replay(c, &us, err);
    if (outcome == OUTCOME_OK)
        outcome = cuda_comm_wrong(c, &wrong, err);
    t->calls += chain * replays;
    t->wrong += wrong;
    if (wrong > 0)
        fprintf(stderr, "  %lld wrong: %s at %lld bytes, %d x %d%s\n", (long long)wrong,
                c->kernel_name, (long long)bytes, grid.blocks, grid.threads,
                kind == CUDA_CHECKED ? "" : ", skewed");
    return outcome;
}

static enum outcome check_comm(const struct cuda_setup *setup, int quick, struct totals *t,
                               struct err *err)
{
    struct cuda_comm c;
    int size = dtype_bytes(setup->dtype);
    enum outcome outcome = cuda_comm_open(&c, setup, err);
    if (outcome == OUTCOME_OK)
        outcome = cuda_comm_set_skew(&c, 5.0, setup->seed, err);
    for (int i = 0; i < COUNTS && outcome == OUTCOME_OK; i++) {
        uint64_t random = random_at(setup->seed, (uint64_t)i);
        struct cuda_grid grid = grid_for(random, setup->ranks, quick);
        int64_t bytes = counts[i] * size, checked = 0, wrong = 0;
        if (quick && i % 3 != 2)
            continue;
        outcome = check_graph(&c, CUDA_CHECKED, bytes, grid, 5, quick ? 1 : 2, t, err);
        if (outcome == OUTCOME_OK && i % 2 == 0)
            outcome = check_graph(&c, CUDA_CHECKED_SKEWED, bytes, grid, 5, 1, t, err);
        if (outcome == OUTCOME_OK && straight_grid(setup->ranks, bytes, quick, &grid)) {
            outcome = check_graph(&c, CUDA_CHECKED, bytes, grid, 5, 2, t, err);
            if (outcome == OUTCOME_OK)
                outcome = check_graph(&c, CUDA_CHECKED_SKEWED, bytes, grid, 5, 1, t, err);
            if (outcome == OUTCOME_UNSUPPORTED) /* too many blocks for this GPU */
                outcome = OUTCOME_OK;
        }
        if (outcome == OUTCOME_OK && counts[i] <= 1003)
            outcome = cuda_comm_check_on_host(&c, bytes, grid, &checked, &wrong, err);
        if (wrong > 0)
            fprintf(stderr, "  %lld wrong by the host's oracle: %s at %lld bytes\n",
                    (long long)wrong, c.kernel_name, (long long)bytes);
        t->calls += checked > 0;
        t->wrong += wrong;
    }
    t->comms++;
    if (outcome == OUTCOME_OK)
        cuda_comm_close(&c);
    return outcome;
}

/* The device's data and sums are those of the host's oracle, bit for bit. */
static enum outcome check_reference(int64_t *wrong, struct err *err)
{
    enum { N = 4099 };
    static const enum dtype types[] = {DTYPE_bf16, DTYPE_fp16, DTYPE_fp32};
    char host[N * 4], device[N * 4];
    void *buffer;
    uint64_t *turn;
    CUDA_TRY(cudaMalloc(&buffer, N * 4));
    CUDA_TRY(cudaMalloc((void **)&turn, sizeof *turn));
    CUDA_TRY(cudaMemset(turn, 0, sizeof *turn));
    for (int k = 0; k < 3; k++) {
        struct kernels_data d = {.dtype = (enum kernels_dtype)k,
                                 .seed = 7,
                                 .turn = turn,
                                 .ranks = 3,
                                 .islands = 1,
                                 .count = N};
        struct oracle o = {ORACLE_FLOAT, types[k], 3, random_at(7, 0)};
        size_t bytes = (size_t)N * (size_t)dtype_bytes(types[k]);
        for (int r = 0; r < 3; r++) {
            oracle_fill(&o, r, N, host);
            CUDA_TRY(kernels_fill(&d, r, buffer, NULL));
            CUDA_TRY(cudaMemcpy(device, buffer, bytes, cudaMemcpyDeviceToHost));
            *wrong += memcmp(host, device, bytes) != 0;
        }
    }
    CUDA_TRY(cudaFree(buffer));
    CUDA_TRY(cudaFree(turn));
    return OUTCOME_OK;
}

static enum outcome check_kernel(const struct kernel *kernel, int host, int gpus, int quick,
                                 struct totals *t, struct err *err)
{
    for (int ranks = 2; ranks <= KERNELS_MAX_RANKS; ranks += quick ? 3 : 1)
        for (int d = 0; d < DTYPE_COUNT; d++) {
            uint64_t random = random_at((uint64_t)(ranks * 100 + d), (uint64_t)host);
            struct cuda_setup s = {
                .kernel = kernel,
                .host = host,
                .islands = 2 + (int)((random >> 20) % (ranks - 1 < 3 ? (uint64_t)ranks - 1 : 3)),
                .ranks = ranks,
                .dtype = (enum dtype)d,
                .in_place = (int)(random & 1),
                .misalign = random % 5 == 0,
                .max_bytes = counts[COUNTS - 1] * 4,
                .capacity_bytes = CAPACITY,
                .seed = random,
            };
            if ((quick || d != ranks % 3) && ranks > 8 && ranks != 16)
                continue;
            if (quick && d != ranks % 3)
                continue;
            for (int r = 0; r < ranks; r++)
                s.gpu[r] = r * (gpus < ranks ? gpus : ranks) / ranks;
            enum outcome outcome = check_comm(&s, quick, t, err);
            if (outcome != OUTCOME_OK) {
                fprintf(stderr, "%s/%s, %d ranks: %s\n", host ? "host" : "custom", kernel->name,
                        ranks, err->msg);
                return outcome;
            }
        }
    return OUTCOME_OK;
}

int main(int argc, char **argv)
{
    struct err err = {STATUS_OK, ""};
    int gpus = 0, failed = 0, quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    int64_t wrong = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        puts("no GPU here");
        return 77;
    }
    if (check_reference(&wrong, &err) != OUTCOME_OK) {
        fprintf(stderr, "reference: %s\n", err.msg);
        return 1;
    }
    printf("reference: %lld differences from the host's oracle\n", (long long)wrong);
    failed += wrong > 0;
    for (int k = 0; kernels[k].name != NULL; k++)
        for (int host = 0; host < 2; host++) {
            if (argc > 2 && strcmp(argv[2], kernels[k].name) != 0)
                continue;
            struct totals t = {0, 0, 0};
            enum outcome outcome = check_kernel(&kernels[k], host, gpus, quick, &t, &err);
            printf("%-6s %-12s %4ld communicators %6ld calls %lld wrong elements%s\n",
                   host ? "host" : "custom", kernels[k].name, t.comms, t.calls, (long long)t.wrong,
                   outcome == OUTCOME_OK ? "" : " FAILED");
            fflush(stdout);
            failed += t.wrong > 0 || outcome != OUTCOME_OK;
            if (outcome != OUTCOME_OK && outcome != OUTCOME_UNSUPPORTED)
                return 1; /* a CUDA error sticks */
        }
    printf("%s\n", failed ? "FAILED" : "passed");
    return failed > 0;
}
