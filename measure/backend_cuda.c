/* The cuda backend: our own kernels, on one or several NVIDIA GPUs. "custom/NAME" exchanges through
 * the GPUs' memory (their own, where ranks share one), "host/NAME" through pinned host memory; the
 * names are those of kernels/kernels.def. Ranks of one GPU run in one launch. The work is done in
 * measure/cuda_*.c, which are compiled where there is CUDA.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/kernels.h"
#include "measure/backend.h"
#include "measure/cuda_device.h"
#include "measure/cuda_session.h"
#include "traces/command.h"

static const struct {
    const char *name;
    enum kernels_cut cut;
    int quick;
} offered[] = {
#define KERNEL(id, name, cut, quick, doc) {name, cut, quick},
#include "kernels/kernels.def"
#undef KERNEL
};
enum { OFFERED = sizeof offered / sizeof offered[0], ISLANDS = 2 };

int cuda_impl_parse(const char *name, int *kernel, int *host, int *islands)
{
    static const char setting[] = ":islands=";
    const char *slash = strchr(name, '/');
    size_t length;
    int64_t n = ISLANDS;
    *host = strncmp(name, "host/", 5) == 0;
    if (slash == NULL || (!*host && strncmp(name, "custom/", 7) != 0))
        return -1;
    length = strcspn(slash + 1, ":");
    for (*kernel = 0; *kernel < OFFERED; ++*kernel)
        if (strlen(offered[*kernel].name) == length &&
            strncmp(offered[*kernel].name, slash + 1, length) == 0)
            break;
    if (*kernel == OFFERED)
        return -1;
    if (slash[1 + length] != '\0' &&
        (offered[*kernel].cut != KERNELS_BY_MEMBERS ||
         strncmp(slash + 1 + length, setting, sizeof setting - 1) != 0 ||
         parse_int64(slash + length + sizeof setting, &n) != 0 || n < 1 || n > MAX_RANKS))
        return -1;
    *islands = (int)n;
    return 0;
}

/* Whether every GPU reaches every other: peer access that was found to move data. */
static int peers(const struct backend_host *host)
{
    for (int i = 0; i < host->n_gpus; i++)
        for (int j = 0; j < host->n_gpus; j++)
            if (i != j && (!host->peer_write[i][j] || !host->peer_read[i][j]))
                return 0;
    return 1;
}

static int describe(const char *name, const struct backend_host *host, struct backend_impl *out)
{
    int kernel, through_host, islands;
    if (cuda_impl_parse(name, &kernel, &through_host, &islands) != 0 ||
        (!through_host && !peers(host)))
        return 0;
    *out = (struct backend_impl){
        .min_ranks = islands > 2 && offered[kernel].cut == KERNELS_BY_MEMBERS ? islands : 2,
        .max_ranks = host->max_ranks,
        .dtypes = 1u << DTYPE_bf16 | 1u << DTYPE_fp16 | 1u << DTYPE_fp32,
        .methods = 1u << METHOD_back_to_back | 1u << METHOD_graph | 1u << METHOD_dependent |
                   1u << METHOD_skewed | 1u << METHOD_loaded,
        .quick = offered[kernel].quick && (!through_host || !peers(host) || host->n_gpus == 1),
    };
    snprintf(out->name, sizeof out->name, "%s", name);
    return 1;
}

static int impl(int index, const struct backend_host *host, struct backend_impl *out)
{
    int first = peers(host) ? 0 : OFFERED;
    char name[sizeof out->name];
    index += first;
    if (index >= 2 * OFFERED)
        return 0;
    snprintf(name, sizeof name, "%s/%s", index < OFFERED ? "custom" : "host",
             offered[index % OFFERED].name);
    return describe(name, host, out);
}

static enum status scout(struct backend_host *host, int n_options,
                         const struct backend_option *options, struct err *err)
{
    static const char *const none[] = {NULL};
    enum status status = backend_options_known(n_options, options, none, "cuda", err);
    return status == STATUS_OK ? cuda_scout(host, err) : status;
}

#ifndef HAVE_CUDA

enum status cuda_scout(struct backend_host *host, struct err *err)
{
    (void)host;
    return err_set(
        err, STATUS_MISSING,
        "backend cuda: this build has no CUDA kernels: build with the CUDA toolkit (make "
        "CUDA=yes) on a machine with an NVIDIA GPU, or measure with --backend cpu");
}

static enum outcome none(struct err *err)
{
    err_set(err, STATUS_MISSING, "backend cuda is not in this build");
    return OUTCOME_UNSUPPORTED;
}

enum outcome cuda_load(int ms, struct err *err)
{
    (void)ms;
    return none(err);
}

enum outcome cuda_session_open(void **session, const struct variant *v, struct err *err)
{
    (void)session, (void)v;
    return none(err);
}

enum outcome cuda_session_verify(void *session, int64_t size_bytes, struct result *r,
                                 struct err *err)
{
    (void)session, (void)size_bytes, (void)r;
    return none(err);
}

enum outcome cuda_session_time(void *session, const struct timing *t, struct result *r,
                               struct err *err)
{
    (void)session, (void)t, (void)r;
    return none(err);
}

void cuda_session_close(void *session)
{
    (void)session;
}

#endif

const struct backend backend_cuda = {
    .id = "cuda",
    .summary = "this project's CUDA kernels, on one or several NVIDIA GPUs",
    .scout = scout,
    .impl = impl,
    .named = describe,
    .open = cuda_session_open,
    .verify = cuda_session_verify,
    .time = cuda_session_time,
    .close = cuda_session_close,
    .load = cuda_load,
};
