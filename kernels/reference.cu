/* Data from a counter and the sum without communication; see kernels.h. Written for plainness: one
 * thread an element, one loop over ranks. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "kernels/kernels.h"

namespace updraft {

__device__ static uint64_t random_at(uint64_t seed, uint64_t counter)
{
    uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

__device__ static float rounded_to(float x, int dtype)
{
    if (dtype == KERNELS_BF16)
        return __bfloat162float(__float2bfloat16_rn(x));
    if (dtype == KERNELS_FP16)
        return __half2float(__float2half_rn(x));
    return x;
}

__device__ static float input(uint64_t seed, int rank, int64_t i, int dtype)
{
    const uint64_t z = random_at(random_at(seed, static_cast<uint64_t>(rank)),
                                 static_cast<uint64_t>(i));
    if ((z & 15) == 0)
        return z & 16 ? -0.0f : 0.0f;
    const float sign = z & 32 ? -1.0f : 1.0f;
    const int exponent = static_cast<int>((z >> 8) % 13) - 6;
    const float mantissa = 1.0f + static_cast<float>(z >> 40) * 0x1p-24f;
    return rounded_to(sign * ldexpf(mantissa, exponent), dtype);
}

__device__ static float element(const void *array, int64_t i, int dtype)
{
    if (dtype == KERNELS_BF16)
        return __bfloat162float(static_cast<const __nv_bfloat16 *>(array)[i]);
    if (dtype == KERNELS_FP16)
        return __half2float(static_cast<const __half *>(array)[i]);
    return static_cast<const float *>(array)[i];
}

__device__ static void put_element(void *array, int64_t i, int dtype, float x)
{
    if (dtype == KERNELS_BF16)
        static_cast<__nv_bfloat16 *>(array)[i] = __float2bfloat16_rn(x);
    else if (dtype == KERNELS_FP16)
        static_cast<__half *>(array)[i] = __float2half_rn(x);
    else
        static_cast<float *>(array)[i] = x;
}

__global__ void reference_fill(const struct kernels_data d, int rank, void *out)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const uint64_t seed = random_at(d.seed, *d.turn);
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < d.count;
         i += step)
        put_element(out, i, d.dtype, input(seed, rank, i, d.dtype));
}

__global__ void reference_wrong(const struct kernels_data d, void *got, unsigned long long *wrong)
{
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    const uint64_t seed = random_at(d.seed, *d.turn);
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < d.count;
         i += step) {
        float total = 0.0f;
        for (int island = 0, rank = 0; island < d.islands; island++) {
            const int members = d.ranks / d.islands + (island < d.ranks % d.islands ? 1 : 0);
            float sum = input(seed, rank++, i, d.dtype);
            for (int m = 1; m < members; m++)
                sum += input(seed, rank++, i, d.dtype);
            total = island == 0 ? sum : total + sum;
        }
        if (!(rounded_to(total, d.dtype) == element(got, i, d.dtype)))
            atomicAdd(wrong, 1ull);
        put_element(got, i, d.dtype, -77.0f);
    }
}

__global__ void reference_next_turn(uint64_t *turn)
{
    *turn += 1;
}

static unsigned blocks_for(int64_t count)
{
    const int64_t blocks = (count + 255) / 256;
    return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 2048 ? 2048 : blocks);
}

} // namespace updraft

extern "C" int kernels_fill(const struct kernels_data *d, int rank, void *out, void *stream)
{
    updraft::reference_fill<<<updraft::blocks_for(d->count), 256, 0,
                              static_cast<cudaStream_t>(stream)>>>(*d, rank, out);
    return cudaGetLastError();
}

extern "C" int kernels_count_wrong(const struct kernels_data *d, void *got,
                                   unsigned long long *wrong, void *stream)
{
    updraft::reference_wrong<<<updraft::blocks_for(d->count), 256, 0,
                               static_cast<cudaStream_t>(stream)>>>(*d, got, wrong);
    return cudaGetLastError();
}

extern "C" int kernels_next_turn(uint64_t *turn, void *stream)
{
    updraft::reference_next_turn<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(turn);
    return cudaGetLastError();
}
