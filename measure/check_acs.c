/* Does a bridge send peer-to-peer traffic up to the root? */
#include <string.h>

#include "measure/check.h"

static int seen(const struct machine *m, int gpu, int bridge)
{
    for (int i = 0; i <= gpu; i++)
        for (int b = 0; b < (i == gpu ? bridge : m->gpu[i].n_bridges); b++)
            if (strcmp(m->gpu[i].bridges[b].pci, m->gpu[gpu].bridges[bridge].pci) == 0)
                return 1;
    return 0;
}

static void run(const struct machine *m, struct findings *found)
{
    int unreadable = 0, bridges = 0;
    for (int i = 0; i < m->n_gpus; i++)
        for (int b = 0; b < m->gpu[i].n_bridges; b++) {
            const struct machine_bridge *bridge = &m->gpu[i].bridges[b];
            if (seen(m, i, b))
                continue;
            bridges++;
            unreadable += bridge->acs_redirect < 0;
            if (bridge->acs_redirect == 1)
                find(found, LEVEL_FAULT, bridge->pci,
                     "turn it off: in the BIOS (ACS, or AER/ACS override), or setpci -s BRIDGE "
                     "ECAP_ACS+6.w=0 as root after every boot; hypervisors may insist on it",
                     "ACS redirects peer-to-peer traffic above %s to the root complex",
                     m->gpu[i].pci);
        }
    if (bridges > 0 && unreadable == bridges)
        find(found, LEVEL_UNKNOWN, "", "run updraft doctor as root on the host",
             "the bridges' ACS bits cannot be read");
}

const struct check check_acs = {
    .id = "acs",
    .title = "PCIe access control (ACS)",
    .why =
        "With redirection a switch cannot connect two GPUs below it: traffic goes through the root "
        "complex, bandwidth halves, and with an IOMMU data may be lost or hang.",
    .run = run,
};
