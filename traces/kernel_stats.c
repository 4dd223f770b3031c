#include "traces/kernel_stats.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/text.h"

/* Beyond SAMPLES durations of one kernel a fixed sequence of pseudo-random choices keeps a fair
 * sample. */
enum { MAX_KERNELS = 4096, SLOTS = 2 * MAX_KERNELS, SAMPLES = 16384 };

struct kernel {
    char name[128], dtype[16];
    int64_t size_bytes, line, count;
    int ranks, blocks, threads;
    double total, min, max;
    float *us;
    size_t n, cap;
};

struct kernel_stats {
    struct kernel *v;
    size_t n, cap;
    uint32_t slot[SLOTS]; /* index + 1; 0: empty */
    uint64_t random;
};

struct kernel_stats *kernel_stats_new(void)
{
    struct kernel_stats *ks = calloc(1, sizeof *ks);
    if (ks != NULL)
        ks->random = 88172645463325252u;
    return ks;
}

void kernel_stats_free(struct kernel_stats *ks)
{
    if (ks == NULL)
        return;
    for (size_t i = 0; i < ks->n; i++)
        free(ks->v[i].us);
    free(ks->v);
    free(ks);
}

const char *kernel_impl(const char *name)
{
    static const struct {
        const char *a, *b, *impl; /* both words are in the name; the first row that fits */
    } rows[] = {
        {"cross_device_reduce", "1stage", "custom/oneshot"},
        {"cross_device_reduce", "2stage", "custom/twoshot"},
        {"oneshot", "", "custom/oneshot"},
        {"one_shot", "", "custom/oneshot"},
        {"twoshot", "", "custom/twoshot"},
        {"two_shot", "", "custom/twoshot"},
        {"nccl", "", "nccl/auto"},
        {"rccl", "", "nccl/auto"},
        {"mscclpp", "", "mscclpp/auto"},
        {"msccl", "", "msccl/auto"},
        {"allreduce", "", "custom/auto"},
        {"all_reduce", "", "custom/auto"},
        {"cross_device_reduce", "", "custom/auto"},
    };
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (text_find_case(name, n, rows[i].a) != NULL &&
            text_find_case(name, n, rows[i].b) != NULL)
            return rows[i].impl;
    return "";
}

void kernel_short_name(const char *name, char *to, size_t cap)
{
    static const char *const lead[] = {"void ", "static void ", "int "};
    for (size_t i = 0; i < sizeof lead / sizeof lead[0]; i++)
        if (strncmp(name, lead[i], strlen(lead[i])) == 0)
            name += strlen(lead[i]);
    if (name[0] == '_' && name[1] == 'Z' && isdigit((unsigned char)name[2])) {
        char *end;
        long n = strtol(name + 2, &end, 10);
        if (n > 0 && (size_t)n <= strlen(end)) {
            word_copy((struct word){end, (size_t)n}, to, cap);
            return;
        }
    }
    /* Parameters go; template arguments tell kernels apart and stay, as far as there is room. */
    size_t n = 0, depth = 0, used = 0;
    for (; name[n] != '\0'; n++) {
        if (name[n] == '<')
            depth++;
        else if (name[n] == '>' && depth > 0)
            depth--;
        else if (name[n] == '(' && depth == 0 && n > 0)
            break;
        if (used + 1 < cap)
            to[used++] = isprint((unsigned char)name[n]) ? name[n] : '?';
    }
    to[used] = '\0';
}

static uint64_t hash(const char *name, const struct kernel_launch *l)
{
    uint64_t h = 14695981039346656037u;
    for (; *name != '\0'; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    int64_t numbers[] = {l->size_bytes, l->ranks, l->blocks, l->threads};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        h = (h ^ (uint64_t)numbers[i]) * 1099511628211u;
    return h ^ (h >> 29);
}

static struct kernel *find_or_add(struct kernel_stats *ks, const struct kernel_launch *l)
{
    char name[128];
    kernel_short_name(l->name, name, sizeof name);
    size_t at = (size_t)(hash(name, l) % SLOTS);
    for (; ks->slot[at] != 0; at = (at + 1) % SLOTS) {
        struct kernel *k = &ks->v[ks->slot[at] - 1];
        if (strcmp(k->name, name) == 0 && k->size_bytes == l->size_bytes && k->ranks == l->ranks &&
            k->blocks == l->blocks && k->threads == l->threads && strcmp(k->dtype, l->dtype) == 0)
            return k;
    }
    if (ks->n == MAX_KERNELS)
        return NULL;
    if (ks->n == ks->cap) {
        size_t cap = ks->cap ? ks->cap * 2 : 64;
        struct kernel *v = realloc(ks->v, cap * sizeof *v);
        if (v == NULL)
            return NULL;
        ks->v = v;
        ks->cap = cap;
    }
    struct kernel *k = &ks->v[ks->n];
    *k = (struct kernel){.size_bytes = l->size_bytes,
                         .line = l->line,
                         .ranks = l->ranks,
                         .blocks = l->blocks,
                         .threads = l->threads,
                         .min = HUGE_VAL};
    memcpy(k->name, name, sizeof k->name);
    snprintf(k->dtype, sizeof k->dtype, "%s", l->dtype);
    ks->slot[at] = (uint32_t)++ks->n;
    return k;
}

int kernel_stats_add(struct kernel_stats *ks, const struct kernel_launch *l)
{
    struct kernel *k = find_or_add(ks, l);
    if (k == NULL)
        return -1;
    if (k->n == k->cap && k->n < SAMPLES) {
        size_t cap = k->cap ? k->cap * 2 : 16;
        float *us = realloc(k->us, cap * sizeof *us);
        if (us == NULL)
            return -1;
        k->us = us;
        k->cap = cap;
    }
    k->count++;
    k->total += l->us;
    k->min = fmin(k->min, l->us);
    k->max = fmax(k->max, l->us);
    if (k->n < SAMPLES) {
        k->us[k->n++] = (float)l->us;
        return 0;
    }
    ks->random ^= ks->random << 13;
    ks->random ^= ks->random >> 7;
    ks->random ^= ks->random << 17;
    uint64_t pick = ks->random % (uint64_t)k->count;
    if (pick < SAMPLES)
        k->us[pick] = (float)l->us;
    return 0;
}

static int by_total(const void *a, const void *b)
{
    double x = ((const struct kernel *)a)->total, y = ((const struct kernel *)b)->total;
    return (x < y) - (x > y);
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double quantile(const struct kernel *k, double q)
{
    double at = q * (double)(k->n - 1);
    size_t i = (size_t)at;
    double low = (double)k->us[i], high = i + 1 < k->n ? (double)k->us[i + 1] : low;
    return low + (at - (double)i) * (high - low);
}

/* A float has seven digits: more of them would be made up. */
static double digits7(double x)
{
    double scale = pow(10, 6 - floor(log10(x)));
    return rint(x * scale) / scale;
}

void kernel_stats_flush(struct kernel_stats *ks, struct import *im, const char *method)
{
    if (ks->n > 0)
        qsort(ks->v, ks->n, sizeof *ks->v, by_total);
    for (size_t i = 0; i < ks->n && !im->stopped; i++) {
        struct kernel *k = &ks->v[i];
        qsort(k->us, k->n, sizeof *k->us, ascending);
        struct record r;
        record_init(&r);
        r.what = WHAT_kernel_time;
        snprintf(r.kernel, sizeof r.kernel, "%s", k->name);
        snprintf(r.impl, sizeof r.impl, "%s", kernel_impl(k->name));
        snprintf(r.label, sizeof r.label, "%s", im->label);
        snprintf(r.dtype, sizeof r.dtype, "%s", k->dtype);
        snprintf(r.method, sizeof r.method, "%s", method);
        snprintf(r.origin, sizeof r.origin, "%.255s", im->path);
        r.line = k->line;
        r.ranks = k->ranks;
        r.size_bytes = k->size_bytes;
        r.value = digits7(quantile(k, 0.5));
        r.p10 = digits7(quantile(k, 0.1));
        r.p90 = digits7(quantile(k, 0.9));
        r.p99 = digits7(quantile(k, 0.99));
        r.min = digits7(k->min);
        r.max = digits7(k->max);
        r.count = k->count;
        if (k->blocks > 0)
            r.field[strncmp(r.impl, "nccl/", 5) == 0 ? FIELD_channels : FIELD_blocks] = k->blocks;
        if (k->threads > 0)
            r.field[FIELD_threads] = k->threads;
        import_record(im, &r);
        im->rows++;
    }
}
