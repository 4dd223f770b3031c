/* Splits work over threads. Deterministic as long as the work of an index depends on it alone. */
#ifndef UPDRAFT_MODEL_PARALLEL_H
#define UPDRAFT_MODEL_PARALLEL_H

#include <stddef.h>

enum { PARALLEL_MAX_THREADS = 64 };

/* Calls fn(ctx, begin, end) for ranges that cover 0..n-1, on up to `threads` threads (1: in the
 * caller's). A thread that cannot be started has its range done by the caller. */
void parallel_for(int threads, size_t n, void (*fn)(void *ctx, size_t begin, size_t end),
                  void *ctx);

/* Processors that this process may use, at least 1. */
int parallel_default_threads(void);

#endif
