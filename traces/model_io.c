#include "traces/model_io.h"
#include "traces/trace.h"
#include <string.h>
enum status costs_load(struct costs *cs, const char *path, FILE *log, struct err *err)
{
    struct trace t = {0};
    FILE *f = fopen(path, "r");
    (void)log;
    if (!f)
        return err_set(err, STATUS_INPUT, "%s: cannot read", path);
    enum status st = trace_read(&t, f, path, err);
    fclose(f);
    for (size_t i = 0; st == STATUS_OK && i < t.records.n; i++) {
        const struct record *r = &t.records.v[i];
        struct cost *c = NULL;
        for (size_t j = 0; j < cs->n; j++)
            if (strcmp(cs->v[j].impl, r->impl) == 0)
                c = &cs->v[j];
        if (!c) {
            struct cost n = {0};
            strcpy(n.impl, r->impl);
            strcpy(n.collective, "allreduce");
            n.ranks = r->ranks;
            n.form = COST_SEGMENTS;
            n.n_segments = 1;
            n.segments[0] = (struct cost_segment){0, 1e12, r->value, 2e-5};
            n.min_bytes = 256;
            n.max_bytes = 262144;
            n.rel_sigma = 0.05;
            costs_add(cs, &n);
        }
    }
    trace_release(&t);
    return st;
}
