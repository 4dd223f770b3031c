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

/* The tree grows best node first. A frontier entry is the best child of a kept node, or the next
 * sibling of one: believed reach only falls along both, so the entry of highest belief is the best
 * node that is left. A kept node adds at most two entries, so the frontier stays as small as the
 * budget. */
enum { MAX_TREE = 1024 };

struct tree_node {
    double belief;       /* believed reach, orders the tree */
    double reach;        /* of this node, by the target */
    double parent_reach; /* of its parent */
    double missed;       /* probability that no sibling before it was accepted */
    double parent_belief;
    int depth, rank;
};

static void frontier_push(struct tree_node *heap, int *n, struct tree_node x)
{
    int i = (*n)++;
    for (; i > 0 && heap[(i - 1) / 2].belief < x.belief; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = x;
}

static struct tree_node frontier_pop(struct tree_node *heap, int *n)
{
    struct tree_node top = heap[0], last = heap[--*n];
    int i = 0;
    for (;;) {
        int c = 2 * i + 1;
        if (c >= *n)
            break;
        if (c + 1 < *n && heap[c + 1].belief > heap[c].belief)
            c++;
        if (heap[c].belief <= last.belief)
            break;
        heap[i] = heap[c];
        i = c;
    }
    heap[i] = last;
    return top;
}

static struct tree_node best_child(double belief, double reach, int depth, double p)
{
    return (struct tree_node){.belief = belief * ACCEPT_TREE_BELIEF,
                              .reach = reach * p,
                              .parent_reach = reach,
                              .missed = 1 - p,
                              .parent_belief = belief,
                              .depth = depth,
                              .rank = 0};
}

static double grow(const double *p, int n, double decay, int k, int topk, int tokens,
                   int *per_depth, int *kept)
{
    struct tree_node heap[MAX_TREE + 2];
    int n_heap = 0, budget = tokens - 1 < MAX_TREE ? tokens - 1 : MAX_TREE;
    double sum = 1;
    *kept = 0;
    if (k < 1)
        return 1;
    frontier_push(heap, &n_heap, best_child(1, 1, 1, acceptance_at(p, n, decay, 1)));
    while (n_heap > 0 && *kept < budget) {
        struct tree_node x = frontier_pop(heap, &n_heap);
        sum += x.reach;
        ++*kept;
        if (per_depth != NULL)
            per_depth[x.depth - 1]++;
        if (x.depth < k)
            frontier_push(heap, &n_heap,
                          best_child(x.belief, x.reach, x.depth + 1,
                                     acceptance_at(p, n, decay, x.depth + 1)));
        if (x.rank + 1 < topk) {
            struct tree_node next = x;
            next.rank++;
            next.belief = x.belief * ACCEPT_TREE_BELIEF_RATIO;
            next.reach = x.parent_reach * x.missed * ACCEPT_TREE_SIBLING_CATCH;
            next.missed = x.missed * (1 - ACCEPT_TREE_SIBLING_CATCH);
            frontier_push(heap, &n_heap, next);
        }
    }
    return sum;
}

double acceptance_tree_tokens(const double *p, int n, double decay, int k, int topk, int tokens)
{
    if (topk <= 1)
        return acceptance_chain_tokens(p, n, decay, k < tokens - 1 ? k : tokens - 1);
    int kept;
    double sum = grow(p, n, decay, k, topk, tokens, NULL, &kept);
    return sum < k + 1 ? sum : k + 1;
}

int acceptance_tree_shape(int k, int topk, int tokens, int *per_depth)
{
    const double any = 0.5;
    int kept;
    for (int i = 0; i < k; i++)
        per_depth[i] = 0;
    (void)grow(&any, 1, 1, k, topk, tokens, per_depth, &kept);
    return kept;
}

static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

double acceptance_at_temperature(double p, double from, double to)
{
    const double loss = 0.035;
    return clamp01(p * (1 - loss * to) / (1 - loss * from));
}

double acceptance_relaxed(double p, double share)
{
    return clamp01(p + share * (1 - p));
}

int acceptance_mix(const double *const *lists, const int *n, const double *share, int n_sets,
                   double decay, int k, double *p)
{
    /* A set that emits a share of the tokens runs share / E of the cycles. Unconditional reach
     * mixes by cycles; the conditional probability is the quotient of successive mixed reaches. */
    double total = 0, before;
    for (int s = 0; s < n_sets; s++) {
        if (!(share[s] >= 0))
            return -1;
        total += share[s];
    }
    if (!(total > 0))
        return -1;
    before = 0;
    for (int s = 0; s < n_sets; s++)
        before += share[s] / acceptance_chain_tokens(lists[s], n[s], decay, k);
    for (int i = 1; i <= k; i++) {
        double now = 0;
        for (int s = 0; s < n_sets; s++) {
            double reach = 1;
            for (int j = 1; j <= i; j++)
                reach *= acceptance_at(lists[s], n[s], decay, j);
            now += share[s] / acceptance_chain_tokens(lists[s], n[s], decay, k) * reach;
        }
        p[i - 1] = before > 0 ? now / before : 0;
        before = now;
    }
    return 0;
}
