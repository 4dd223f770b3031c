/* How many tokens a cycle emits. Chains and trees; free of GSL.
 *
 * Position i (1-based) of a chain is accepted with conditional probability p_i, given that those
 * before it were. Expected tokens of a cycle, bonus token included: E = 1 + sum_i prod_{j<=i} p_j.
 */
#ifndef UPDRAFT_MODEL_ACCEPTANCE_H
#define UPDRAFT_MODEL_ACCEPTANCE_H

/* p[0..n-1] by position; beyond the list the last one falls by `decay` (0..1) per position. */
double acceptance_at(const double *p, int n, double decay, int position);

/* Expected tokens per cycle of a chain of k drafts: 1..k+1. */
double acceptance_chain_tokens(const double *p, int n, double decay, int k);

/* Expected tokens per cycle of a tree: k steps, topk branches, at most `tokens` verified (root
 * included), the most probable nodes kept as EAGLE-2 does (arXiv 2406.16858, section 4.2).
 * p_i is the probability that one of the topk children is accepted; its share among the children
 * falls geometrically. Never below the chain of the same budget, never above k + 1. */
double acceptance_tree_tokens(const double *p, int n, double decay, int k, int topk, int tokens);

#endif
