/* What the allreduce kernels are made of: the call's parameters, the turn (which rank, which call),
 * packs of data, arrival marks, sums in fixed order, and the launch.
 *
 * A block works on tiles of packs. Within a tile, one warp deals with one peer and 32 packs at a
 * time, so that stores to a peer are whole lines, every thread waits for one pack only, and the code
 * that runs once per call stays short: what arrives is put side by side in shared memory, and summed
 * word by word.
 *
 * At these sizes a call is latencies, so what a kernel reads first is kept close together: the
 * numbers that all blocks need, then each local rank's pointers, in a cache line or two of constant
 * memory; pointers to peers come from the control block, beside the call's number.
 *
 * Orders of memory: pushed packs are stored and polled with relaxed system-scope accesses, which do
 * not stop in L1 and do not tear within 4 bytes; every 4 bytes say themselves whether they have
 * arrived, so no fence is needed. docs/kernels.md argues why buffers may be used again.
 */
#ifndef UPDRAFT_KERNELS_DEVICE_CUH
#define UPDRAFT_KERNELS_DEVICE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "kernels/kernels.h"

namespace updraft {

constexpr int BUFFERS = 4; /* in turn; docs/kernels.md says why 4 */
constexpr int WORDS = KERNELS_PACK_BYTES / 4;

/* A rank's control block, in its device's memory. Row b is read by block b alone: the number of the
 * last call, then the size of the last call's shards, of the one before and of the one before that,
 * in packs. */
struct Control {
    uint4 rows[KERNELS_MAX_BLOCKS];
    uint4 *peers[KERNELS_MAX_RANKS]; /* exchange buffers */
};
static_assert(sizeof(Control) == KERNELS_CONTROL_BYTES, "kernels.h tells callers its size");

struct alignas(32) Local {
    const void *in;
    void *out;
    Control *control;
};

struct Params {
    int packs; /* of this call, the last one possibly partial */
    int shard; /* packs of a shard, of those that the kernel cuts the message into */
    int slot;  /* packs that a shard has room for */
    int tile;  /* packs of a shard that a block works on at a time */
    int whole; /* packs that may be moved as vectors: all full ones where pointers are aligned */
    int bytes; /* of this call */
    unsigned char ranks, first_rank, islands, shared;
    unsigned char words; /* 1: pointers are aligned to 4 bytes */
    unsigned short skew_len;
    const uint32_t *skew;
    Local local[KERNELS_MAX_RANKS]; /* by number in the launch */
};

__host__ __device__ constexpr int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

/* --- Memory accesses that peers see ----------------------------------------------------------- */
__device__ __forceinline__ uint4 load_line(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.relaxed.sys.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}

__device__ __forceinline__ void store_line(uint4 *p, uint4 v)
{
    asm volatile("st.relaxed.sys.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}

__device__ __forceinline__ void store_release(uint32_t *p, uint32_t v)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ __forceinline__ uint32_t load_acquire(const uint32_t *p)
{
    uint32_t v;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

/* --- Arrival marks ------------------------------------------------------------------------------
 * A slot is empty while any of its words is EMPTY, a NaN in every type. A payload word of that value
 * becomes another NaN, whose sum is the same NaN, so the mark costs no value. */
constexpr uint32_t EMPTY = 0xffffffffu, NAN_INSTEAD = 0x7fff7fffu;

__device__ __forceinline__ uint32_t payload(uint32_t w)
{
    return w == EMPTY ? NAN_INSTEAD : w;
}

__device__ __forceinline__ void put(uint4 *line, uint4 v)
{
    store_line(line, make_uint4(payload(v.x), payload(v.y), payload(v.z), payload(v.w)));
}

__device__ __forceinline__ uint4 get(const uint4 *line)
{
    uint4 v;
    do
        v = load_line(line);
    while (v.x == EMPTY || v.y == EMPTY || v.z == EMPTY || v.w == EMPTY);
    return v;
}

/* --- The user's data ---------------------------------------------------------------------------- */
/* The last, partial pack, or any pack where pointers are aligned less: by halves. Out of line, to
 * keep the kernels short. */
static __device__ __noinline__ uint4 load_halves(const void *in, int i, int bytes)
{
    uint32_t w[WORDS];
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        const int at = 16 * i + 4 * k;
        const uint16_t *p = reinterpret_cast<const uint16_t *>(static_cast<const char *>(in) + at);
        w[k] = at + 2 <= bytes ? p[0] : 0;
        w[k] |= at + 4 <= bytes ? static_cast<uint32_t>(p[1]) << 16 : 0;
    }
    return make_uint4(w[0], w[1], w[2], w[3]);
}

__device__ __forceinline__ uint4 load_pack(const Params &p, const void *in, int i)
{
    if (i < p.whole)
        return static_cast<const uint4 *>(in)[i];
    if (!p.words || (p.bytes & 3) != 0)
        return load_halves(in, i, p.bytes);
    const uint32_t *w = static_cast<const uint32_t *>(in) + WORDS * i;
    const int n = p.bytes / 4 - WORDS * i;
    return make_uint4(w[0], n > 1 ? w[1] : 0, n > 2 ? w[2] : 0, n > 3 ? w[3] : 0);
}

__device__ __forceinline__ void store_word(const Params &p, void *out, int word, uint32_t v)
{
    const int at = 4 * word;
    if (p.words && at + 4 <= p.bytes) {
        static_cast<uint32_t *>(out)[word] = v;
    } else {
        if (at + 2 <= p.bytes)
            static_cast<uint16_t *>(out)[2 * word] = static_cast<uint16_t>(v);
        if (at + 4 <= p.bytes)
            static_cast<uint16_t *>(out)[2 * word + 1] = static_cast<uint16_t>(v >> 16);
    }
}

__device__ __forceinline__ void store_pack(const Params &p, void *out, int i, uint4 v)
{
    if (i < p.whole) {
        static_cast<uint4 *>(out)[i] = v;
        return;
    }
    store_word(p, out, WORDS * i, v.x);
    store_word(p, out, WORDS * i + 1, v.y);
    store_word(p, out, WORDS * i + 2, v.z);
    store_word(p, out, WORDS * i + 3, v.w);
}

/* --- Sums ---------------------------------------------------------------------------------------- */
template <int DTYPE> __device__ __forceinline__ float2 unpack(uint32_t w)
{
    if (DTYPE == KERNELS_BF16)
        return make_float2(__uint_as_float(w << 16), __uint_as_float(w & 0xffff0000u));
    if (DTYPE == KERNELS_FP16)
        return __half22float2(*reinterpret_cast<const __half2 *>(&w));
    return make_float2(__uint_as_float(w), 0.0f);
}

template <int DTYPE> __device__ __forceinline__ uint32_t round_to(float2 v)
{
    if (DTYPE == KERNELS_BF16) {
        const __nv_bfloat162 b = __floats2bfloat162_rn(v.x, v.y);
        return *reinterpret_cast<const uint32_t *>(&b);
    }
    if (DTYPE == KERNELS_FP16) {
        const __half2 h = __floats2half2_rn(v.x, v.y);
        return *reinterpret_cast<const uint32_t *>(&h);
    }
    return __float_as_uint(v.x);
}

/* The sum over n rows of one word, in fp32, in the order of the rows. Rows are `stride` words
 * apart. */
template <int DTYPE>
__device__ __forceinline__ float2 sum_rows(const uint32_t *word, int stride, int n)
{
    float2 s = unpack<DTYPE>(word[0]);
#pragma unroll 4
    for (int r = 1; r < n; r++) {
        const float2 x = unpack<DTYPE>(word[r * stride]);
        s.x += x.x;
        if (DTYPE != KERNELS_FP32)
            s.y += x.y;
    }
    return s;
}

/* --- Work of a block ------------------------------------------------------------------------------ */
/* Calls f(peer, pack) for all peers < n and packs < m, a warp on one peer and 32 packs at a time. */
template <class F> __device__ __forceinline__ void each(int n, int m, F f)
{
    const int warps = static_cast<int>(blockDim.x / 32), lane = static_cast<int>(threadIdx.x % 32);
    int peer = static_cast<int>(threadIdx.x / 32), i = lane;
    while (true) {
        for (; peer >= n; peer -= n)
            i += 32;
        if (i - lane >= m)
            return;
        if (i < m)
            f(peer, i);
        peer += warps;
    }
}

/* The same in the order of ranks after `self`, so that ranks do not all turn to one peer first. */
template <class F> __device__ __forceinline__ void each_after(int self, int n, int m, F f)
{
    each(n, m, [&](int k, int i) { f(self + k < n ? self + k : self + k - n, i); });
}

extern __shared__ uint4 tile_memory[];

/* --- The turn ------------------------------------------------------------------------------------- */
struct Turn {
    uint32_t epoch; /* number of this call, from 1 */
    uint32_t last, before; /* shards of the last call and of the one before */
    /* Which of BUFFERS this call uses. Asked for again each time, and only after what does not need
     * the number is under way: loads of data and pointers need not wait for the number's load. */
    __device__ __forceinline__ int buffer() const
    {
        uint32_t e = epoch;
        asm volatile("" : "+r"(e));
        return static_cast<int>(e % BUFFERS);
    }
    /* The buffer whose marks this call puts back, that of the call before the last, and how many in
     * a shard. */
    __device__ __forceinline__ int stale_buffer() const
    {
        return static_cast<int>((epoch + 2) % BUFFERS);
    }
    __device__ __forceinline__ int stale() const
    {
        return static_cast<int>(before);
    }
};

/* Starts to bring a line near that is read soon, without waiting for it: a kernel's first loads then
 * take the time of one, although the compiler has the thread wait after each. */
__device__ __forceinline__ void touch(const void *p)
{
    asm volatile("{\n .reg .u32 t;\n ld.global.u32 t, [%0];\n}" ::"l"(p));
}

__device__ __forceinline__ void touch_pack(const Params &p, const void *in, int i)
{
    if (i < p.packs)
        touch(static_cast<const char *>(in) + KERNELS_PACK_BYTES * static_cast<size_t>(i));
}

/* Waits as the call says. Out of line, to keep the kernels short. */
static __device__ __noinline__ void wait_delay(const uint32_t *skew, uint32_t at)
{
    const uint32_t delay = skew[at];
    const long long start = clock64();
    while (clock64() - start < delay)
        ;
}

__device__ __forceinline__ Turn begin_turn(const Params &p, const Control *control, int rank)
{
    Turn t;
    const uint4 row = control->rows[blockIdx.x];
    t.epoch = row.x + 1;
    t.last = row.y;
    t.before = row.z;
    if (__builtin_expect(p.skew != nullptr, 0))
        wait_delay(p.skew, (t.epoch * p.ranks + rank) % p.skew_len);
    return t;
}

/* Counts the call in the rows of all blocks that a launch may have, so that the grid may vary. To be
 * called behind a barrier of the block, which all threads have entered with their Turn. */
__device__ __forceinline__ void end_turn(const Params &p, const Turn &t, Control *control)
{
    for (unsigned b = blockIdx.x + threadIdx.x * gridDim.x; b < KERNELS_MAX_BLOCKS;
         b += blockDim.x * gridDim.x)
        control->rows[b] = make_uint4(t.epoch, static_cast<uint32_t>(p.shard), t.last, t.before);
}

/* Puts marks back into n slots, `stride` lines apart, of m packs each: every block where it works on
 * tiles, since one block alone would take long (a multiprocessor stores 32 bytes a cycle). */
__device__ __forceinline__ void clear_slots(const Params &p, uint4 *slots, int n, size_t stride,
                                            int m)
{
    const int tile = p.tile, step = static_cast<int>(gridDim.x) * tile;
    for (int base = static_cast<int>(blockIdx.x) * tile; base < m; base += step)
        each(n, min(tile, m - base), [&](int k, int i) {
            store_line(slots + k * stride + base + i, make_uint4(EMPTY, EMPTY, EMPTY, EMPTY));
        });
}

/* --- Host side -------------------------------------------------------------------------------------- */
inline int slot_packs_of(const kernels_layout *l)
{
    return static_cast<int>(l->capacity_bytes / KERNELS_PACK_BYTES);
}

/* A kernel's launch: the message is cut into `shards`; a tile of a shard is `tile` packs and takes
 * `rows` packs of shared memory for each. */
struct Launch {
    const void *function;
    int shards, tile, rows;
};

inline Params params_of(const kernels_call *c, const Launch &launch)
{
    Params p = {};
    const int size = c->dtype == KERNELS_FP32 ? 4 : 2;
    uintptr_t bits = 0;
    for (int k = 0; k < c->local_ranks; k++) {
        const int r = c->first_rank + k;
        p.local[k].in = c->in[r];
        p.local[k].out = c->out[r];
        p.local[k].control = static_cast<Control *>(c->control[r]);
        bits |= reinterpret_cast<uintptr_t>(c->in[r]) | reinterpret_cast<uintptr_t>(c->out[r]);
    }
    p.bytes = static_cast<int>(c->count * size);
    p.packs = ceil_div(p.bytes, KERNELS_PACK_BYTES);
    p.shard = ceil_div(p.packs, launch.shards);
    p.slot = ceil_div(slot_packs_of(&c->layout), launch.shards);
    p.tile = launch.tile;
    p.whole = bits % KERNELS_PACK_BYTES == 0 ? p.bytes / KERNELS_PACK_BYTES : 0;
    p.words = bits % 4 == 0;
    p.ranks = static_cast<unsigned char>(c->layout.ranks);
    p.first_rank = static_cast<unsigned char>(c->first_rank);
    p.islands = static_cast<unsigned char>(c->layout.islands);
    p.shared = c->layout.shared != 0;
    p.skew = c->skew;
    p.skew_len = static_cast<unsigned short>(c->skew_len);
    return p;
}

/* Launches where all blocks can be resident together. */
inline int enqueue_launch(const kernels_call *c, const Launch &launch, void *stream)
{
    Params p = params_of(c, launch);
    const size_t shared_bytes = static_cast<size_t>(launch.tile) * launch.rows * sizeof(uint4);
    int device = 0, sms = 0, per_sm = 0;
    cudaError_t e = cudaGetDevice(&device);
    if (e == cudaSuccess)
        e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    if (e == cudaSuccess)
        e = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, launch.function, c->threads,
                                                          shared_bytes);
    if (e != cudaSuccess)
        return e;
    if (c->blocks * c->local_ranks > sms * per_sm)
        return cudaErrorCooperativeLaunchTooLarge;
    void *args[] = {&p};
    return cudaLaunchKernel(launch.function,
                            dim3(static_cast<unsigned>(c->blocks),
                                 static_cast<unsigned>(c->local_ranks)),
                            dim3(static_cast<unsigned>(c->threads)), args, shared_bytes,
                            static_cast<cudaStream_t>(stream));
}

/* Whether the short kernels can run it: one tile of one warp a peer for each block, whole words, the
 * exchange in every rank's own memory, and a number of ranks that there is an instance for. */
inline bool is_small(const kernels_call *c, int shards)
{
    const int ranks = c->layout.ranks, size = c->dtype == KERNELS_FP32 ? 4 : 2;
    const int64_t packs = (c->count * size + KERNELS_PACK_BYTES - 1) / KERNELS_PACK_BYTES;
    uintptr_t bits = static_cast<uintptr_t>(c->count * size) & 3;
    for (int r = c->first_rank; r < c->first_rank + c->local_ranks; r++)
        bits |= (reinterpret_cast<uintptr_t>(c->in[r]) | reinterpret_cast<uintptr_t>(c->out[r])) & 15;
    return (ranks == 2 || ranks == 4 || ranks == 8 || ranks == 16) && c->threads == 32 * ranks &&
           !c->layout.shared && bits == 0 &&
           c->blocks * 32 >= (packs + shards - 1) / shards;
}

/* Packs of a tile such that every warp has one peer to deal with. */
inline int tile_for(const kernels_call *c, int peers)
{
    const int warps = c->threads / 32;
    return 32 * (warps < peers ? 1 : warps / peers);
}

/* The instance of a kernel template for a type. */
#define UPDRAFT_INSTANCE(kernel, call)                                                             \
    ((call)->dtype == KERNELS_BF16   ? reinterpret_cast<const void *>(&kernel<KERNELS_BF16>)       \
     : (call)->dtype == KERNELS_FP16 ? reinterpret_cast<const void *>(&kernel<KERNELS_FP16>)       \
                                     : reinterpret_cast<const void *>(&kernel<KERNELS_FP32>))

/* The same for a type and a number of ranks, or the next larger one. */
#define UPDRAFT_INSTANCE_UP_TO(kernel, call)                                                       \
    ((call)->layout.ranks <= 2   ? UPDRAFT_INSTANCE_N(kernel, call, 2)                             \
     : (call)->layout.ranks <= 4 ? UPDRAFT_INSTANCE_N(kernel, call, 4)                             \
     : (call)->layout.ranks <= 8 ? UPDRAFT_INSTANCE_N(kernel, call, 8)                             \
                                 : UPDRAFT_INSTANCE_N(kernel, call, 16))
#define UPDRAFT_INSTANCE_N(kernel, call, N)                                                        \
    ((call)->dtype == KERNELS_BF16   ? reinterpret_cast<const void *>(&kernel<KERNELS_BF16, N>)    \
     : (call)->dtype == KERNELS_FP16 ? reinterpret_cast<const void *>(&kernel<KERNELS_FP16, N>)    \
                                     : reinterpret_cast<const void *>(&kernel<KERNELS_FP32, N>))

} // namespace updraft

#endif
