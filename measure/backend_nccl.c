/* The nccl backend: NCCL's library, one process a rank, every variant in processes of its own,
 * since NCCL reads most of its settings once a process. measure/nccl_*.c do the work where there is
 * CUDA; NCCL itself is loaded at run time and may be absent.
 *
 * Where there are fewer GPUs than ranks (one GPU), every rank pretends to be a host of its own
 * (NCCL_HOSTID) and NCCL goes through sockets: right sums prove the path, the times mean nothing.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/backend.h"
#include "measure/nccl.h"
#include "measure/variant_nccl.h"

enum { SHARED_MAX_BYTES = 1 << 16, SHARED_MAX_RANKS = 8 };

static const char *const keys[] = {"lib", NULL};

#ifndef HAVE_CUDA
enum status nccl_scout(struct backend_host *host, const char *library, struct err *err)
{
    (void)host, (void)library;
    return err_set(
        err, STATUS_MISSING,
        "backend nccl: this build has no CUDA: build with the CUDA toolkit (make CUDA=yes) "
        "on a machine with NVIDIA GPUs, or measure with --backend cpu");
}

enum outcome nccl_open(void **session, const struct variant *v, struct err *err)
{
    (void)session, (void)v;
    err_set(err, STATUS_MISSING, "backend nccl is not in this build");
    return OUTCOME_UNSUPPORTED;
}

enum outcome nccl_verify(void *session, int64_t size_bytes, struct result *r, struct err *err)
{
    (void)session, (void)size_bytes, (void)r;
    err_set(err, STATUS_MISSING, "backend nccl is not in this build");
    return OUTCOME_UNSUPPORTED;
}

enum outcome nccl_time(void *session, const struct timing *t, struct result *r, struct err *err)
{
    (void)session, (void)t, (void)r;
    err_set(err, STATUS_MISSING, "backend nccl is not in this build");
    return OUTCOME_UNSUPPORTED;
}

void nccl_close(void *session)
{
    (void)session;
}
#endif

static enum status scout(struct backend_host *host, int n_options,
                         const struct backend_option *options, struct err *err)
{
    enum status status = nccl_scout(host, backend_option(n_options, options, keys[0]), err);
    return status != STATUS_OK ? status
                               : backend_options_known(n_options, options, keys, "nccl", err);
}

/* What a variant of that name can do on this host. */
static void describe(const char *name, int quick, const struct backend_host *host,
                     struct backend_impl *out)
{
    int shared = host->n_gpus < 2;
    *out = (struct backend_impl){
        .min_ranks = 2,
        .max_ranks = shared ? SHARED_MAX_RANKS : host->n_gpus,
        .dtypes = 1u << DTYPE_bf16 | 1u << DTYPE_fp16 | 1u << DTYPE_fp32,
        .methods = 1u << METHOD_back_to_back,
        .max_bytes = shared ? SHARED_MAX_BYTES : 0,
        .quick = quick,
    };
    if (!shared)
        out->methods |= 1u << METHOD_graph | 1u << METHOD_dependent | 1u << METHOD_skewed;
    snprintf(out->name, sizeof out->name, "%s", name);
}

/* NVLink SHARP is offered only where it is not switched off, and never with one GPU. */
static int offered(const char *name, const struct backend_host *host)
{
    struct nccl_variant v;
    char why[64];
    const char *nvls = getenv("NCCL_NVLS_ENABLE");
    if (nccl_variant_parse(name, &v, why, sizeof why) != 0)
        return 0;
    return !v.nvls || (host->n_gpus >= 2 && (nvls == NULL || strcmp(nvls, "0") != 0));
}

static int impl(int index, const struct backend_host *host, struct backend_impl *out)
{
    int quick, left = index;
    const char *name;
    for (int i = 0; (name = nccl_variant_name(i, &quick)) != NULL; i++) {
        /* Ranks that share a GPU meet over sockets whatever the settings: the default proves the
         * path. */
        if (!offered(name, host) || (host->n_gpus < 2 && i > 0))
            continue;
        if (left-- == 0) {
            describe(name, quick && host->n_gpus >= 2, host, out);
            return 1;
        }
    }
    return 0;
}

static int named(const char *name, const struct backend_host *host, struct backend_impl *out)
{
    if (strlen(name) >= sizeof out->name || !offered(name, host))
        return 0;
    describe(name, 0, host, out);
    return 1;
}

const struct backend backend_nccl = {
    .id = "nccl",
    .summary = "NCCL's library with its variants, one process a rank",
    .options_doc = "lib=PATH of libnccl.so.2",
    .scout = scout,
    .impl = impl,
    .named = named,
    .open = nccl_open,
    .verify = nccl_verify,
    .time = nccl_time,
    .close = nccl_close,
};
