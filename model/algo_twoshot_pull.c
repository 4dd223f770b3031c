/* Two-shot pull: a barrier, owners load their chunk from all; a second barrier, all load the sums.
 */
#include "model/schedule.h"

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    (void)island, (void)n_islands;
    schedule_start(s, ranks, ranks);
    for (int shot = 0; shot < 2; shot++) {
        schedule_round(s, ROUND_BARRIER, shot == 0 ? -1 : 0);
        for (int r = 0; r < ranks; r++)
            for (int k = 1; k < ranks; k++) {
                int from = (r + k) % ranks;
                schedule_flow(s, from, r, shot ? from : r, 1, shot ? FLOW_COPY : FLOW_ADD,
                              FLOW_READ);
            }
    }
}

const struct algorithm algo_twoshot_pull = {
    .name = "twoshot-pull",
    .doc = "owners load their share from all, all load the sums: 2n(N-1)/N in, two barriers",
    .staged = 1,
    .build = build,
};
