/* Staged: two-shot in rounds. In round d of the first half rank r pushes shard r + d to its owner
 * and waits for what rank r - d sends, so that a rank has one outbound and one inbound stream at a
 * time; the second half does the same with the results. 2 * (ranks - 1) hops, the bytes of two-shot:
 * for links on which several streams together are slower than one after the other.
 *
 * A round ends, thread by thread, when that thread's inbound pack is there: no barrier, no fence.
 *
 * Exchange buffer: BUFFERS x { contributions [owner, where shared][source][shard slot],
 *                              results [reader, where shared][owner][shard slot] }.
 */
#include "kernels/shards.cuh"

namespace updraft {

struct StagedLayout {
    size_t slot, owner, results, buffer;
    __host__ __device__ StagedLayout(int ranks, int slot_packs, int shared)
    {
        slot = static_cast<size_t>(slot_packs);
        owner = shared ? slot * ranks : 0;
        results = slot * ranks * (shared ? ranks : 1);
        buffer = 2 * results;
    }
};

template <int DTYPE>
__global__ void __launch_bounds__(KERNELS_MAX_THREADS) staged(const __grid_constant__ Params p)
{
    const int rank = p.first_rank + static_cast<int>(blockIdx.y);
    const Local &local = p.local[blockIdx.y];
    const void *const in = local.in;
    void *const out = local.out;
    Control *const control = local.control;
    const Turn t = begin_turn(p, control, rank);
    const int tile = p.tile, shard = p.shard;
    const int step = static_cast<int>(gridDim.x) * tile, thread = static_cast<int>(threadIdx.x);
    const StagedLayout l(p.ranks, p.slot, p.shared);
    const size_t buffer = t.buffer() * l.buffer;
    uint4 *const marks = control->peers[rank] + t.stale_buffer() * l.buffer + rank * l.owner;
    clear_slots(p, marks, p.ranks, l.slot, t.stale());
    clear_slots(p, marks + l.results, p.ranks, l.slot, t.stale());
    __syncthreads();
    end_turn(p, t, control);
    const uint4 *const own = control->peers[rank] + buffer + rank * l.owner;
    uint32_t *words = reinterpret_cast<uint32_t *>(tile_memory);
    for (int base = static_cast<int>(blockIdx.x) * tile; base < shard; base += step) {
        const int mine = packs_in(p, rank, base), i = base + thread;
        if (thread < mine)
            tile_memory[rank * tile + thread] = load_pack(p, in, rank * shard + i);
        for (int d = 1; d < p.ranks && thread < tile; d++) {
            const int to = (rank + d) % p.ranks, from = (rank + p.ranks - d) % p.ranks;
            if (thread < packs_in(p, to, base))
                put(control->peers[to] + buffer + to * l.owner + rank * l.slot + i,
                    load_pack(p, in, to * shard + i));
            if (thread < mine)
                tile_memory[from * tile + thread] = get(own + from * l.slot + i);
        }
        __syncthreads();
        for (int w = thread; w < mine * WORDS; w += static_cast<int>(blockDim.x))
            words[w] = round_to<DTYPE>(sum_rows<DTYPE>(words + w, tile * WORDS, p.ranks));
        __syncthreads();
        if (thread < mine)
            store_pack(p, out, rank * shard + i, tile_memory[thread]);
        for (int d = 1; d < p.ranks && thread < tile; d++) {
            const int to = (rank + d) % p.ranks, from = (rank + p.ranks - d) % p.ranks;
            if (thread < mine)
                put(control->peers[to] + buffer + to * l.owner + l.results + rank * l.slot + i,
                    tile_memory[thread]);
            if (thread < packs_in(p, from, base))
                store_pack(p, out, from * shard + i, get(own + l.results + from * l.slot + i));
        }
        __syncthreads();
    }
}

} // namespace updraft

static size_t exchange_bytes(const struct kernels_layout *l)
{
    const updraft::StagedLayout t(
        l->ranks, updraft::ceil_div(updraft::slot_packs_of(l), l->ranks), l->shared);
    return updraft::BUFFERS * t.buffer * sizeof(uint4);
}

/* One thread a pack, as far as shared memory goes. */
static int enqueue(const struct kernels_call *call, void *stream)
{
    const int ranks = call->layout.ranks, room = 48 * 1024 / 16 / ranks / 32 * 32;
    return updraft::enqueue_launch(call,
                                   {UPDRAFT_INSTANCE(updraft::staged, call), ranks,
                                    call->threads < room ? call->threads : room, ranks},
                                   stream);
}

extern const struct kernel_code kernel_staged = {exchange_bytes, enqueue};
