/* Doctor's checks: what on a machine spoils a measurement or slows the box. One const struct each,
 * at the bottom of its own measure/check_ID.c; a row of checks.def makes it exist. A check only
 * reads struct machine, so a recorded tree tests it. */
#ifndef UPDRAFT_MEASURE_CHECK_H
#define UPDRAFT_MEASURE_CHECK_H

#include "measure/machine.h"

enum level {
    LEVEL_OK,      /* looked, nothing found */
    LEVEL_UNKNOWN, /* could not be looked at: the finding says what is missing */
    LEVEL_NOTICE,  /* may matter */
    LEVEL_FAULT,   /* will spoil measurements or slow the box */
};

struct finding {
    enum level level;
    char subject[64]; /* "0000:1b:00.0", "NCCL_PROTO"; "" the machine */
    char what[200];   /* what was found */
    char todo[300];   /* what to do */
};

enum { MAX_FINDINGS = 64 };

struct findings {
    int n;
    struct finding v[MAX_FINDINGS];
};

struct check {
    const char *id, *title;
    const char *why; /* why it matters: a sentence or two */
    /* Appends what it finds; nothing means LEVEL_OK. */
    void (*run)(const struct machine *m, struct findings *found);
};

/* All checks in the order of checks.def, ended by NULL. */
extern const struct check *const checks[];

/* Appends a finding (dropped where there are MAX_FINDINGS). */
void find(struct findings *found, enum level level, const char *subject, const char *todo,
          const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* The worst level of the findings. */
enum level findings_level(const struct findings *found);
const char *level_name(enum level l);

#endif
