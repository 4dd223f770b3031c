/* Is all of the GPU's memory reachable through its window? */
#include "measure/check.h"

static void run(const struct machine *m, struct findings *found)
{
    for (int i = 0; i < m->n_gpus; i++) {
        const struct machine_gpu *g = &m->gpu[i];
        int64_t bar = g->bar_bytes > 0 ? g->bar_bytes : g->nvml.bar1_bytes;
        if (bar <= 0)
            continue;
        double mib = (double)bar / (1 << 20);
        if (g->memory_bytes > 0 ? bar < g->memory_bytes : bar <= (int64_t)1 << 28)
            find(found, LEVEL_FAULT, g->pci,
                 "BIOS: Above 4G decoding and Resizable BAR on, CSM off; some boards need a VBIOS "
                 "update "
                 "or the driver option EnableResizableBAR=1",
                 "the memory window has %.0f MiB%s", mib,
                 g->memory_bytes > 0 ? ", less than the GPU's memory" : "");
    }
}

const struct check check_rebar = {
    .id = "rebar",
    .title = "resizable BAR",
    .why = "Other GPUs reach only what lies in the window: with a small one peer access is "
           "refused, or "
           "limited to a part of the memory.",
    .run = run,
};
