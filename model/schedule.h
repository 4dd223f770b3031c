/* An allreduce as a schedule: rounds of flows between ranks, and what each round waits for.
 *
 * The message is cut into n_chunks equal chunks. In a round every flow carries a run of its
 * source's chunks, as they were when the round began; the destination adds them to its own or
 * replaces its own by them. So a schedule can be run symbolically (the tests do, for 2 to 16 ranks)
 * and priced (model/synth.h) from the same rows.
 */
#ifndef UPDRAFT_MODEL_SCHEDULE_H
#define UPDRAFT_MODEL_SCHEDULE_H

enum { SCHEDULE_MAX_RANKS = 64 };

enum flow_op { FLOW_ADD, FLOW_COPY };

enum flow_kind {
    FLOW_WRITE,  /* the source stores to the destination */
    FLOW_READ,   /* the destination loads from the source */
    FLOW_REDUCE, /* the destination loads the sum that the switch makes of all sources of its round
                  */
    FLOW_MULTICAST, /* the source stores once, the switch delivers to all destinations */
};

struct flow {
    short src, dst;   /* ranks */
    int first, count; /* chunks */
    unsigned char op, kind;
};

/* What a round waits for, besides its data. */
enum round_sync {
    ROUND_INBAND,  /* the data is its own flag: the destination polls for it */
    ROUND_FLAG,    /* the source fences its stores, then stores a flag */
    ROUND_BARRIER, /* before it, every source fences and raises a flag; then the data is loaded */
};

struct round {
    int first_flow, n_flows;
    int same_as; /* an earlier round of the same sources, destinations and sizes, or its own number
                  */
    enum round_sync sync;
};

/* Zero-initialised is empty; keeps its memory between builds. */
struct schedule {
    int ranks, n_chunks;
    int pipelined;   /* 1: chunks follow each other through the rounds, links work all the time */
    int neighbours;  /* 1: every round goes one place on round a ring, nobody waits for all */
    int end_barrier; /* 1: nobody leaves before all have read */
    int n_flows, cap_flows, n_rounds, cap_rounds;
    int failed; /* 1: memory ran out; the schedule is useless */
    struct flow *flows;
    struct round *rounds;
};
void schedule_release(struct schedule *s);
/* Empties it for `ranks` ranks and a message of n_chunks chunks. */
void schedule_start(struct schedule *s, int ranks, int n_chunks);
/* Begins a round. same_as: an earlier round's number, or -1. Returns its number. */
int schedule_round(struct schedule *s, enum round_sync sync, int same_as);
/* Adds a flow to the last round. */
void schedule_flow(struct schedule *s, int src, int dst, int first, int count, enum flow_op op,
                   enum flow_kind kind);

/* An algorithm: a row of algorithms.def, at the bottom of its own algo_X.c. */
struct algorithm {
    const char *name; /* as in custom/NAME: "oneshot-pull" */
    const char *doc;
    int in_band;   /* 1: can carry its flags in the data, so payload encodings apply */
    int multicast; /* 1: needs a switch that reduces and multicasts */
    int staged;    /* 1: has a host/NAME variant */
    /* Builds the schedule for s->ranks ranks (2 or more). island[r] is the number of rank r's
     * island, 0 to n_islands - 1, each with at least one rank. */
    void (*build)(struct schedule *s, int ranks, const int *island, int n_islands);
};
extern const struct algorithm
    *const algorithms[]; /* in the order of algorithms.def, ended by NULL */
const struct algorithm *algorithm_find(const char *name, unsigned long len);

/* How a payload is encoded: rows of payloads.def. */
enum payload {
#define PAYLOAD(id, factor, marks, doc) PAYLOAD_##id,
#include "model/payloads.def"
#undef PAYLOAD
    PAYLOAD_COUNT
};
double payload_factor(enum payload p); /* wire bytes over payload bytes */
double payload_marks(enum payload p);  /* bytes that the reader stores, over payload bytes */
const char *payload_name(enum payload p);
enum payload payload_find(const char *name, unsigned long len); /* PAYLOAD_COUNT: none */

/* Fraction of the message that leaves (or, with in != 0, enters) the busiest rank's own link over
 * the whole schedule, before encoding. A multicast leaves its source once; what the switch reduces
 * enters its destination once. */
double schedule_wire(const struct schedule *s, int in);

#endif
