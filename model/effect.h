/* Effects: typed edits of a scenario. An effect of the catalogue is one struct effect; its type,
 * one const struct effect_type, stands at the bottom of its own effect_X.c, and a row of
 * effects.def makes it exist. Reading, checking, the JSON Schema, drawing and explaining walk the
 * table.
 *
 * Effects compose: factors multiply, sums add, and two effects that set the same key outright make
 * their options exclude each other. So the order in which options are applied does not matter.
 */
#ifndef UPDRAFT_MODEL_EFFECT_H
#define UPDRAFT_MODEL_EFFECT_H

#include "model/scenario.h"

/* The terms of a cycle that an edit can change. A search evaluates a term once for every setting of
 * the options that touch it, and adds terms; TERM_ALL is always right, only slower. */
enum terms {
    TERM_TOKENS = 1,  /* tokens per cycle */
    TERM_DRAFT = 2,   /* draft_us */
    TERM_COMPUTE = 4, /* verify_compute_us */
    TERM_WIRE = 8,    /* verify_allreduce_us + draft_allreduce_us */
    TERM_HOST = 16,   /* host_us */
    TERM_ALL = 31,
};
enum { N_TERMS = 5 };

/* The terms that a change of this key can reach. */
unsigned terms_of_key(const struct scenario_key *key);

/* Effects of these kinds act on a term by one number, so the search need not evaluate the scenario
 * for them. */
enum effect_affine {
    AFFINE_NONE,
    AFFINE_WIRE_SCALE,    /* factor on the raw latency of an allreduce */
    AFFINE_WIRE_ADD,      /* us added to each allreduce */
    AFFINE_COMPUTE_SCALE, /* factor on verify_compute_us */
};

enum effect_field_type { EFFECT_QTY, EFFECT_NUMBER, EFFECT_TEXT, EFFECT_KEY, EFFECT_CURVE };

struct effect_field {
    const char *name;
    enum effect_field_type type;
    size_t offset; /* in struct effect */
    int required;
    double min, max;
    const char *doc;
};

struct effect {
    const struct effect_type *type;
    struct qty amount; /* a factor, microseconds or bytes, as the type says */
    struct qty other;  /* a second one, where the type has it */
    const struct scenario_key *key;
    char text[SCENARIO_TEXT];
    double number;
    int has_number;
    char impl[SCENARIO_TEXT], large_impl[SCENARIO_TEXT];
    double cutoff_bytes;
    struct qty_curve curve; /* what is believed of an implementation that nobody has measured here:
                               [bytes, us] */
    double spread;          /* 95 % of such beliefs lie within a factor of this */
    double max_nchannels, buffsize_bytes, nthreads;

    /* Bound to a scenario by effect_bind. */
    struct cost prior;                /* made of `curve` */
    const struct cost *small, *large; /* of impl and large_impl; small may be &prior */
    int changes_latency;              /* nccl_channels: the rule gives another number of channels */
};

/* What one world says about one effect. */
struct effect_draw {
    double amount, other;
    double small_factor, large_factor; /* on the bound costs */
};

struct effect_type {
    const char *name, *doc;
    const struct effect_field *fields; /* ends with {0} */
    const char *sets;                  /* the key that it sets outright, or NULL */
    unsigned terms;                    /* what it can change; 0: see its key */
    enum effect_affine affine;
    /* Checks what the fields say together; may be NULL. STATUS_INPUT. */
    enum status (*check)(const struct effect *e, struct err *err);
    /* Looks up costs for the scenario; may be NULL. STATUS_UNSUPPORTED where it cannot be priced.
     */
    enum status (*bind)(struct effect *e, const struct scenario *s, const struct costs *costs,
                        struct err *err);
    /* Edits the scenario. */
    void (*apply)(const struct effect *e, const struct effect_draw *d, struct scenario *s);
    /* One line on what it does to s, for people. */
    void (*explain)(const struct effect *e, const struct scenario *s, char *text, size_t size);
};

extern const struct effect_type *const effect_types[]; /* ends with NULL */
const struct effect_type *effect_type_find(const char *name);

void effect_init(struct effect *e, const struct effect_type *type);
enum status effect_check(const struct effect *e, struct err *err);
/* `costs` must outlive the effect, and the effect must not move afterwards (small may point into
 * it). */
enum status effect_bind(struct effect *e, const struct scenario *s, const struct costs *costs,
                        struct err *err);
unsigned effect_terms(const struct effect *e);
/* The key that it sets outright, or NULL. */
const char *effect_sets(const struct effect *e);
/* The draw whose every quantity is at its middle. */
struct effect_draw effect_mean(const struct effect *e);
/* A world's draw; z_* are standard normals. `message_bytes` is where a cost's spread is taken. */
struct effect_draw effect_sample(const struct effect *e, double z_amount, double z_other,
                                 double z_small, double z_large, double message_bytes);

/* Rules of NCCL that effects and explanations need (NCCL 2.30, enqueue.cc:2071-2114): the channels
 * that one allreduce of `bytes` per rank uses when the communicator has `cap`; 0 where impl is not
 * NCCL's. Threads default to 512 (LL128 and trees 640) where nthreads is 0. */
int nccl_channels(const char *impl, double bytes, int ranks, int nthreads, int cap);
/* Bytes that one channel needs: threads x threshold (x ranks for Ring/LL). */
double nccl_channel_bytes(const char *impl, int ranks, int nthreads);

#endif
