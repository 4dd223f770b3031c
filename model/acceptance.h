/* How many tokens a cycle emits. Chains and trees, mixes of data sets, temperature and relaxed
 * acceptance; free of GSL. docs/model.md derives the formulas.
 *
 * Position i (1-based) of a chain is accepted with conditional probability p_i, given that those
 * before it were. Expected tokens of a cycle, bonus token included: E = 1 + sum_i prod_{j<=i} p_j.
 */
#ifndef UPDRAFT_MODEL_ACCEPTANCE_H
#define UPDRAFT_MODEL_ACCEPTANCE_H

/* Conditional acceptance falls with depth: p_i = first * exp(-fall * (i - 1)). Where only shallow
 * lengths were measured, this is the prior for `fall`: the fitted values of published chains
 * (EAGLE, EAGLE-3, MTP; docs/accuracy.md) lie between 0.01 and 0.13. */
#define ACCEPT_FALL_MEAN 0.05
#define ACCEPT_FALL_SD 0.02

/* A tree's shape follows the draft's beliefs and its worth the target's choices. An engine keeps
 * the nodes of highest believed reach; the draft believes its best child at BELIEF and each next
 * sibling at BELIEF_RATIO of the one before. Of what the best child misses, the next sibling
 * catches SIBLING_CATCH, the one after that the same share of the rest. From 120 published trees
 * whose chains are known: mean error 8 %, one in twenty beyond 20 % (ACCEPT_TREE_SIGMA). */
#define ACCEPT_TREE_BELIEF 0.5
#define ACCEPT_TREE_BELIEF_RATIO 0.4
#define ACCEPT_TREE_SIBLING_CATCH 0.2
#define ACCEPT_TREE_SIGMA 0.1

/* p[0..n-1] by position; beyond the list the last one falls by `decay` (0..1) per position. */
double acceptance_at(const double *p, int n, double decay, int position);

/* Expected tokens per cycle of a chain of k drafts: 1..k+1. */
double acceptance_chain_tokens(const double *p, int n, double decay, int k);

/* Expected tokens per cycle of a tree: k steps, topk branches, at most `tokens` verified (root
 * included). p_i is the probability that the draft's best child at depth i is accepted. With topk 1
 * it is the chain of min(k, tokens - 1). Never above k + 1. */
double acceptance_tree_tokens(const double *p, int n, double decay, int k, int topk, int tokens);

/* Nodes that such a tree keeps at each depth 1..k, the root excluded, into per_depth[0..k-1];
 * returns their sum, at most tokens - 1. */
int acceptance_tree_shape(int k, int topk, int tokens, int *per_depth);

/* The conditional probabilities at temperature `to` of a draft measured at `from` (0 greedy .. 1).
 * Sampling makes the target less predictable: from temperature 0 to 1 the published EAGLE and
 * EAGLE-3 figures lose 3.5 % of each conditional probability (1.5 .. 9 % by data set). */
double acceptance_at_temperature(double p, double from, double to);

/* Relaxed acceptance takes `share` of the drafts that exact acceptance rejects (top-k with a
 * probability margin): p + share * (1 - p). It changes the output distribution. */
double acceptance_relaxed(double p, double share);

/* One chain for a mix of n_sets data sets. lists[s] holds n[s] conditional probabilities, which
 * fall by decay beyond; share[s] is the set's share of the emitted tokens (any positive scale).
 * Writes k conditional probabilities: those of the mixed cycles, so that their chain's expected
 * tokens are the mix's tokens over the mix's cycles. Returns 0, or -1 where a share is negative or
 * all are 0. */
int acceptance_mix(const double *const *lists, const int *n, const double *share, int n_sets,
                   double decay, int k, double *p);

#endif
