/* Can every GPU write to and read from every other? */
#include "measure/check.h"

static const char todo[] =
    "without it NCCL bounces through host memory (SHM) and custom kernels need host/... variants. "
    "Try: driver options ForceP2P / RMForceP2PType for boards that allow it, BIOS: Above 4G "
    "decoding "
    "and ACS off, iommu=pt; then updraft measure, which tests it with data";

static void run(const struct machine *m, struct findings *found)
{
    int missing = 0, unknown = 0, pairs = 0, a0 = 0, b0 = 0;
    for (int a = 0; a < m->n_gpus; a++)
        for (int b = 0; b < m->n_gpus; b++) {
            if (a == b)
                continue;
            pairs++;
            unknown += m->p2p_write[a][b] < 0 && m->p2p_read[a][b] < 0;
            if (m->p2p_write[a][b] == 0 || m->p2p_read[a][b] == 0) {
                if (missing++ == 0)
                    a0 = a, b0 = b;
            }
        }
    if (pairs > 0 && unknown == pairs)
        find(found, LEVEL_UNKNOWN, "", "nvidia-smi topo -p2p w tells it where the driver runs",
             "the driver does not tell whether GPUs reach each other");
    if (missing > 0)
        find(found, LEVEL_FAULT, "", todo,
             "%d of %d directed pairs have no peer access%s%s; the first: GPU %d to GPU %d",
             missing, pairs, m->p2p_why[0] != '\0' ? ": " : "", m->p2p_why, a0, b0);
}

const struct check check_p2p = {
    .id = "p2p",
    .title = "peer access between GPUs",
    .why = "A custom allreduce stores straight into other GPUs' memory; staged through the host a "
           "flag "
           "takes microseconds more and bandwidth halves.",
    .run = run,
};
