/* A group of NCCL processes, one a rank, led by the session's own process, which never touches CUDA
 * itself (a context does not survive a fork). */
#include "measure/nccl_rank.h"

#include <cuda_runtime_api.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_NS = 2000000, QUIT_MS = 3000 };

struct group {
    struct nccl_group *shared;
    pid_t pids[MAX_RANKS];
    int n;
};

static void describe_gpu(struct backend_gpu *g, int i)
{
    struct cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, i) != cudaSuccess)
        return;
    snprintf(g->name, sizeof g->name, "%.95s", p.name);
    snprintf(g->pci, sizeof g->pci, "%04x:%02x:%02x.0", (unsigned)p.pciDomainID & 0xffffu,
             (unsigned)p.pciBusID & 0xffu, (unsigned)p.pciDeviceID & 0x1fu);
    g->cc_major = p.major;
    g->cc_minor = p.minor;
    g->memory_bytes = (int64_t)p.totalGlobalMem;
    g->sm_count = p.multiProcessorCount;
}

enum status nccl_scout(struct backend_host *host, const char *library, struct err *err)
{
    struct nccl_lib lib;
    int n = 0;
    enum status status = nccl_lib_open(&lib, library, err);
    if (status != STATUS_OK)
        return status;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e != cudaSuccess || n < 1)
        return err_set(err, STATUS_MISSING,
                       "backend nccl: no usable NVIDIA GPU (%s): check nvidia-smi and "
                       "CUDA_VISIBLE_DEVICES, or measure with --backend cpu",
                       cudaGetErrorString(e));
    host->n_gpus = n < MAX_GPUS ? n : MAX_GPUS;
    for (int i = 0; i < host->n_gpus; i++)
        describe_gpu(&host->gpu[i], i);
    host->max_ranks = MAX_RANKS;
    snprintf(host->version, sizeof host->version, "NCCL %d.%d.%d (%.120s)", lib.version / 10000,
             lib.version / 100 % 100, lib.version % 100, lib.path);
    snprintf(host->label, sizeof host->label, "%dx %.80s", host->n_gpus, host->gpu[0].name);
    return STATUS_OK;
}

static void rank_process(struct nccl_group *shared, int rank, pid_t leader)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != leader)
        _exit(1);
    nccl_rank_main(shared, rank);
    fflush(NULL);
    _exit(0);
}

static enum outcome fork_ranks(struct group *g, struct err *err)
{
    pid_t leader = getpid();
    fflush(NULL);
    while (g->n < g->shared->v.ranks) {
        pid_t pid = fork();
        if (pid == 0)
            rank_process(g->shared, g->n, leader);
        if (pid < 0) {
            err_set(err, STATUS_FAILED, "fork: %s", strerror(errno));
            return OUTCOME_FAILED;
        }
        g->pids[g->n++] = pid;
    }
    return OUTCOME_OK;
}

static enum outcome report_failure(const struct nccl_group *s, struct err *err)
{
    err_set(err, s->err.status, "%s", s->err.msg);
    return s->outcome;
}

/* Has a rank's process ended? */
static int a_rank_died(struct group *g, struct err *err)
{
    for (int r = 0; r < g->n; r++) {
        int status;
        if (g->pids[r] > 0 && waitpid(g->pids[r], &status, WNOHANG) == g->pids[r]) {
            g->pids[r] = 0;
            err_set(err, STATUS_FAILED, "rank %d: its process ended by %s %d", r,
                    WIFSIGNALED(status) ? "signal" : "status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            return 1;
        }
    }
    return 0;
}

/* Has all ranks carry out a command. The watchdog above ends us where it takes too long. */
static enum outcome command(struct group *g, enum nccl_command what, struct err *err)
{
    struct nccl_group *s = g->shared;
    s->command = what;
    for (int r = 0; r < g->n; r++)
        sem_post(&s->go[r]);
    for (int left = g->n; left > 0;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += POLL_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        if (sem_timedwait(&s->done, &until) == 0)
            left--;
        if (atomic_load(&s->failed) != 0) {
            usleep(POLL_NS / 1000); /* its message is being written */
            return report_failure(s, err);
        }
        if (what != NCCL_QUIT && a_rank_died(g, err))
            return OUTCOME_FAILED;
    }
    return OUTCOME_OK;
}

enum outcome nccl_open(void **session, const struct variant *v, struct err *err)
{
    struct group *g = calloc(1, sizeof *g);
    char why[200] = "";
    if (g == NULL) {
        err_set(err, STATUS_FAILED, "out of memory");
        return OUTCOME_OOM;
    }
    *session = g;
    struct nccl_group *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) {
        err_set(err, STATUS_FAILED, "shared memory: %s", strerror(errno));
        return OUTCOME_OOM;
    }
    g->shared = s;
    s->v = *v;
    if (nccl_variant_parse(v->impl, &s->settings, why, sizeof why) != 0) {
        err_set(err, STATUS_UNSUPPORTED, "%s", why);
        return OUTCOME_UNSUPPORTED;
    }
    const char *library = backend_option(v->n_options, v->options, "lib");
    snprintf(s->library, sizeof s->library, "%s", library == NULL ? "" : library);
    for (int r = 0; r < v->ranks; r++) {
        s->ranks_on_gpu += v->gpu[r] == v->gpu[0];
        for (int k = 0; k < r; k++)
            s->shared_gpu |= v->gpu[r] == v->gpu[k];
    }
    int bad = sem_init(&s->done, 1, 0) != 0;
    for (int r = 0; r < v->ranks; r++)
        bad |= sem_init(&s->go[r], 1, 0) != 0;
    if (bad) {
        err_set(err, STATUS_FAILED, "semaphores: %s", strerror(errno));
        return OUTCOME_FAILED;
    }
    enum outcome outcome = fork_ranks(g, err);
    return outcome != OUTCOME_OK ? outcome : command(g, NCCL_OPEN, err);
}

static void note(const struct nccl_group *s, struct result *r)
{
    if (s->shared_gpu)
        snprintf(r->note, sizeof r->note,
                 "not representative: ranks share a GPU, NCCL runs through sockets");
}

enum outcome nccl_verify(void *session, int64_t size_bytes, struct result *r, struct err *err)
{
    struct group *g = session;
    struct nccl_group *s = g->shared;
    s->size_bytes = size_bytes;
    enum outcome outcome = command(g, NCCL_VERIFY, err);
    for (int k = 0; k < g->n && outcome == OUTCOME_OK; k++) {
        r->checked += s->checked[k];
        r->wrong += s->wrong[k];
    }
    note(s, r);
    return outcome;
}

enum outcome nccl_time(void *session, const struct timing *t, struct result *r, struct err *err)
{
    struct group *g = session;
    struct nccl_group *s = g->shared;
    double *samples = r->samples;
    int cap = r->cap;
    s->timing = *t;
    if (s->timing.iterations > cap)
        s->timing.iterations = cap;
    result_init(&s->result, NULL, cap);
    enum outcome outcome = command(g, NCCL_TIME, err);
    if (outcome != OUTCOME_OK)
        return outcome;
    *r = s->result;
    r->samples = samples;
    r->cap = cap;
    memcpy(samples, s->samples, (size_t)r->n * sizeof *samples);
    note(s, r);
    return OUTCOME_OK;
}

void nccl_close(void *session)
{
    struct group *g = session;
    if (g == NULL)
        return;
    if (g->n > 0) {
        struct err err;
        if (g->n == g->shared->v.ranks && atomic_load(&g->shared->failed) == 0 &&
            !a_rank_died(g, &err)) {
            g->shared->command = NCCL_QUIT;
            for (int r = 0; r < g->n; r++)
                sem_post(&g->shared->go[r]);
            for (int ms = 0, left = g->n; ms < QUIT_MS && left > 0; ms++) {
                usleep(1000);
                for (int r = 0; r < g->n; r++)
                    if (g->pids[r] > 0 && waitpid(g->pids[r], NULL, WNOHANG) == g->pids[r]) {
                        g->pids[r] = 0;
                        left--;
                    }
            }
        }
        for (int r = 0; r < g->n; r++)
            if (g->pids[r] > 0) {
                kill(g->pids[r], SIGKILL);
                waitpid(g->pids[r], NULL, 0);
            }
    }
    if (g->shared != NULL)
        munmap(g->shared, sizeof *g->shared);
    free(g);
}
