/* Chain: NCCL's tree inside one node. Sums run from the last rank to the first and back, chunks
 * pipelined; as many hops as the ring has, each link carrying the whole message. */
#include "model/schedule.h"

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    (void)island, (void)n_islands;
    schedule_start(s, ranks, 1);
    s->pipelined = 1;
    for (int r = ranks - 1; r > 0; r--) {
        schedule_round(s, ROUND_INBAND, -1);
        schedule_flow(s, r, r - 1, 0, 1, FLOW_ADD, FLOW_WRITE);
    }
    for (int r = 0; r < ranks - 1; r++) {
        schedule_round(s, ROUND_INBAND, -1);
        schedule_flow(s, r, r + 1, 0, 1, FLOW_COPY, FLOW_WRITE);
    }
}

const struct algorithm algo_chain = {
    .name = "chain",
    .doc = "along the ranks and back, chunks pipelined: NCCL's tree inside one node",
    .in_band = 1,
    .build = build,
};
