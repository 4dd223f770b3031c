#include "traces/format.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

char *format_int(char *p, long long x)
{
    char digits[20];
    int n = 0;
    uint64_t u = x < 0 ? -(uint64_t)x : (uint64_t)x;
    if (x < 0)
        *p++ = '-';
    do
        digits[n++] = (char)('0' + u % 10);
    while ((u /= 10) != 0);
    while (n > 0)
        *p++ = digits[--n];
    return p;
}

char *format_double(char *p, double x)
{
    static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11};
    if (!isfinite(x))
        return p;
    if (x < 0) {
        *p++ = '-';
        x = -x;
    }
    if (x == 0) {
        *p++ = '0';
        return p;
    }
    if (x < 1e-4 || x >= 1e7) {
        char text[32];
        int n = snprintf(text, sizeof text, "%.7g", x);
        memcpy(p, text, (size_t)n);
        return p + n;
    }
    /* Digits after the point so that seven are significant. */
    int after = 6;
    for (double y = x; y >= 10 && after > 0; y /= 10)
        after--;
    for (double y = x; y < 1 && after < 11; y *= 10)
        after++;
    uint64_t scaled = (uint64_t)(x * tens[after] + 0.5);
    while (after > 0 && scaled % 10 == 0) {
        scaled /= 10;
        after--;
    }
    char digits[24];
    int n = 0;
    while (scaled != 0 || n <= after) {
        digits[n++] = (char)('0' + scaled % 10);
        scaled /= 10;
    }
    while (n > after)
        *p++ = digits[--n];
    if (after > 0) {
        *p++ = '.';
        while (n > 0)
            *p++ = digits[--n];
    }
    return p;
}
