/* A backend's session, or a probe, in a worker: the campaign's side of it.
 *
 * Every call has a time limit and ends in a verdict. After any verdict but CALL_OK, CALL_OOM and
 * CALL_UNSUPPORTED of session_call() the session is over and has been cleaned up.
 */
#ifndef UPDRAFT_MEASURE_SESSION_H
#define UPDRAFT_MEASURE_SESSION_H

#include "measure/backend.h"
#include "measure/probe.h"
#include "measure/worker.h"

enum { MAX_SAMPLES = 20000, NOTE = 160 };

enum verdict {
    CALL_OK,
    CALL_OOM,
    CALL_UNSUPPORTED,
    CALL_FAILED,
    CALL_CRASHED,
    CALL_TIMEOUT,
    CALL_INTERRUPTED
};
/* The record's state for a verdict: "" for CALL_OK, "oom", "skipped", "failed", "crashed",
 * "timeout". */
const char *verdict_state(enum verdict v);

struct session {
    struct worker worker;
    int timeout_ms;
    void (*tick)(void *arg); /* called while waiting; may be NULL */
    void *tick_arg;
};

/* Starts the worker and opens the session in it. `note` (NOTE bytes) gets what went wrong. */
enum verdict session_open(struct session *s, const struct backend *backend, const struct variant *v,
                          int timeout_ms, struct interrupts *interrupts, char *note);
enum verdict session_verify(struct session *s, int64_t size_bytes, struct result *r, char *note);
enum verdict session_time(struct session *s, const struct timing *t, struct result *r, char *note);
/* The same for a probe: begin() in the worker, then its cases. */
enum verdict session_open_probe(struct session *s, const struct probe *probe,
                                const struct backend_host *host, int timeout_ms,
                                struct interrupts *interrupts, char *note);
enum verdict session_probe(struct session *s, const struct probe_case *c, int iterations,
                           struct result *r, char *note);
/* Closes it in peace. Safe on a session that is over and on a zero-initialised one. */
void session_close(struct session *s);
int session_is_open(const struct session *s);

/* Runs scout() in a worker. Its status and message, or STATUS_FAILED where it hung or crashed. */
enum status scout_backend(const struct backend *backend, int n_options,
                          const struct backend_option *options, int timeout_ms,
                          struct interrupts *interrupts, struct backend_host *host,
                          struct err *err);

#endif
