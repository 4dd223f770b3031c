/* One-shot push: everyone stores the whole message into everyone's buffer, polls its own, and sums.
 * One hop, no barrier, but (N - 1) times the message leaves every rank. */
#include "model/schedule.h"

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    (void)island, (void)n_islands;
    schedule_start(s, ranks, 1);
    schedule_round(s, ROUND_INBAND, -1);
    for (int r = 0; r < ranks; r++)
        for (int k = 1; k < ranks; k++)
            schedule_flow(s, r, (r + k) % ranks, 0, 1, FLOW_ADD, FLOW_WRITE);
}

const struct algorithm algo_oneshot = {
    .name = "oneshot",
    .doc = "everyone stores all of it to everyone: one hop, (N-1)n out",
    .in_band = 1,
    .staged = 1,
    .build = build,
};
