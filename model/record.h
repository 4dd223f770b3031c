/* One measurement, as a trace holds it: a fact with its origin. Plain data, owns nothing. */
#ifndef UPDRAFT_MODEL_RECORD_H
#define UPDRAFT_MODEL_RECORD_H

#include <stddef.h>
#include <stdint.h>

/* What was measured: the rows of what.def. */
enum record_what {
#define WHAT(id, value_key, doc) WHAT_##id,
#include "model/what.def"
#undef WHAT
    WHAT_COUNT
};

/* Numbers that only some records carry: the rows of fields.def, each a key of the JSON object. */
enum record_field {
#define FIELD(id, doc) FIELD_##id,
#include "model/fields.def"
#undef FIELD
    FIELD_COUNT
};

enum record_verified { RECORD_UNVERIFIED, RECORD_VERIFIED, RECORD_WRONG };

struct record {
    enum record_what what;
    char impl[128];     /* CONTRACT name with settings, "nccl/ring/ll:channels=2"; "" where none */
    char kernel[128];   /* the kernel that really ran, "" if unknown */
    char label[160];    /* which box or run: records with equal label, impl, ranks, dtype, method
                           and in_place form one curve */
    char dtype[16];     /* "bf16", "fp16", "fp32", ...; "" if unknown */
    char method[32];    /* how it was timed: "nccl-tests", "graph", "dependent", "eager", ... */
    char placement[96]; /* pattern or GPUs: "pair 0>1", "all-to-all"; "" where it does not matter */
    char state[16];     /* "" measured; "crashed", "timeout", "oom", "failed", "wrong",
                           "skipped": no value then;
                           "local": one rank or no bytes, so nothing was communicated */
    char note[160];     /* reason for the state, or a remark; "" if none */
    int ranks;          /* 0 if it does not apply */
    int in_place;       /* 1: in place */
    int64_t size_bytes; /* -1 if it does not apply */
    double value;       /* the median, in the unit of what.def's value_key; NaN if there is none */
    double p10, p90, p99, min, max; /* quantiles of the samples in the same unit; NaN if unknown */
    int64_t count;                  /* samples behind them; 0 if unknown */
    enum record_verified verified;
    int64_t wrong;             /* wrong elements, where verified is RECORD_WRONG; else 0 */
    double field[FIELD_COUNT]; /* NaN where absent */
    char origin[256];          /* file it came from, or "measure"; "" if unknown */
    int64_t line;              /* line in origin, 1-based; 0 if unknown */
};

/* An empty record: no text, no sizes (-1), every number NaN, unverified. */
void record_init(struct record *r);

/* The name of a what ("allreduce"), of its value's JSON key ("latency_us") and its description.
 * `what` must be a valid row. */
const char *record_what_name(enum record_what what);
const char *record_what_key(enum record_what what);
const char *record_what_doc(enum record_what what);
/* The row of that name, or WHAT_COUNT. */
enum record_what record_what_find(const char *name);

/* 1 for an operation of several ranks that an implementation names (allreduce ... scatter), 0 for
 * probes, passes, servers and the rest. */
int record_what_is_collective(enum record_what what);

const char *record_field_name(enum record_field field);
const char *record_field_doc(enum record_field field);
/* The row of that name, or FIELD_COUNT. */
enum record_field record_field_find(const char *name);

/* 1 where the record's value may be fitted: it has a value, was not found wrong and did not fail.
 */
int record_usable(const struct record *r);

/* A growing array of records. Zero-initialised is empty. */
struct records {
    struct record *v;
    size_t n, cap;
};
/* Appends a copy. Returns 0, or -1 where memory ran out (the array is then unchanged). */
int records_add(struct records *rs, const struct record *r);
void records_release(struct records *rs);

#endif
