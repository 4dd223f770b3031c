/* Ring: N - 1 rounds sum each of N chunks on its way round, N - 1 more hand the sums on. Every link
 * carries 2 (N - 1) / N of the message; the latency is 2 (N - 1) neighbour hops. */
#include "model/schedule.h"

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    (void)island, (void)n_islands;
    schedule_start(s, ranks, ranks);
    s->neighbours = 1;
    for (int step = 0; step < 2 * (ranks - 1); step++) {
        schedule_round(s, ROUND_INBAND, step == 0 ? -1 : 0);
        for (int r = 0; r < ranks; r++)
            schedule_flow(s, r, (r + 1) % ranks, (r - step + 2 * ranks) % ranks, 1,
                          step < ranks - 1 ? FLOW_ADD : FLOW_COPY, FLOW_WRITE);
    }
}

const struct algorithm algo_ring = {
    .name = "ring",
    .doc = "chunks summed round a ring, then handed on: 2(N-1) rounds of 1/N",
    .in_band = 1,
    .staged = 1,
    .build = build,
};
