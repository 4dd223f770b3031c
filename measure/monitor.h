/* What the GPUs do while the campaign measures: throttling, other processes, PCIe replays. NULL is
 * a valid monitor that knows nothing (no NVIDIA driver). */
#ifndef UPDRAFT_MEASURE_MONITOR_H
#define UPDRAFT_MEASURE_MONITOR_H

#include <cjson/cJSON.h>

#include "measure/nvml.h"

struct monitor {
    struct nvml *nvml; /* owned */
    int64_t replays[MAX_GPUS];
    int64_t throttle_cell, throttle_run; /* bits seen since monitor_begin(), and in all */
    int others; /* most compute processes on a GPU that are not ours, when last looked */
    int sm_mhz_min, sm_mhz_max; /* seen under load; -1 none */
    char spoiled[96];
};

/* NULL where there is no driver or no memory. */
struct monitor *monitor_open(void);
void monitor_close(struct monitor *m);

void monitor_begin(struct monitor *m);  /* a cell begins */
void monitor_sample(struct monitor *m); /* while it runs */
/* What spoils the cell, "throttled: power cap"; "" nothing. Valid until the next call. */
const char *monitor_spoiled(struct monitor *m);

/* Looks for compute processes that are not in this process's own tree; returns the most on one GPU,
 * -1 unknown. Call it before the first worker starts. */
int monitor_others(struct monitor *m);

/* Appends to the array of strings what spoiled the run as a whole. */
void monitor_warnings(struct monitor *m, cJSON *warnings);
/* The names of throttle bits, "power cap, thermal". */
void throttle_names(int64_t bits, char *out, size_t room);

#endif
