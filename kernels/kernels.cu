/* The table of kernels, the checks of a call, parts of long messages, and fresh memory. */
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>

#include "kernels/device.cuh"

#define KERNEL(id, name, cut, quick, doc) extern const struct kernel_code kernel_##id;
#include "kernels/kernels.def"
#undef KERNEL

extern "C" const struct kernel kernels[] = {
#define KERNEL(id, name, cut, quick, doc) {name, cut, &kernel_##id},
#include "kernels/kernels.def"
#undef KERNEL
    {nullptr, KERNELS_WHOLE, nullptr},
};

extern "C" int kernels_reset_exchange(void *exchange, size_t bytes, void *stream)
{
    return cudaMemsetAsync(exchange, 0xff, bytes, static_cast<cudaStream_t>(stream));
}

extern "C" int kernels_reset_control(void *control, void *const *exchange, int ranks, void *stream)
{
    updraft::Control *c = static_cast<updraft::Control *>(control);
    cudaError_t e = cudaMemsetAsync(c, 0, sizeof *c, static_cast<cudaStream_t>(stream));
    if (e == cudaSuccess)
        e = cudaMemcpyAsync(c->peers, exchange, static_cast<size_t>(ranks) * sizeof *exchange,
                            cudaMemcpyHostToDevice, static_cast<cudaStream_t>(stream));
    return e;
}

extern "C" void kernels_name(const void *function, char *text, size_t size)
{
    const char *mangled = nullptr;
    text[0] = '\0';
    if (cudaFuncGetName(&mangled, function) != cudaSuccess || mangled == nullptr)
        return;
    char *name = abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr);
    const char *from = name != nullptr ? name : mangled;
    if (strncmp(from, "void ", 5) == 0)
        from += 5;
    size_t n = strcspn(from, "(");
    n = n < size ? n : size - 1;
    memcpy(text, from, n);
    text[n] = '\0';
    free(name);
}

static bool valid(const struct kernels_call *c)
{
    const struct kernels_layout *l = &c->layout;
    return l->ranks >= 2 && l->ranks <= KERNELS_MAX_RANKS && l->islands >= 1 &&
           l->islands <= l->ranks && l->capacity_bytes >= KERNELS_PACK_BYTES &&
           l->capacity_bytes % KERNELS_PACK_BYTES == 0 &&
           l->capacity_bytes <= int64_t(1) << 30 && c->first_rank >= 0 && c->local_ranks >= 1 &&
           c->first_rank + c->local_ranks <= l->ranks && c->count >= 0 && c->blocks >= 1 &&
           c->blocks <= KERNELS_MAX_BLOCKS && c->threads >= 32 &&
           c->threads <= KERNELS_MAX_THREADS && c->threads % 32 == 0 &&
           (c->skew == nullptr || (c->skew_len > 0 && c->skew_len < 65536));
}

extern "C" int kernels_enqueue(const struct kernel *kernel, const struct kernels_call *call,
                               void *stream)
{
    if (!valid(call))
        return cudaErrorInvalidValue;
    const int64_t size = call->dtype == KERNELS_FP32 ? 4 : 2;
    const int64_t part = call->layout.capacity_bytes / size;
    for (int64_t done = 0; done < call->count; done += part) {
        struct kernels_call c = *call;
        c.count = call->count - done < part ? call->count - done : part;
        for (int r = 0; r < c.layout.ranks; r++) {
            c.in[r] = static_cast<const char *>(call->in[r]) + done * size;
            c.out[r] = static_cast<char *>(call->out[r]) + done * size;
        }
        const int e = kernel->code->enqueue(&c, stream);
        if (e != cudaSuccess)
            return e;
    }
    return cudaSuccess;
}
