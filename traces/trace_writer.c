#include "traces/trace_writer.h"

#include <string.h>

#include "traces/trace.h"

void trace_writer_init(struct trace_writer *w, FILE *out)
{
    *w = (struct trace_writer){.out = out};
    record_init(&w->defaults);
}

/* Whether r can be written against these defaults: it may change a key, not take one away. */
static int fits(const struct record *d, const struct record *r)
{
    return strcmp(d->label, r->label) == 0 && strcmp(d->origin, r->origin) == 0 &&
           strcmp(d->method, r->method) == 0 && strcmp(d->note, r->note) == 0 &&
           strcmp(d->dtype, r->dtype) == 0 && d->ranks == r->ranks &&
           (r->impl[0] != '\0') == (d->impl[0] != '\0');
}

int trace_writer_add(struct trace_writer *w, const struct record *r)
{
    if (!w->headed && trace_write_header(w->out, NULL) != 0)
        return -1;
    if (!w->headed || !fits(&w->defaults, r)) {
        struct record *d = &w->defaults;
        record_init(d);
        memcpy(d->label, r->label, sizeof d->label);
        memcpy(d->origin, r->origin, sizeof d->origin);
        memcpy(d->method, r->method, sizeof d->method);
        memcpy(d->dtype, r->dtype, sizeof d->dtype);
        memcpy(d->impl, r->impl, sizeof d->impl);
        memcpy(d->note, r->note, sizeof d->note);
        d->ranks = r->ranks;
        if (trace_write_defaults(w->out, d) != 0)
            return -1;
        w->headed = 1;
    }
    return trace_write_record(w->out, r, &w->defaults);
}
