/* Probes: small measurements of what the fabric can do, from which costs of unwritten kernels are
 * made. One const struct each, at the bottom of its own measure/probe_ID.c; a row of probes.def
 * makes it exist. A probe is a list of cases; each case gives one record of the trace.
 *
 * case_at() runs in the campaign process and is pure. run() runs in a child (see backend.h), one
 * child a probe; begin() and end() frame its cases there and may keep a context. A file must
 * compile without CUDA, and then report OUTCOME_UNSUPPORTED from begin().
 */
#ifndef UPDRAFT_MEASURE_PROBE_H
#define UPDRAFT_MEASURE_PROBE_H

#include "measure/backend.h"
#include "model/record.h"

/* One case: a record that lacks only its value. case_at() fills what, placement, method, ranks,
 * size_bytes and fields (blocks, flows, ...); the campaign fills label, origin and the samples'
 * quantiles. The pair (record, index) is all that run() gets, so they must say everything. */
struct probe_case {
    int index;
    int quick; /* 1: part of --plan quick */
    struct record record;
};

struct probe {
    const char *id, *summary;
    const char *backend; /* the backend whose scout() answers for this probe's hardware: "cuda" */
    /* Case number `index` on this host; 0 past the last. The record comes initialised. */
    int (*case_at)(int index, const struct backend_host *host, struct probe_case *out);
    enum outcome (*begin)(void **context, const struct backend_host *host, struct err *err);
    /* Samples are in the unit of the case's record (what.def), one a repetition. r->kernel, blocks,
     * threads and note go into the record where set. */
    enum outcome (*run)(void *context, const struct probe_case *c, int iterations, struct result *r,
                        struct err *err);
    void (*end)(void *context); /* safe on NULL */
};

/* All probes in the order of probes.def, ended by NULL. */
extern const struct probe *const probes[];
const struct probe *probe_find(const char *id);

#endif
