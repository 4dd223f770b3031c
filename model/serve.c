#include "model/serve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/draw.h"
#include "model/evaluate.h"

/* Quantiles of gaps between tokens: counts in buckets half a per cent wide, 1 us .. 1000 s. */
enum { GAP_BUCKETS = 4096 };
static const double gap_width = 0.005;

static int gap_bucket(double us)
{
    double x = us > 1 ? log(us) / gap_width : 0;
    return x < GAP_BUCKETS - 1 ? (int)x : GAP_BUCKETS - 1;
}

struct running {
    int32_t remaining[SERVE_MAX_RUNNING], id[SERVE_MAX_RUNNING];
    double context_tokens; /* of all running ones together */
    int n;
};

struct sim {
    const struct serve_engine *e;
    const struct serve_workload *w;
    struct serve_result *out;
    struct rng arrivals, lengths, accept;
    double now_us, next_arrival_us;
    int n_arrived, n_admitted, n_done;
    double running_time, waiting_time; /* integrals over time */
    double tenth_us, nine_tenths_us;
    int64_t tenth_tokens, nine_tenths_tokens;
    uint32_t threshold[SERVE_MAX_STEPS];
    struct running r;
    /* by request */
    double *arrived_us, *first_us, *ttft_us, *tpot_us, *request_us;
    int32_t *prompt, *output;
    int n_tpot;
    double gap_sum, gap_count;
    double stall_us; /* prefill since the last cycle, and who waited for it */
    int stalled;
    int64_t gaps[GAP_BUCKETS];
    /* the prompt being prefilled in chunks: requests n_prefilled..n_admitted-1 */
    int n_prefilled;
    double prompt_left;
};

static int draw_length(struct rng *r, const struct serve_length *l)
{
    double x = l->mean;
    if (l->cv > 0) {
        double s2 = log1p(l->cv * l->cv);
        x = l->mean * exp(sqrt(s2) * rng_normal(r) - s2 / 2);
    }
    x = floor(x + 0.5);
    return x < 1 ? 1 : x > 1e8 ? 100000000 : (int)x;
}

static void arrive(struct sim *s)
{
    int i = s->n_arrived++;
    s->arrived_us[i] = s->w->arrival == SERVE_CLOSED ? s->now_us : s->next_arrival_us;
    s->prompt[i] = s->w->prompt_tokens != NULL ? s->w->prompt_tokens[i]
                                               : draw_length(&s->lengths, &s->w->prompt);
    s->output[i] = s->w->output_tokens != NULL ? s->w->output_tokens[i]
                                               : draw_length(&s->lengths, &s->w->output);
    if (s->w->arrival == SERVE_CLOSED)
        return;
    if (s->n_arrived >= s->w->n_requests)
        s->next_arrival_us = INFINITY;
    else if (s->w->arrival == SERVE_RECORDED)
        s->next_arrival_us = s->w->arrival_us[s->n_arrived];
    else
        s->next_arrival_us -= log(rng_uniform(&s->arrivals)) * 1e6 / s->w->rate_per_s;
}

static void advance(struct sim *s, double us)
{
    s->running_time += us * s->r.n;
    s->waiting_time += us * (s->n_arrived - s->n_done - s->r.n);
    s->now_us += us;
    while (s->next_arrival_us <= s->now_us && s->n_arrived < s->w->n_requests)
        arrive(s);
}

static void done(struct sim *s, int id)
{
    s->request_us[s->n_done] = s->now_us - s->arrived_us[id];
    if (s->output[id] > 1)
        s->tpot_us[s->n_tpot++] = (s->now_us - s->first_us[id]) / (s->output[id] - 1);
    s->n_done++;
    if (s->n_done == (s->w->n_requests + 9) / 10) {
        s->tenth_us = s->now_us;
        s->tenth_tokens = s->out->tokens;
    }
    if (s->n_done == s->w->n_requests * 9 / 10) {
        s->nine_tenths_us = s->now_us;
        s->nine_tenths_tokens = s->out->tokens;
    }
    if (s->w->arrival == SERVE_CLOSED && s->n_arrived < s->w->n_requests)
        arrive(s);
}

static void count_gaps(struct sim *s, double us, int64_t n)
{
    s->gaps[gap_bucket(us)] += n;
    s->gap_sum += us * (double)n;
    s->gap_count += (double)n;
}

/* The first token comes out of the prefill. */
static void start_decoding(struct sim *s, int id)
{
    struct running *r = &s->r;
    s->first_us[id] = s->now_us;
    s->ttft_us[id] = s->now_us - s->arrived_us[id];
    s->out->tokens++;
    if (s->output[id] == 1) {
        done(s, id);
        return;
    }
    r->remaining[r->n] = s->output[id] - 1;
    r->id[r->n] = id;
    r->context_tokens += s->prompt[id] + 1;
    r->n++;
}

/* One cycle's accepted drafts: one draw of 32 bits against the K thresholds. */
static inline int accepted(const uint32_t *threshold, int k, uint32_t u)
{
    int a = 0;
    for (int i = 0; i < k; i++)
        a += u < threshold[i];
    return a;
}

/* `n` cycles in which no request can end: tokens of each are a sum of draws. */
static void decode_block(struct sim *s, int n)
{
    struct running *r = &s->r;
    const int k = s->e->num_steps;
    uint32_t t[SERVE_MAX_STEPS];
    memcpy(t, s->threshold, sizeof t);
    int64_t all = 0;
    struct rng rng = s->accept;
    for (int i = 0; i < r->n; i++) {
        int sum = n, c = 0;
        for (; c + 1 < n; c += 2) {
            uint64_t u = rng_next(&rng);
            sum += accepted(t, k, (uint32_t)u) + accepted(t, k, (uint32_t)(u >> 32));
        }
        if (c < n)
            sum += accepted(t, k, (uint32_t)rng_next(&rng));
        r->remaining[i] -= sum;
        all += sum;
    }
    s->accept = rng;
    r->context_tokens += (double)all;
    s->out->tokens += all;
    s->out->cycles += n;
    s->out->request_cycles += (int64_t)n * r->n;
}

/* One cycle at whose end requests may leave. now_us is the cycle's end already. */
static void decode_once(struct sim *s)
{
    struct running *r = &s->r;
    const int k = s->e->num_steps, n = r->n;
    uint64_t u = 0;
    s->out->cycles++;
    s->out->request_cycles += n;
    int kept = 0, n_gone = 0;
    int32_t gone[SERVE_MAX_RUNNING];
    for (int i = 0; i < n; i++) {
        u = i & 1 ? u >> 32 : rng_next(&s->accept);
        int tokens = 1 + accepted(s->threshold, k, (uint32_t)u), left = r->remaining[i];
        if (tokens >= left) {
            s->out->discarded_tokens += tokens - left;
            s->out->tokens += left;
            r->context_tokens -= s->prompt[r->id[i]] + s->output[r->id[i]] - left;
            gone[n_gone++] = r->id[i];
            continue;
        }
        s->out->tokens += tokens;
        r->context_tokens += tokens;
        r->remaining[kept] = left - tokens;
        r->id[kept] = r->id[i];
        kept++;
    }
    r->n = kept;
    for (int i = 0; i < n_gone; i++)
        done(s, gone[i]);
}

static double cycle_us(const struct sim *s, double more_tokens)
{
    const struct serve_engine *e = s->e;
    int n = s->r.n;
    double us = e->step_us[n - 1];
    if (e->context_us != NULL)
        us += e->context_us[n - 1] *
              ((s->r.context_tokens + more_tokens) / n - e->ref_context_tokens);
    return us > 0.05 * e->step_us[n - 1] ? us : 0.05 * e->step_us[n - 1];
}

/* Admits what there is room for and runs one step of prompts. 0: there was nothing to prefill. */
static int prefill(struct sim *s)
{
    const struct serve_engine *e = s->e;
    while (s->n_admitted < s->n_arrived &&
           s->r.n + (s->n_admitted - s->n_prefilled) < e->max_running) {
        if (s->n_admitted == s->n_prefilled)
            s->prompt_left = s->prompt[s->n_admitted];
        s->n_admitted++;
    }
    if (s->n_prefilled == s->n_admitted)
        return 0;
    double room = e->prefill_chunk_tokens, taken = 0;
    int first = s->n_prefilled, last = first;
    while (last < s->n_admitted && room > 0) {
        double take = s->prompt_left < room ? s->prompt_left : room;
        taken += take;
        room -= take;
        s->prompt_left -= take;
        if (s->prompt_left > 0)
            break;
        last++;
        if (last < s->n_admitted)
            s->prompt_left = s->prompt[last];
    }
    double us = e->prefill_fixed_us + taken * e->prefill_us_per_token;
    int decoding = e->mixed_prefill && s->r.n > 0;
    if (decoding)
        us += cycle_us(s, 0);
    int before = s->r.n;
    advance(s, us);
    if (decoding) {
        count_gaps(s, us, before);
        decode_once(s);
    } else {
        /* Whoever is decoding waits: this step is part of their next gap. */
        s->stall_us += us;
        if (s->stalled == 0)
            s->stalled = before;
    }
    s->out->prefill_steps++;
    s->n_prefilled = last;
    for (int id = first; id < last; id++)
        start_decoding(s, id);
    return 1;
}

/* Cycles that are safe to run in one go: nobody can end in them and nobody can be admitted. */
static int safe_cycles(const struct sim *s, double us)
{
    int32_t least = INT32_MAX;
    for (int i = 0; i < s->r.n; i++)
        least = s->r.remaining[i] < least ? s->r.remaining[i] : least;
    int n = (least - 1) / (s->e->num_steps + 1);
    if (s->e->context_us != NULL && n > 32)
        n = 32;
    if (s->r.n < s->e->max_running && isfinite(s->next_arrival_us)) {
        double until = (s->next_arrival_us - s->now_us) / us;
        if (until < n)
            n = until > 0 ? (int)until : 0;
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct serve_quantiles quantiles(double *v, int n)
{
    struct serve_quantiles q = {0, 0, 0, 0};
    if (n == 0)
        return q;
    qsort(v, (size_t)n, sizeof *v, compare);
    for (int i = 0; i < n; i++)
        q.mean += v[i] / n;
    q.p50 = v[(n - 1) / 2];
    q.p90 = v[(int)(0.9 * (n - 1) + 0.5)];
    q.p99 = v[(int)(0.99 * (n - 1) + 0.5)];
    return q;
}

static struct serve_quantiles gap_quantiles(const struct sim *s)
{
    struct serve_quantiles q = {0, 0, 0, 0};
    if (s->gap_count <= 0)
        return q;
    q.mean = s->gap_sum / s->gap_count;
    const double at[] = {0.5, 0.9, 0.99};
    double *out[] = {&q.p50, &q.p90, &q.p99};
    int next = 0;
    double seen = 0;
    for (int i = 0; i < GAP_BUCKETS && next < 3; i++) {
        seen += (double)s->gaps[i];
        while (next < 3 && seen >= at[next] * s->gap_count)
            *out[next++] = exp((i + 0.5) * gap_width);
    }
    return q;
}

static void simulate(struct sim *s)
{
    const int n = s->w->n_requests;
    if (s->w->arrival == SERVE_CLOSED) {
        s->next_arrival_us = INFINITY;
        int first = s->w->concurrency < n ? s->w->concurrency : n;
        while (s->n_arrived < first)
            arrive(s);
    } else if (s->w->arrival == SERVE_RECORDED) {
        s->next_arrival_us = s->w->arrival_us[0];
    } else {
        s->next_arrival_us = -log(rng_uniform(&s->arrivals)) * 1e6 / s->w->rate_per_s;
    }
    while (s->n_done < n) {
        if (prefill(s))
            continue;
        if (s->r.n == 0) {
            advance(s, s->next_arrival_us - s->now_us);
            continue;
        }
        double us = cycle_us(s, 0);
        int block = s->stall_us > 0 ? 0 : safe_cycles(s, us);
        if (block < 1) {
            int late = s->stalled < s->r.n ? s->stalled : s->r.n;
            if (late > 0)
                count_gaps(s, s->stall_us + us, late);
            count_gaps(s, us, s->r.n - late);
            s->stall_us = 0;
            s->stalled = 0;
            advance(s, us);
            decode_once(s);
            continue;
        }
        if (s->e->context_us != NULL)
            us = cycle_us(s, 0.5 * block * s->r.n * s->out->tokens_per_cycle);
        count_gaps(s, us, (int64_t)block * s->r.n);
        advance(s, us * block);
        decode_block(s, block);
    }
}

static enum status check(const struct serve_engine *e, const struct serve_workload *w,
                         struct err *err)
{
    if (w->n_requests < 1 || w->n_requests > 100000000)
        return err_set(err, STATUS_UNSUPPORTED, "%d requests: at least 1", w->n_requests);
    if (e->max_running < 1 || e->max_running > SERVE_MAX_RUNNING)
        return err_set(err, STATUS_UNSUPPORTED, "%d requests running: 1 to %d", e->max_running,
                       SERVE_MAX_RUNNING);
    if (e->num_steps < 0 || e->num_steps > SERVE_MAX_STEPS)
        return err_set(err, STATUS_UNSUPPORTED, "%d draft steps: 0 to %d", e->num_steps,
                       SERVE_MAX_STEPS);
    if (e->prefill_chunk_tokens < 1)
        return err_set(err, STATUS_UNSUPPORTED, "a prefill chunk of %d tokens: at least 1",
                       e->prefill_chunk_tokens);
    if (!(e->prefill_fixed_us >= 0 && e->prefill_us_per_token >= 0))
        return err_set(err, STATUS_UNSUPPORTED, "a prefill that takes negative time");
    for (int i = 0; i < e->max_running; i++)
        if (!(e->step_us[i] > 0 && isfinite(e->step_us[i])))
            return err_set(err, STATUS_UNSUPPORTED, "a cycle of %d requests takes %g us", i + 1,
                           e->step_us[i]);
    if (w->arrival == SERVE_CLOSED && w->concurrency < 1)
        return err_set(err, STATUS_UNSUPPORTED, "a closed loop of %d users: at least 1",
                       w->concurrency);
    if (w->arrival == SERVE_POISSON && !(w->rate_per_s > 0 && isfinite(w->rate_per_s)))
        return err_set(err, STATUS_UNSUPPORTED, "%g requests a second: more than 0", w->rate_per_s);
    if (w->arrival == SERVE_RECORDED)
        for (int i = 0; i < w->n_requests; i++)
            if (!(isfinite(w->arrival_us[i]) && w->arrival_us[i] >= (i ? w->arrival_us[i - 1] : 0)))
                return err_set(err, STATUS_UNSUPPORTED,
                               "arrival %d at %g us: times must ascend from 0", i + 1,
                               w->arrival_us[i]);
    const int *recorded[] = {w->prompt_tokens, w->output_tokens};
    for (int l = 0; l < 2; l++)
        for (int i = 0; recorded[l] != NULL && i < w->n_requests; i++)
            if (recorded[l][i] < 1 || recorded[l][i] > 100000000)
                return err_set(err, STATUS_UNSUPPORTED, "request %d has %d %s tokens: at least 1",
                               i + 1, recorded[l][i], l ? "output" : "prompt");
    const struct serve_length *drawn[] = {&w->prompt, &w->output};
    for (int l = 0; l < 2; l++)
        if (recorded[l] == NULL && !(drawn[l]->mean >= 1 && drawn[l]->mean <= 1e8 &&
                                     drawn[l]->cv >= 0 && drawn[l]->cv <= 10))
            return err_set(
                err, STATUS_UNSUPPORTED,
                "a mean %s of %g tokens with a variation of %g: at least 1 token, 0 to 10",
                l ? "output" : "prompt", drawn[l]->mean, drawn[l]->cv);
    return STATUS_OK;
}

static void moments(const struct serve_engine *e, double *mean, double *square)
{
    *mean = 1;
    *square = 1;
    for (int i = 0; i < e->num_steps; i++) {
        *mean += e->reach[i];
        *square += e->reach[i] * (2 * i + 3); /* (i + 2)^2 - (i + 1)^2 */
    }
}

enum status serve_run(const struct serve_engine *engine, const struct serve_workload *workload,
                      uint64_t seed, struct serve_result *result, struct err *err)
{
    enum status status = check(engine, workload, err);
    if (status != STATUS_OK)
        return status;
    *result = (struct serve_result){0};
    const size_t n = (size_t)workload->n_requests;
    struct sim *s = calloc(1, sizeof *s);
    double *numbers = malloc(5 * n * sizeof *numbers);
    int32_t *lengths = malloc(2 * n * sizeof *lengths);
    if (s == NULL || numbers == NULL || lengths == NULL) {
        status = err_set(err, STATUS_FAILED, "no memory for %zu requests", n);
        goto out;
    }
    s->e = engine;
    s->w = workload;
    s->out = result;
    rng_init(&s->arrivals, seed, 1);
    rng_init(&s->lengths, seed, 2);
    rng_init(&s->accept, seed, 3);
    s->arrived_us = numbers;
    s->first_us = numbers + n;
    s->ttft_us = numbers + 2 * n;
    s->tpot_us = numbers + 3 * n;
    s->request_us = numbers + 4 * n;
    s->prompt = lengths;
    s->output = lengths + n;
    for (int i = 0; i < engine->num_steps; i++)
        s->threshold[i] =
            engine->reach[i] >= 1 ? UINT32_MAX : (uint32_t)(engine->reach[i] * 0x1p32);
    double square;
    moments(engine, &result->tokens_per_cycle, &square);
    simulate(s);

    result->requests = workload->n_requests;
    result->duration_us = s->now_us;
    result->tokens_per_s = (double)result->tokens * 1e6 / s->now_us;
    double window = s->nine_tenths_us - s->tenth_us;
    result->steady_tokens_per_s =
        window > 0 ? (double)(s->nine_tenths_tokens - s->tenth_tokens) * 1e6 / window
                   : result->tokens_per_s;
    result->tokens_per_cycle =
        result->request_cycles > 0
            ? (double)(result->tokens - workload->n_requests) / (double)result->request_cycles
            : 1;
    result->mean_running = s->running_time / s->now_us;
    result->mean_waiting = s->waiting_time / s->now_us;
    result->itl_us = gap_quantiles(s);
    result->ttft_us = quantiles(s->ttft_us, workload->n_requests);
    result->tpot_us = quantiles(s->tpot_us, s->n_tpot);
    result->request_us = quantiles(s->request_us, workload->n_requests);
out:
    free(s);
    free(numbers);
    free(lengths);
    return status;
}

double serve_closed_form(const struct serve_engine *e, int running, double prompt, double output)
{
    double mean, square;
    moments(e, &mean, &square);
    double overshoot = (square / mean - 1) / 2;
    double cycles = output > 1 ? (output - 1 + overshoot) / mean : 0;
    double chunks = ceil(prompt / e->prefill_chunk_tokens);
    double prefill = chunks * e->prefill_fixed_us + prompt * e->prefill_us_per_token;
    return output * 1e6 / (cycles * e->step_us[running - 1] / running + prefill);
}

double serve_prefill_tokens_per_s(const struct serve_engine *e, double prompt_tokens)
{
    double prompt = prompt_tokens > 0 ? prompt_tokens : 1024;
    double us = ceil(prompt / e->prefill_chunk_tokens) * e->prefill_fixed_us +
                prompt * e->prefill_us_per_token;
    return us > 0 ? 1e6 * prompt / us : (double)INFINITY;
}

void serve_engine_from(const struct scenario *s, int speculative, int max_running, double *step_us,
                       double *context_us, struct serve_engine *engine)
{
    struct scenario at = *s;
    struct outcome o;
    *engine = (struct serve_engine){.max_running = max_running,
                                    .step_us = step_us,
                                    .context_us = context_us,
                                    .ref_context_tokens = s->context_tokens,
                                    .prefill_chunk_tokens = s->serve.prefill_chunk_tokens,
                                    .mixed_prefill = s->serve.mixed_prefill};
    int k = speculative && scenario_speculates(s) ? s->draft.num_steps : 0;
    for (int r = 1; r <= max_running; r++) {
        at.batch = r;
        at.context_tokens = s->context_tokens;
        evaluate(&at, &o);
        step_us[r - 1] = k > 0 ? o.cycle_us : o.baseline_step_us;
        at.context_tokens = s->context_tokens + 1024;
        evaluate(&at, &o);
        context_us[r - 1] = ((k > 0 ? o.cycle_us : o.baseline_step_us) - step_us[r - 1]) / 1024;
    }
    engine->num_steps = k < SERVE_MAX_STEPS ? k : SERVE_MAX_STEPS;
    if (k > 0)
        evaluate_reach(s, engine->reach);
    if (s->serve.prefill_tokens_per_s.set) {
        engine->prefill_us_per_token = 1e6 / s->serve.prefill_tokens_per_s.value;
    } else {
        /* The line through the passes of 1024 and 2048 rows. What does not grow, as reading every
         * weight, is paid by each chunk. */
        unsigned flags = 0;
        double big = evaluate_compute_us(s, 2048, 1, &flags),
               small = evaluate_compute_us(s, 1024, 1, &flags);
        engine->prefill_us_per_token = big > small ? (big - small) / 1024 : 0;
        engine->prefill_fixed_us = fmax(0, small - 1024 * engine->prefill_us_per_token);
    }
}
