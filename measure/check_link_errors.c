/* Correctable PCIe errors: a link that repeats itself. */
#include "measure/check.h"

enum { FEW = 10 };

static void run(const struct machine *m, struct findings *found)
{
    for (int i = 0; i < m->n_gpus; i++)
        if (m->gpu[i].correctable > 0)
            find(found, m->gpu[i].correctable > FEW ? LEVEL_FAULT : LEVEL_NOTICE, m->gpu[i].pci,
                 "reseat the card, the riser and its cable; watch whether the count grows under "
                 "load",
                 "%lld correctable PCIe errors since boot", (long long)m->gpu[i].correctable);
}

const struct check check_link_errors = {
    .id = "link_errors",
    .title = "PCIe errors",
    .why = "Every repeated packet stalls the link for microseconds: medians hide it, tails do not.",
    .run = run,
};
