/* Max-min fair rates: flows share resources so that no flow can gain without one that has no more
 * losing. Progressive filling: all rates rise together; where a resource is full, its flows stop.
 *
 * D. Bertsekas, R. Gallager, Data Networks, 2nd ed. (1992), 6.5.2, with weights: a flow of rate x
 * takes weight * x of each of its resources.
 */
#ifndef UPDRAFT_MODEL_MAXMIN_H
#define UPDRAFT_MODEL_MAXMIN_H

struct maxmin {
    int n_flows, n_resources;
    int levels; /* stop when so many levels are found, slowest first; 0: find all */
    /* Flow i uses resource[start[i]] .. resource[start[i + 1] - 1], with the weights beside them
     * (> 0). Every flow uses at least one. */
    const int *start, *resource;
    const double *weight;
    const double *capacity; /* of each resource, > 0 */
    double *load;           /* scratch, n_resources */
    double *active;         /* scratch, n_resources */
    double
        *rate; /* out: of each flow, in the unit of the capacities; not found: of the last level */
    int *binding; /* out: the resource that stopped each flow; not found: -1 */
};
void maxmin_solve(struct maxmin *m);

#endif
