/* One-shot push: every rank writes its whole input to every other rank, then sums what arrives.
 * One hop, (ranks - 1) * n bytes out of every rank (n where the buffer is shared).
 *
 * Exchange buffer: BUFFERS x [source rank][slot].
 */
#include "kernels/device.cuh"

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

} // namespace updraft

static size_t exchange_bytes(const struct kernels_layout *l)
{
    return static_cast<size_t>(updraft::BUFFERS) * l->ranks * updraft::slot_packs_of(l) *
           sizeof(uint4);
}

static int enqueue(const struct kernels_call *call, void *stream)
{
    const int ranks = call->layout.ranks;
    return updraft::enqueue_launch(call,
                                   {UPDRAFT_INSTANCE(updraft::oneshot, call), 1,
                                    updraft::tile_for(call, ranks), ranks},
                                   stream);
}

extern const struct kernel_code kernel_oneshot = {exchange_bytes, enqueue};
