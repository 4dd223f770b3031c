/* Islands: every island sums among its own ranks (each owning a part), owners of the same part swap
 * sums across islands, and every island hands the total round. Only n / (island size) a rank
 * crosses between islands. Islands may differ in size: parts are then cut so that all borders
 * coincide. */
#include "model/schedule.h"

static int gcd(int a, int b)
{
    return b == 0 ? a : gcd(b, a % b);
}

enum { MOST_ISLANDS = 64, MOST_CHUNKS = 1 << 20 };

static void build(struct schedule *s, int ranks, const int *island, int n_islands)
{
    int size[MOST_ISLANDS] = {0}, place[MOST_ISLANDS], chunks = 1;
    for (int r = 0; r < ranks; r++)
        place[r] = size[island[r]]++;
    for (int i = 0; i < n_islands; i++)
        if (chunks < MOST_CHUNKS / size[i])
            chunks = chunks / gcd(chunks, size[i]) * size[i];
        else
            n_islands = 1; /* sizes without a common measure: one island, plain two-shot */
    schedule_start(s, ranks, n_islands == 1 ? ranks : chunks);
    int all = n_islands == 1;
#define SIZE(r) (all ? ranks : size[island[r]])
#define OWN(r) ((all ? (r) : place[r]) * (s->n_chunks / SIZE(r)))
#define SHARE(r) (s->n_chunks / SIZE(r))
    int inside_round = -1; /* phases 0 and 2 move the same sizes between the same ranks */
    for (int phase = 0; phase < 3; phase++) {
        int any = 0;
        for (int r = 0; r < ranks; r++)
            for (int k = 1; k < ranks; k++) {
                int to = (r + k) % ranks, inside = all || island[r] == island[to];
                if (inside != (phase != 1))
                    continue;
                int first = phase == 0 ? OWN(to) : OWN(r),
                    count = phase == 0 ? SHARE(to) : SHARE(r);
                if (phase == 1) { /* what both own */
                    int begin = OWN(to) > first ? OWN(to) : first;
                    int end =
                        OWN(to) + SHARE(to) < first + count ? OWN(to) + SHARE(to) : first + count;
                    first = begin, count = end - begin;
                    if (count <= 0)
                        continue;
                }
                if (!any) {
                    int round = schedule_round(s, ROUND_INBAND, phase == 2 ? inside_round : -1);
                    if (phase == 0)
                        inside_round = round;
                }
                any = 1;
                schedule_flow(s, r, to, first, count, phase == 2 ? FLOW_COPY : FLOW_ADD,
                              FLOW_WRITE);
            }
    }
#undef SIZE
#undef OWN
#undef SHARE
}

const struct algorithm algo_hier = {
    .name = "hier",
    .doc = "islands: sum inside, swap across, hand round inside: three hops, little crosses",
    .in_band = 1,
    .staged = 1,
    .build = build,
};
