#include "measure/cuda_device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernels/probes.h"
#include "measure/cuda_comm.h"
#include "measure/oracle.h"

enum { TEST_BYTES = 1 << 20, LOAD_BYTES = 32 << 20, LOAD_SLICE_US = 20000 };

static enum status describe(struct backend_host *host, int g, struct err *err)
{
    struct backend_gpu *gpu = &host->gpu[g];
    struct cudaDeviceProp p;
    cudaError_t e = cudaGetDeviceProperties(&p, g);
    if (e == cudaSuccess)
        e = cudaDeviceGetPCIBusId(gpu->pci, sizeof gpu->pci, g);
    if (e != cudaSuccess)
        return err_set(err, STATUS_FAILED, "GPU %d: %s", g, cudaGetErrorString(e));
    for (char *c = gpu->pci; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    snprintf(gpu->name, sizeof gpu->name, "%.90s", p.name);
    gpu->cc_major = p.major;
    gpu->cc_minor = p.minor;
    gpu->memory_bytes = (int64_t)p.totalGlobalMem;
    gpu->sm_count = p.multiProcessorCount;
    return STATUS_OK;
}

/* Copies random bytes with a kernel of GPU `by`, from memory of one GPU to memory of another, and
 * says whether they arrived. */
static int moves(int by, char *from, char *to, uint64_t seed)
{
    static uint64_t sent[TEST_BYTES / 8], got[TEST_BYTES / 8];
    for (size_t i = 0; i < TEST_BYTES / 8; i++)
        sent[i] = random_at(seed, i);
    return cudaMemcpy(from, sent, TEST_BYTES, cudaMemcpyHostToDevice) == cudaSuccess &&
           cudaMemset(to, 0, TEST_BYTES) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess &&
           cudaSetDevice(by) == cudaSuccess &&
           probes_node(8, 1, 256, from, to, TEST_BYTES, NULL) == 0 &&
           cudaDeviceSynchronize() == cudaSuccess &&
           cudaMemcpy(got, to, TEST_BYTES, cudaMemcpyDeviceToHost) == cudaSuccess &&
           memcmp(sent, got, TEST_BYTES) == 0;
}

static void try_peers(struct backend_host *host)
{
    char *memory[MAX_GPUS] = {NULL};
    for (int g = 0; g < host->n_gpus; g++) {
        host->peer_write[g][g] = host->peer_read[g][g] = 1;
        if (cudaSetDevice(g) != cudaSuccess ||
            cudaMalloc((void **)&memory[g], TEST_BYTES) != cudaSuccess)
            memory[g] = NULL;
    }
    for (int a = 0; a < host->n_gpus; a++)
        for (int b = 0; b < host->n_gpus; b++) {
            if (a == b || memory[a] == NULL || memory[b] == NULL)
                continue;
            if (cudaSetDevice(a) == cudaSuccess &&
                cudaDeviceEnablePeerAccess(b, 0) == cudaSuccess) {
                uint64_t seed = (uint64_t)a * MAX_GPUS + (uint64_t)b;
                host->peer_write[a][b] = (unsigned char)moves(a, memory[a], memory[b], seed);
                host->peer_read[a][b] = (unsigned char)moves(a, memory[b], memory[a], ~seed);
            }
            (void)cudaGetLastError();
        }
    for (int g = 0; g < host->n_gpus; g++)
        (void)cudaFree(memory[g]);
}

/* "2x NVIDIA L40S", or "NVIDIA L40S, NVIDIA H200" where they differ. */
static void name_box(struct backend_host *host)
{
    for (int g = 1; g < host->n_gpus; g++)
        if (strcmp(host->gpu[g].name, host->gpu[0].name) != 0) {
            snprintf(host->label, sizeof host->label, "%.40s, %.40s", host->gpu[0].name,
                     host->gpu[g].name);
            return;
        }
    snprintf(host->label, sizeof host->label, "%dx %.80s", host->n_gpus, host->gpu[0].name);
}

enum status cuda_scout(struct backend_host *host, struct err *err)
{
    int driver = 0, runtime = 0;
    cuda_load_eagerly();
    cudaError_t e = cudaGetDeviceCount(&host->n_gpus);
    if (e != cudaSuccess || host->n_gpus == 0) {
        host->n_gpus = 0;
        return err_set(err, STATUS_MISSING,
                       "backend cuda: no CUDA device here (%s): run on a machine with an NVIDIA "
                       "GPU and its driver, or measure with --backend cpu",
                       e == cudaSuccess ? "the driver lists none" : cudaGetErrorString(e));
    }
    if (host->n_gpus > MAX_GPUS)
        host->n_gpus = MAX_GPUS;
    for (int g = 0; g < host->n_gpus; g++) {
        enum status status = describe(host, g, err);
        if (status != STATUS_OK)
            return status;
    }
    try_peers(host);
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    snprintf(host->version, sizeof host->version, "CUDA runtime %d.%d, driver for CUDA %d.%d",
             runtime / 1000, runtime % 1000 / 10, driver / 1000, driver % 1000 / 10);
    name_box(host);
    host->max_ranks = KERNELS_MAX_RANKS;
    return STATUS_OK;
}

enum outcome cuda_load(int ms, struct err *err)
{
    int n = 0;
    char *host, *device[MAX_GPUS];
    struct probes_report *report[MAX_GPUS];
    CUDA_TRY(cudaGetDeviceCount(&n));
    n = n > MAX_GPUS ? MAX_GPUS : n;
    CUDA_TRY(
        cudaHostAlloc((void **)&host, LOAD_BYTES, cudaHostAllocPortable | cudaHostAllocMapped));
    for (int g = 0; g < n; g++) {
        CUDA_TRY(cudaSetDevice(g));
        CUDA_TRY(cudaMalloc((void **)&device[g], LOAD_BYTES));
        CUDA_TRY(cudaMalloc((void **)&report[g], sizeof *report[g]));
        CUDA_TRY(cudaMemset(report[g], 0, sizeof *report[g]));
    }
    for (int done_us = 0; done_us < ms * 1000; done_us += 2 * LOAD_SLICE_US) {
        for (int g = 0; g < n; g++)
            for (int side = 0; side < 2; side++) {
                struct probes_stream s = {
                    .kind = PROBES_BOTH,
                    .memory = side ? device[g] : host,
                    .bytes = LOAD_BYTES,
                    .blocks = side ? 128 : 8,
                    .threads = 512,
                    .window_us = LOAD_SLICE_US,
                    .report = report[g],
                };
                CUDA_TRY(cudaSetDevice(g));
                CUDA_TRY(probes_stream(&s, NULL));
            }
        for (int g = 0; g < n; g++) {
            CUDA_TRY(cudaSetDevice(g));
            CUDA_TRY(cudaDeviceSynchronize());
        }
    }
    for (int g = 0; g < n; g++) {
        CUDA_TRY(cudaFree(device[g]));
        CUDA_TRY(cudaFree(report[g]));
    }
    CUDA_TRY(cudaFreeHost(host));
    return OUTCOME_OK;
}
