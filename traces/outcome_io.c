#include "traces/outcome_io.h"

static const struct {
    unsigned flag;
    const char *name, *text;
} warnings[] = {
    {OUTCOME_COST_EXTRAPOLATED, "cost_extrapolated",
     "a message lies outside the measured sizes: its latency is an extrapolation"},
    {OUTCOME_COST_SYNTHESIZED, "cost_synthesized",
     "an allreduce is priced from the fabric, not measured"},
    {OUTCOME_ROWS_EXTRAPOLATED, "rows_extrapolated",
     "the pass has more rows than the measured batch curve: its time is an extrapolation"},
    {OUTCOME_ACCEPT_EXTRAPOLATED, "accept_extrapolated",
     "drafts are deeper than the measured acceptance: the rest is an extrapolation"},
    {OUTCOME_GATHER_DERIVED, "gather_derived",
     "no all-gather was measured: the logits' is half an allreduce of the same size"},
    {OUTCOME_ROOFLINE, "roofline",
     "how compute grows with rows comes from a roofline; a measured batch curve (pass.curve) is "
     "better"},
    {OUTCOME_ANCHOR_CLIPPED, "anchor_clipped",
     "the collectives alone take nearly all of the measured step: the costs and the baseline "
     "disagree"},
    {OUTCOME_GRAPH_MISS, "graph_miss", "the batch lies outside the captured CUDA graphs"},
    {OUTCOME_RANKS_CHANGED, "ranks_changed",
     "the level of compute was measured at another number of ranks: an extrapolation"},
};

void outcome_warnings(unsigned flags, void (*fn)(void *ctx, const char *name, const char *text),
                      void *ctx)
{
    for (size_t i = 0; i < sizeof warnings / sizeof warnings[0]; i++)
        if (flags & warnings[i].flag)
            fn(ctx, warnings[i].name, warnings[i].text);
}

static void add_text(void *ctx, const char *name, const char *text)
{
    (void)name;
    cJSON_AddItemToArray(ctx, cJSON_CreateString(text));
}

cJSON *outcome_warnings_json(unsigned flags)
{
    cJSON *array = cJSON_CreateArray();
    outcome_warnings(flags, add_text, array);
    return array;
}

struct residual outcome_residual(const struct scenario *s, const struct simulation *sim)
{
    const struct outcome *m = &sim->mean;
    const struct qty *q = &s->measured.speculative_tokens_per_s;
    double emitted = s->batch * 1e6;
    return (struct residual){
        .measured_tokens_per_s = q->value,
        .unexplained_us = emitted * m->tokens_per_cycle / q->value - m->cycle_us,
        .low_us = emitted * sim->low.tokens_per_cycle / q->high - sim->high.cycle_us,
        .high_us = emitted * sim->high.tokens_per_cycle / q->low - sim->low.cycle_us,
        .tokens_per_cycle = q->value * m->cycle_us / emitted,
    };
}

static void add_interval(cJSON *object, const char *key, double low, double high)
{
    double pair[] = {low, high};
    cJSON_AddItemToObject(object, key, cJSON_CreateDoubleArray(pair, 2));
}

cJSON *simulation_json(const struct scenario *s, const struct simulation *sim)
{
    const struct outcome *m = &sim->mean, *lo = &sim->low, *hi = &sim->high;
    cJSON *o = cJSON_CreateObject(), *ci = cJSON_CreateObject();
    if (o == NULL || ci == NULL) {
        cJSON_Delete(o);
        cJSON_Delete(ci);
        return NULL;
    }
#define BOTH(member)                                                                               \
    cJSON_AddNumberToObject(o, #member, m->member);                                                \
    add_interval(ci, #member, lo->member, hi->member)
    BOTH(baseline_tokens_per_s);
    BOTH(speculative_tokens_per_s);
    BOTH(speedup);
    BOTH(tokens_per_cycle);
    BOTH(cycle_us);
    cJSON *parts = cJSON_AddObjectToObject(o, "breakdown_us");
    cJSON *parts_ci = cJSON_AddObjectToObject(ci, "breakdown_us");
#define PART(key, member)                                                                          \
    cJSON_AddNumberToObject(parts, key, m->member);                                                \
    add_interval(parts_ci, key, lo->member, hi->member)
    PART("draft", draft_us);
    PART("verify_compute", verify_compute_us);
    PART("verify_allreduce", verify_allreduce_us);
    PART("draft_allreduce", draft_allreduce_us);
    PART("host", host_us);
    BOTH(baseline_step_us);
    BOTH(allreduce_us);
#undef PART
#undef BOTH
    cJSON_AddNumberToObject(o, "p_speedup", sim->p_speedup);
    cJSON *verify = cJSON_AddObjectToObject(o, "verify");
    cJSON_AddNumberToObject(verify, "num_draft_tokens", scenario_verify_tokens(s));
    cJSON_AddNumberToObject(verify, "rows", m->verify_rows);
    cJSON_AddNumberToObject(verify, "allreduce_count", m->allreduce_count);
    cJSON_AddNumberToObject(verify, "message_bytes", m->message_bytes);
    cJSON_AddNumberToObject(verify, "allreduce_us", m->allreduce_us);
    cJSON_AddNumberToObject(verify, "logits_gather_us", m->logits_gather_us);
    cJSON *draft = cJSON_AddObjectToObject(o, "draft");
    cJSON_AddNumberToObject(draft, "num_steps", scenario_speculates(s) ? s->draft.num_steps : 0);
    cJSON_AddNumberToObject(draft, "topk", s->draft.topk);
    cJSON_AddNumberToObject(draft, "allreduce_count", m->draft_allreduce_count);
    cJSON_AddNumberToObject(draft, "gather_us", m->draft_gather_us);
    cJSON_AddNumberToObject(draft, "extend_us", m->extend_us);
    if (s->measured.speculative_tokens_per_s.set && scenario_speculates(s)) {
        struct residual r = outcome_residual(s, sim);
        cJSON *residual = cJSON_AddObjectToObject(o, "residual");
        cJSON_AddNumberToObject(residual, "measured_tokens_per_s", r.measured_tokens_per_s);
        cJSON_AddNumberToObject(residual, "unexplained_us", r.unexplained_us);
        add_interval(residual, "ci95", r.low_us, r.high_us);
        cJSON_AddNumberToObject(residual, "accept_length_that_would_explain", r.tokens_per_cycle);
    }
    cJSON_AddNumberToObject(o, "draws", sim->draws);
    cJSON_AddItemToObject(o, "warnings", outcome_warnings_json(m->flags));
    cJSON_AddItemToObject(o, "ci95", ci);
    return o;
}
