#include "measure/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *device;

/* NVML's structures, as its ABI fixes them. */
struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};
struct bar1_memory {
    unsigned long long total, free, used;
};
struct memory {
    unsigned long long total, free, used;
};
struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

/* SYMBOL(member, NVML's name, arguments). All return 0 for success. One that an old driver lacks
 * stays NULL, and what it would tell is not known. */
#define SYMBOLS(SYMBOL)                                                                            \
    SYMBOL(init, nvmlInit_v2, (void))                                                              \
    SYMBOL(shutdown, nvmlShutdown, (void))                                                         \
    SYMBOL(driver, nvmlSystemGetDriverVersion, (char *, unsigned))                                 \
    SYMBOL(count, nvmlDeviceGetCount_v2, (unsigned *))                                             \
    SYMBOL(handle, nvmlDeviceGetHandleByIndex_v2, (unsigned, device *))                            \
    SYMBOL(name, nvmlDeviceGetName, (device, char *, unsigned))                                    \
    SYMBOL(pci, nvmlDeviceGetPciInfo_v3, (device, struct pci_info *))                              \
    SYMBOL(link_gen, nvmlDeviceGetCurrPcieLinkGeneration, (device, unsigned *))                    \
    SYMBOL(link_gen_max, nvmlDeviceGetMaxPcieLinkGeneration, (device, unsigned *))                 \
    SYMBOL(link_width, nvmlDeviceGetCurrPcieLinkWidth, (device, unsigned *))                       \
    SYMBOL(link_width_max, nvmlDeviceGetMaxPcieLinkWidth, (device, unsigned *))                    \
    SYMBOL(replays, nvmlDeviceGetPcieReplayCounter, (device, unsigned *))                          \
    SYMBOL(clock, nvmlDeviceGetClockInfo, (device, int, unsigned *))                               \
    SYMBOL(clock_max, nvmlDeviceGetMaxClockInfo, (device, int, unsigned *))                        \
    SYMBOL(throttle, nvmlDeviceGetCurrentClocksThrottleReasons, (device, unsigned long long *))    \
    SYMBOL(temperature, nvmlDeviceGetTemperature, (device, int, unsigned *))                       \
    SYMBOL(persistence, nvmlDeviceGetPersistenceMode, (device, int *))                             \
    SYMBOL(power, nvmlDeviceGetPowerUsage, (device, unsigned *))                                   \
    SYMBOL(power_limit, nvmlDeviceGetEnforcedPowerLimit, (device, unsigned *))                     \
    SYMBOL(bar1, nvmlDeviceGetBAR1MemoryInfo, (device, struct bar1_memory *))                      \
    SYMBOL(memory, nvmlDeviceGetMemoryInfo, (device, struct memory *))                             \
    SYMBOL(processes, nvmlDeviceGetComputeRunningProcesses_v3,                                     \
           (device, unsigned *, struct process *))                                                 \
    SYMBOL(common, nvmlDeviceGetTopologyCommonAncestor, (device, device, int *))                   \
    SYMBOL(p2p, nvmlDeviceGetP2PStatus, (device, device, int, int *))

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };

struct nvml {
    void *library;
    int n;
    device devices[MAX_GPUS];
#define SYMBOL(member, name, args) int(*member) args;
    SYMBOLS(SYMBOL)
#undef SYMBOL
};

struct nvml *nvml_open(void)
{
    struct nvml *n = calloc(1, sizeof *n);
    unsigned count = 0;
    if (n == NULL)
        return NULL;
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (n->library == NULL) {
        free(n);
        return NULL;
    }
    /* POSIX's way to turn dlsym's object pointer into a function pointer. */
#define SYMBOL(member, name, args) *(void **)&n->member = dlsym(n->library, #name);
    SYMBOLS(SYMBOL)
#undef SYMBOL
    if (n->init == NULL || n->handle == NULL || n->count == NULL || n->shutdown == NULL ||
        n->init() != 0) {
        dlclose(n->library);
        free(n);
        return NULL;
    }
    if (n->count(&count) == 0)
        while (n->n < (int)count && n->n < MAX_GPUS &&
               n->handle((unsigned)n->n, &n->devices[n->n]) == 0)
            n->n++;
    return n;
}

void nvml_close(struct nvml *n)
{
    if (n == NULL)
        return;
    n->shutdown();
    dlclose(n->library);
    free(n);
}

int nvml_count(const struct nvml *n)
{
    return n == NULL ? 0 : n->n;
}

static int read_unsigned(int (*get)(device, unsigned *), device d)
{
    unsigned x;
    return get != NULL && get(d, &x) == 0 ? (int)x : -1;
}

static int read_clock(int (*get)(device, int, unsigned *), device d, int which)
{
    unsigned x;
    return get != NULL && get(d, which, &x) == 0 ? (int)x : -1;
}

static void read_processes(const struct nvml *n, device d, struct nvml_gpu *out)
{
    struct process list[NVML_PIDS];
    unsigned count = NVML_PIDS;
    out->n_pids = -1;
    if (n->processes == NULL)
        return;
    int code = n->processes(d, &count, list);
    if (code != 0 && code != 7) /* 7: the list is longer than the room; count says how long */
        return;
    out->n_pids = (int)count;
    for (unsigned i = 0; code == 0 && i < count && i < NVML_PIDS; i++)
        out->pids[i] = list[i].pid;
}

int nvml_read(const struct nvml *n, int gpu, struct nvml_gpu *out)
{
    if (gpu < 0 || gpu >= nvml_count(n))
        return -1;
    device d = n->devices[gpu];
    *out = (struct nvml_gpu){.bar1_bytes = -1, .memory_bytes = -1, .persistence = -1};
    struct pci_info pci;
    if (n->name == NULL || n->name(d, out->name, sizeof out->name) != 0)
        out->name[0] = '\0';
    memset(&pci, 0, sizeof pci);
    if (n->pci != NULL && n->pci(d, &pci) == 0)
        snprintf(out->pci, sizeof out->pci, "%04x:%02x:%02x.0", pci.domain & 0xffffu,
                 pci.bus & 0xffu, pci.device & 0x1fu);
    out->link_gen = read_unsigned(n->link_gen, d);
    out->link_gen_max = read_unsigned(n->link_gen_max, d);
    out->link_width = read_unsigned(n->link_width, d);
    out->link_width_max = read_unsigned(n->link_width_max, d);
    out->replays = read_unsigned(n->replays, d);
    out->sm_mhz = read_clock(n->clock, d, CLOCK_SM);
    out->sm_mhz_max = read_clock(n->clock_max, d, CLOCK_SM);
    out->memory_mhz = read_clock(n->clock, d, CLOCK_MEMORY);
    out->temperature_c = read_clock(n->temperature, d, 0);
    int milliwatts = read_unsigned(n->power, d), limit = read_unsigned(n->power_limit, d);
    out->power_w = milliwatts < 0 ? -1 : milliwatts / 1e3;
    out->power_limit_w = limit < 0 ? -1 : limit / 1e3;
    int on;
    if (n->persistence != NULL && n->persistence(d, &on) == 0)
        out->persistence = on;
    struct bar1_memory bar1;
    if (n->bar1 != NULL && n->bar1(d, &bar1) == 0)
        out->bar1_bytes = (int64_t)bar1.total;
    struct memory memory;
    if (n->memory != NULL && n->memory(d, &memory) == 0)
        out->memory_bytes = (int64_t)memory.total;
    out->throttle = nvml_throttle_now(n, gpu, NULL);
    read_processes(n, d, out);
    return 0;
}

int64_t nvml_throttle_now(const struct nvml *n, int gpu, int *sm_mhz)
{
    unsigned long long bits;
    if (gpu < 0 || gpu >= nvml_count(n))
        return -1;
    if (sm_mhz != NULL)
        *sm_mhz = read_clock(n->clock, n->devices[gpu], CLOCK_SM);
    return n->throttle != NULL && n->throttle(n->devices[gpu], &bits) == 0 ? (int64_t)bits : -1;
}

int nvml_p2p(const struct nvml *n, int a, int b, int read, const char **why)
{
    static const char *const reasons[] = {"ok",
                                          "chipset not supported",
                                          "GPU not supported",
                                          "topology not supported",
                                          "disabled by registry key",
                                          "not supported",
                                          "unknown"};
    int status;
    *why = "unknown";
    if (a >= nvml_count(n) || b >= nvml_count(n) || n->p2p == NULL ||
        n->p2p(n->devices[a], n->devices[b], read ? 0 : 1, &status) != 0 || status < 0)
        return -1;
    *why = reasons[status < 6 ? status : 6];
    return status == 6 ? -1 : status == 0;
}

const char *nvml_common(const struct nvml *n, int a, int b)
{
    static const char *const names[] = {"SAME", "PIX", "PXB", "PHB", "NODE", "SYS"};
    int level;
    if (a >= nvml_count(n) || b >= nvml_count(n) || n->common == NULL ||
        n->common(n->devices[a], n->devices[b], &level) != 0 || level < 0 || level > 50)
        return NULL;
    return names[level / 10];
}

void nvml_driver(const struct nvml *n, char *out, int room)
{
    out[0] = '\0';
    if (n != NULL && n->driver != NULL && n->driver(out, (unsigned)room) != 0)
        out[0] = '\0';
}
