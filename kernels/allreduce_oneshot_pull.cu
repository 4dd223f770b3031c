/* One-shot pull: every rank copies its input into its exchange buffer, raises a flag for every peer
 * and loads from everybody. A flag hop (with a release fence) and a read round trip; (ranks - 1) * n
 * bytes served by every rank.
 *
 * Block b of a rank copies, flags and reads the same part as block b of any other rank, so flags are
 * per block, and nobody waits for a whole rank. Flags hold the number of the last call published: a
 * peer can be one call ahead, never two, so two buffers would do; there are BUFFERS.
 *
 * Exchange buffer: BUFFERS x [source rank, where shared][slot], then flags [source rank][block].
 */
#include "kernels/device.cuh"

namespace updraft {

constexpr size_t FLAG_LINES = KERNELS_MAX_RANKS * KERNELS_MAX_BLOCKS * 4 / sizeof(uint4);

__host__ __device__ inline size_t pull_data_lines(int slot_packs, int sources)
{
    return static_cast<size_t>(BUFFERS) * sources * slot_packs;
}

template <int DTYPE, int N>
__global__ void __launch_bounds__(KERNELS_MAX_THREADS) oneshot_pull(const __grid_constant__ Params p)
{
    const int rank = p.first_rank + static_cast<int>(blockIdx.y);
    const Local &local = p.local[blockIdx.y];
    const void *const in = local.in;
    void *const out = local.out;
    Control *const control = local.control;
    const int part = ceil_div(p.packs, static_cast<int>(gridDim.x));
    const int first = static_cast<int>(blockIdx.x) * part, end = min(first + part, p.packs);
    touch(control->peers);
    touch_pack(p, in, first + static_cast<int>(threadIdx.x));
    const Turn t = begin_turn(p, control, rank);
    const int sources = p.shared ? p.ranks : 1;
    const size_t slot = p.slot, flags_at = pull_data_lines(p.slot, sources);
    uint4 *const own = control->peers[rank];
    for (int i = first + static_cast<int>(threadIdx.x); i < end;
         i += static_cast<int>(blockDim.x)) {
        const uint4 x = load_pack(p, in, i);
        store_line(own + (t.buffer() * sources + (p.shared ? rank : 0)) * slot + i, x);
    }
    __syncthreads();
    const int peer = static_cast<int>(threadIdx.x);
    if (peer < p.ranks && peer != rank) {
        uint32_t *mine = reinterpret_cast<uint32_t *>(control->peers[peer] + flags_at) +
                         rank * KERNELS_MAX_BLOCKS + blockIdx.x;
        if (!p.shared || peer == (rank == 0 ? 1 : 0))
            store_release(mine, t.epoch);
        const uint32_t *theirs = reinterpret_cast<const uint32_t *>(own + flags_at) +
                                 peer * KERNELS_MAX_BLOCKS + blockIdx.x;
        while (static_cast<int32_t>(load_acquire(theirs) - t.epoch) < 0)
            ;
    }
    __syncthreads();
    end_turn(p, t, control);
    /* Own data too is read where it was published: then all loads are alike, and in flight together. */
    for (int i = first + static_cast<int>(threadIdx.x); i < end;
         i += static_cast<int>(blockDim.x)) {
        const size_t at = t.buffer() * sources * slot + i;
        uint4 v[N];
#pragma unroll
        for (int r = 0; r < N; r++)
            if (r < p.ranks)
                v[r] = load_line(control->peers[r] + at + (p.shared ? r * slot : 0));
        float2 sum[WORDS];
#pragma unroll
        for (int r = 0; r < N; r++) {
            const uint32_t w[WORDS] = {v[r].x, v[r].y, v[r].z, v[r].w};
            if (r < p.ranks)
#pragma unroll
                for (int k = 0; k < WORDS; k++) {
                    const float2 x = unpack<DTYPE>(w[k]);
                    sum[k].x = r == 0 ? x.x : sum[k].x + x.x;
                    sum[k].y = r == 0 ? x.y : sum[k].y + x.y;
                }
        }
        store_pack(p, out, i,
                   make_uint4(round_to<DTYPE>(sum[0]), round_to<DTYPE>(sum[1]),
                              round_to<DTYPE>(sum[2]), round_to<DTYPE>(sum[3])));
    }
}

} // namespace updraft

static size_t exchange_bytes(const struct kernels_layout *l)
{
    return (updraft::pull_data_lines(updraft::slot_packs_of(l), l->shared ? l->ranks : 1) +
            updraft::FLAG_LINES) *
           sizeof(uint4);
}

static int enqueue(const struct kernels_call *call, void *stream)
{
    return updraft::enqueue_launch(call, {UPDRAFT_INSTANCE_UP_TO(updraft::oneshot_pull, call), 1, 0, 0},
                                   stream);
}

extern const struct kernel_code kernel_oneshot_pull = {exchange_bytes, enqueue};
