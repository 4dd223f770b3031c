/* The cuda backend: our own kernels. This build has none linked in, and says so. */
#include <stddef.h>

#include "measure/backend.h"

static enum status scout(struct backend_host *host, int n_options,
                         const struct backend_option *options, struct err *err)
{
    (void)host, (void)n_options, (void)options;
    return err_set(
        err, STATUS_MISSING,
        "backend cuda: this build has no CUDA kernels: build with the CUDA toolkit (make "
        "CUDA=yes) on a machine with an NVIDIA GPU, or measure with --backend cpu");
}

static int impl(int index, const struct backend_host *host, struct backend_impl *out)
{
    (void)index, (void)host, (void)out;
    return 0;
}

static enum outcome open_session(void **session, const struct variant *v, struct err *err)
{
    (void)session, (void)v;
    err_set(err, STATUS_MISSING, "backend cuda is not in this build");
    return OUTCOME_UNSUPPORTED;
}

static enum outcome verify(void *session, int64_t size_bytes, struct result *r, struct err *err)
{
    (void)session, (void)size_bytes, (void)r;
    err_set(err, STATUS_MISSING, "backend cuda is not in this build");
    return OUTCOME_UNSUPPORTED;
}

static enum outcome time_session(void *session, const struct timing *t, struct result *r,
                                 struct err *err)
{
    (void)session, (void)t, (void)r;
    err_set(err, STATUS_MISSING, "backend cuda is not in this build");
    return OUTCOME_UNSUPPORTED;
}

static void close_session(void *session)
{
    (void)session;
}

const struct backend backend_cuda = {
    .id = "cuda",
    .summary = "this project's CUDA kernels, on one or several NVIDIA GPUs",
    .scout = scout,
    .impl = impl,
    .open = open_session,
    .verify = verify,
    .time = time_session,
    .close = close_session,
};
