/* Are there GPUs, and do driver and bus agree about them? */
#include <string.h>

#include "measure/check.h"

static void run(const struct machine *m, struct findings *found)
{
    if (m->n_gpus == 0) {
        find(found, LEVEL_NOTICE, "",
             "on a GPU box look at lspci -d 10de: and at the container's device options (--gpus "
             "all)",
             "no NVIDIA GPU is visible: the checks below look at the host alone");
        return;
    }
    if (!m->have_nvml)
        find(found, LEVEL_NOTICE, "",
             "install the driver, or give the container its utility part "
             "(NVIDIA_DRIVER_CAPABILITIES=all)",
             "%d NVIDIA GPU%s on the bus, but the driver's library does not answer", m->n_gpus,
             m->n_gpus == 1 ? "" : "s");
    for (int i = 1; i < m->n_gpus; i++)
        if (m->gpu[i].name[0] != '\0' && m->gpu[0].name[0] != '\0' &&
            strcmp(m->gpu[i].name, m->gpu[0].name) != 0)
            find(found, LEVEL_NOTICE, m->gpu[i].pci,
                 "expect the slowest GPU to set the pace; CUDA_VISIBLE_DEVICES picks equal ones",
                 "%s, while the first GPU is %s", m->gpu[i].name, m->gpu[0].name);
}

const struct check check_gpus = {
    .id = "gpus",
    .title = "GPUs",
    .why = "Everything below depends on what the driver shows.",
    .run = run,
};
