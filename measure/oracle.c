#include "measure/oracle.h"

#include <math.h>
#include <string.h>

static float bits_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static uint16_t to_bf16(float f)
{
    uint32_t u = float_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((u >> 16) | 0x40);
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}

static float from_fp16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31u, mantissa = h & 0x3ffu;
    if (exponent == 31)
        return bits_float(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0) {
        float f = (float)mantissa * 0x1p-24f;
        return sign ? -f : f;
    }
    return bits_float(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

static uint16_t to_fp16(float f)
{
    uint32_t u = float_bits(f), sign = (u >> 16) & 0x8000u, rest = u & 0x7fffffffu;
    if (rest > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (rest >= 0x477ff000u) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00u);
    if (rest < 0x38800000u) { /* below 2^-14: a whole number of 2^-24, which nearbyint rounds */
        float scaled = nearbyintf(fabsf(f) * 0x1p24f);
        return (uint16_t)(sign | (uint32_t)scaled);
    }
    rest -= 112u << 23;
    return (uint16_t)(sign | ((rest + 0xfffu + ((rest >> 13) & 1)) >> 13));
}

float dtype_load(enum dtype d, const void *array, size_t i)
{
    uint16_t h;
    float f;
    switch (d) {
    case DTYPE_bf16:
        memcpy(&h, (const char *)array + 2 * i, 2);
        return bits_float((uint32_t)h << 16);
    case DTYPE_fp16:
        memcpy(&h, (const char *)array + 2 * i, 2);
        return from_fp16(h);
    default:
        memcpy(&f, (const char *)array + 4 * i, 4);
        return f;
    }
}

void dtype_store(enum dtype d, void *array, size_t i, float x)
{
    uint16_t h;
    switch (d) {
    case DTYPE_bf16:
        h = to_bf16(x);
        memcpy((char *)array + 2 * i, &h, 2);
        return;
    case DTYPE_fp16:
        h = to_fp16(x);
        memcpy((char *)array + 2 * i, &h, 2);
        return;
    default:
        memcpy((char *)array + 4 * i, &x, 4);
    }
}

void dtype_add(enum dtype d, float *acc, const void *array, size_t first, size_t n)
{
    if (d == DTYPE_bf16) {
        const uint16_t *v = (const uint16_t *)array + first;
        for (size_t i = 0; i < n; i++)
            acc[i] += bits_float((uint32_t)v[i] << 16);
    } else if (d == DTYPE_fp16) {
        const uint16_t *v = (const uint16_t *)array + first;
        for (size_t i = 0; i < n; i++)
            acc[i] += from_fp16(v[i]);
    } else {
        const float *v = (const float *)array + first;
        for (size_t i = 0; i < n; i++)
            acc[i] += v[i];
    }
}

void dtype_round(enum dtype d, const float *acc, void *array, size_t first, size_t n)
{
    if (d == DTYPE_bf16) {
        uint16_t *v = (uint16_t *)array + first;
        for (size_t i = 0; i < n; i++)
            v[i] = to_bf16(acc[i]);
    } else if (d == DTYPE_fp16) {
        uint16_t *v = (uint16_t *)array + first;
        for (size_t i = 0; i < n; i++)
            v[i] = to_fp16(acc[i]);
    } else {
        memcpy((float *)array + first, acc, n * sizeof *acc);
    }
}

uint64_t random_at(uint64_t seed, uint64_t counter)
{
    uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double uniform_at(uint64_t seed, uint64_t counter)
{
    return (double)(random_at(seed, counter) >> 11) * 0x1p-53;
}

static float input(const struct oracle *o, int rank, size_t i)
{
    uint64_t z = random_at(random_at(o->seed, (uint64_t)rank), i);
    if ((z & 15) == 0) /* one in 16 is a zero, half of those negative */
        return z & 16 ? -0.0f : 0.0f;
    float sign = z & 32 ? -1.0f : 1.0f;
    if (o->kind == ORACLE_EXACT) {
        int exponent = (int)(random_at(~o->seed, i) % 8) - 4;
        return sign * ldexpf((float)(1 + (z >> 8) % 15), exponent);
    }
    int exponent = (int)((z >> 8) % 13) - 6;
    float x = sign * ldexpf(1.0f + (float)(z >> 40) * 0x1p-24f, exponent);
    char rounded[4];
    dtype_store(o->dtype, rounded, 0, x);
    return dtype_load(o->dtype, rounded, 0);
}

void oracle_fill(const struct oracle *o, int rank, size_t n, void *out)
{
    for (size_t i = 0; i < n; i++)
        dtype_store(o->dtype, out, i, input(o, rank, i));
}

int64_t oracle_wrong(const struct oracle *o, size_t n, const void *got)
{
    int64_t wrong = 0;
    for (size_t i = 0; i < n; i++) {
        float sum = input(o, 0, i);
        for (int r = 1; r < o->ranks; r++)
            sum += input(o, r, i);
        char rounded[4];
        dtype_store(o->dtype, rounded, 0, sum);
        if (!(dtype_load(o->dtype, rounded, 0) == dtype_load(o->dtype, got, i)))
            wrong++;
    }
    return wrong;
}
