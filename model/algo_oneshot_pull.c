/* One-shot pull: a barrier says that the inputs are there, then everyone loads everyone's input. */
#include "model/schedule.h"

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    (void)island, (void)n_islands;
    schedule_start(s, ranks, 1);
    schedule_round(s, ROUND_BARRIER, -1);
    for (int r = 0; r < ranks; r++)
        for (int k = 1; k < ranks; k++)
            schedule_flow(s, (r + k) % ranks, r, 0, 1, FLOW_ADD, FLOW_READ);
}

const struct algorithm algo_oneshot_pull = {
    .name = "oneshot-pull",
    .doc = "a barrier, then everyone loads everyone's input: (N-1)n in",
    .staged = 1,
    .build = build,
};
