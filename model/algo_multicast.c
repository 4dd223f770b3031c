/* Multicast: owners load the sum of their chunk, which the NVSwitch makes, and store it to all by
 * one multicast. Barriers before and after. */
#include "model/schedule.h"

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    (void)island, (void)n_islands;
    schedule_start(s, ranks, ranks);
    for (int shot = 0; shot < 2; shot++) {
        schedule_round(s, shot ? ROUND_FLAG : ROUND_BARRIER, -1);
        for (int r = 0; r < ranks; r++)
            for (int k = 1; k < ranks; k++) {
                int other = (r + k) % ranks;
                if (shot)
                    schedule_flow(s, r, other, r, 1, FLOW_COPY, FLOW_MULTICAST);
                else
                    schedule_flow(s, other, r, r, 1, FLOW_ADD, FLOW_REDUCE);
            }
    }
}

const struct algorithm algo_multicast = {
    .name = "multicast",
    .doc = "the NVSwitch sums and multicasts: n out and in, two barriers",
    .multicast = 1,
    .build = build,
};
