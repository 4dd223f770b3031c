/* Leaders: one rank of every island loads and sums its island's inputs, leaders load each other's
 * sums, and every rank loads the total from its leader. Few connections, and little parallel: a
 * leader serves and loads for all. */
#include "model/schedule.h"

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    int leader[SCHEDULE_MAX_RANKS];
    for (int r = ranks - 1; r >= 0; r--)
        leader[island[r]] = r;
    schedule_start(s, ranks, 1);
    for (int phase = 0; phase < 3; phase++) {
        int any = 0;
        for (int to = 0; to < ranks; to++)
            for (int from = 0; from < ranks; from++) {
                int up = leader[island[to]] == to, down = leader[island[from]] == from;
                int inside = island[to] == island[from];
                if (from == to || (phase == 0 && !(inside && up)) ||
                    (phase == 1 && !(up && down)) || (phase == 2 && !(inside && down)))
                    continue;
                if (!any)
                    schedule_round(s, ROUND_BARRIER, -1);
                any = 1;
                schedule_flow(s, from, to, 0, 1, phase == 2 ? FLOW_COPY : FLOW_ADD, FLOW_READ);
            }
    }
    (void)n_islands;
}

const struct algorithm algo_leaders = {
    .name = "leaders",
    .doc = "islands by their leaders: in, across, out; a leader serves (m-1)n + (k-1)n",
    .staged = 1,
    .build = build,
};
