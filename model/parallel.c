#include "model/parallel.h"

#include <pthread.h>
#include <sched.h>

struct job {
    void (*fn)(void *ctx, size_t begin, size_t end);
    void *ctx;
    size_t begin, end;
};

static void *run(void *arg)
{
    struct job *job = arg;
    job->fn(job->ctx, job->begin, job->end);
    return NULL;
}

void parallel_for(int threads, size_t n, void (*fn)(void *ctx, size_t begin, size_t end), void *ctx)
{
    if (threads > PARALLEL_MAX_THREADS)
        threads = PARALLEL_MAX_THREADS;
    if (threads < 2 || n < 2) {
        fn(ctx, 0, n);
        return;
    }
    if ((size_t)threads > n)
        threads = (int)n;
    struct job jobs[PARALLEL_MAX_THREADS];
    pthread_t ids[PARALLEL_MAX_THREADS];
    int started[PARALLEL_MAX_THREADS] = {0};
    size_t share = n / (size_t)threads, rest = n % (size_t)threads, at = 0;
    for (int t = 0; t < threads; t++) {
        size_t len = share + ((size_t)t < rest ? 1 : 0);
        jobs[t] = (struct job){fn, ctx, at, at + len};
        at += len;
        if (t > 0)
            started[t] = pthread_create(&ids[t], NULL, run, &jobs[t]) == 0;
    }
    for (int t = 0; t < threads; t++)
        if (!started[t])
            run(&jobs[t]);
    for (int t = 0; t < threads; t++)
        if (started[t])
            pthread_join(ids[t], NULL);
}

int parallel_default_threads(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 1 ? 1 : n > PARALLEL_MAX_THREADS ? PARALLEL_MAX_THREADS : n;
}
