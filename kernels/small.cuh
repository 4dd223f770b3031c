/* What the short kernels share. At a few kilobytes a call's time goes into reading instructions and
 * constants for the first time (caches are cold at every launch) and into loads that follow each
 * other; so these kernels are straight: as many warps as ranks, one peer a warp, one pack a thread,
 * no loops but waiting, the number of ranks known when compiled. is_small() says when they may run.
 */
#ifndef UPDRAFT_KERNELS_SMALL_CUH
#define UPDRAFT_KERNELS_SMALL_CUH

#include "kernels/device.cuh"

namespace updraft {

constexpr int TILE = 32;

/* A pack of whole words. */
__device__ __forceinline__ uint4 load_words(const Params &p, const void *in, int i)
{
    const uint32_t *w = static_cast<const uint32_t *>(in) + WORDS * i;
    if (i < p.whole)
        return *reinterpret_cast<const uint4 *>(w);
    const int n = p.bytes / 4 - WORDS * i;
    return make_uint4(w[0], n > 1 ? w[1] : 0, n > 2 ? w[2] : 0, 0);
}

__device__ __forceinline__ void store_words(const Params &p, void *out, int i, uint4 v)
{
    uint32_t *w = static_cast<uint32_t *>(out) + WORDS * i;
    if (i < p.whole) {
        *reinterpret_cast<uint4 *>(w) = v;
        return;
    }
    const int n = p.bytes / 4 - WORDS * i;
    w[0] = v.x;
    if (n > 1)
        w[1] = v.y;
    if (n > 2)
        w[2] = v.z;
}

/* Puts marks back into pack i of a slot, and into those that only a larger call before used. */
__device__ __forceinline__ void clear_small(uint4 *slot, int i, int m)
{
#pragma unroll 1
    for (; i < m; i += static_cast<int>(gridDim.x) * TILE)
        store_line(slot + i, make_uint4(EMPTY, EMPTY, EMPTY, EMPTY));
}

/* The sum of word w over the rows of a tile of N rows. */
template <int DTYPE, int N> __device__ __forceinline__ uint32_t sum_word(const uint4 *tile, int w)
{
    const uint32_t *words = reinterpret_cast<const uint32_t *>(tile) + w;
    uint32_t x[N];
#pragma unroll
    for (int r = 0; r < N; r++)
        x[r] = words[r * TILE * WORDS];
    float2 s = unpack<DTYPE>(x[0]);
#pragma unroll
    for (int r = 1; r < N; r++) {
        const float2 y = unpack<DTYPE>(x[r]);
        s.x += y.x;
        if (DTYPE != KERNELS_FP32)
            s.y += y.y;
    }
    return round_to<DTYPE>(s);
}

} // namespace updraft

#endif
