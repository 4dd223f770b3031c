/* Speed of the serving simulation: a long steady state, and a day of 10,000 requests. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "model/draw.h"
#include "model/serve.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
    enum { RUNNING = 64, DRAWS = 100000000 };
    double steps[RUNNING];
    for (int i = 0; i < RUNNING; i++)
        steps[i] = 10000 + 300.0 * i;
    struct serve_engine e = {.max_running = RUNNING,
                             .num_steps = 3,
                             .reach = {0.8, 0.56, 0.34},
                             .step_us = steps,
                             .prefill_us_per_token = 20,
                             .prefill_chunk_tokens = 8192};
    struct serve_result r;
    struct err err;
    const int users[] = {1, 8, 64};
    for (int u = 0; u < 3; u++) {
        struct serve_workload w = {.arrival = SERVE_CLOSED,
                                   .n_requests = users[u],
                                   .concurrency = users[u],
                                   .prompt = {1, 0},
                                   .output = {2.0e8 / users[u] < 1e8 ? 2.0e8 / users[u] : 1e8, 0}};
        double t = now_s();
        if (serve_run(&e, &w, 1, &r, &err) != STATUS_OK)
            return 1;
        t = now_s() - t;
        printf("serve: steady state of %2d requests  %8.1f M request-cycles/s  %8.1f M cycles/s\n",
               users[u], (double)r.request_cycles / t / 1e6, (double)r.cycles / t / 1e6);
    }
    struct rng rng;
    rng_init(&rng, 1, 1);
    uint64_t sink = 0;
    double t = now_s();
    for (int i = 0; i < DRAWS; i++)
        sink ^= rng_next(&rng);
    t = now_s() - t;
    printf("serve: the generator alone           %8.1f M draws of 32 bits/s (%u)\n",
           2.0 * DRAWS / t / 1e6, (unsigned)(sink & 1));
    struct serve_workload day = {.arrival = SERVE_POISSON,
                                 .n_requests = 10000,
                                 .rate_per_s = 3,
                                 .prompt = {1000, 0.5},
                                 .output = {300, 0.8}};
    t = now_s();
    if (serve_run(&e, &day, 1, &r, &err) != STATUS_OK)
        return 1;
    t = now_s() - t;
    printf("serve: a day of 10,000 requests      %8.1f ms (%.0f request-cycles, %.1f running)\n",
           1e3 * t, (double)r.request_cycles, r.mean_running);
    return 0;
}
