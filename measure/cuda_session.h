/* A session of the cuda backend: one implementation on one set of ranks. The functions are those of
 * struct backend. */
#ifndef UPDRAFT_MEASURE_CUDA_SESSION_H
#define UPDRAFT_MEASURE_CUDA_SESSION_H

#include "measure/backend.h"

enum outcome cuda_session_open(void **session, const struct variant *v, struct err *err);
enum outcome cuda_session_verify(void *session, int64_t size_bytes, struct result *r,
                                 struct err *err);
enum outcome cuda_session_time(void *session, const struct timing *t, struct result *r,
                               struct err *err);
void cuda_session_close(void *session);

/* "custom/hier:islands=4" taken apart: 0, and the kernel's number in kernels.def, whether it goes
 * through host memory, and the islands (2 where the name does not say). -1: no such name. Needs no
 * CUDA. */
int cuda_impl_parse(const char *name, int *kernel, int *host, int *islands);

#endif
