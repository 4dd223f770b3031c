/* PCIe links narrower or slower than GPU and slot could do. */
#include "measure/check.h"

static void check_gpu(const struct machine_gpu *g, int under_load, struct findings *found)
{
    int gen = pcie_generation(g->link_gts), most = pcie_generation(g->link_gts_max);
    if (g->link_width > 0 && g->link_width_max > 0 && g->link_width < g->link_width_max)
        find(found, LEVEL_FAULT, g->pci,
             "reseat the card or riser, look at the slot's lane count and at bifurcation in the "
             "BIOS",
             "the link runs with x%d of x%d lanes", g->link_width, g->link_width_max);
    if (g->nvml.link_gen_max > 0 && most > 0 && g->nvml.link_gen_max < most)
        find(found, LEVEL_NOTICE, g->pci,
             "set the slot's speed in the BIOS; a riser may not allow more",
             "the slot allows PCIe generation %d, the GPU could do %d", g->nvml.link_gen_max, most);
    if (gen > 0 && most > 0 && gen < most && under_load)
        find(found, LEVEL_FAULT, g->pci,
             "set the slot's speed in the BIOS; a riser or a dirty contact may hold it down",
             "the link runs at PCIe generation %d under load, of %d", gen, most);
    else if (gen > 0 && most > 0 && gen < most)
        find(
            found, LEVEL_NOTICE, g->pci,
            "an idle GPU slows its link down: look again under load (a trace's first line has it). "
            "If it stays, see the BIOS and the riser",
            "the link runs at PCIe generation %d now, of %d", gen, most);
}

static void run(const struct machine *m, struct findings *found)
{
    int unknown = 0;
    for (int i = 0; i < m->n_gpus; i++) {
        check_gpu(&m->gpu[i], m->under_load, found);
        unknown += m->gpu[i].link_width <= 0;
    }
    if (unknown > 0 && unknown == m->n_gpus)
        find(found, LEVEL_UNKNOWN, "", "give the container /sys, or run on the host",
             "the system does not show the links' state");
}

const struct check check_link = {
    .id = "link",
    .title = "PCIe links",
    .why =
        "Half the lanes or one generation less is half the bandwidth, for this GPU and for every "
        "collective it takes part in.",
    .run = run,
};
