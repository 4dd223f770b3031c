#include "measure/monitor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct monitor *monitor_open(void)
{
    struct nvml *nvml = nvml_open();
    struct monitor *m = nvml == NULL ? NULL : calloc(1, sizeof *m);
    if (m == NULL) {
        nvml_close(nvml);
        return NULL;
    }
    m->nvml = nvml;
    m->sm_mhz_min = m->sm_mhz_max = -1;
    struct nvml_gpu g;
    for (int i = 0; i < MAX_GPUS; i++)
        m->replays[i] = nvml_read(nvml, i, &g) == 0 ? g.replays : -1;
    return m;
}

void monitor_close(struct monitor *m)
{
    if (m == NULL)
        return;
    nvml_close(m->nvml);
    free(m);
}

void monitor_begin(struct monitor *m)
{
    if (m != NULL)
        m->throttle_cell = 0;
}

void monitor_sample(struct monitor *m)
{
    for (int i = 0; m != NULL && i < nvml_count(m->nvml); i++) {
        int mhz = -1;
        int64_t bits = nvml_throttle_now(m->nvml, i, &mhz);
        if (bits < 0 || bits & THROTTLE_IDLE)
            continue;
        m->throttle_cell |= bits & THROTTLE_BAD;
        m->throttle_run |= bits & THROTTLE_BAD;
        if (mhz > 0 && (m->sm_mhz_min < 0 || mhz < m->sm_mhz_min))
            m->sm_mhz_min = mhz;
        if (mhz > m->sm_mhz_max)
            m->sm_mhz_max = mhz;
    }
}

void throttle_names(int64_t bits, char *out, size_t room)
{
    static const struct {
        int bit;
        const char *name;
    } names[] = {{THROTTLE_POWER_CAP, "power cap"},
                 {THROTTLE_HW_SLOWDOWN, "hardware slowdown"},
                 {THROTTLE_SW_THERMAL, "software thermal"},
                 {THROTTLE_HW_THERMAL, "hardware thermal"},
                 {THROTTLE_POWER_BRAKE, "power brake"}};
    out[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t at = strlen(out);
        if (bits & names[i].bit)
            snprintf(out + at, room - at, "%s%s", at > 0 ? ", " : "", names[i].name);
    }
}

const char *monitor_spoiled(struct monitor *m)
{
    char names[80];
    if (m == NULL || m->throttle_cell == 0)
        return "";
    throttle_names(m->throttle_cell, names, sizeof names);
    snprintf(m->spoiled, sizeof m->spoiled, "throttled: %s", names);
    return m->spoiled;
}

int monitor_others(struct monitor *m)
{
    if (m == NULL)
        return -1;
    m->others = -1;
    struct nvml_gpu g;
    for (int i = 0; i < nvml_count(m->nvml); i++)
        if (nvml_read(m->nvml, i, &g) == 0 && g.n_pids > m->others)
            m->others = g.n_pids;
    return m->others;
}

static void warn(cJSON *warnings, const char *text)
{
    cJSON *item = cJSON_CreateString(text);
    if (item != NULL && !cJSON_AddItemToArray(warnings, item))
        cJSON_Delete(item);
}

void monitor_warnings(struct monitor *m, cJSON *warnings)
{
    char text[200], names[80];
    struct nvml_gpu g;
    if (m == NULL)
        return;
    if (m->throttle_run != 0) {
        throttle_names(m->throttle_run, names, sizeof names);
        snprintf(text, sizeof text, "GPUs were throttled (%s): records say which", names);
        warn(warnings, text);
    }
    if (m->others > 0) {
        snprintf(text, sizeof text, "%d other compute process%s on a GPU when the run began",
                 m->others, m->others == 1 ? " was" : "es were");
        warn(warnings, text);
    }
    for (int i = 0; i < nvml_count(m->nvml); i++)
        if (nvml_read(m->nvml, i, &g) == 0 && m->replays[i] >= 0 && g.replays > m->replays[i]) {
            snprintf(text, sizeof text, "GPU %d (%s): %lld PCIe replays during the run: a bad link",
                     i, g.pci, (long long)(g.replays - m->replays[i]));
            warn(warnings, text);
        }
    if (m->sm_mhz_min > 0 && m->sm_mhz_max > m->sm_mhz_min + m->sm_mhz_max / 20) {
        snprintf(text, sizeof text,
                 "the SM clock moved from %d to %d MHz under load: nvidia-smi -lgc holds it",
                 m->sm_mhz_min, m->sm_mhz_max);
        warn(warnings, text);
    }
}
