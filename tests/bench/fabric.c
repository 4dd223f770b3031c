/* Pricing allreduces by synthesis: one cost by algorithm and by ranks, a table of them, and a
 * curve. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "model/synth.h"

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Microseconds of one price, the best of several runs of many. */
static double price_us(struct synth *s, const struct fabric *f, const char *impl, int ranks)
{
    double best = 1e300, sink = 0;
    for (int run = 0; run < 5; run++) {
        int n = ranks > 16 ? 20 : 200;
        double t = now_us();
        for (int i = 0; i < n; i++) {
            struct synth_query q = {impl, ranks, 1024 + i, NULL};
            struct synth_estimate e;
            struct err err;
            if (synth_price(s, f, &q, &e, &err) != STATUS_OK)
                return -1;
            sink += e.us;
        }
        t = (now_us() - t) / n;
        best = t < best ? t : best;
    }
    return sink > 0 ? best : -1;
}

int main(void)
{
    struct fabric *f = malloc(sizeof *f), *wide = malloc(sizeof *wide);
    struct cost *c = malloc(sizeof *c);
    struct synth *s = synth_new();
    struct err err;
    if (f == NULL || wide == NULL || c == NULL || s == NULL ||
        fabric_preset(f, "switch-4-2s", 0, &err) != STATUS_OK ||
        fabric_preset(wide, "switch-4-2s", 64, &err) != STATUS_OK)
        return 1;
    struct synth_name all[SYNTH_MAX_IMPLS];
    int n = synth_impls(f, 8, all, SYNTH_MAX_IMPLS);
    double worst = 0, worst64 = 0;
    const char *slowest = "", *slowest64 = "";
    for (int i = 0; i < n; i++) {
        double us = price_us(s, f, all[i].name, 8), us64 = price_us(s, wide, all[i].name, 64);
        if (us > worst)
            worst = us, slowest = all[i].name;
        if (us64 > worst64)
            worst64 = us64, slowest64 = all[i].name;
    }
    printf(
        "fabric: one cost, 8 ranks, slowest of %d implementations: %.1f us, %s (to reach: 20 us)\n",
        n, worst, slowest);
    printf("fabric: one cost, 64 ranks, slowest: %.0f us, %s (to reach: 1000 us)\n", worst64,
           slowest64);
    static const char *const grown[] = {"custom/ring", "custom/oneshot", "custom/staged"};
    static const int ranks[] = {2, 4, 8, 16, 32, 64};
    for (int i = 0; i < 3; i++) {
        printf("fabric: %-15s us by ranks:", grown[i]);
        for (int r = 0; r < 6; r++)
            printf("  %d: %.1f", ranks[r], price_us(s, wide, grown[i], ranks[r]));
        printf("\n");
    }
    static const int placements[3][8] = {
        {0, 1, 2, 3, 4, 5, 6, 7}, {0, 4, 1, 5, 2, 6, 3, 7}, {0, 2, 4, 6, 1, 3, 5, 7}};
    double t = now_us(), sum = 0;
    for (int i = 0; i < 10; i++)
        for (int p = 0; p < 3; p++)
            for (int k = 0; k < 25; k++) {
                struct synth_query q = {all[i].name, 8, 8.0 * (1 << (k % 25)), placements[p]};
                struct synth_estimate e;
                if (synth_price(s, f, &q, &e, &err) != STATUS_OK)
                    return 1;
                sum += e.us;
            }
    printf("fabric: 10 algorithms x 25 sizes x 3 placements: %.2f ms (to reach: 20 ms)\n",
           (now_us() - t) / 1000);
    t = now_us();
    for (int i = 0; i < 20; i++)
        if (synth_cost(f, "custom/twoshot", 8, NULL, 0, 0, c, &err) != STATUS_OK)
            return 1;
    printf("fabric: a curve of 47 sizes, 8 ranks: %.0f us\n", (now_us() - t) / 20);
    synth_free(s);
    free(f);
    free(wide);
    free(c);
    return sum > 0 ? 0 : 1;
}
