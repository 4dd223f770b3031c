/* Does an IOMMU translate what GPUs send to each other? */
#include <string.h>

#include "measure/check.h"

static void run(const struct machine *m, struct findings *found)
{
    for (int i = 0; i < m->n_gpus; i++) {
        const struct machine_gpu *g = &m->gpu[i];
        if (strncmp(g->iommu_type, "DMA", 3) == 0)
            find(found, m->n_gpus > 1 ? LEVEL_FAULT : LEVEL_NOTICE, g->pci,
                 "boot with iommu=pt (or iommu=off where nothing needs it)",
                 "the IOMMU translates this GPU's transfers (domain type %s)", g->iommu_type);
    }
}

const struct check check_iommu = {
    .id = "iommu",
    .title = "IOMMU",
    .why = "Translated peer-to-peer traffic takes a detour through the root complex; it has been "
           "seen to "
           "halve bandwidth, to corrupt data and to hang NCCL.",
    .run = run,
};
