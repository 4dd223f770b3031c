/* The synthetic backend: draws samples from a known curve, so that whatever reads a trace can be
 * checked against the truth, and misbehaves on demand, so that the campaign's guards can be tested.
 *
 *   median(bytes) = alpha_us + beta_us_per_byte * bytes      (the same for every rank count)
 *   sample = median * exp(noise * z), z standard normal;     skewed: + the latest rank's delay
 *
 * synthetic/twin has the same curve as synthetic/linear: a comparison must call them equal. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure/backend.h"
#include "measure/oracle.h"
#include "traces/command.h"

struct truth {
    double alpha_us, beta_us_per_byte, noise, seed, sleep_ms;
    const char *fault; /* KIND, up to the '@'; NULL none */
    int fault_at_open;
    int64_t fault_bytes;
};

struct synthetic {
    struct truth truth;
    struct variant v;
    uint64_t seed, draws;
};

static const char *const keys[] = {
    "alpha_us", "beta_us_per_byte", "noise", "seed", "sleep_ms", "fault", NULL};
static const char *const faults[] = {"hang", "crash", "oom", "wrong", "fail", NULL};

static enum status parse_fault(struct truth *t, const char *text, struct err *err)
{
    const char *at = strchr(text, '@');
    for (int i = 0; at != NULL && faults[i] != NULL; i++)
        if (strncmp(text, faults[i], (size_t)(at - text)) == 0 &&
            strlen(faults[i]) == (size_t)(at - text))
            t->fault = faults[i];
    t->fault_at_open = at != NULL && strcmp(at + 1, "open") == 0;
    t->fault_bytes = -1;
    if (t->fault == NULL || (!t->fault_at_open && parse_bytes(at + 1, &t->fault_bytes) != 0))
        return err_set(err, STATUS_USAGE,
                       "--option fault=%s: KIND@BYTES or KIND@open was expected, KIND one of hang, "
                       "crash, oom, wrong, fail",
                       text);
    return STATUS_OK;
}

static enum status truth_parse(struct truth *t, int n, const struct backend_option *options,
                               struct err *err)
{
    *t = (struct truth){.alpha_us = 10, .beta_us_per_byte = 1e-4, .noise = 0.02, .seed = -1};
    const struct {
        const char *key;
        double min, max, *value;
    } numbers[] = {
        {"alpha_us", 1e-6, 1e9, &t->alpha_us},
        {"beta_us_per_byte", 0, 1e6, &t->beta_us_per_byte},
        {"noise", 0, 2, &t->noise},
        {"seed", 0, 9007199254740992.0, &t->seed},
        {"sleep_ms", 0, 60000, &t->sleep_ms},
    };
    enum status status = backend_options_known(n, options, keys, "synthetic", err);
    for (size_t i = 0; status == STATUS_OK && i < sizeof numbers / sizeof numbers[0]; i++)
        status = backend_option_number(n, options, numbers[i].key, numbers[i].min, numbers[i].max,
                                       numbers[i].value, err);
    const char *fault = backend_option(n, options, "fault");
    if (status == STATUS_OK && fault != NULL)
        status = parse_fault(t, fault, err);
    return status;
}

static enum status scout(struct backend_host *host, int n_options,
                         const struct backend_option *options, struct err *err)
{
    struct truth t;
    enum status status = truth_parse(&t, n_options, options, err);
    if (status != STATUS_OK)
        return status;
    host->max_ranks = MAX_RANKS;
    snprintf(host->version, sizeof host->version, "%.9g us + %.9g us/byte, noise %.9g", t.alpha_us,
             t.beta_us_per_byte, t.noise);
    snprintf(host->label, sizeof host->label, "synthetic");
    return STATUS_OK;
}

static int impl(int index, const struct backend_host *host, struct backend_impl *out)
{
    static const char *const names[] = {"synthetic/linear", "synthetic/twin"};
    if (index >= (int)(sizeof names / sizeof names[0]))
        return 0;
    *out = (struct backend_impl){
        .min_ranks = 2,
        .max_ranks = host->max_ranks,
        .dtypes = (1u << DTYPE_COUNT) - 1,
        .methods = 1u << METHOD_back_to_back | 1u << METHOD_graph | 1u << METHOD_dependent |
                   1u << METHOD_skewed,
        .quick = 1,
    };
    snprintf(out->name, sizeof out->name, "%s", names[index]);
    return 1;
}

/* Misbehaves if told to: returns what the call comes to, or does not return. */
static enum outcome misbehave(const struct synthetic *s, int at_open, int64_t bytes,
                              struct err *err)
{
    const struct truth *t = &s->truth;
    if (t->fault == NULL || t->fault_at_open != at_open || (!at_open && t->fault_bytes != bytes))
        return OUTCOME_OK;
    if (strcmp(t->fault, "hang") == 0)
        for (;;)
            pause();
    if (strcmp(t->fault, "crash") == 0) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
    if (strcmp(t->fault, "oom") == 0) {
        err_set(err, STATUS_FAILED, "out of memory, as asked for");
        return OUTCOME_OOM;
    }
    if (strcmp(t->fault, "fail") == 0) {
        err_set(err, STATUS_FAILED, "failed, as asked for");
        return OUTCOME_FAILED;
    }
    return OUTCOME_OK;
}

static enum outcome open_session(void **session, const struct variant *v, struct err *err)
{
    struct synthetic *s = calloc(1, sizeof *s);
    if (s == NULL) {
        err_set(err, STATUS_FAILED, "out of memory");
        return OUTCOME_OOM;
    }
    *session = s;
    s->v = *v;
    if (truth_parse(&s->truth, v->n_options, v->options, err) != STATUS_OK)
        return OUTCOME_FAILED;
    /* A given seed gives the same samples for the same plan. */
    s->seed = s->truth.seed >= 0 ? (uint64_t)s->truth.seed : v->seed;
    for (const char *p = v->impl; *p != '\0'; p++)
        s->seed = random_at(s->seed, (unsigned char)*p);
    s->seed = random_at(s->seed, (uint64_t)v->ranks << 8 | (uint64_t)v->dtype);
    return misbehave(s, 1, -1, err);
}

static enum outcome verify(void *session, int64_t size_bytes, struct result *r, struct err *err)
{
    struct synthetic *s = session;
    if (s->truth.fault != NULL && strcmp(s->truth.fault, "wrong") == 0 &&
        s->truth.fault_bytes == size_bytes) {
        r->checked = size_bytes / dtype_bytes(s->v.dtype);
        r->wrong = 1;
        return OUTCOME_OK;
    }
    return misbehave(s, 0, size_bytes, err); /* nothing was summed, so nothing is checked */
}

static double normal_at(uint64_t seed, uint64_t counter)
{
    double u = 1 - uniform_at(seed, 2 * counter), v = uniform_at(seed, 2 * counter + 1);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

static enum outcome time_session(void *session, const struct timing *t, struct result *r,
                                 struct err *err)
{
    struct synthetic *s = session;
    (void)err;
    uint64_t seed = random_at(random_at(s->seed, (uint64_t)t->size_bytes), (uint64_t)t->method);
    if (s->truth.sleep_ms > 0)
        usleep((useconds_t)(s->truth.sleep_ms * 1e3));
    double median = s->truth.alpha_us + s->truth.beta_us_per_byte * (double)t->size_bytes;
    for (r->n = 0; r->n < t->iterations && r->n < r->cap; r->n++) {
        uint64_t draw = s->draws++;
        double sample = median * exp(s->truth.noise * normal_at(seed, draw)), latest = 0;
        for (int k = 0; t->method == METHOD_skewed && k < s->v.ranks; k++)
            latest = fmax(latest, uniform_at(~seed, draw * MAX_RANKS + (uint64_t)k));
        r->samples[r->n] = sample + latest * t->skew_us;
    }
    return OUTCOME_OK;
}

static void close_session(void *session)
{
    free(session);
}

const struct backend backend_synthetic = {
    .id = "synthetic",
    .summary = "samples of a known curve, to check the tools that read traces",
    .options_doc = "alpha_us=10, beta_us_per_byte=1e-4, noise=0.02 (relative, lognormal), seed=N, "
                   "sleep_ms=N a measurement, fault=KIND@BYTES|open with KIND hang, crash, oom, "
                   "wrong or fail",
    .scout = scout,
    .impl = impl,
    .open = open_session,
    .verify = verify,
    .time = time_session,
    .close = close_session,
};
