/* NVML, loaded at run time: the program neither needs its header nor its library to build or start.
 * It is loaded from the loader's own path, never from the current folder. */
#ifndef UPDRAFT_MEASURE_NVML_H
#define UPDRAFT_MEASURE_NVML_H

#include <stdint.h>

#include "measure/backend.h"

struct nvml; /* opaque; NULL is a valid, empty one */

enum { NVML_PIDS = 16 };

/* Bits of `throttle`, as NVML has them. */
enum nvml_throttle {
    THROTTLE_IDLE = 0x1,
    THROTTLE_POWER_CAP = 0x4,
    THROTTLE_HW_SLOWDOWN = 0x8,
    THROTTLE_SW_THERMAL = 0x20,
    THROTTLE_HW_THERMAL = 0x40,
    THROTTLE_POWER_BRAKE = 0x80,
    THROTTLE_BAD = THROTTLE_POWER_CAP | THROTTLE_HW_SLOWDOWN | THROTTLE_SW_THERMAL |
                   THROTTLE_HW_THERMAL | THROTTLE_POWER_BRAKE,
};

/* -1 is "not known" everywhere. */
struct nvml_gpu {
    char name[96], pci[20]; /* "0000:1b:00.0", lower case */
    int link_gen, link_gen_max, link_width, link_width_max;
    int sm_mhz, sm_mhz_max, memory_mhz;
    int temperature_c, persistence;
    double power_w, power_limit_w;
    int64_t throttle, replays, bar1_bytes, memory_bytes;
    int n_pids; /* compute processes; the first NVML_PIDS are listed */
    int64_t pids[NVML_PIDS];
};

/* NULL where there is no driver. Must be closed. */
struct nvml *nvml_open(void);
void nvml_close(struct nvml *n);

int nvml_count(const struct nvml *n);
/* Everything about a GPU; 0, or -1 where there is none of that index. */
int nvml_read(const struct nvml *n, int gpu, struct nvml_gpu *out);
/* Only what changes from moment to moment: the throttle bits (-1 unknown) and the SM clock. */
int64_t nvml_throttle_now(const struct nvml *n, int gpu, int *sm_mhz);
/* Whether a may write to (or read from) b directly, as the driver says: 1, 0, -1 unknown; why gets
 * its reason ("chipset not supported"). */
int nvml_p2p(const struct nvml *n, int a, int b, int read, const char **why);
/* The level at which the two meet: "PIX", "PXB", "PHB", "NODE", "SYS"; NULL unknown. */
const char *nvml_common(const struct nvml *n, int a, int b);
void nvml_driver(const struct nvml *n, char *out, int room);

#endif
