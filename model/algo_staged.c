/* Staged: two-shot with one outbound and one inbound stream a rank at any time. Step k stores to
 * the rank k further on; a fence and a flag end each of the two phases. No all-to-all, no fan-out.
 */
#include "model/schedule.h"

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    (void)island, (void)n_islands;
    schedule_start(s, ranks, ranks);
    for (int shot = 0; shot < 2; shot++)
        for (int k = 1; k < ranks; k++) {
            schedule_round(s, ROUND_INBAND, shot == 0 ? -1 : k - 1);
            for (int r = 0; r < ranks; r++) {
                int to = (r + k) % ranks;
                schedule_flow(s, r, to, shot ? r : to, 1, shot ? FLOW_COPY : FLOW_ADD, FLOW_WRITE);
            }
        }
}

const struct algorithm algo_staged = {
    .name = "staged",
    .doc = "two-shot, one stream out and one in at a time: 2(N-1) rounds",
    .in_band = 1,
    .staged = 1,
    .build = build,
};
