/* Does somebody else compute on the GPUs? */
#include "measure/check.h"

static void run(const struct machine *m, struct findings *found)
{
    if (m->foreign_pids > 0)
        find(found, LEVEL_FAULT, "", "nvidia-smi lists them; stop them before measuring",
             "%d compute process%s on a GPU", m->foreign_pids, m->foreign_pids == 1 ? "" : "es");
    else if (m->foreign_pids < 0 && m->n_gpus > 0)
        find(found, LEVEL_UNKNOWN, "", "needs the driver's library, NVML",
             "nobody tells whether other processes compute on the GPUs");
}

const struct check check_processes = {
    .id = "processes",
    .title = "other processes on the GPUs",
    .why = "Two processes share a GPU in time slices of milliseconds: an allreduce waits for them.",
    .run = run,
};
