/* Workers: children that do what may hang, crash or run out of memory.
 *
 * A worker is a forked child in a process group of its own, connected by a socket. It dies with its
 * parent, and stopping it kills the whole group. What it and the libraries in it print goes to an
 * unlinked file, whose last line explains a crash. Only one thread may use these functions, and the
 * process must not have started others before worker_start().
 */
#ifndef UPDRAFT_MEASURE_WORKER_H
#define UPDRAFT_MEASURE_WORKER_H

#include <stddef.h>
#include <sys/types.h>

#include "model/err.h"

/* SIGINT, SIGTERM and SIGHUP arrive here instead of ending the process, so that a campaign stops
 * between two lines of its journal. */
struct interrupts {
    int fd;     /* of signalfd(); -1 none */
    int caught; /* the signal's number once one came */
};
enum status interrupts_begin(struct interrupts *in, struct err *err);
void interrupts_end(struct interrupts *in); /* back to what it was */

struct worker {
    pid_t pid; /* 0: none */
    int fd, print_fd;
    struct interrupts *interrupts; /* not owned; may be NULL */
};

enum worker_event {
    WORKER_OK,
    WORKER_CRASHED,     /* it ended: worker_stop() says how */
    WORKER_TIMEOUT,     /* it said nothing for so long: stop it */
    WORKER_INTERRUPTED, /* a signal for us came: stop it and finish */
};

/* Starts a child that runs body(fd, arg) and then ends. STATUS_FAILED where fork does. */
enum status worker_start(struct worker *w, void (*body)(int fd, void *arg), void *arg,
                         struct interrupts *interrupts, struct err *err);
/* Sends, and receives exactly `len` bytes within `timeout_ms`. While waiting calls tick(arg) about
 * every 50 ms where tick is not NULL. */
enum worker_event worker_send(struct worker *w, const void *buf, size_t len);
enum worker_event worker_receive(struct worker *w, void *buf, size_t len, int timeout_ms,
                                 void (*tick)(void *arg), void *arg);
/* Asks the child to end (its socket closes), kills its group after `patience_ms`, reaps it. Safe on
 * a zero-initialised one. Writes how it ended to `how` (may be NULL): "killed by signal 11
 * (Segmentation fault): its last printed line". */
void worker_stop(struct worker *w, int patience_ms, char *how, size_t room);

/* In the child: whole buffers over the socket; 0 or -1 (the parent is gone or asks to end). */
int pipe_read(int fd, void *buf, size_t len);
int pipe_write(int fd, const void *buf, size_t len);

/* Microseconds of the monotonic clock. */
double clock_us(void);

#endif
