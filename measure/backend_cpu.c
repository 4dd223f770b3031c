/* The cpu backend: a real allreduce between threads of the host through shared memory.
 *
 *   cpu/oneshot  every rank publishes its input and sums all inputs itself
 *   cpu/twoshot  every rank publishes its input, sums one part of it for all, and gathers the rest
 *
 * Both accumulate in fp32 in the order of the ranks. Inputs are published in one of two buffers in
 * turn: a rank that has seen everybody's flag of call i + 1 knows that all have finished reading
 * call i, so no barrier is needed at the end. Waiting spins, then yields: ranks may outnumber
 * cores.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "measure/backend.h"
#include "measure/oracle.h"

enum { SPINS_BEFORE_YIELD = 100, PILOT = 3, CHUNK = 1024 };

struct flag {
    _Alignas(64) _Atomic uint64_t epoch;
};

struct cpu {
    struct variant v;
    int twoshot;
    size_t bytes; /* capacity of each buffer, rounded up to cache lines */
    char *input[MAX_RANKS], *output[MAX_RANKS], *slot[2][MAX_RANKS], *result[2];
    struct flag published[MAX_RANKS], reduced[MAX_RANKS], arrived[MAX_RANKS];
    _Atomic int64_t start_ns;
    atomic_int gate; /* threads of a run wait here: 1 go, -1 go away */
    uint64_t epoch;  /* calls done so far, the same for all ranks */
    double rounds_per_us;
    uint64_t verifications;
};

/* One thread's part of a run of calls. */
struct part {
    struct cpu *cpu;
    const struct timing *t;
    int rank, calls, compute_only;
    uint64_t rounds; /* of compute before each call */
    int64_t *end_ns; /* `calls` of them */
    int64_t begin_ns;
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void wait_all(struct flag *flags, int ranks, uint64_t epoch)
{
    for (int r = 0, spins = 0; r < ranks;) {
        if (atomic_load_explicit(&flags[r].epoch, memory_order_acquire) >= epoch)
            r++;
        else if (++spins >= SPINS_BEFORE_YIELD)
            sched_yield();
    }
}

static void set(struct flag *flag, uint64_t epoch)
{
    atomic_store_explicit(&flag->epoch, epoch, memory_order_release);
}

static void reduce(struct cpu *c, int parity, char *out, size_t first, size_t end)
{
    float acc[CHUNK];
    for (size_t i = first; i < end; i += CHUNK) {
        size_t n = end - i < CHUNK ? end - i : CHUNK;
        for (size_t k = 0; k < n; k++)
            acc[k] = dtype_load(c->v.dtype, c->slot[parity][0], i + k);
        for (int r = 1; r < c->v.ranks; r++)
            dtype_add(c->v.dtype, acc, c->slot[parity][r], i, n);
        dtype_round(c->v.dtype, acc, out, i, n);
    }
}

static void allreduce(struct cpu *c, int rank, size_t bytes, uint64_t epoch)
{
    int parity = (int)(epoch & 1), ranks = c->v.ranks;
    size_t n = bytes / (size_t)dtype_bytes(c->v.dtype);
    memcpy(c->slot[parity][rank], c->input[rank], bytes);
    set(&c->published[rank], epoch);
    wait_all(c->published, ranks, epoch);
    char *out = c->v.in_place ? c->input[rank] : c->output[rank];
    if (!c->twoshot) {
        reduce(c, parity, out, 0, n);
        return;
    }
    size_t first = n * (size_t)rank / (size_t)ranks, end = n * (size_t)(rank + 1) / (size_t)ranks;
    reduce(c, parity, c->result[parity], first, end);
    set(&c->reduced[rank], epoch);
    wait_all(c->reduced, ranks, epoch);
    memcpy(out, c->result[parity], bytes);
}

/* Compute that needs the call before it and that the next call needs. */
static void compute(struct cpu *c, int rank, uint64_t rounds)
{
    float x = dtype_load(c->v.dtype, c->output[rank], 0);
    for (uint64_t i = 0; i < rounds; i++)
        x = x * 0.5f + 1.0f;
    dtype_store(c->v.dtype, c->input[rank], 0, x);
}

static void wait_until(int64_t ns)
{
    while (now_ns() < ns)
        ;
}

/* All ranks meet, then leave at one moment plus their own random delay. Returns the moment. */
static int64_t leave_together(struct part *p, uint64_t call)
{
    struct cpu *c = p->cpu;
    set(&c->arrived[p->rank], call);
    wait_all(c->arrived, c->v.ranks, call);
    int64_t start;
    if (p->rank == 0) {
        start = now_ns() + 2000;
        atomic_store(&c->start_ns, start);
        set(&c->arrived[0], call + 1);
    } else {
        wait_all(&c->arrived[0], 1, call + 1);
        start = atomic_load(&c->start_ns);
    }
    double delay = uniform_at(c->v.seed ^ call, (uint64_t)p->rank) * p->t->skew_us * 1e3;
    wait_until(start + (int64_t)delay);
    return start;
}

static void *run_part(void *arg)
{
    struct part *p = arg;
    struct cpu *c = p->cpu;
    size_t bytes = (size_t)p->t->size_bytes;
    int gate;
    while ((gate = atomic_load_explicit(&c->gate, memory_order_acquire)) == 0)
        sched_yield();
    if (gate < 0)
        return NULL;
    p->begin_ns = now_ns();
    for (int i = 0; i < p->calls; i++) {
        uint64_t epoch = c->epoch + (uint64_t)i + 1;
        int64_t start = 0;
        if (p->t->method == METHOD_skewed)
            start = leave_together(p, 2 * epoch);
        if (p->rounds > 0)
            compute(c, p->rank, p->rounds);
        if (!p->compute_only)
            allreduce(c, p->rank, bytes, epoch);
        p->end_ns[i] = now_ns() - start;
    }
    return NULL;
}

/* Runs `calls` calls on all ranks. end_ns[i] becomes the latest end of call i over the ranks (for
 * skewed timing the longest time from the common start), *begin_ns the latest begin. */
static enum outcome run(struct cpu *c, const struct timing *t, int calls, uint64_t rounds,
                        int compute_only, int64_t *end_ns, int64_t *begin_ns, struct err *err)
{
    struct part parts[MAX_RANKS];
    pthread_t threads[MAX_RANKS];
    int started = 0, ranks = c->v.ranks;
    int64_t *ends = calloc((size_t)ranks * (size_t)calls, sizeof *ends);
    if (ends == NULL) {
        err_set(err, STATUS_FAILED, "out of memory");
        return OUTCOME_OOM;
    }
    for (int r = 0; r < ranks; r++)
        parts[r] = (struct part){.cpu = c,
                                 .t = t,
                                 .rank = r,
                                 .calls = calls,
                                 .compute_only = compute_only,
                                 .rounds = rounds,
                                 .end_ns = ends + (size_t)r * (size_t)calls};
    atomic_store(&c->gate, 0);
    while (started < ranks &&
           pthread_create(&threads[started], NULL, run_part, &parts[started]) == 0)
        started++;
    atomic_store_explicit(&c->gate, started == ranks ? 1 : -1, memory_order_release);
    for (int r = 0; r < started; r++)
        pthread_join(threads[r], NULL);
    if (started < ranks) {
        err_set(err, STATUS_FAILED, "cannot start %d threads", ranks);
        free(ends);
        return OUTCOME_OOM;
    }
    *begin_ns = parts[0].begin_ns;
    for (int r = 1; r < ranks; r++)
        if (parts[r].begin_ns > *begin_ns)
            *begin_ns = parts[r].begin_ns;
    for (int i = 0; i < calls; i++) {
        end_ns[i] = parts[0].end_ns[i];
        for (int r = 1; r < ranks; r++)
            if (parts[r].end_ns[i] > end_ns[i])
                end_ns[i] = parts[r].end_ns[i];
    }
    if (!compute_only)
        c->epoch += (uint64_t)calls;
    free(ends);
    return OUTCOME_OK;
}

static enum status scout(struct backend_host *host, int n_options,
                         const struct backend_option *options, struct err *err)
{
    static const char *const none[] = {NULL};
    struct utsname u;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    host->max_ranks = MAX_RANKS;
    if (uname(&u) == 0)
        snprintf(host->version, sizeof host->version, "%.60s %.60s", u.sysname, u.release);
    snprintf(host->label, sizeof host->label, "%ld host cores", cores);
    return backend_options_known(n_options, options, none, "cpu", err);
}

static int impl(int index, const struct backend_host *host, struct backend_impl *out)
{
    static const char *const names[] = {"cpu/oneshot", "cpu/twoshot"};
    if (index >= (int)(sizeof names / sizeof names[0]))
        return 0;
    *out = (struct backend_impl){
        .min_ranks = 2,
        .max_ranks = host->max_ranks,
        .dtypes = 1u << DTYPE_bf16 | 1u << DTYPE_fp16 | 1u << DTYPE_fp32,
        .methods = 1u << METHOD_back_to_back | 1u << METHOD_dependent | 1u << METHOD_skewed,
        .quick = 1,
    };
    snprintf(out->name, sizeof out->name, "%s", names[index]);
    return 1;
}

static void close_session(void *session)
{
    struct cpu *c = session;
    if (c == NULL)
        return;
    for (int r = 0; r < MAX_RANKS; r++) {
        free(c->input[r]);
        free(c->output[r]);
        free(c->slot[0][r]);
        free(c->slot[1][r]);
    }
    free(c->result[0]);
    free(c->result[1]);
    free(c);
}

static char *buffer(size_t bytes, int *ok)
{
    char *p = aligned_alloc(64, bytes);
    if (p == NULL)
        *ok = 0;
    else
        memset(p, 0, bytes);
    return p;
}

static enum outcome open_session(void **session, const struct variant *v, struct err *err)
{
    int ok = 1;
    struct cpu *c = aligned_alloc(64, (sizeof *c + 63) / 64 * 64);
    if (c == NULL) {
        err_set(err, STATUS_FAILED, "out of memory");
        return OUTCOME_OOM;
    }
    memset(c, 0, sizeof *c);
    *session = c;
    c->v = *v;
    c->twoshot = strcmp(v->impl, "cpu/twoshot") == 0;
    if (!c->twoshot && strcmp(v->impl, "cpu/oneshot") != 0) {
        err_set(err, STATUS_UNSUPPORTED, "backend cpu has no %s", v->impl);
        return OUTCOME_UNSUPPORTED;
    }
    c->bytes = ((size_t)v->max_bytes + 64) / 64 * 64;
    for (int r = 0; r < v->ranks; r++) {
        c->input[r] = buffer(c->bytes, &ok);
        c->output[r] = buffer(c->bytes, &ok);
        c->slot[0][r] = buffer(c->bytes, &ok);
        c->slot[1][r] = buffer(c->bytes, &ok);
    }
    c->result[0] = buffer(c->bytes, &ok);
    c->result[1] = buffer(c->bytes, &ok);
    if (!ok) {
        err_set(err, STATUS_FAILED, "buffers of %zu bytes: out of memory", c->bytes);
        return OUTCOME_OOM;
    }
    return OUTCOME_OK;
}

static enum outcome verify(void *session, int64_t size_bytes, struct result *r, struct err *err)
{
    struct cpu *c = session;
    struct timing t = {.method = METHOD_back_to_back, .size_bytes = size_bytes};
    struct oracle o = {ORACLE_FLOAT, c->v.dtype, c->v.ranks,
                       random_at(c->v.seed, c->verifications++)};
    size_t n = (size_t)size_bytes / (size_t)dtype_bytes(c->v.dtype);
    int64_t end_ns, begin_ns;
    for (int k = 0; k < c->v.ranks; k++)
        oracle_fill(&o, k, n, c->input[k]);
    enum outcome outcome = run(c, &t, 1, 0, 0, &end_ns, &begin_ns, err);
    if (outcome != OUTCOME_OK)
        return outcome;
    for (int k = 0; k < c->v.ranks; k++) {
        r->checked += (int64_t)n;
        r->wrong += oracle_wrong(&o, n, c->v.in_place ? c->input[k] : c->output[k]);
    }
    return OUTCOME_OK;
}

/* How many rounds of compute() take a microsecond here. */
static double calibrate(struct cpu *c)
{
    double best = 0;
    for (int i = 0; i < 5; i++) {
        int64_t start = now_ns();
        compute(c, 0, 20000);
        double rate = 20000 * 1e3 / (double)(now_ns() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

/* One sample a chain of calls with compute before each, less the same chain of compute alone. */
static enum outcome time_dependent(struct cpu *c, const struct timing *t, int64_t *ends,
                                   struct result *r, struct err *err)
{
    int64_t begin;
    if (c->rounds_per_us == 0)
        c->rounds_per_us = calibrate(c);
    uint64_t rounds = (uint64_t)(t->compute_us * c->rounds_per_us) + 1;
    int64_t alone = INT64_MAX;
    double used_us = 0;
    for (int i = -1; i < t->iterations; i++) {
        for (int k = 0; k < (i < 0 ? 3 : 1); k++) {
            enum outcome outcome = run(c, t, t->chain, rounds, 1, ends, &begin, err);
            if (outcome != OUTCOME_OK)
                return outcome;
            if (ends[t->chain - 1] - begin < alone)
                alone = ends[t->chain - 1] - begin;
        }
        enum outcome outcome = run(c, t, t->chain, rounds, 0, ends, &begin, err);
        if (outcome != OUTCOME_OK)
            return outcome;
        int64_t both = ends[t->chain - 1] - begin;
        used_us += (double)(both + alone) / 1e3;
        if (i >= 0 && r->n < r->cap)
            r->samples[r->n++] = (double)(both - alone) / 1e3 / t->chain;
        if (t->budget_us > 0 && used_us > t->budget_us && r->n >= 3)
            break;
    }
    r->compute_us = (double)alone / 1e3 / t->chain;
    return OUTCOME_OK;
}

static enum outcome time_session(void *session, const struct timing *t, struct result *r,
                                 struct err *err)
{
    struct cpu *c = session;
    int n = t->iterations < r->cap ? t->iterations : r->cap;
    int calls = t->warmup + n + 1, room = calls > t->chain ? calls : t->chain;
    int64_t begin, *ends = calloc((size_t)room, sizeof *ends);
    enum outcome outcome = OUTCOME_OK;
    snprintf(r->kernel, sizeof r->kernel, "%s", c->twoshot ? "cpu_twoshot" : "cpu_oneshot");
    if (ends == NULL) {
        err_set(err, STATUS_FAILED, "out of memory");
        return OUTCOME_OOM;
    }
    if (t->method == METHOD_dependent) {
        if (c->v.ranks > sysconf(_SC_NPROCESSORS_ONLN)) {
            err_set(err, STATUS_UNSUPPORTED, "dependent timing needs a core for every rank");
            outcome = OUTCOME_UNSUPPORTED;
        } else {
            outcome = time_dependent(c, t, ends, r, err);
        }
        goto out;
    }
    if (t->method != METHOD_back_to_back && t->method != METHOD_skewed) {
        err_set(err, STATUS_UNSUPPORTED, "backend cpu has no method %s", method_name(t->method));
        outcome = OUTCOME_UNSUPPORTED;
        goto out;
    }
    outcome = run(c, t, PILOT, 0, 0, ends, &begin, err);
    if (outcome != OUTCOME_OK)
        goto out;
    double pilot_us = t->method == METHOD_skewed ? (double)ends[PILOT - 1] / 1e3
                                                 : (double)(ends[PILOT - 1] - begin) / 1e3 / PILOT;
    if (t->budget_us > 0 && pilot_us * n > t->budget_us)
        n = t->budget_us / pilot_us < 3 ? 3 : (int)(t->budget_us / pilot_us);
    calls = t->warmup + n + 1;
    outcome = run(c, t, calls, 0, 0, ends, &begin, err);
    if (outcome != OUTCOME_OK)
        goto out;
    for (int i = calls - n; i < calls; i++)
        r->samples[r->n++] =
            (double)(t->method == METHOD_skewed ? ends[i] : ends[i] - ends[i - 1]) / 1e3;
out:
    free(ends);
    return outcome;
}

const struct backend backend_cpu = {
    .id = "cpu",
    .summary = "threads and shared memory of this host; needs no GPU",
    .scout = scout,
    .impl = impl,
    .open = open_session,
    .verify = verify,
    .time = time_session,
    .close = close_session,
};
