/* Bins of dense curves, and curves without their outliers. */
#include "model/fit_sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double noisy = 0.1; /* neighbouring sizes that scatter by more are gathered */

static int compare_doubles(const void *va, const void *vb)
{
    double a = *(const double *)va, b = *(const double *)vb;
    return (a > b) - (a < b);
}

double sample_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    return n == 0 ? (double)NAN : n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

double sample_ranked(double *v, int n, int q)
{
    qsort(v, (size_t)n, sizeof *v, compare_doubles);
    return v[q < 1 ? 0 : q > n ? n - 1 : q - 1];
}

struct weighted {
    double y, w;
};

static int compare_weighted(const void *va, const void *vb)
{
    return compare_doubles(&((const struct weighted *)va)->y, &((const struct weighted *)vb)->y);
}

/* The number p that minimises the sum of |p - y| / y: the median of y with weights 1 / y. Where the
 * noise is small it is the median; where measurements come in two heaps, disturbed ones being the
 * slower, it leans to the undisturbed. */
static double relative_median(struct weighted *v, int n)
{
    double total = 0, sum = 0;
    for (int i = 0; i < n; i++)
        total += v[i].w = 1 / v[i].y;
    qsort(v, (size_t)n, sizeof *v, compare_weighted);
    for (int i = 0; i < n; i++) {
        sum += v[i].w;
        if (sum > 0.5 * total)
            return v[i].y;
        if (sum == 0.5 * total && i + 1 < n)
            return sqrt(v[i].y * v[i + 1].y);
    }
    return v[n - 1].y;
}

/* How far the sizes around [begin, end), at least SCATTER of them, lie from the chords of their
 * neighbours: the root mean square, less what the chord's own noise adds. */
static double scatter(const struct point *p, size_t n, size_t begin, size_t end, size_t skip)
{
    enum { SCATTER = 12 };
    size_t few = end - begin < SCATTER ? (SCATTER - (end - begin) + 1) / 2 : 0;
    begin = begin > few + 1 ? begin - few : 1;
    end = end + few < n - 1 ? end + few : n - 1;
    double sum = 0;
    int m = 0;
    for (size_t i = begin; i < end; i++) {
        if (i == skip || i + 1 == skip || i == skip + 1)
            continue;
        double t = (p[i].bytes - p[i - 1].bytes) / (p[i + 1].bytes - p[i - 1].bytes);
        double r = log(p[i].us / (p[i - 1].us + t * (p[i + 1].us - p[i - 1].us)));
        sum += r * r;
        m++;
    }
    return m > 0 ? sqrt(sum / m / 1.5) : 0;
}

/* One bin [begin, end) of a dense curve of n sizes, of which `skip` is left out. Where the
 * surroundings scatter by more than they can be told apart, as many neighbours join the median as
 * it takes. x and y have room for n. */
static struct point bin(const struct point *p, size_t n, size_t begin, size_t end, size_t skip,
                        double *x, struct weighted *y)
{
    enum { CROWD = 8 };
    struct point b = p[begin == skip && end - begin > 1 ? begin + 1 : begin];
    int m = 0;
    b.records = 0;
    b.gathered = 1;
    for (size_t i = begin; i < end; i++) {
        if (i == skip)
            continue;
        x[m++] = log(p[i].bytes);
        b.records += p[i].records;
    }
    b.bytes = exp(sample_median(x, m));
    b.spread = scatter(p, n, begin, end, skip);
    size_t few = b.spread > noisy && end - begin < CROWD ? (CROWD - (end - begin) + 1) / 2 : 0;
    begin = begin > few ? begin - few : 0;
    end = end + few < n ? end + few : n;
    m = 0;
    for (size_t i = begin; i < end; i++)
        if (i != skip)
            y[m++].y = p[i].us;
    b.us = relative_median(y, m);
    return b;
}

enum status sample_make(struct sample *s, const struct point *p, size_t n, size_t skip,
                        struct err *err)
{
    memset(s, 0, sizeof *s);
    if (n <= FIT_MAX_SIZES) {
        for (size_t i = 0; i < n; i++)
            if (i != skip)
                s->p[s->n++] = p[i];
    } else {
        double *x = malloc(n * sizeof *x);
        struct weighted *y = malloc(n * sizeof *y);
        if (x == NULL || y == NULL) {
            free(x);
            free(y);
            return err_set(err, STATUS_FAILED, "out of memory");
        }
        double x0 = log(p[0].bytes);
        double width = (log(p[n - 1].bytes) - x0) / FIT_MAX_SIZES * (1 + 1e-9);
        for (size_t i = 0; i < n;) {
            int k = (int)((log(p[i].bytes) - x0) / width);
            size_t end = i + 1;
            while (end < n && (int)((log(p[end].bytes) - x0) / width) == k)
                end++;
            if (end - i > 1 || i != skip)
                s->p[s->n++] = bin(p, n, i, end, skip, x, y);
            i = end;
        }
        free(x);
        free(y);
    }
    if (n > FIT_MAX_SIZES)
        return STATUS_OK; /* a bin is a median: a lone disturbance does not show in it */
    unsigned char off[FIT_MAX_SIZES];
    double expected[FIT_MAX_SIZES] = {0};
    fit_find_outliers(s->p, s->n, off, expected);
    int m = 0;
    for (int i = 0; i < s->n; i++) {
        if (off[i])
            s->off[s->n_off++] = (struct fit_outlier){
                .kind = (enum fit_outlier_kind)(off[i] - 1),
                .bytes = s->p[i].bytes,
                .us = s->p[i].us,
                .expected_us = expected[i],
                .origin = s->p[i].origin,
                .line = s->p[i].line,
            };
        else
            s->p[m++] = s->p[i];
    }
    s->n = m;
    return STATUS_OK;
}
