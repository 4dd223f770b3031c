/* Binary tree: sums rise to rank 0, level by level, and come down again; chunks follow each other,
 * so the links of all levels work at the same time. */
#include "model/schedule.h"

static int depth(int rank)
{
    int d = 0;
    for (; rank > 0; rank = (rank - 1) / 2)
        d++;
    return d;
}

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    (void)island, (void)n_islands;
    schedule_start(s, ranks, 1);
    s->pipelined = 1;
    int levels = depth(ranks - 1);
    for (int up = 1; up >= 0; up--)
        for (int i = 0; i < levels; i++) {
            int level = up ? levels - i : i + 1;
            schedule_round(s, ROUND_INBAND, -1);
            for (int r = 1; r < ranks; r++) {
                if (depth(r) != level)
                    continue;
                if (up)
                    schedule_flow(s, r, (r - 1) / 2, 0, 1, FLOW_ADD, FLOW_WRITE);
                else
                    schedule_flow(s, (r - 1) / 2, r, 0, 1, FLOW_COPY, FLOW_WRITE);
            }
        }
}

const struct algorithm algo_tree = {
    .name = "tree",
    .doc = "binary tree up and down, chunks pipelined: 2 log2 N rounds",
    .in_band = 1,
    .staged = 1,
    .build = build,
};
