/* Shards: the message cut into equal parts, one for each owner. A block works on tiles of every
 * shard at the same place, so block b of a rank only meets blocks b of others. */
#ifndef UPDRAFT_KERNELS_SHARDS_CUH
#define UPDRAFT_KERNELS_SHARDS_CUH

#include "kernels/device.cuh"

namespace updraft {

/* Packs of a tile, at `base` of every shard, that exist in shard number `shard`: a shard that lies
 * behind the message's end has fewer, or none. */
__device__ __forceinline__ int packs_in(const Params &p, int shard, int base)
{
    const int left = min(p.shard, p.packs - shard * p.shard) - base;
    return max(0, min(left, p.tile));
}

} // namespace updraft

#endif
