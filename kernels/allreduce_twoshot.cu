/* Two-shot push: rank s owns shard s. Every rank pushes its shards to their owners; an owner sums
 * while polling, and pushes the result to all. Two hops, no barrier between ranks,
 * 2 * n * (ranks - 1) / ranks bytes out of every rank (results once where the buffer is shared).
 *
 * Exchange buffer: BUFFERS x { contributions [owner, where shared][source][shard slot],
 *                              results [owner][shard slot] }.
 */
#include "kernels/shards.cuh"
#include "kernels/small.cuh"

namespace updraft {

/* Offsets in lines. */
struct TwoshotLayout {
    size_t slot, owner, results, buffer;
    __host__ __device__ TwoshotLayout(int ranks, int slot_packs, int shared)
    {
        slot = static_cast<size_t>(slot_packs);
        owner = shared ? slot * ranks : 0;
        results = slot * ranks * (shared ? ranks : 1);
        buffer = results + slot * ranks;
    }
};

template <int DTYPE>
__global__ void __launch_bounds__(KERNELS_MAX_THREADS) twoshot(const __grid_constant__ Params p)
{
    const int rank = p.first_rank + static_cast<int>(blockIdx.y);
    const Local &local = p.local[blockIdx.y];
    const void *const in = local.in;
    void *const out = local.out;
    Control *const control = local.control;
    const int tile = p.tile, shard = p.shard;
    const int first = static_cast<int>(blockIdx.x) * tile;
    touch(control->peers);
    each_after(rank, p.ranks, 32, [&](int owner, int i) {
        touch_pack(p, in, owner * shard + first + i);
    });
    const Turn t = begin_turn(p, control, rank);
    const int step = static_cast<int>(gridDim.x) * tile;
    const TwoshotLayout l(p.ranks, p.slot, p.shared);
    for (int base = first; base < shard; base += step)
        each_after(rank, p.ranks, tile, [&](int owner, int i) {
            if (owner == rank || i >= packs_in(p, owner, base))
                return;
            uint4 *const to =
                control->peers[owner] + owner * l.owner + rank * l.slot + base + i;
            const uint4 x = load_pack(p, in, owner * shard + base + i);
            put(to + t.buffer() * l.buffer, x);
        });
    uint4 *const marks = control->peers[rank] + t.stale_buffer() * l.buffer;
    clear_slots(p, marks + rank * l.owner, p.ranks, l.slot, t.stale());
    clear_slots(p, marks + l.results + (p.shared ? rank * l.slot : 0), p.shared ? 1 : p.ranks, l.slot,
                t.stale());
    const size_t buffer = t.buffer() * l.buffer;
    const uint4 *const arriving = control->peers[rank] + buffer;
    const uint4 *const own = arriving + rank * l.owner;
    int counted = 0;
    uint32_t *words = reinterpret_cast<uint32_t *>(tile_memory);
    for (int base = first; base < shard || !counted; base += step) {
        const int mine = packs_in(p, rank, base);
        each_after(rank, p.ranks, mine, [&](int from, int i) {
            tile_memory[from * tile + i] = from == rank
                                               ? load_pack(p, in, rank * shard + base + i)
                                               : get(own + from * l.slot + base + i);
        });
        __syncthreads();
        /* A word's sum takes the place of its first summand, which no other thread reads. */
        for (int w = static_cast<int>(threadIdx.x); w < mine * WORDS;
             w += static_cast<int>(blockDim.x))
            words[w] = round_to<DTYPE>(sum_rows<DTYPE>(words + w, tile * WORDS, p.ranks));
        __syncthreads();
        const size_t result = buffer + l.results + rank * l.slot + base;
        each_after(rank, p.ranks, mine, [&](int to, int i) {
            if ((to == rank) == (p.shared != 0))
                put(control->peers[to] + result + i, tile_memory[i]);
            if (to == rank)
                store_pack(p, out, rank * shard + base + i, tile_memory[i]);
        });
        if (!counted++)
            end_turn(p, t, control);
        if (base + step < shard)
            __syncthreads();
    }
    for (int base = first; base < shard; base += step)
        each_after(rank, p.ranks, tile, [&](int owner, int i) {
            if (owner != rank && i < packs_in(p, owner, base))
                store_pack(p, out, owner * shard + base + i,
                           get(arriving + l.results + owner * l.slot + base + i));
        });
}

template <int DTYPE, int N>
__global__ void __launch_bounds__(32 * N) twoshot_small(const __grid_constant__ Params p)
{
    __shared__ uint4 tile[N * TILE];
    const int rank = p.first_rank + static_cast<int>(blockIdx.y);
    const Local &local = p.local[blockIdx.y];
    Control *const control = local.control;
    const int lane = static_cast<int>(threadIdx.x % 32), i = static_cast<int>(blockIdx.x) * TILE + lane;
    const int peer = (rank + static_cast<int>(threadIdx.x / 32)) % N;
    const bool mine = peer == rank;
    /* Whether pack i exists in the peer's shard, which this thread sends and gets back summed, and
     * in this rank's, to which it adds the peer's part. */
    const bool theirs_here = i < min(p.shard, p.packs - peer * p.shard);
    const bool ours_here = i < min(p.shard, p.packs - rank * p.shard);
    uint4 *const own = control->peers[rank], *const to = control->peers[peer];
    const uint4 x =
        theirs_here ? load_words(p, local.in, peer * p.shard + i) : make_uint4(0, 0, 0, 0);
    const Turn t = begin_turn(p, control, rank);
    const size_t slot = p.slot, at = t.buffer() * 2 * N * slot + i;
    if (theirs_here && !mine)
        put(to + at + rank * slot, x);
    uint4 *const marks = own + t.stale_buffer() * 2 * N * slot + peer * slot;
    clear_small(marks, i, t.stale());
    clear_small(marks + N * slot, i, t.stale());
    tile[peer * TILE + lane] = ours_here && !mine ? get(own + at + peer * slot) : x;
    __syncthreads();
    end_turn(p, t, control);
    uint32_t *const words = reinterpret_cast<uint32_t *>(tile);
#pragma unroll
    for (int w = static_cast<int>(threadIdx.x); w < TILE * WORDS; w += 32 * N)
        words[w] = sum_word<DTYPE, N>(tile, w); /* in place: no other thread reads this column */
    __syncthreads();
    uint4 y = tile[lane];
    if (ours_here && !mine)
        put(to + at + (N + rank) * slot, y);
    if (theirs_here && !mine)
        y = get(own + at + (N + peer) * slot);
    if (theirs_here)
        store_words(p, local.out, peer * p.shard + i, y);
}

} // namespace updraft

static size_t exchange_bytes(const struct kernels_layout *l)
{
    const updraft::TwoshotLayout t(
        l->ranks, updraft::ceil_div(updraft::slot_packs_of(l), l->ranks), l->shared);
    return updraft::BUFFERS * t.buffer * sizeof(uint4);
}

static int enqueue(const struct kernels_call *call, void *stream)
{
    const int ranks = call->layout.ranks;
    if (updraft::is_small(call, ranks))
        return updraft::enqueue_launch(
            call, {UPDRAFT_INSTANCE_UP_TO(updraft::twoshot_small, call), ranks, updraft::TILE, 0},
            stream);
    return updraft::enqueue_launch(call,
                                   {UPDRAFT_INSTANCE(updraft::twoshot, call), ranks,
                                    updraft::tile_for(call, ranks), ranks},
                                   stream);
}

extern const struct kernel_code kernel_twoshot = {exchange_bytes, enqueue};
