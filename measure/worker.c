#include "measure/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 50, TAIL = 4096 };

double clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static sigset_t our_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

enum status interrupts_begin(struct interrupts *in, struct err *err)
{
    sigset_t set = our_signals();
    *in = (struct interrupts){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (in->fd < 0 || sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return err_set(err, STATUS_FAILED, "signals: %s", strerror(errno));
    return STATUS_OK;
}

void interrupts_end(struct interrupts *in)
{
    sigset_t set = our_signals();
    if (in->fd < 0)
        return;
    close(in->fd);
    in->fd = -1;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void child(int fd, int print_fd, pid_t parent, void (*body)(int, void *), void *arg)
{
    sigset_t set = our_signals();
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (print_fd >= 0) {
        dup2(print_fd, STDOUT_FILENO);
        dup2(print_fd, STDERR_FILENO);
    }
    body(fd, arg);
    fflush(NULL);
    _exit(0);
}

enum status worker_start(struct worker *w, void (*body)(int fd, void *arg), void *arg,
                         struct interrupts *interrupts, struct err *err)
{
    int pair[2];
    *w = (struct worker){.fd = -1, .print_fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return err_set(err, STATUS_FAILED, "socketpair: %s", strerror(errno));
    int print_fd = memfd_create("updraft worker", MFD_CLOEXEC);
    pid_t parent = getpid();
    fflush(NULL); /* what is buffered must not be printed twice */
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        child(pair[1], print_fd, parent, body, arg);
    }
    close(pair[1]);
    if (pid < 0) {
        enum status status = err_set(err, STATUS_FAILED, "fork: %s", strerror(errno));
        close(pair[0]);
        if (print_fd >= 0)
            close(print_fd);
        return status;
    }
    setpgid(pid, pid); /* both sides do: whoever comes first */
    *w = (struct worker){pid, pair[0], print_fd, interrupts};
    return STATUS_OK;
}

enum worker_event worker_send(struct worker *w, const void *buf, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = send(w->fd, (const char *)buf + done, len - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return WORKER_CRASHED;
        done += (size_t)n;
    }
    return WORKER_OK;
}

static int interrupted(struct interrupts *in)
{
    struct signalfd_siginfo info;
    if (in == NULL)
        return 0;
    if (in->fd >= 0 && read(in->fd, &info, sizeof info) == (ssize_t)sizeof info)
        in->caught = (int)info.ssi_signo;
    return in->caught != 0;
}

enum worker_event worker_receive(struct worker *w, void *buf, size_t len, int timeout_ms,
                                 void (*tick)(void *arg), void *arg)
{
    double deadline = clock_us() + timeout_ms * 1e3;
    for (size_t done = 0; done < len;) {
        struct pollfd fds[2] = {{w->fd, POLLIN, 0},
                                {w->interrupts == NULL ? -1 : w->interrupts->fd, POLLIN, 0}};
        double left_ms = (deadline - clock_us()) / 1e3;
        if (interrupted(w->interrupts))
            return WORKER_INTERRUPTED;
        if (left_ms <= 0)
            return WORKER_TIMEOUT;
        int n = poll(fds, 2, left_ms < TICK_MS ? (int)left_ms + 1 : TICK_MS);
        if (n < 0 && errno != EINTR)
            return WORKER_CRASHED;
        if (n <= 0 || !(fds[0].revents & (POLLIN | POLLHUP | POLLERR))) {
            if (n == 0 && tick != NULL)
                tick(arg);
            continue;
        }
        ssize_t got = recv(w->fd, (char *)buf + done, len - done, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return WORKER_CRASHED;
        done += (size_t)got;
    }
    return WORKER_OK;
}

/* The last line that is not blank of what the child printed, printable characters only. */
static void last_line(int fd, char *out, size_t room)
{
    char buf[TAIL + 1];
    off_t end = fd < 0 ? 0 : lseek(fd, 0, SEEK_END), from = end > TAIL ? end - TAIL : 0;
    ssize_t n = end > 0 ? pread(fd, buf, TAIL, from) : 0;
    out[0] = '\0';
    while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == ' '))
        n--;
    if (n <= 0)
        return;
    ssize_t start = n;
    while (start > 0 && buf[start - 1] != '\n')
        start--;
    size_t k = 0;
    for (ssize_t i = start; i < n && k + 1 < room; i++)
        out[k++] = buf[i] >= ' ' && buf[i] <= '~' ? buf[i] : '?';
    out[k] = '\0';
}

void worker_stop(struct worker *w, int patience_ms, char *how, size_t room)
{
    int wait_status = 0, killed = 0;
    if (w->pid <= 0)
        return;
    shutdown(w->fd, SHUT_RDWR); /* other workers hold copies of the socket: close is not enough */
    double deadline = clock_us() + patience_ms * 1e3;
    while (waitpid(w->pid, &wait_status, WNOHANG) == 0) {
        if (!killed && clock_us() >= deadline) {
            kill(-w->pid, SIGKILL);
            kill(w->pid, SIGKILL);
            killed = 1;
        }
        poll(NULL, 0, 1);
    }
    kill(-w->pid, SIGKILL); /* what it left behind */
    if (how != NULL && room > 0) {
        char line[128];
        last_line(w->print_fd, line, sizeof line);
        const char *sep = line[0] == '\0' ? "" : ": ";
        if (killed)
            snprintf(how, room, "killed%s%s", sep, line);
        else if (WIFSIGNALED(wait_status))
            snprintf(how, room, "ended by signal %d (%s)%s%s", WTERMSIG(wait_status),
                     strsignal(WTERMSIG(wait_status)), sep, line);
        else
            snprintf(how, room, "ended with status %d%s%s", WEXITSTATUS(wait_status), sep, line);
    }
    close(w->fd);
    if (w->print_fd >= 0)
        close(w->print_fd);
    *w = (struct worker){.fd = -1, .print_fd = -1};
}

int pipe_read(int fd, void *buf, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = recv(fd, (char *)buf + done, len - done, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

int pipe_write(int fd, const void *buf, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = send(fd, (const char *)buf + done, len - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}
