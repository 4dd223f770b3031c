/* One-shot push: every rank writes its whole input to every other rank, then sums what arrives.
 * One hop, (ranks - 1) * n bytes out of every rank (n where the buffer is shared).
 *
 * Exchange buffer: BUFFERS x [source rank][slot].
 */
#include "kernels/small.cuh"

namespace updraft {

template <int DTYPE>
__global__ void __launch_bounds__(KERNELS_MAX_THREADS) oneshot(const __grid_constant__ Params p)
{
    const int rank = p.first_rank + static_cast<int>(blockIdx.y);
    const Local &local = p.local[blockIdx.y];
    const void *const in = local.in;
    void *const out = local.out;
    Control *const control = local.control;
    const int tile = p.tile, first = static_cast<int>(blockIdx.x) * tile;
    touch(control->peers);
    touch_pack(p, in, first + static_cast<int>(threadIdx.x % 32));
    const Turn t = begin_turn(p, control, rank);
    const int step = static_cast<int>(gridDim.x) * tile;
    const size_t slot = p.slot, buffer = slot * p.ranks;
    for (int base = first; base < p.packs; base += step)
        each_after(rank, p.ranks, min(tile, p.packs - base), [&](int peer, int i) {
            uint4 *const to = control->peers[peer] + rank * slot + base + i;
            const uint4 x = load_pack(p, in, base + i);
            /* A shared buffer is written once: by the warps that would write to themselves. */
            if ((peer == rank) == (p.shared != 0))
                put(to + t.buffer() * buffer, x);
        });
    uint4 *const own = control->peers[rank];
    clear_slots(p, own + t.stale_buffer() * buffer + (p.shared ? rank * slot : 0),
                p.shared ? 1 : p.ranks, slot, t.stale());
    const uint4 *const arriving = own + t.buffer() * buffer;
    int counted = 0;
    for (int base = first; base < p.packs || !counted; base += step) {
        const int packs = min(tile, p.packs - base);
        each_after(rank, p.ranks, packs, [&](int peer, int i) {
            tile_memory[peer * tile + i] =
                peer == rank ? load_pack(p, in, base + i) : get(arriving + peer * slot + base + i);
        });
        __syncthreads();
        if (!counted++)
            end_turn(p, t, control);
        const uint32_t *words = reinterpret_cast<const uint32_t *>(tile_memory);
        for (int w = static_cast<int>(threadIdx.x); w < packs * WORDS;
             w += static_cast<int>(blockDim.x))
            store_word(p, out, base * WORDS + w,
                       round_to<DTYPE>(sum_rows<DTYPE>(words + w, tile * WORDS, p.ranks)));
        if (base + step < p.packs)
            __syncthreads();
    }
}

template <int DTYPE, int N>
__global__ void __launch_bounds__(32 * N) oneshot_small(const __grid_constant__ Params p)
{
    __shared__ uint4 tile[N * TILE];
    const int rank = p.first_rank + static_cast<int>(blockIdx.y);
    const Local &local = p.local[blockIdx.y];
    Control *const control = local.control;
    const int lane = static_cast<int>(threadIdx.x % 32), i = static_cast<int>(blockIdx.x) * TILE + lane;
    const int peer = (rank + static_cast<int>(threadIdx.x / 32)) % N;
    const bool mine = peer == rank, here = i < p.packs;
    uint4 *const own = control->peers[rank], *const to = control->peers[peer];
    const uint4 x = here ? load_words(p, local.in, i) : make_uint4(0, 0, 0, 0);
    const Turn t = begin_turn(p, control, rank);
    const size_t slot = p.slot, at = t.buffer() * N * slot + i;
    if (here && !mine)
        put(to + at + rank * slot, x);
    clear_small(own + t.stale_buffer() * N * slot + peer * slot, i, t.stale());
    tile[peer * TILE + lane] = here && !mine ? get(own + at + peer * slot) : x;
    __syncthreads();
    end_turn(p, t, control);
    const int first = static_cast<int>(blockIdx.x) * TILE * WORDS;
#pragma unroll
    for (int w = static_cast<int>(threadIdx.x); w < TILE * WORDS; w += 32 * N)
        if (4 * (first + w) < p.bytes)
            static_cast<uint32_t *>(local.out)[first + w] = sum_word<DTYPE, N>(tile, w);
}

} // namespace updraft

static size_t exchange_bytes(const struct kernels_layout *l)
{
    return static_cast<size_t>(updraft::BUFFERS) * l->ranks * updraft::slot_packs_of(l) *
           sizeof(uint4);
}

static int enqueue(const struct kernels_call *call, void *stream)
{
    const int ranks = call->layout.ranks;
    if (updraft::is_small(call, 1))
        return updraft::enqueue_launch(
            call, {UPDRAFT_INSTANCE_UP_TO(updraft::oneshot_small, call), 1, updraft::TILE, 0},
            stream);
    return updraft::enqueue_launch(call,
                                   {UPDRAFT_INSTANCE(updraft::oneshot, call), 1,
                                    updraft::tile_for(call, ranks), ranks},
                                   stream);
}

extern const struct kernel_code kernel_oneshot = {exchange_bytes, enqueue};
