/* Two-shot push: every rank owns one of N chunks. All store their share of each chunk to its owner,
 * which sums while it polls and stores the sum to all. Two hops, no barrier, 2 (N - 1) / N out. */
#include "model/schedule.h"

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    (void)island, (void)n_islands;
    schedule_start(s, ranks, ranks);
    for (int shot = 0; shot < 2; shot++) {
        schedule_round(s, ROUND_INBAND, shot == 0 ? -1 : 0);
        for (int r = 0; r < ranks; r++)
            for (int k = 1; k < ranks; k++) {
                int to = (r + k) % ranks;
                schedule_flow(s, r, to, shot ? r : to, 1, shot ? FLOW_COPY : FLOW_ADD, FLOW_WRITE);
            }
    }
}

const struct algorithm algo_twoshot = {
    .name = "twoshot",
    .doc = "shares stored to owners, sums stored to all: two hops, 2n(N-1)/N out",
    .in_band = 1,
    .staged = 1,
    .build = build,
};
