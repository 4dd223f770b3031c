#include "measure/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum op { OP_VERIFY, OP_TIME, OP_PROBE };

struct request {
    enum op op;
    int64_t size_bytes;
    struct timing timing;
    struct probe_case probe_case;
    int iterations;
};

/* The samples follow: result.n doubles. */
struct reply {
    enum outcome outcome;
    struct err err;
    struct result result;
};

/* What the child needs to know; read through the copied memory of fork(). */
struct job {
    const struct backend *backend;
    const struct variant *variant;
    const struct probe *probe;
    const struct backend_host *host;
    int n_options;
    const struct backend_option *options;
};

const char *verdict_state(enum verdict v)
{
    static const char *const states[] = {"", "oom", "skipped", "failed", "crashed", "timeout", ""};
    return states[v];
}

static int send_reply(int fd, struct reply *reply)
{
    const double *samples = reply->result.samples;
    size_t n = (size_t)reply->result.n;
    reply->result.samples = NULL;
    if (pipe_write(fd, reply, sizeof *reply) != 0)
        return -1;
    return n == 0 ? 0 : pipe_write(fd, samples, n * sizeof *samples);
}

static void session_body(int fd, void *arg)
{
    const struct job *job = arg;
    void *context = NULL;
    double *samples = calloc(MAX_SAMPLES, sizeof *samples);
    struct reply reply = {.outcome = OUTCOME_OOM};
    if (samples == NULL) {
        err_set(&reply.err, STATUS_FAILED, "out of memory");
        send_reply(fd, &reply);
        return;
    }
    if (job->probe != NULL)
        reply.outcome = job->probe->begin(&context, job->host, &reply.err);
    else
        reply.outcome = job->backend->open(&context, job->variant, &reply.err);
    int over = send_reply(fd, &reply) != 0 || reply.outcome != OUTCOME_OK;
    struct request q;
    while (!over && pipe_read(fd, &q, sizeof q) == 0) {
        memset(&reply, 0, sizeof reply);
        int cap = q.op == OP_VERIFY ? 0 : q.op == OP_TIME ? q.timing.iterations : q.iterations;
        result_init(&reply.result, samples, cap < MAX_SAMPLES ? cap : MAX_SAMPLES);
        if (q.op == OP_VERIFY)
            reply.outcome = job->backend->verify(context, q.size_bytes, &reply.result, &reply.err);
        else if (q.op == OP_TIME)
            reply.outcome = job->backend->time(context, &q.timing, &reply.result, &reply.err);
        else
            reply.outcome =
                job->probe->run(context, &q.probe_case, q.iterations, &reply.result, &reply.err);
        if (reply.outcome != OUTCOME_OK)
            reply.result.n = 0;
        over = send_reply(fd, &reply) != 0 || reply.outcome == OUTCOME_FAILED;
    }
    if (job->probe != NULL)
        job->probe->end(context);
    else
        job->backend->close(context);
    free(samples);
}

/* Ends the session's worker and says why. */
static enum verdict over(struct session *s, enum worker_event event, char *note)
{
    char how[NOTE - 40] = "";
    worker_stop(&s->worker, event == WORKER_CRASHED ? 1000 : 0, how, sizeof how);
    if (event == WORKER_INTERRUPTED)
        return CALL_INTERRUPTED;
    if (event == WORKER_TIMEOUT) {
        snprintf(note, NOTE, "no answer in %g s; %s", s->timeout_ms / 1e3, how);
        return CALL_TIMEOUT;
    }
    snprintf(note, NOTE, "%s", how);
    return CALL_CRASHED;
}

/* Receives a reply. The caller's samples are kept, filled up to their room. */
static enum verdict receive(struct session *s, struct result *r, char *note)
{
    struct reply reply;
    note[0] = '\0';
    enum worker_event event =
        worker_receive(&s->worker, &reply, sizeof reply, s->timeout_ms, s->tick, s->tick_arg);
    if (event != WORKER_OK)
        return over(s, event, note);
    double *samples = r == NULL ? NULL : r->samples;
    int cap = r == NULL ? 0 : r->cap;
    if (reply.result.n < 0 || reply.result.n > cap) {
        snprintf(note, NOTE, "the worker's answer makes no sense");
        worker_stop(&s->worker, 0, NULL, 0);
        return CALL_FAILED;
    }
    if (reply.result.n > 0) {
        event = worker_receive(&s->worker, samples, (size_t)reply.result.n * sizeof *samples,
                               s->timeout_ms, NULL, NULL);
        if (event != WORKER_OK)
            return over(s, event, note);
    }
    if (r != NULL) {
        *r = reply.result;
        r->samples = samples;
        r->cap = cap;
    }
    if (reply.outcome == OUTCOME_OK)
        return CALL_OK;
    snprintf(note, NOTE, "%.*s", NOTE - 1, reply.err.msg);
    if (reply.outcome == OUTCOME_FAILED)
        worker_stop(&s->worker, 1000, NULL, 0);
    return reply.outcome == OUTCOME_OOM           ? CALL_OOM
           : reply.outcome == OUTCOME_UNSUPPORTED ? CALL_UNSUPPORTED
                                                  : CALL_FAILED;
}

static enum verdict open_job(struct session *s, struct job *job, int timeout_ms,
                             struct interrupts *interrupts, char *note)
{
    struct err err = {STATUS_OK, ""};
    s->timeout_ms = timeout_ms;
    if (worker_start(&s->worker, session_body, job, interrupts, &err) != STATUS_OK) {
        snprintf(note, NOTE, "%.*s", NOTE - 1, err.msg);
        return CALL_FAILED;
    }
    enum verdict v = receive(s, NULL, note);
    if (v != CALL_OK)
        worker_stop(&s->worker, 1000, NULL, 0);
    return v;
}

enum verdict session_open(struct session *s, const struct backend *backend, const struct variant *v,
                          int timeout_ms, struct interrupts *interrupts, char *note)
{
    struct job job = {.backend = backend, .variant = v};
    return open_job(s, &job, timeout_ms, interrupts, note);
}

enum verdict session_open_probe(struct session *s, const struct probe *probe,
                                const struct backend_host *host, int timeout_ms,
                                struct interrupts *interrupts, char *note)
{
    struct job job = {.probe = probe, .host = host};
    return open_job(s, &job, timeout_ms, interrupts, note);
}

static enum verdict call(struct session *s, const struct request *q, struct result *r, char *note)
{
    if (worker_send(&s->worker, q, sizeof *q) != WORKER_OK)
        return over(s, WORKER_CRASHED, note);
    return receive(s, r, note);
}

enum verdict session_verify(struct session *s, int64_t size_bytes, struct result *r, char *note)
{
    struct request q = {.op = OP_VERIFY, .size_bytes = size_bytes};
    return call(s, &q, r, note);
}

enum verdict session_time(struct session *s, const struct timing *t, struct result *r, char *note)
{
    struct request q = {.op = OP_TIME, .timing = *t};
    if (q.timing.iterations > r->cap)
        q.timing.iterations = r->cap;
    return call(s, &q, r, note);
}

enum verdict session_probe(struct session *s, const struct probe_case *c, int iterations,
                           struct result *r, char *note)
{
    struct request q = {
        .op = OP_PROBE, .probe_case = *c, .iterations = iterations < r->cap ? iterations : r->cap};
    return call(s, &q, r, note);
}

void session_close(struct session *s)
{
    worker_stop(&s->worker, s->timeout_ms < 5000 ? s->timeout_ms : 5000, NULL, 0);
}

int session_is_open(const struct session *s)
{
    return s->worker.pid > 0;
}

struct scouted {
    enum status status;
    struct err err;
    struct backend_host host;
};

static void scout_body(int fd, void *arg)
{
    const struct job *job = arg;
    struct scouted found;
    memset(&found, 0, sizeof found);
    found.status = job->backend->scout(&found.host, job->n_options, job->options, &found.err);
    pipe_write(fd, &found, sizeof found);
}

enum status scout_backend(const struct backend *backend, int n_options,
                          const struct backend_option *options, int timeout_ms,
                          struct interrupts *interrupts, struct backend_host *host, struct err *err)
{
    struct job job = {.backend = backend, .n_options = n_options, .options = options};
    struct worker w;
    struct scouted found;
    char how[128] = "";
    enum status status = worker_start(&w, scout_body, &job, interrupts, err);
    if (status != STATUS_OK)
        return status;
    enum worker_event event = worker_receive(&w, &found, sizeof found, timeout_ms, NULL, NULL);
    worker_stop(&w, event == WORKER_OK || event == WORKER_CRASHED ? 5000 : 0, how, sizeof how);
    if (event == WORKER_TIMEOUT)
        return err_set(err, STATUS_FAILED,
                       "backend %s: looking at the devices took more than %g s (is a GPU hung? "
                       "nvidia-smi may say)",
                       backend->id, timeout_ms / 1e3);
    if (event == WORKER_INTERRUPTED)
        return err_set(err, STATUS_FAILED, "interrupted");
    if (event == WORKER_CRASHED)
        return err_set(err, STATUS_FAILED, "backend %s: looking at the devices %s", backend->id,
                       how);
    if (found.status != STATUS_OK)
        return err_set(err, found.status, "%s", found.err.msg);
    *host = found.host;
    return STATUS_OK;
}
