/* Where the GPUs hang, and whether this process may run next to them. */
#include "measure/check.h"

static void run(const struct machine *m, struct findings *found)
{
    int per_node[MAX_GPUS] = {0}, used = 0, unplaced = 0;
    if (m->numa_nodes < 2)
        return;
    for (int i = 0; i < m->n_gpus; i++) {
        int node = m->gpu[i].numa_node;
        if (node < 0)
            unplaced++;
        else if (node < MAX_GPUS && per_node[node]++ == 0)
            used++;
    }
    if (unplaced > 0)
        find(found, LEVEL_NOTICE, "", "a BIOS update may add the table that says it",
             "%d GPU%s without a NUMA node on a machine of %d nodes", unplaced,
             unplaced == 1 ? "" : "s", m->numa_nodes);
    for (int node = 0; node < MAX_GPUS; node++)
        if (per_node[node] > 0 && m->numa_cores[node] == 0)
            find(found, LEVEL_FAULT, "",
                 "widen the affinity: numactl, taskset or the container's cpuset",
                 "%d GPU%s on node %d, but this process may use no core of that node",
                 per_node[node], per_node[node] == 1 ? " is" : "s are", node);
    if (used > 1)
        find(found, LEVEL_NOTICE, "",
             "pin each rank's process to its GPU's node; try hier and NCCL_P2P_LEVEL=SYS, and "
             "measure "
             "contention between the halves",
             "the GPUs hang on %d NUMA nodes: what goes between them crosses the socket link",
             used);
}

const struct check check_numa = {
    .id = "numa",
    .title = "NUMA placement",
    .why =
        "A host thread on the wrong socket adds to every launch; traffic between sockets has less "
        "bandwidth, and on some boxes collapses.",
    .run = run,
};
