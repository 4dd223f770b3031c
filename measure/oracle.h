/* The oracle: what an allreduce must have given, computed apart from any implementation.
 *
 * Every element is a pure function of (seed, rank, index), so no rank needs another's input to
 * check its own output. Two kinds of data:
 * - EXACT: whole numbers of up to 4 bits times a power of two that all ranks share, zeros and -0
 *   among them. Their sum over up to 16 ranks is exact in bf16, fp16 and fp32 in any order and with
 *   any rounding between: for libraries that choose their order (NCCL).
 * - FLOAT: numbers of full precision and of magnitudes from 2^-6 to 2^6. The sum is taken in fp32
 * in the order of the ranks and rounded once: for implementations that promise this.
 */
#ifndef UPDRAFT_MEASURE_ORACLE_H
#define UPDRAFT_MEASURE_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#include "measure/backend.h"

enum oracle_kind { ORACLE_EXACT, ORACLE_FLOAT };

struct oracle {
    enum oracle_kind kind;
    enum dtype dtype;
    int ranks;
    uint64_t seed;
};

/* Writes the n elements of a rank's input. */
void oracle_fill(const struct oracle *o, int rank, size_t n, void *out);

/* The number of elements of `got` (one rank's output, n elements) that differ from the sum. -0 and
 * 0 are equal; NaN is always wrong. */
int64_t oracle_wrong(const struct oracle *o, size_t n, const void *got);

/* Element `i` of an array of that dtype as fp32, and back, rounded to nearest even. */
float dtype_load(enum dtype d, const void *array, size_t i);
void dtype_store(enum dtype d, void *array, size_t i, float x);

/* acc[i] += array[first + i], and array[first + i] = acc[i] rounded, for i < n. */
void dtype_add(enum dtype d, float *acc, const void *array, size_t first, size_t n);
void dtype_round(enum dtype d, const float *acc, void *array, size_t first, size_t n);

/* A random 64-bit number from a counter: the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA
 * 2014). Uniform in [0, 1) of it. */
uint64_t random_at(uint64_t seed, uint64_t counter);
double uniform_at(uint64_t seed, uint64_t counter);

#endif
