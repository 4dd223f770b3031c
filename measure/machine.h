/* The machine as the system describes it: PCI devices, bridges, IOMMU, NUMA, environment. Read from
 * files below a root, so that a recorded tree stands in for a machine; what only the driver knows
 * comes from NVML, or below a root from ROOT/nvml.json. Nothing here touches a device. */
#ifndef UPDRAFT_MEASURE_MACHINE_H
#define UPDRAFT_MEASURE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "measure/backend.h"
#include "measure/nvml.h"
#include "model/err.h"

enum { MAX_BRIDGES = 8, MAX_SETTINGS = 64 };

struct machine_bridge {
    char pci[20];
    int acs_redirect; /* 1: ACS sends peer-to-peer traffic up to the root; 0: not; -1 unreadable */
};

/* -1 and "" are "not known". */
struct machine_gpu {
    char pci[20], name[96];
    double link_gts, link_gts_max; /* GT/s a lane, as sysfs has it now and at most */
    int link_width, link_width_max;
    int numa_node;
    int64_t bar_bytes;    /* the largest memory window */
    int64_t memory_bytes; /* device memory */
    char iommu_type[16];  /* "identity", "DMA", "DMA-FQ"; "none" where there is no IOMMU group */
    int64_t correctable;  /* correctable PCIe errors counted (AER) */
    int n_bridges;        /* from the root port down */
    struct machine_bridge bridges[MAX_BRIDGES];
    struct nvml_gpu nvml; /* link_gen -1 where there is none */
};

/* A setting of NCCL that lies around: NAME=VALUE and where. */
struct machine_setting {
    char name[64], value[128], where[128];
};

struct machine {
    int n_gpus;
    struct machine_gpu gpu[MAX_GPUS];
    int have_nvml;
    int under_load; /* 1: read while the GPUs worked (machine_read_busy) */
    /* -1 unknown, 0 no, 1 yes: as the driver says; measure tests it with data. */
    signed char p2p_write[MAX_GPUS][MAX_GPUS], p2p_read[MAX_GPUS][MAX_GPUS];
    char p2p_why[64];                   /* the driver's reason where one is 0 */
    char common[MAX_GPUS][MAX_GPUS][6]; /* "PIX", "SYS"; "" unknown */
    char driver[64], kernel[96], cpu[96], governor[32];
    int cores, numa_nodes;
    int numa_cores[MAX_GPUS]; /* cores of the node that this process may use; -1 unknown */
    int64_t shm_bytes;        /* size of /dev/shm; 0: not mounted; -1 unknown */
    int in_container;
    int n_settings;
    struct machine_setting settings[MAX_SETTINGS];
    int foreign_pids; /* most compute processes on a GPU; -1 unknown */
};

/* Reads all. `root` is "" for this machine. A tree that lacks files is a machine that does not
 * tell; STATUS_INPUT where root is no folder, STATUS_FAILED without memory. *m is large: keep it
 * off small stacks. */
enum status machine_read(struct machine *m, const char *root, struct err *err);

/* The header's "host" object of a trace: hardware, links, topology. Owned by the caller; NULL
 * without memory. */
struct cJSON;
struct cJSON *machine_json(const struct machine *m);

/* PCIe generation of a lane's GT/s (2.5 -> 1, 32 -> 5), 0 unknown. */
int pcie_generation(double gts);

#endif
