/* Are clocks held down right now? */
#include "measure/check.h"
#include "measure/monitor.h"

static void run(const struct machine *m, struct findings *found)
{
    int known = 0;
    for (int i = 0; i < m->n_gpus; i++) {
        const struct machine_gpu *g = &m->gpu[i];
        char names[96];
        known += g->nvml.throttle >= 0;
        if (g->nvml.throttle <= 0 || !(g->nvml.throttle & THROTTLE_BAD))
            continue;
        throttle_names(g->nvml.throttle, names, sizeof names);
        find(found,
             g->nvml.throttle & (THROTTLE_BAD & ~THROTTLE_POWER_CAP) ? LEVEL_FAULT : LEVEL_NOTICE,
             g->pci, "see nvidia-smi -q -d PERFORMANCE; cooling, power cables, power limit",
             "clocks are held down: %s", names);
    }
    if (m->n_gpus > 0 && known == 0)
        find(found, LEVEL_UNKNOWN, "", "needs the driver's library, NVML",
             "nobody tells whether clocks are held down");
}

const struct check check_throttle = {
    .id = "throttle",
    .title = "throttling",
    .why = "A measurement under reduced clocks is one of the cooling.",
    .run = run,
};
