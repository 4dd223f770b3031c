/* Times the allreduce kernels over grids of blocks and threads in a replayed graph, and prints the
 * best of each: the table of docs/kernels.md. `bench_kernels [CHAIN]`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/cuda_comm.h"

static const int64_t sizes[] = {8, 1024, 14336, 43008, 131072, 1048576};
static const int rank_counts[] = {8, 2, 4};
static const int block_counts[] = {1, 2, 4, 6, 8, 11, 16, 22, 32, 42, 64, 84};
static const int thread_counts[] = {64, 128, 256, 512};
enum { BEST = 4, REPLAYS = 7 };

struct timed {
    struct cuda_grid grid;
    double us, min_us;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum outcome time_grid(struct cuda_comm *c, int64_t bytes, struct timed *t, int chain,
                              struct err *err)
{
    double us[REPLAYS];
    enum outcome outcome = cuda_comm_capture(c, CUDA_CALLS, bytes, t->grid, chain, 0, err);
    for (int i = -1; i < REPLAYS && outcome == OUTCOME_OK; i++)
        outcome = cuda_comm_replay(c, &us[i < 0 ? 0 : i], err);
    if (outcome != OUTCOME_OK)
        return outcome;
    qsort(us, REPLAYS, sizeof us[0], by_value);
    t->us = us[REPLAYS / 2] / chain;
    t->min_us = us[0] / chain;
    return OUTCOME_OK;
}

static enum outcome bench(const struct cuda_setup *s, int chain, struct err *err)
{
    struct cuda_comm c;
    enum outcome outcome = cuda_comm_open(&c, s, err);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0] && outcome == OUTCOME_OK; i++) {
        struct timed best[BEST];
        int n = 0, calls = s->host && sizes[i] > 100000 ? 4 : sizes[i] > 100000 ? chain / 4 : chain;
        for (unsigned b = 0; b < sizeof block_counts / sizeof block_counts[0]; b++)
            for (unsigned h = 0; h < sizeof thread_counts / sizeof thread_counts[0]; h++) {
                struct timed t = {{block_counts[b], thread_counts[h]}, 0, 0};
                int64_t packs = (sizes[i] + 15) / 16, threads = t.grid.blocks * t.grid.threads;
                if (threads >= 4 * s->ranks * packs && b > 0)
                    continue;
                if (threads * 24 < packs || (s->host && h == 0))
                    continue;
                outcome = time_grid(&c, sizes[i], &t, calls, err);
                if (outcome == OUTCOME_UNSUPPORTED)
                    continue;
                if (outcome != OUTCOME_OK)
                    return outcome;
                int at = n < BEST ? n++ : t.us < best[BEST - 1].us ? BEST - 1 : -1;
                if (at < 0)
                    continue;
                best[at] = t;
                for (; at > 0 && best[at].us < best[at - 1].us; at--) {
                    struct timed swap = best[at];
                    best[at] = best[at - 1];
                    best[at - 1] = swap;
                }
            }
        printf("%-6s %-12s %2d ranks %8lld bytes", s->host ? "host" : "custom", s->kernel->name,
               s->ranks, (long long)sizes[i]);
        for (int k = 0; k < n; k++)
            printf("  %8.3f us %2dx%-3d", best[k].us, best[k].grid.blocks, best[k].grid.threads);
        printf("\n");
        fflush(stdout);
        outcome = OUTCOME_OK;
    }
    cuda_comm_close(&c);
    return outcome;
}

int main(int argc, char **argv)
{
    struct err err = {STATUS_OK, ""};
    int chain = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 122, gpus = 0;
    int only_host = argc > 2 ? (int)strtol(argv[2], NULL, 10) : -1;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        puts("no GPU here");
        return 77;
    }
    for (unsigned n = 0; n < sizeof rank_counts / sizeof rank_counts[0]; n++)
        for (int k = 0; kernels[k].name != NULL; k++)
            for (int host = 0; host < 2; host++) {
                struct cuda_setup s = {
                    .kernel = &kernels[k],
                    .host = host,
                    .islands = 2,
                    .ranks = rank_counts[n],
                    .dtype = DTYPE_bf16,
                    .max_bytes = 1048576,
                };
                if (only_host >= 0 && host != only_host)
                    continue;
                for (int r = 0; r < s.ranks; r++)
                    s.gpu[r] = r * (gpus < s.ranks ? gpus : s.ranks) / s.ranks;
                if (bench(&s, chain, &err) != OUTCOME_OK) {
                    fprintf(stderr, "%s: %s\n", kernels[k].name, err.msg);
                    return 1;
                }
            }
    return 0;
}
