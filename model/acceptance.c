#include "model/acceptance.h"

#include <math.h>
#include <stddef.h>

double acceptance_at(const double *p, int n, double decay, int position)
{
    if (n < 1)
        return 0;
    if (position <= n)
        return p[position - 1];
    double x = p[n - 1];
    for (int i = n; i < position; i++)
        x *= decay;
    return x;
}

double acceptance_chain_tokens(const double *p, int n, double decay, int k)
{
    double tokens = 1, reach = 1;
    for (int i = 1; i <= k && reach > 0; i++) {
        reach *= acceptance_at(p, n, decay, i);
        tokens += reach;
    }
    return tokens;
}

/* Share of a step's acceptance that falls on its child number `child` (0-based) of topk. The draft
 * ranks its children: the best one carries most, the next ones a falling rest. */
static double child_share(int child, int topk)
{
    const double ratio = 0.35;
    double norm = (1 - pow(ratio, topk)) / (1 - ratio);
    return pow(ratio, child) / norm;
}

double acceptance_tree_tokens(const double *p, int n, double decay, int k, int topk, int tokens)
{
    if (topk <= 1)
        return acceptance_chain_tokens(p, n, decay, k < tokens - 1 ? k : tokens - 1);
    /* Nodes of each depth by reach probability; greedily keep the tokens - 1 most probable. A
     * node's reach is a product of shares, so a depth's nodes are few distinct values; keep topk
     * per depth, as the engines' beam does. */
    enum { MAX_NODES = 1024, MAX_TOPK = 64 };
    double beam[MAX_TOPK] = {1}, all[MAX_NODES];
    int n_beam = 1, n_all = 0;
    if (topk > MAX_TOPK)
        topk = MAX_TOPK;
    for (int depth = 1; depth <= k; depth++) {
        double next[MAX_TOPK], step = acceptance_at(p, n, decay, depth);
        int n_next = 0;
        for (int b = 0; b < n_beam; b++)
            for (int c = 0; c < topk; c++) {
                /* p is what the best child alone reaches; siblings add from what it leaves. */
                double share = child_share(c, topk) / child_share(0, topk);
                double reach = beam[b] * (c == 0 ? step : (1 - step) * step * share);
                if (n_all < MAX_NODES)
                    all[n_all++] = reach;
                int at = n_next < topk ? n_next++ : topk;
                for (; at > 0 && next[at - 1] < reach; at--)
                    if (at < topk)
                        next[at] = next[at - 1];
                if (at < topk)
                    next[at] = reach;
            }
        for (int b = 0; b < n_next; b++)
            beam[b] = next[b];
        n_beam = n_next;
    }
    double sum = 1;
    for (int i = 0; i < tokens - 1 && n_all > 0; i++) {
        int best = 0;
        for (int j = 1; j < n_all; j++)
            if (all[j] > all[best])
                best = j;
        sum += all[best];
        all[best] = all[--n_all];
    }
    return sum < k + 1 ? sum : k + 1;
}
