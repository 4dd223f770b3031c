/* Nanoseconds of one evaluate(), on the shipped case with a fitted table for its allreduce. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model/draw.h"
#include "model/evaluate.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct cost table(void)
{
    struct cost c = {.impl = "nccl/ring/ll", .collective = "allreduce", .ranks = 8};
    c.form = COST_TABLE;
    c.n_knots = 20;
    for (int i = 0; i < c.n_knots; i++) {
        c.knot_x[i] = 8 + i;
        c.knot_y[i] = log(24 + exp2(i) * 1e-3);
        c.knot_slope[i] = 0.1;
    }
    c.min_bytes = 256;
    c.max_bytes = exp2(27);
    c.rel_sigma = 0.05;
    return c;
}

int main(void)
{
    enum { N = 1000000 };
    struct cost c = table();
    struct costs costs = {&c, 1, 1};
    struct scenario s, world;
    struct outcome o;
    scenario_init(&s);
    s.ranks = 8;
    s.model.layers = 61;
    s.model.hidden = 7168;
    s.model.vocab = 163840;
    s.model.experts = 384;
    s.model.experts_per_token = 8;
    s.model.dense_weight_bytes.value = 2e10;
    s.model.expert_weight_bytes.value = 1.48e9;
    s.hardware.mem_bw_gb_per_s = 1792;
    strcpy(s.allreduce.impl, "nccl/ring/ll");
    strcpy(s.draft.method, "eagle3");
    s.draft.num_steps = 3;
    s.draft.accept_rate = (struct qty_list){.n = 3, .v = {0.8, 0.7, 0.6}};
    s.baseline.tokens_per_s = (struct qty){86, 82, 90, 1, 0};
    if (scenario_bind(&s, &costs, NULL) != STATUS_OK)
        return 1;
    scenario_anchor(&s);
    double sum = 0, start = now();
    for (int i = 0; i < N; i++) {
        s.batch = 1 + (i & 31);
        evaluate(&s, &o);
        sum += o.speedup;
    }
    double evaluated = now();
    for (int i = 0; i < N / 10; i++) {
        scenario_draw(&s, 1, (uint64_t)i, &world);
        sum += world.baseline.tokens_per_s.value;
    }
    double drawn = now();
    printf("evaluate: %.0f ns each (to reach: 1000), one thread\n", (evaluated - start) / N * 1e9);
    printf("scenario_draw: %.0f ns each, one thread\n", (drawn - evaluated) / (N / 10) * 1e9);
    return sum > 0 ? 0 : 1;
}
