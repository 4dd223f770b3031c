#include "model/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *key, *doc;
} whats[] = {
#define WHAT(id, value_key, doc) {#id, value_key, doc},
#include "model/what.def"
#undef WHAT
};

static const struct {
    const char *name, *doc;
} fields[] = {
#define FIELD(id, doc) {#id, doc},
#include "model/fields.def"
#undef FIELD
};

void record_init(struct record *r)
{
    memset(r, 0, sizeof *r);
    r->size_bytes = -1;
    r->value = r->p10 = r->p90 = r->p99 = r->min = r->max = NAN;
    for (int i = 0; i < FIELD_COUNT; i++)
        r->field[i] = NAN;
}

const char *record_what_name(enum record_what what)
{
    return whats[what].name;
}

const char *record_what_key(enum record_what what)
{
    return whats[what].key;
}

const char *record_what_doc(enum record_what what)
{
    return whats[what].doc;
}

enum record_what record_what_find(const char *name)
{
    for (int i = 0; i < WHAT_COUNT; i++)
        if (strcmp(whats[i].name, name) == 0)
            return (enum record_what)i;
    return WHAT_COUNT;
}

int record_what_is_collective(enum record_what what)
{
    switch (what) {
    case WHAT_allreduce:
    case WHAT_all_gather:
    case WHAT_reduce_scatter:
    case WHAT_broadcast:
    case WHAT_reduce:
    case WHAT_alltoall:
    case WHAT_sendrecv:
    case WHAT_gather:
    case WHAT_scatter:
        return 1;
    default:
        return 0;
    }
}

const char *record_field_name(enum record_field field)
{
    return fields[field].name;
}

const char *record_field_doc(enum record_field field)
{
    return fields[field].doc;
}

enum record_field record_field_find(const char *name)
{
    for (int i = 0; i < FIELD_COUNT; i++)
        if (strcmp(fields[i].name, name) == 0)
            return (enum record_field)i;
    return FIELD_COUNT;
}

int record_usable(const struct record *r)
{
    return isfinite(r->value) && r->verified != RECORD_WRONG && r->state[0] == '\0';
}

int records_add(struct records *rs, const struct record *r)
{
    if (rs->n == rs->cap) {
        size_t cap = rs->cap ? rs->cap * 2 : 64;
        struct record *v = realloc(rs->v, cap * sizeof *v);
        if (v == NULL)
            return -1;
        rs->v = v;
        rs->cap = cap;
    }
    rs->v[rs->n++] = *r;
    return 0;
}

void records_release(struct records *rs)
{
    free(rs->v);
    *rs = (struct records){0};
}
