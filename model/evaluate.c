#include "model/evaluate.h"

#include <math.h>
#include <string.h>

#include "model/acceptance.h"

/* The collectives' state: today's, or an edited one. Both are priced by the same code. */
struct wire {
    const struct scenario_costs *cost, *gather;
    double bytes_scale, cutoff_bytes, latency_us, latency_scale, extra_us, skew_us, insitu,
        box_scale;
    double logits_latency_us;
    int ranks, all_gather, argmax;
};

static struct wire wire_now(const struct scenario *s)
{
    return (struct wire){
        .cost = &s->cost,
        .gather = s->ref.set && s->ranks == s->ref.ranks ? &s->ref.cost : &s->cost,
        .bytes_scale = s->allreduce.bytes_scale,
        .cutoff_bytes = s->allreduce.cutoff_bytes,
        .latency_us = s->allreduce.latency_us.set ? s->allreduce.latency_us.value : (double)NAN,
        .latency_scale = s->allreduce.latency_scale.value,
        .extra_us = s->allreduce.extra_us.value,
        .skew_us = s->allreduce.skew_us.value,
        .insitu = s->allreduce.insitu.value,
        .box_scale = s->allreduce.box_scale.value,
        .logits_latency_us = s->logits.latency_us.set ? s->logits.latency_us.value : (double)NAN,
        .ranks = s->ranks,
        .all_gather = s->logits.all_gather,
        .argmax = s->logits.argmax,
    };
}

static struct wire wire_reference(const struct scenario *s)
{
    const struct scenario_reference *r = &s->ref;
    return (struct wire){
        .cost = &r->cost,
        .gather = &r->cost,
        .bytes_scale = r->bytes_scale,
        .cutoff_bytes = r->cutoff_bytes,
        .latency_us = r->latency_us,
        .latency_scale = r->latency_scale,
        .extra_us = r->extra_us,
        .skew_us = r->skew_us,
        .insitu = s->allreduce.insitu.value,
        .box_scale = s->allreduce.box_scale.value,
        .logits_latency_us = r->logits_latency_us,
        .ranks = r->ranks,
        .all_gather = r->all_gather,
        .argmax = r->argmax,
    };
}

static void note_source(const struct cost *c, double bytes, unsigned *flags)
{
    if (c->source == COST_SYNTHESIZED)
        *flags |= OUTCOME_COST_SYNTHESIZED;
    else if (bytes < c->min_bytes || bytes > c->max_bytes)
        *flags |= OUTCOME_COST_EXTRAPOLATED;
}

/* A cost as a server on this box pays it. */
static double cost_us(const struct wire *w, const struct cost *c, double bytes, double factor)
{
    return cost_latency_us(c, bytes) * factor * w->insitu * w->box_scale;
}

/* What the cost model says of one allreduce of `bytes` per rank. A latency given outright replaces
 * the model and its in-situ factor: the user says what it takes. */
static double wire_raw_us(const struct wire *w, double bytes, unsigned *flags)
{
    double us;
    if (!isnan(w->latency_us)) {
        us = w->latency_us;
    } else {
        bytes *= w->bytes_scale;
        const struct cost *c = w->cost->small;
        double factor = w->cost->small_factor;
        if (w->cost->large != NULL && w->cutoff_bytes > 0 && bytes > w->cutoff_bytes) {
            c = w->cost->large;
            factor = w->cost->large_factor;
        }
        if (c == NULL)
            return 0;
        note_source(c, bytes, flags);
        us = cost_us(w, c, bytes, factor);
    }
    return us;
}

static double wire_finish_us(const struct wire *w, double us)
{
    us = us * w->latency_scale + w->extra_us + w->skew_us;
    return us > 0 ? us : 0;
}

static double wire_allreduce_us(const struct wire *w, double bytes, unsigned *flags)
{
    return w->ranks < 2 ? 0 : wire_finish_us(w, wire_raw_us(w, bytes, flags));
}

/* `count` allreduces of `bytes` per rank, noted in *m; one of them takes the time returned. */
static double wire_message_us(const struct wire *w, double count, double bytes,
                              struct outcome_message *m, unsigned *flags)
{
    if (w->ranks < 2)
        return 0;
    *m = (struct outcome_message){count, bytes * w->bytes_scale, wire_raw_us(w, bytes, flags)};
    return wire_finish_us(w, m->raw_us);
}

/* One all-gather of `bytes` in total. A ring allreduce is a reduce-scatter and an all-gather of the
 * same volume, so where no all-gather was measured it is half an allreduce of that size, by today's
 * implementation: replacing the allreduce leaves the all-gather as it is. */
static double wire_gather_us(const struct wire *w, double bytes, unsigned *flags)
{
    if (w->ranks < 2 || !w->all_gather || bytes <= 0)
        return 0;
    if (!isnan(w->logits_latency_us))
        return w->logits_latency_us;
    const struct scenario_costs *g = w->gather;
    if (g->gather != NULL) {
        note_source(g->gather, bytes, flags);
        return cost_us(w, g->gather, bytes, g->gather_factor);
    }
    const struct cost *c = g->large != NULL ? g->large : g->small;
    if (c == NULL)
        return 0;
    double factor = g->large != NULL ? g->large_factor : g->small_factor;
    *flags |= OUTCOME_GATHER_DERIVED;
    return 0.5 * cost_us(w, c, bytes, factor);
}

double evaluate_allreduce_us(const struct scenario *s, double bytes)
{
    unsigned flags = 0;
    struct wire w = wire_now(s);
    return wire_allreduce_us(&w, bytes, &flags);
}

static double curve_at(const struct qty_curve *c, double x, unsigned *flags)
{
    if (c->n == 1)
        return c->y[0];
    int i = 0;
    while (i + 2 < c->n && x > c->x[i + 1])
        i++;
    if (x > c->x[c->n - 1])
        *flags |= OUTCOME_ROWS_EXTRAPOLATED;
    double t = (x - c->x[i]) / (c->x[i + 1] - c->x[i]);
    if (t < 0)
        t = 0;
    double y = c->y[i] + t * (c->y[i + 1] - c->y[i]);
    return y > c->y[0] * 0.1 ? y : c->y[0] * 0.1;
}

/* Reading the weights that `rows` tokens touch: distinct experts of E, each token visiting k of
 * them independently: E (1 - (1 - k/E)^rows). */
static double weights_us(const struct scenario *s, int ranks, double rows, double scale)
{
    if (s->hardware.mem_bw_gb_per_s <= 0)
        return 0;
    double bytes = s->model.dense_weight_bytes.value;
    if (s->model.experts > 0) {
        double e = s->model.experts, k = s->model.experts_per_token;
        bytes += e * (1 - pow(1 - k / e, rows)) * s->model.expert_weight_bytes.value;
    }
    return scale * bytes /
           (ranks * s->hardware.mem_bw_gb_per_s * 1e3 * s->pass.bandwidth_efficiency.value);
}

/* Reading the KV cache of every request once; it is per rank already. */
static double context_us(const struct scenario *s, double context, double requests, double scale)
{
    if (s->hardware.mem_bw_gb_per_s <= 0)
        return 0;
    return scale * context * requests * s->model.kv_bytes_per_token.value /
           (s->hardware.mem_bw_gb_per_s * 1e3 * s->pass.bandwidth_efficiency.value);
}

/* The exchange of `rows` rows of logits: all `vocab` of them, or each rank's best one, a value and
 * an index of four bytes. */
static double logits_us(const struct scenario *s, const struct wire *w, double rows, double vocab,
                        unsigned *flags)
{
    return wire_gather_us(w, rows * (w->argmax ? 8.0 * w->ranks : vocab * s->logits.dtype_bytes),
                          flags);
}

/* How often a pass reads a request's context: once a request, and `pass.context_rows` of it again
 * for every further row. Served steps with a measured plain curve cost what plain steps of as many
 * rows cost at that context, so there every row reads by default. */
static double context_reads(const struct scenario *s, double rows, double requests, double absent)
{
    double again = s->pass.context_rows.set ? s->pass.context_rows.value : absent;
    return requests + again * (rows - requests);
}

static double message_bytes(const struct scenario *s, double rows)
{
    return rows * s->model.hidden * s->model.dtype_bytes;
}

/* All collectives of a plain pass of `rows` rows under w. */
static double pass_collectives_us(const struct scenario *s, const struct wire *w, int count,
                                  double rows, unsigned *flags)
{
    return count * wire_allreduce_us(w, message_bytes(s, rows), flags) +
           logits_us(s, w, rows, s->model.vocab, flags);
}

/* A pass takes some time, whatever a factor makes of it, or rates would be infinite. */
static const double least_pass_us = 1e-3;

/* What the measured baseline leaves for compute, after today's collectives and host: where the
 * level of a roofline is hung up. One for all passes of a scenario. */
struct anchor {
    double fixed_us, growth_scale;
    unsigned flags;
};

static struct anchor anchor_of(const struct scenario *s, const struct wire *ref)
{
    struct anchor a = {.fixed_us = s->pass.fixed_us.value, .growth_scale = 1};
    if (s->pass.curve.n > 0 || s->pass.fixed_us.set || !s->baseline.tokens_per_s.set)
        return a;
    unsigned ignored = 0;
    double b = s->ref.batch;
    double step = b * 1e6 / s->baseline.tokens_per_s.value;
    double rest =
        step - pass_collectives_us(s, ref, s->ref.count, b, &ignored) - s->ref.host_step_us;
    double roof = weights_us(s, s->ref.ranks, b, s->ref.weight_scale) + s->pass.row_us.value * b +
                  context_us(s, s->ref.context_tokens, b, s->ref.context_scale);
    if (rest < 0.05 * step) {
        rest = 0.05 * step;
        a.flags |= OUTCOME_ANCHOR_CLIPPED;
    }
    a.fixed_us = rest - roof;
    if (a.fixed_us < 0) {
        /* The roofline alone exceeds what was measured: keep its shape, lower its level. */
        a.growth_scale = rest / roof;
        a.fixed_us = 0;
    }
    if (s->ranks != s->ref.ranks)
        a.flags |= OUTCOME_RANKS_CHANGED;
    return a;
}

/* The measured step, less what it paid for collectives and the host then. The curve is of plain
 * steps, where every row is a request. */
static double curve_compute_us(const struct scenario *s, const struct wire *ref, double rows,
                               double requests, unsigned *flags)
{
    unsigned ignored = 0;
    double step = curve_at(&s->pass.curve, rows, flags);
    double us =
        step - pass_collectives_us(s, ref, s->ref.count, rows, &ignored) - s->ref.host_step_us;
    double floor_us = 0.05 * step;
    if (us < floor_us) {
        us = floor_us;
        *flags |= OUTCOME_ANCHOR_CLIPPED;
    }
    us += context_us(s, s->context_tokens, context_reads(s, rows, requests, 1),
                     s->pass.context_scale.value) -
          context_us(s, s->ref.context_tokens, rows, s->ref.context_scale);
    us += weights_us(s, s->ranks, rows, s->pass.weight_scale.value) -
          weights_us(s, s->ranks, rows, s->ref.weight_scale);
    if (s->ranks != s->ref.ranks)
        *flags |= OUTCOME_RANKS_CHANGED;
    return us < floor_us ? floor_us : us;
}

static double compute_us(const struct scenario *s, const struct wire *ref, const struct anchor *a,
                         double rows, double requests, unsigned *flags)
{
    double us;
    if (s->pass.curve.n > 0) {
        us = curve_compute_us(s, ref, rows, requests, flags);
    } else {
        double growth = weights_us(s, s->ranks, rows, s->pass.weight_scale.value) +
                        s->pass.row_us.value * rows +
                        context_us(s, s->context_tokens, context_reads(s, rows, requests, 0),
                                   s->pass.context_scale.value);
        us = a->fixed_us + growth * a->growth_scale;
        *flags |= a->flags | (rows > 1 ? OUTCOME_ROOFLINE : 0);
    }
    return fmax(us * s->pass.scale.value, least_pass_us);
}

double evaluate_compute_us(const struct scenario *s, double rows, double requests, unsigned *flags)
{
    struct wire ref = wire_reference(s);
    struct anchor a = anchor_of(s, &ref);
    return compute_us(s, &ref, &a, rows, requests, flags);
}

static double graph_miss_us(const struct scenario *s, unsigned *flags)
{
    if (s->engine.cuda_graph_max_batch <= 0 || s->batch <= s->engine.cuda_graph_max_batch)
        return 0;
    *flags |= OUTCOME_GRAPH_MISS;
    return s->engine.graph_miss_us.value;
}

static void draft_phase(const struct scenario *s, const struct wire *w, struct outcome *o, int m)
{
    /* The first draft comes out of the extend pass over the verified tokens (SGLang and vLLM), so
     * num_steps drafts take num_steps - 1 further passes. */
    int passes = s->draft.num_steps - 1;
    o->extend_us = s->draft.extend_us.set ? s->draft.extend_us.value : s->draft.pass_us.value;
    double pass_us = s->draft.pass_us.value + s->draft.row_us.value * s->batch * s->draft.topk;
    o->extend_us += s->draft.row_us.value * s->batch * m;
    o->extend_us *= s->draft.scale.value;
    o->draft_us = passes * pass_us * s->draft.scale.value + o->extend_us;
    if (!s->draft.tensor_parallel || w->ranks < 2)
        return;
    double hidden = s->draft.hidden > 0 ? s->draft.hidden : s->model.hidden;
    double vocab = s->draft.vocab > 0 ? s->draft.vocab : s->model.vocab;
    double row_bytes = hidden * s->model.dtype_bytes;
    int n = s->draft.allreduces_per_pass;
    double rows = (double)s->batch * s->draft.topk;
    int all_positions = strcmp(s->engine.name, "vllm") != 0;
    o->draft_gather_us =
        passes * logits_us(s, w, rows, vocab, &o->flags) +
        logits_us(s, w, all_positions ? (double)s->batch * m : s->batch, vocab, &o->flags);
    double draft_us = wire_message_us(w, (double)passes * n, rows * row_bytes,
                                      &o->message[OUTCOME_DRAFT], &o->flags);
    double extend_us = wire_message_us(w, n, (double)s->batch * m * row_bytes,
                                       &o->message[OUTCOME_EXTEND], &o->flags);
    o->draft_allreduce_us = passes * n * draft_us + n * extend_us + o->draft_gather_us;
    o->draft_allreduce_count = (passes + 1) * n;
}

/* Whoever samples or relaxes accepts otherwise than the list says. */
static int served_accept(const struct scenario *s, double *p)
{
    const struct qty_list *l = &s->draft.accept_rate;
    for (int i = 0; i < l->n; i++)
        p[i] = acceptance_relaxed(acceptance_at_temperature(l->v[i], 0, s->draft.temperature),
                                  s->draft.relaxed_share.value);
    return l->n;
}

/* One number holds at every position; a list falls beyond its end. */
static double accept_decay(const struct scenario *s)
{
    return s->draft.accept_rate.uniform ? 1 : s->draft.accept_decay.value;
}

static double tokens_per_cycle(const struct scenario *s, int m)
{
    double served[SCENARIO_MAX_LIST];
    const double *p = s->draft.accept_rate.v;
    const double decay = accept_decay(s);
    const int n = s->draft.accept_rate.n, k = s->draft.num_steps;
    if (s->draft.temperature > 0 || s->draft.relaxed_share.value > 0) {
        served_accept(s, served);
        p = served;
    }
    if (s->draft.topk == 1)
        return acceptance_chain_tokens(p, n, decay, k);
    double accepted = acceptance_tree_tokens(p, n, decay, k, s->draft.topk, m) - 1;
    return 1 + fmin(accepted * s->draft.tree_scale.value, k);
}

void evaluate_reach(const struct scenario *s, double *reach)
{
    const int k = scenario_speculates(s) ? s->draft.num_steps : 0;
    double p[SCENARIO_MAX_LIST], scaled[SCENARIO_MAX_LIST];
    const int n = served_accept(s, p);
    const double decay = accept_decay(s);
    double low = 0, high = 2, want = k > 0 ? tokens_per_cycle(s, scenario_verify_tokens(s)) : 1;
    memcpy(scaled, p, sizeof p);
    if (s->draft.topk > 1)
        for (int step = 0; step < 60; step++) {
            double scale = (low + high) / 2;
            for (int i = 0; i < n; i++)
                scaled[i] = fmin(p[i] * scale, 1);
            if (acceptance_chain_tokens(scaled, n, decay, k) < want)
                low = scale;
            else
                high = scale;
        }
    double r = 1;
    for (int i = 0; i < k; i++)
        reach[i] = r *= acceptance_at(scaled, n, decay, i + 1);
}

static void cycle(const struct scenario *s, const struct wire *w, const struct wire *ref,
                  const struct anchor *a, double miss, struct outcome *o)
{
    const double b = s->batch;
    const int m = scenario_verify_tokens(s);
    const double rows = b * m;
    o->allreduce_count = scenario_allreduce_count(s);
    o->verify_rows = rows;
    o->message_bytes = message_bytes(s, rows) * s->allreduce.bytes_scale;
    o->allreduce_us = wire_message_us(w, o->allreduce_count, message_bytes(s, rows),
                                      &o->message[OUTCOME_VERIFY], &o->flags);
    o->graph_miss_us = miss;
    o->verify_compute_us = compute_us(s, ref, a, rows, b, &o->flags) + miss;
    o->logits_gather_us = logits_us(s, w, rows, s->model.vocab, &o->flags);
    o->verify_allreduce_us = o->allreduce_count * o->allreduce_us + o->logits_gather_us;
    o->host_us = s->host.step_us.value;
    o->tokens_per_cycle = 1;
    if (scenario_speculates(s)) {
        draft_phase(s, w, o, m);
        o->host_us += s->host.speculative_us.value;
        o->tokens_per_cycle = tokens_per_cycle(s, m);
        if (s->draft.num_steps > s->draft.accept_rate.n && s->draft.accept_rate.n > 1)
            o->flags |= OUTCOME_ACCEPT_EXTRAPOLATED;
    }
    o->cycle_us = o->draft_us + o->verify_compute_us + o->verify_allreduce_us +
                  o->draft_allreduce_us + o->host_us;
    o->speculative_tokens_per_s = b * o->tokens_per_cycle * 1e6 / o->cycle_us;
}

void evaluate_cycle(const struct scenario *s, struct outcome *o)
{
    *o = (struct outcome){0};
    struct wire w = wire_now(s), ref = wire_reference(s);
    struct anchor a = anchor_of(s, &ref);
    cycle(s, &w, &ref, &a, graph_miss_us(s, &o->flags), o);
}

void evaluate(const struct scenario *s, struct outcome *o)
{
    *o = (struct outcome){0};
    struct wire w = wire_now(s), ref = wire_reference(s);
    struct anchor a = anchor_of(s, &ref);
    const double b = s->batch;
    const double miss = graph_miss_us(s, &o->flags);
    o->baseline_allreduce_us = wire_allreduce_us(&w, message_bytes(s, b), &o->flags);
    o->baseline_step_us = compute_us(s, &ref, &a, b, b, &o->flags) +
                          (scenario_allreduce_count(s) * o->baseline_allreduce_us +
                           logits_us(s, &w, b, s->model.vocab, &o->flags)) +
                          s->host.step_us.value + miss;
    o->baseline_tokens_per_s = b * 1e6 / o->baseline_step_us;
    cycle(s, &w, &ref, &a, miss, o);
    o->speedup = o->speculative_tokens_per_s / o->baseline_tokens_per_s;
}
