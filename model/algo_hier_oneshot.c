/* Islands, one-shot: everyone stores all of it to everyone of its island, and then its island's sum
 * to one rank of every other island. Two hops where hier has three, for (m - 1) n + (k - 1) n bytes
 * out of every rank, m being the ranks of an island and k the islands. Where islands differ in
 * size, a rank of the smaller island serves several of the larger. */
#include "model/schedule.h"

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    int size[SCHEDULE_MAX_RANKS] = {0}, place[SCHEDULE_MAX_RANKS];
    int member[SCHEDULE_MAX_RANKS][SCHEDULE_MAX_RANKS];
    for (int r = 0; r < ranks; r++) {
        place[r] = size[island[r]]++;
        member[island[r]][place[r]] = r;
    }
    schedule_start(s, ranks, 1);
    for (int across = 0; across < 2; across++) {
        int any = 0;
        for (int to = 0; to < ranks; to++)
            for (int k = 0; k < (across ? n_islands : size[island[to]]); k++) {
                int from = across ? member[k][place[to] % size[k]] : member[island[to]][k];
                if (from == to || (across && k == island[to]))
                    continue;
                if (!any)
                    schedule_round(s, ROUND_INBAND, -1);
                any = 1;
                schedule_flow(s, from, to, 0, 1, FLOW_ADD, FLOW_WRITE);
            }
    }
}

const struct algorithm algo_hier_oneshot = {
    .name = "hier-oneshot",
    .doc = "islands: everyone to everyone inside, sums across: two hops, (m-1)n + (k-1)n out",
    .in_band = 1,
    .staged = 1,
    .build = build,
};
