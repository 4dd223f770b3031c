/* Hierarchical: ranks stand in islands of neighbours (boxes with two root complexes have two).
 * Inside an island, shards are pushed to their owners, who sum; owners of the same shard in
 * different islands exchange these sums in fp32; each adds them in the order of the islands and
 * pushes the result inside its own island. Three hops; only the owners' sums cross.
 *
 * Islands have ranks / islands members, the first ranks % islands of them one more. The message has
 * as many shards as the smallest island has members; further members own nothing.
 *
 * Exchange buffer: BUFFERS x { contributions [owner][member][slot], sums [owner][island][2 slots],
 *                              results [owner][slot] }, owners by rank where shared; else without
 *                              [owner] in the first two, and by shard in the last.
 */
#include "kernels/shards.cuh"

namespace updraft {

struct HierLayout {
    int shards, members; /* of the smallest and of the largest island */
    size_t slot, owner, sums, sums_owner, results, buffer;
    __host__ __device__ HierLayout(int ranks, int islands, int slot_packs, int shared)
    {
        const int owners = shared ? ranks : 1;
        shards = ranks / islands;
        members = ceil_div(ranks, islands);
        slot = static_cast<size_t>(slot_packs);
        owner = shared ? slot * members : 0;
        sums = slot * members * owners;
        sums_owner = shared ? 2 * slot * islands : 0;
        results = sums + 2 * slot * islands * owners;
        buffer = results + slot * (shared ? ranks : shards);
    }
};

struct Island {
    int index, first, members;
    __device__ Island(int i, int ranks, int islands)
    {
        const int extra = ranks % islands;
        index = i;
        first = i * (ranks / islands) + min(i, extra);
        members = ranks / islands + (i < extra ? 1 : 0);
    }
};

template <int DTYPE>
__global__ void __launch_bounds__(KERNELS_MAX_THREADS) hier(const __grid_constant__ Params p)
{
    constexpr int HALVES = DTYPE == KERNELS_FP32 ? 1 : 2; /* packs of fp32 for a pack of the type */
    const int rank = p.first_rank + static_cast<int>(blockIdx.y);
    const Local &local = p.local[blockIdx.y];
    const void *const in = local.in;
    void *const out = local.out;
    Control *const control = local.control;
    touch(control->peers);
    const Turn t = begin_turn(p, control, rank);
    const HierLayout l(p.ranks, p.islands, p.slot, p.shared);
    const int extra = p.ranks % p.islands;
    const Island home(rank < extra * l.members ? rank / l.members : (rank - extra) / l.shards,
                      p.ranks, p.islands);
    const int member = rank - home.first;
    const int tile = p.tile, shard = p.shard;
    const int first = static_cast<int>(blockIdx.x) * tile;
    const int step = static_cast<int>(gridDim.x) * tile, threads = static_cast<int>(blockDim.x);
    for (int base = first; base < shard; base += step)
        each_after(member < l.shards ? member : 0, l.shards, tile, [&](int s, int i) {
            const int owner = home.first + s;
            if (s == member || i >= packs_in(p, s, base))
                return;
            uint4 *const to =
                control->peers[owner] + owner * l.owner + member * l.slot + base + i;
            const uint4 x = load_pack(p, in, s * shard + base + i);
            put(to + t.buffer() * l.buffer, x);
        });
    __syncthreads();
    end_turn(p, t, control);
    const int stale = t.stale();
    uint4 *const marks = control->peers[rank] + t.stale_buffer() * l.buffer;
    if (member < l.shards) {
        clear_slots(p, marks + rank * l.owner, home.members, l.slot, stale);
        clear_slots(p, marks + l.sums + rank * l.sums_owner, p.islands, 2 * l.slot, 2 * stale);
    }
    if (p.shared && member < l.shards)
        clear_slots(p, marks + l.results + rank * l.slot, 1, l.slot, stale);
    else if (!p.shared)
        clear_slots(p, marks + l.results, l.shards, l.slot, stale);
    const size_t buffer = t.buffer() * l.buffer;
    const uint4 *const arriving = control->peers[rank] + buffer;
    const uint4 *const own = arriving + rank * l.owner;
    const uint4 *const sums = arriving + l.sums + rank * l.sums_owner;
    /* Rows of the tile: what members sent, then the fp32 sums of islands. */
    uint32_t *words = reinterpret_cast<uint32_t *>(tile_memory);
    uint4 *island_sums = tile_memory + l.members * tile;
    float *sum_words = reinterpret_cast<float *>(island_sums);
    const int row = HALVES * tile;
    for (int base = first; base < shard && member < l.shards; base += step) {
        const int mine = packs_in(p, member, base);
        each_after(member, home.members, mine, [&](int from, int i) {
            tile_memory[from * tile + i] = from == member
                                               ? load_pack(p, in, member * shard + base + i)
                                               : get(own + from * l.slot + base + i);
        });
        __syncthreads();
        float *partial = sum_words + home.index * row * WORDS;
        for (int w = static_cast<int>(threadIdx.x); w < mine * WORDS; w += threads) {
            const float2 s = sum_rows<DTYPE>(words + w, tile * WORDS, home.members);
            partial[HALVES * w] = s.x;
            if (HALVES == 2)
                partial[HALVES * w + 1] = s.y;
        }
        __syncthreads();
        each_after(home.index, p.islands, HALVES * mine, [&](int island, int i) {
            const int peer = Island(island, p.ranks, p.islands).first + member;
            if (island != home.index)
                put(control->peers[peer] + buffer + l.sums + peer * l.sums_owner +
                        home.index * 2 * l.slot + HALVES * base + i,
                    island_sums[home.index * row + i]);
        });
        each_after(home.index, p.islands, HALVES * mine, [&](int island, int i) {
            if (island != home.index)
                island_sums[island * row + i] = get(sums + island * 2 * l.slot + HALVES * base + i);
        });
        __syncthreads();
        for (int w = static_cast<int>(threadIdx.x); w < mine * WORDS; w += threads) {
            const float *at = sum_words + HALVES * w;
            float2 s = make_float2(at[0], HALVES == 2 ? at[1] : 0.0f);
            for (int k = 1; k < p.islands; k++) {
                s.x += at[k * row * WORDS];
                s.y += HALVES == 2 ? at[k * row * WORDS + 1] : 0.0f;
            }
            words[w] = round_to<DTYPE>(s);
        }
        __syncthreads();
        const size_t result =
            buffer + l.results + (p.shared ? rank : member) * l.slot + base;
        each_after(member, home.members, mine, [&](int to, int i) {
            if ((to == member) == (p.shared != 0))
                put(control->peers[home.first + to] + result + i, tile_memory[i]);
            if (to == member)
                store_pack(p, out, member * shard + base + i, tile_memory[i]);
        });
        if (base + step < shard)
            __syncthreads();
    }
    for (int base = first; base < shard; base += step)
        each_after(member < l.shards ? member : 0, l.shards, tile, [&](int s, int i) {
            const int slot = p.shared ? home.first + s : s;
            if (s != member && i < packs_in(p, s, base))
                store_pack(p, out, s * shard + base + i,
                           get(arriving + l.results + slot * l.slot + base + i));
        });
}

} // namespace updraft

static size_t exchange_bytes(const struct kernels_layout *l)
{
    const int slot = updraft::ceil_div(updraft::slot_packs_of(l), l->ranks / l->islands);
    const updraft::HierLayout h(l->ranks, l->islands, slot, l->shared);
    return updraft::BUFFERS * h.buffer * sizeof(uint4);
}

static int enqueue(const struct kernels_call *call, void *stream)
{
    const int ranks = call->layout.ranks, islands = call->layout.islands;
    const int members = updraft::ceil_div(ranks, islands);
    int tile = updraft::tile_for(call, members);
    while (tile > 32 && static_cast<size_t>(tile) * (members + 2 * islands) * 16 > 48 * 1024)
        tile -= 32;
    return updraft::enqueue_launch(call,
                                   {UPDRAFT_INSTANCE(updraft::hier, call), ranks / islands, tile,
                                    members + 2 * islands},
                                   stream);
}

extern const struct kernel_code kernel_hier = {exchange_bytes, enqueue};
