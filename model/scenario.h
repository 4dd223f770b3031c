/* A scenario: everything that a prediction depends on. Plain data, copyable, free of GSL.
 *
 * Keys, types, ranges and meanings stand in scenario_keys.def, once. A scenario read from a file is
 * in the user's state of today; effects and --set edit a copy of it.
 */
#ifndef UPDRAFT_MODEL_SCENARIO_H
#define UPDRAFT_MODEL_SCENARIO_H

#include <stddef.h>

#include "model/cost.h"
#include "model/err.h"

enum { SCENARIO_MAX_LIST = 32, SCENARIO_MAX_CURVE = 64, SCENARIO_TEXT = 128 };

/* A quantity with its 95 % interval; low == high == value where it is exact. */
struct qty {
    double value, low, high;
    int set;     /* 1: given; 0: absent, value is the default */
    int assumed; /* 1: an assumption, not a measurement */
};

struct qty_list {
    int n;
    double v[SCENARIO_MAX_LIST];
    int assumed;
    int uniform; /* 1: given as one number, v[0], which holds at every position */
};

struct qty_curve {
    int n;
    double x[SCENARIO_MAX_CURVE], y[SCENARIO_MAX_CURVE]; /* ascending x */
};

struct scenario {
    int ranks, batch;
    double context_tokens;
    struct {
        int layers, hidden, vocab, allreduces_per_layer, embedding_allreduce, experts,
            experts_per_token;
        double dtype_bytes;
        struct qty dense_weight_bytes, expert_weight_bytes, weight_bytes, kv_bytes_per_token;
        char name[SCENARIO_TEXT];
    } model;
    struct {
        int num_steps, topk, num_draft_tokens, layers, hidden, vocab, tensor_parallel,
            allreduces_per_pass;
        double accept_cycles;
        double temperature;
        struct qty relaxed_share, tree_scale, row_us, accept_decay, weight_bytes, pass_us,
            extend_us, scale;
        struct qty_list accept_rate;
        char method[SCENARIO_TEXT];
    } draft;
    struct {
        int count; /* -1: counted from the model's shape */
        double cutoff_bytes, bytes_scale;
        struct qty latency_us, latency_scale, box_scale, extra_us, skew_us, insitu;
        char impl[SCENARIO_TEXT], large_impl[SCENARIO_TEXT];
    } allreduce;
    struct {
        int all_gather, argmax;
        double dtype_bytes;
        struct qty latency_us;
    } logits;
    struct {
        struct qty fixed_us, row_us, bandwidth_efficiency, context_rows, scale, weight_scale,
            context_scale;
        struct qty_curve curve;
    } pass;
    struct {
        struct qty step_us, speculative_us;
    } host;
    struct {
        int batch;
        struct qty tokens_per_s;
    } baseline;
    struct {
        double noise;
        struct qty speculative_tokens_per_s;
    } measured;
    struct {
        int cuda_graph_max_batch, max_running_requests;
        double memory_fraction, workspace_bytes;
        struct qty graph_miss_us;
        char name[SCENARIO_TEXT], version[SCENARIO_TEXT], flashinfer_version[SCENARIO_TEXT];
    } engine;
    struct {
        int prefill_chunk_tokens, mixed_prefill;
        struct qty prefill_tokens_per_s;
    } serve;
    struct {
        int p2p;
        double compute_capability, mem_bw_gb_per_s, memory_bytes;
        char gpu[SCENARIO_TEXT], interconnect[SCENARIO_TEXT], fabric[SCENARIO_TEXT];
    } hardware;
    struct {
        int max_nchannels, nthreads, communicators;
        double buffsize_bytes;
        char version[SCENARIO_TEXT], p2p_level[SCENARIO_TEXT];
    } nccl;
    char title[SCENARIO_TEXT];

    /* Bound by scenario_bind: not owned, and what evaluate() reads. NULL where latency_us rules. */
    struct scenario_costs {
        const struct cost *small, *large, *gather; /* gather NULL: derived from the allreduce */
        double small_factor, large_factor,
            gather_factor; /* 1, or a draw of the fit's uncertainty */
    } cost;

    /* Today's state, as the file gave it: what the measured baseline and curve were paid in. Set by
     * scenario_anchor(). */
    struct scenario_reference {
        int set, ranks, batch, count;
        double context_tokens, bytes_scale, cutoff_bytes,
            latency_us; /* latency_us NaN: from cost */
        double latency_scale, extra_us, skew_us;
        int all_gather, argmax;
        double logits_latency_us; /* NaN: from cost */
        double host_step_us, weight_scale, context_scale;
        struct scenario_costs cost;
    } ref;
};

enum scenario_type {
    KEY_TYPE_TEXT,
    KEY_TYPE_INT,
    KEY_TYPE_BOOL,
    KEY_TYPE_NUM,
    KEY_TYPE_QTY,
    KEY_TYPE_LIST,
    KEY_TYPE_CURVE
};

struct scenario_key {
    const char *path;
    enum scenario_type type;
    size_t offset;
    double min, max;
    int what_if;
    const char *doc;
};
extern const struct scenario_key scenario_keys[];
extern const size_t scenario_n_keys;

/* The key of that dotted path, or NULL. */
const struct scenario_key *scenario_key_find(const char *path);
/* Pointer to the key's member in s; its type is the key's (int, double, char[SCENARIO_TEXT], struct
 * qty, struct qty_list, struct qty_curve). */
void *scenario_member(struct scenario *s, const struct scenario_key *key);
const void *scenario_member_const(const struct scenario *s, const struct scenario_key *key);

/* Defaults: dense model, chain of 0 drafts, one rank, no costs; see docs/scenario.md. */
void scenario_init(struct scenario *s);

/* Sets one key from text, as --set and --vary do: a number, a word, or a list "0.8,0.7". Unknown
 * key or malformed text: STATUS_USAGE; a number out of the key's range: STATUS_UNSUPPORTED. */
enum status scenario_set(struct scenario *s, const char *path, const char *text, struct err *err);
/* Sets a key that is a number (INT, BOOL, NUM, QTY, one-element LIST). Same errors. */
enum status scenario_set_number(struct scenario *s, const struct scenario_key *key, double value,
                                struct err *err);

/* Checks that what the keys say together is possible; STATUS_UNSUPPORTED says what is not. */
enum status scenario_check(const struct scenario *s, struct err *err);

/* Looks up the costs that the implementations named need at s->ranks. Where allreduce.latency_us is
 * set none is needed. STATUS_UNSUPPORTED names what was measured where the wanted one was not. */
enum status scenario_bind(struct scenario *s, const struct costs *costs, struct err *err);

/* Remembers today's state as the one in which baseline and curve were measured. Call once, after
 * reading and binding, before any edit. */
void scenario_anchor(struct scenario *s);

/* Tokens verified per request: num_steps + 1 for a chain (as SGLang enforces), else the budget, at
 * most the tree's size. 1 without speculation. */
int scenario_verify_tokens(const struct scenario *s);
/* Whether it speculates: a method other than none and num_steps > 0. */
int scenario_speculates(const struct scenario *s);
/* Allreduces of one target pass: allreduce.count, or counted from the shape. */
int scenario_allreduce_count(const struct scenario *s);

#endif
