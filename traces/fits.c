/* From files to fits: loads, sorts into curves, fits each. Declared in traces/model_io.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/load.h"
#include "traces/model_io.h"

void fits_release(struct fits *fs)
{
    curves_release(&fs->curves);
    trace_release(&fs->trace);
    free(fs->v);
    free(fs->unfit);
    *fs = (struct fits){0};
}

static int matches(const struct fits_filter *filter, const struct record *r)
{
    if (filter == NULL)
        return 1;
    return (filter->impl == NULL || strcmp(filter->impl, r->impl) == 0) &&
           (filter->label == NULL || strcmp(filter->label, r->label) == 0) &&
           (filter->collective == NULL ||
            strcmp(filter->collective, record_what_name(r->what)) == 0) &&
           (filter->ranks == 0 || filter->ranks == r->ranks);
}

/* Curves of one implementation and rank count keep curves_collect's order (label, in place, dtype),
 * except by how they were timed: first captured graphs, as engines replay them; then plain timing;
 * then eager launches, which hold the launch that a graph does not pay, and chains with compute,
 * measured at few sizes; last what holds waiting for late ranks or other traffic. */
enum { N_STANDINGS = 4 };
static int standing(const struct cost *c)
{
    static const struct {
        const char *method;
        int standing;
    } table[] = {{"graph", 0}, {"eager", 2}, {"dependent", 2}, {"skewed", 3}, {"loaded", 3}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strstr(c->method, table[i].method) != NULL)
            return table[i].standing;
    return 1;
}

static void prefer(struct fit *v, size_t n, struct fit *work)
{
    for (size_t i = 0; i < n;) {
        size_t end = i + 1, m = 0;
        while (end < n && v[end].cost.ranks == v[i].cost.ranks &&
               strcmp(v[end].cost.impl, v[i].cost.impl) == 0 &&
               strcmp(v[end].cost.collective, v[i].cost.collective) == 0)
            end++;
        for (int s = 0; s < N_STANDINGS; s++)
            for (int in_place = 0; in_place <= 1; in_place++)
                for (size_t j = i; j < end; j++)
                    if (standing(&v[j].cost) == s && (v[j].cost.in_place != 0) == in_place)
                        work[m++] = v[j];
        memcpy(v + i, work, m * sizeof *v);
        i = end;
    }
}

/* Why nothing fits: the curve that came closest. */
static enum status nothing(const struct fits *fs, const char *path, size_t n_paths, struct err *err)
{
    if (fs->n_unfit == 0 && fs->curves.n > 0) {
        char list[512] = "";
        for (size_t i = 0; i < fs->curves.n; i++) {
            const struct record *key = fs->curves.v[i].key;
            size_t at = strlen(list);
            snprintf(list + at, sizeof list - at, "%s%s %s (%d ranks)", i ? ", " : "",
                     key->impl[0] ? key->impl : "unnamed", record_what_name(key->what), key->ranks);
        }
        return err_set(err, STATUS_UNSUPPORTED, "%s: no curve matches; there are %s", path, list);
    }
    if (fs->n_unfit == 0)
        return err_set(err, STATUS_UNSUPPORTED,
                       "%s%s: no latency against size in it, so there is nothing to fit (updraft "
                       "import shows what it holds)",
                       path, n_paths > 1 ? " and the others" : "");
    const struct unfit *best = &fs->unfit[0];
    for (size_t i = 1; i < fs->n_unfit; i++)
        if (fs->unfit[i].n_points > best->n_points)
            best = &fs->unfit[i];
    if (best->curve == NULL)
        return best->err.status;
    const struct record *key = best->curve->key;
    return err_set(err, best->err.status, "%s: %s %s, %d ranks: %s%s", path,
                   key->impl[0] ? key->impl : "unnamed", record_what_name(key->what), key->ranks,
                   best->err.msg,
                   best->curve->skipped ? " (rows with wrong results or no value do not count)"
                                        : "");
}

enum status fits_load(struct fits *fs, const char *const *paths, size_t n,
                      const struct fits_filter *filter, FILE *log, struct err *err)
{
    *fs = (struct fits){0};
    enum status status = STATUS_OK;
    struct fit *work = NULL;
    for (size_t i = 0; i < n && status == STATUS_OK; i++)
        status = trace_load(&fs->trace, paths[i], log, err);
    if (status == STATUS_OK)
        status = curves_collect(&fs->curves, &fs->trace.records, NULL, err);
    if (status != STATUS_OK)
        goto out;
    size_t most = fs->curves.n ? fs->curves.n : 1;
    fs->v = calloc(most, sizeof *fs->v);
    work = calloc(most, sizeof *work);
    fs->unfit = calloc(most, sizeof *fs->unfit);
    if (fs->v == NULL || fs->unfit == NULL || work == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < fs->curves.n; i++) {
        const struct curve *c = &fs->curves.v[i];
        if (!matches(filter, c->key))
            continue;
        struct unfit u = {c, c->n_points, {STATUS_OK, ""}};
        if (fit_curve(&fs->v[fs->n], c, &u.err) == STATUS_OK)
            fs->n++;
        else if (u.err.status == STATUS_UNSUPPORTED)
            fs->unfit[fs->n_unfit++] = u;
        else {
            *err = u.err;
            status = u.err.status;
            goto out;
        }
    }
    prefer(fs->v, fs->n, work);
    if (fs->n == 0)
        status = nothing(fs, paths[0], n, err);
out:
    free(work);
    if (status != STATUS_OK)
        fits_release(fs);
    return status;
}
