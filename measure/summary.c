#include "measure/summary.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/stats.h"

enum { COLUMNS = 8, USUAL_BYTES = 43008 /* the reference model's verify message */ };

static int same_field(const struct record *a, const struct record *b, enum record_field f)
{
    double x = a->field[f], y = b->field[f];
    return (isnan(x) && isnan(y)) || fabs(x - y) <= 0;
}

/* Records that one table compares. */
static int same_table(const struct record *a, const struct record *b)
{
    return a->what == b->what && a->ranks == b->ranks && a->in_place == b->in_place &&
           strcmp(a->label, b->label) == 0 && strcmp(a->dtype, b->dtype) == 0 &&
           strcmp(a->method, b->method) == 0 && same_field(a, b, FIELD_skew_us);
}

static int counts(const struct record *r)
{
    return r->what == WHAT_allreduce && record_usable(r) && r->size_bytes >= 0;
}

double floor_of(const struct records *rs, const struct record *r)
{
    double *pairs = malloc((rs->n + 1) * sizeof *pairs);
    size_t n = 0;
    if (pairs == NULL)
        return NAN;
    for (size_t i = 0; i < rs->n; i++)
        if (counts(&rs->v[i]) && isfinite(rs->v[i].field[FIELD_noise]) &&
            (r == NULL ||
             (strcmp(rs->v[i].method, r->method) == 0 && same_field(&rs->v[i], r, FIELD_skew_us))))
            pairs[n++] = rs->v[i].field[FIELD_noise];
    double floor = noise_floor(pairs, n);
    free(pairs);
    return floor;
}

int is_best(const struct records *rs, const struct record *r)
{
    double floor = floor_of(rs, r);
    if (isnan(floor))
        floor = 0;
    for (size_t i = 0; i < rs->n; i++) {
        const struct record *o = &rs->v[i];
        if (counts(o) && same_table(o, r) && o->size_bytes == r->size_bytes &&
            log(r->value / o->value) > floor)
            return 0;
    }
    return 1;
}

/* Whether any other implementation was measured at the same cell. */
static int contested(const struct records *rs, const struct record *r)
{
    for (size_t i = 0; i < rs->n; i++)
        if (counts(&rs->v[i]) && same_table(&rs->v[i], r) && rs->v[i].size_bytes == r->size_bytes &&
            strcmp(rs->v[i].impl, r->impl) != 0)
            return 1;
    return 0;
}

static int compare_impls(const void *a, const void *b)
{
    const struct record *const *x = a, *const *y = b;
    return strcmp((*x)->impl, (*y)->impl);
}

static int compare_sizes(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The sizes of a table, ascending, thinned to COLUMNS; returns how many. */
static int table_sizes(const struct records *rs, const struct record *first,
                       int64_t out[static COLUMNS])
{
    int64_t *all = malloc((rs->n + 1) * sizeof *all);
    int n = 0, kept = 0;
    if (all == NULL)
        return 0;
    for (size_t i = 0; i < rs->n; i++) {
        int seen = !counts(&rs->v[i]) || !same_table(&rs->v[i], first);
        for (int k = 0; k < n && !seen; k++)
            seen = all[k] == rs->v[i].size_bytes;
        if (!seen)
            all[n++] = rs->v[i].size_bytes;
    }
    qsort(all, (size_t)n, sizeof *all, compare_sizes);
    for (int k = 0; k < n && k < COLUMNS; k++)
        out[kept++] = all[n <= COLUMNS ? k : k * (n - 1) / (COLUMNS - 1)];
    /* The usual size stays: in place of the largest column below it. */
    for (int k = 0; k < n && n > COLUMNS; k++)
        for (int c = 1; c + 2 < kept && all[k] == USUAL_BYTES; c++)
            if (out[c] < USUAL_BYTES && out[c + 1] > USUAL_BYTES)
                out[c] = USUAL_BYTES;
    free(all);
    return kept;
}

static const struct record *find(const struct records *rs, const struct record *table,
                                 const char *impl, int64_t size)
{
    for (size_t i = 0; i < rs->n; i++)
        if (counts(&rs->v[i]) && same_table(&rs->v[i], table) && rs->v[i].size_bytes == size &&
            strcmp(rs->v[i].impl, impl) == 0)
            return &rs->v[i];
    return NULL;
}

static void print_table(FILE *out, const struct records *rs, const struct record *table)
{
    int64_t sizes[COLUMNS];
    int n = table_sizes(rs, table, sizes);
    fprintf(out, "\n%s, %d ranks, %s, %s; noise floor %.2g %%; us at bytes\n%-26s", table->label,
            table->ranks, table->dtype, table->method, floor_of(rs, table) * 100, "");
    for (int k = 0; k < n; k++)
        fprintf(out, " %9lld ", (long long)sizes[k]);
    fprintf(out, "\n");
    const struct record **rows = malloc((rs->n + 1) * sizeof(*rows));
    size_t n_rows = 0;
    for (size_t i = 0; rows != NULL && i < rs->n; i++) {
        const struct record *r = &rs->v[i];
        int seen = !counts(r) || !same_table(r, table);
        for (size_t k = 0; k < n_rows && !seen; k++)
            seen = strcmp(rows[k]->impl, r->impl) == 0;
        if (!seen)
            rows[n_rows++] = r;
    }
    if (n_rows > 0)
        qsort(rows, n_rows, sizeof(*rows), compare_impls);
    for (size_t i = 0; i < n_rows; i++) {
        fprintf(out, "%-26s", rows[i]->impl);
        for (int k = 0; k < n; k++) {
            const struct record *at = find(rs, table, rows[i]->impl, sizes[k]);
            if (at == NULL)
                fprintf(out, " %9s ", "-");
            else
                fprintf(out, " %9.*f%c", at->value < 1000 ? 2 : 0, at->value,
                        contested(rs, at) && is_best(rs, at) ? '*' : ' ');
        }
        fprintf(out, "\n");
    }
    free(rows);
}

/* The back-to-back record of the same cell as a dependent one, or NULL. */
static const struct record *partner(const struct records *rs, const struct record *r)
{
    struct record table = *r;
    if (!counts(r) || strcmp(r->method, "dependent") != 0)
        return NULL;
    snprintf(table.method, sizeof table.method, "back_to_back");
    return find(rs, &table, r->impl, r->size_bytes);
}

void summary_print(FILE *out, const struct records *rs)
{
    int tables = 0, pairs = 0;
    for (size_t i = 0; i < rs->n; i++) {
        int seen = !counts(&rs->v[i]);
        for (size_t k = 0; k < i && !seen; k++)
            seen = counts(&rs->v[k]) && same_table(&rs->v[k], &rs->v[i]);
        if (!seen) {
            print_table(out, rs, &rs->v[i]);
            tables++;
        }
    }
    if (tables > 0)
        fprintf(out, "* the fastest, or not different from it\n");
    for (size_t i = 0; i < rs->n; i++) {
        const struct record *b = partner(rs, &rs->v[i]), *d = &rs->v[i];
        if (b == NULL)
            continue;
        if (pairs++ == 0)
            fprintf(out,
                    "\nwith compute between the calls, against back to back; us\n%-26s %5s %9s "
                    "%10s %13s %11s\n",
                    "", "ranks", "bytes", "dependent", "back to back", "difference");
        fprintf(out, "%-26s %5d %9lld %10.2f %13.2f %+11.2f\n", d->impl, d->ranks,
                (long long)d->size_bytes, d->value, b->value, d->value - b->value);
    }
}

static cJSON *add_object(cJSON *array)
{
    cJSON *o = cJSON_CreateObject();
    if (o != NULL && !cJSON_AddItemToArray(array, o)) {
        cJSON_Delete(o);
        return NULL;
    }
    return o;
}

static int add_cell(cJSON *o, const struct record *r)
{
    return cJSON_AddStringToObject(o, "impl", r->impl) != NULL &&
           cJSON_AddNumberToObject(o, "ranks", r->ranks) != NULL &&
           cJSON_AddStringToObject(o, "dtype", r->dtype) != NULL &&
           cJSON_AddNumberToObject(o, "bytes", (double)r->size_bytes) != NULL;
}

int summary_json(cJSON *object, const struct records *rs)
{
    cJSON *results = cJSON_AddArrayToObject(object, "results");
    cJSON *pairs = cJSON_AddArrayToObject(object, "dependent_minus_back_to_back");
    int ok = results != NULL && pairs != NULL;
    for (size_t i = 0; i < rs->n && ok; i++) {
        const struct record *r = &rs->v[i], *b;
        if (!counts(r))
            continue;
        cJSON *o = add_object(results);
        ok = o != NULL && add_cell(o, r) &&
             cJSON_AddStringToObject(o, "method", r->method) != NULL &&
             cJSON_AddNumberToObject(o, "latency_us", r->value) != NULL &&
             cJSON_AddNumberToObject(o, "p99_us", r->p99) != NULL &&
             cJSON_AddNumberToObject(o, "count", (double)r->count) != NULL &&
             cJSON_AddBoolToObject(o, "verified", r->verified == RECORD_VERIFIED) != NULL &&
             cJSON_AddBoolToObject(o, "best", is_best(rs, r)) != NULL;
        if (ok && (b = partner(rs, r)) != NULL) {
            o = add_object(pairs);
            ok = o != NULL && add_cell(o, r) &&
                 cJSON_AddNumberToObject(o, "difference_us", r->value - b->value) != NULL;
        }
    }
    return ok ? 0 : -1;
}
