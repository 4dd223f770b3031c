/* Flag ping-pong between two threads of the host: half the round trip of a cache line that one
 * thread writes and the other polls. Needs no GPU; the bound for anything that goes through host
 * memory between two processes. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "measure/probe.h"

enum { ROUNDS = 200, SPINS_BEFORE_YIELD = 200, WARMUP = 3 };

struct lines {
    _Alignas(64) atomic_int ping;
    _Alignas(64) atomic_int pong;
    _Alignas(64) int rounds;
};

static void wait_for(atomic_int *flag, int value)
{
    for (int spins = 0; atomic_load_explicit(flag, memory_order_acquire) != value; spins++)
        if (spins >= SPINS_BEFORE_YIELD)
            sched_yield();
}

static void *answer(void *arg)
{
    struct lines *l = arg;
    for (int i = 1; i <= l->rounds; i++) {
        wait_for(&l->ping, i);
        atomic_store_explicit(&l->pong, i, memory_order_release);
    }
    return NULL;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int case_at(int index, const struct backend_host *host, struct probe_case *out)
{
    (void)host;
    if (index > 0)
        return 0;
    out->quick = 1;
    out->record.what = WHAT_p2p_write_latency;
    out->record.ranks = 2;
    out->record.size_bytes = 4;
    snprintf(out->record.placement, sizeof out->record.placement, "host threads");
    snprintf(out->record.method, sizeof out->record.method, "ping-pong");
    return 1;
}

static enum outcome begin(void **context, const struct backend_host *host, struct err *err)
{
    (void)host;
    struct lines *l = aligned_alloc(64, sizeof *l);
    if (l == NULL) {
        err_set(err, STATUS_FAILED, "out of memory");
        return OUTCOME_OOM;
    }
    *context = l;
    return OUTCOME_OK;
}

static enum outcome run(void *context, const struct probe_case *c, int iterations, struct result *r,
                        struct err *err)
{
    (void)c;
    struct lines *l = context;
    pthread_t thread;
    int n = iterations < r->cap ? iterations : r->cap;
    atomic_init(&l->ping, 0);
    atomic_init(&l->pong, 0);
    l->rounds = (n + WARMUP) * ROUNDS;
    if (pthread_create(&thread, NULL, answer, l) != 0) {
        err_set(err, STATUS_FAILED, "cannot start a thread");
        return OUTCOME_FAILED;
    }
    int round = 0;
    for (int i = -WARMUP; i < n; i++) {
        double start = now_us();
        for (int k = 0; k < ROUNDS; k++) {
            atomic_store_explicit(&l->ping, ++round, memory_order_release);
            wait_for(&l->pong, round);
        }
        if (i >= 0)
            r->samples[r->n++] = (now_us() - start) / (2.0 * ROUNDS);
    }
    pthread_join(thread, NULL);
    return OUTCOME_OK;
}

static void end(void *context)
{
    free(context);
}

const struct probe probe_cpu_pingpong = {
    .id = "cpu_pingpong",
    .summary = "flag ping-pong between two host threads",
    .backend = "cpu",
    .case_at = case_at,
    .begin = begin,
    .run = run,
    .end = end,
};
