/* Kernels of the probes; see probes.h. Times are taken inside with the global timer over so many
 * rounds that its coarse ticks do not matter. */
#include <cuda_runtime_api.h>

#include "kernels/device.cuh"
#include "kernels/probes.h"

namespace updraft {

__device__ static unsigned long long now_ns()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)::"memory");
    return t;
}

__device__ static uint32_t load_flag(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__device__ static void store_flag(uint32_t *p, uint32_t v)
{
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__global__ void probe_pingpong(uint32_t *mine, uint32_t *theirs, int rounds, int first,
                               probes_report *report)
{
    const bool leads = blockIdx.x == 0 ? first : !first;
    uint32_t *to = blockIdx.x == 0 ? theirs : mine, *from = blockIdx.x == 0 ? mine : theirs;
    const unsigned long long start = now_ns();
    for (int k = 1; k <= rounds; k++) {
        if (leads)
            store_flag(to, k);
        while (load_flag(from) < static_cast<uint32_t>(k))
            ;
        if (!leads)
            store_flag(to, k);
    }
    if (leads)
        report->elapsed_ns = now_ns() - start;
}

__global__ void probe_chase(const char *base, int steps, probes_report *report)
{
    uint64_t at = 0;
    const unsigned long long start = now_ns();
    for (int i = 0; i < steps; i++)
        asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(at) : "l"(base + at) : "memory");
    report->elapsed_ns = now_ns() - start + (at == ~0ull ? 1 : 0);
}

__global__ void probe_fence(uint4 *target, int stores_each, int rounds, int fence,
                            probes_report *report)
{
    __shared__ unsigned long long start;
    if (threadIdx.x == 0)
        start = now_ns();
    __syncthreads();
    for (int k = 0; k < rounds; k++) {
        for (int s = 0; s < stores_each; s++)
            store_line(target + s * blockDim.x + threadIdx.x, make_uint4(k, k, k, k));
        if (fence)
            __threadfence_system();
        __syncthreads();
    }
    if (threadIdx.x == 0)
        report->elapsed_ns = now_ns() - start;
}

__global__ void probe_empty()
{
}

__global__ void probe_local(const uint4 *in, uint4 *out, int packs)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < packs; i += gridDim.x * blockDim.x)
        out[static_cast<size_t>(blockIdx.y) * packs + i] =
            in[static_cast<size_t>(blockIdx.y) * packs + i];
}

__global__ void probe_compute(unsigned cycles, uint32_t *data, int words)
{
    const long long start = clock64();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        data[i] = data[i] & 0xbfffbfffu; /* keeps every 16- and 32-bit number finite */
    while (clock64() - start < cycles)
        ;
}

constexpr int IN_FLIGHT = 8;

__global__ void __launch_bounds__(1024) probe_stream(const __grid_constant__ struct probes_stream s)
{
    const size_t step = static_cast<size_t>(blockDim.x) * IN_FLIGHT;
    const size_t lines = s.bytes / sizeof(uint4) / gridDim.x / step * step;
    uint4 *part = static_cast<uint4 *>(s.memory) + blockIdx.x * lines;
    const bool store = s.kind == PROBES_STORE ||
                       (s.kind == PROBES_BOTH && blockIdx.x < gridDim.x / 2);
    if (s.go != nullptr)
        while (*s.go == 0)
            ;
    const unsigned long long start = now_ns();
    const unsigned long long window =
        s.window_us > 0 ? s.window_us * 1000ull : 5000000000ull;
    unsigned long long moved = 0;
    uint4 seen = make_uint4(0, 0, 0, 0);
    uint32_t round = 0;
    for (size_t at = threadIdx.x;; at = at + step < lines ? at + step : threadIdx.x) {
        if (store) {
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; k++)
                store_line(part + at + k * blockDim.x, make_uint4(round, k, round, k));
        } else {
            uint4 v[IN_FLIGHT];
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; k++)
                v[k] = load_line(part + at + k * blockDim.x);
#pragma unroll
            for (int k = 0; k < IN_FLIGHT; k++) {
                seen.x ^= v[k].x;
                seen.y ^= v[k].y;
                seen.z ^= v[k].z;
                seen.w ^= v[k].w;
            }
        }
        moved += IN_FLIGHT * sizeof(uint4);
        round++;
        if ((round & 3) != 0)
            continue;
        if (now_ns() - start >= window)
            break;
        if (s.window_us == 0 && s.stop != nullptr && (round & 63) == 0 && *s.stop != 0)
            break;
    }
    if (store)
        __threadfence_system();
    const unsigned long long elapsed = now_ns() - start;
    atomicAdd_system(&s.report->bytes, moved + (seen.x == 0x12345u && seen.y == 0x54321u ? 1 : 0));
    atomicMax_system(&s.report->elapsed_ns, elapsed);
}

} // namespace updraft

static cudaStream_t of(void *stream)
{
    return static_cast<cudaStream_t>(stream);
}

extern "C" int probes_pingpong(uint32_t *mine, uint32_t *theirs, int rounds, int first, int both,
                               struct probes_report *report, void *stream)
{
    updraft::probe_pingpong<<<both ? 2 : 1, 1, 0, of(stream)>>>(mine, theirs, rounds, first, report);
    return cudaGetLastError();
}

extern "C" int probes_chase(const void *base, int steps, struct probes_report *report, void *stream)
{
    updraft::probe_chase<<<1, 1, 0, of(stream)>>>(static_cast<const char *>(base), steps, report);
    return cudaGetLastError();
}

extern "C" int probes_fence(void *target, int threads, int stores_each, int rounds, int fence,
                            struct probes_report *report, void *stream)
{
    updraft::probe_fence<<<1, threads, 0, of(stream)>>>(static_cast<uint4 *>(target), stores_each,
                                                        rounds, fence, report);
    return cudaGetLastError();
}

extern "C" int probes_node(int blocks, int rows, int threads, const void *in, void *out, int bytes,
                           void *stream)
{
    const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(rows));
    if (bytes > 0)
        updraft::probe_local<<<grid, threads, 0, of(stream)>>>(
            static_cast<const uint4 *>(in), static_cast<uint4 *>(out), bytes / 16);
    else
        updraft::probe_empty<<<grid, threads, 0, of(stream)>>>();
    return cudaGetLastError();
}

extern "C" int probes_compute(int blocks, unsigned cycles, void *data, int bytes, void *stream)
{
    updraft::probe_compute<<<blocks, 256, 0, of(stream)>>>(cycles, static_cast<uint32_t *>(data),
                                                           bytes / 4);
    return cudaGetLastError();
}

extern "C" int probes_stream(const struct probes_stream *s, void *stream)
{
    const size_t least = static_cast<size_t>(s->threads) * updraft::IN_FLIGHT * sizeof(uint4);
    if (s->blocks < 1 || s->threads < 32 || s->bytes / s->blocks < least)
        return cudaErrorInvalidValue;
    updraft::probe_stream<<<s->blocks, s->threads, 0, of(stream)>>>(*s);
    return cudaGetLastError();
}
