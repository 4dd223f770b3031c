/* Shared memory of the container: NCCL's host-memory transport and engines need it. */
#include "measure/check.h"

enum { NEEDED_MIB = 1024 };

static void run(const struct machine *m, struct findings *found)
{
    static const char todo[] =
        "docker run --ipc=host, or --shm-size=16g; in Kubernetes an emptyDir of "
        "medium Memory at /dev/shm";
    if (m->shm_bytes == 0)
        find(found, LEVEL_FAULT, "/dev/shm", todo, "there is no shared memory");
    else if (m->shm_bytes > 0 && m->shm_bytes < (int64_t)NEEDED_MIB << 20)
        find(found, m->in_container || m->n_gpus > 0 ? LEVEL_FAULT : LEVEL_NOTICE, "/dev/shm", todo,
             "only %lld MiB of shared memory", (long long)(m->shm_bytes >> 20));
}

const struct check check_shm = {
    .id = "shm",
    .title = "shared memory",
    .why = "NCCL's transport through host memory takes its buffers from /dev/shm, megabytes a "
           "channel and "
           "peer; the default of a container, 64 MiB, is too little and fails late.",
    .run = run,
};
