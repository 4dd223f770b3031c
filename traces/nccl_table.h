/* Tables of nccl-tests: the rows of one run, whether printed as text or as JSON, checked and turned
 * into records. docs/importing.md describes the layouts.
 */
#ifndef UPDRAFT_TRACES_NCCL_TABLE_H
#define UPDRAFT_TRACES_NCCL_TABLE_H

#include "traces/import.h"
#include "traces/text.h"

enum { NCCL_OUT_OF_PLACE, NCCL_IN_PLACE };

/* Half a row. Times in microseconds, bandwidths in GB/s. */
struct nccl_side {
    int present;
    struct printed us, algbw, busbw;
    double wrong; /* number of wrong elements; -1: not checked */
    double error; /* the older layouts' greatest deviation; NaN: not printed or not checked */
    double min_us, max_us, p99_us; /* over iterations; NaN where not printed */
};

struct nccl_row {
    int64_t line, size, count;
    const char *dtype; /* our name; static */
    int dtype_bytes;
    int reduces; /* 1: redop is an operation; 0: "none"; -1: the layout has no such column */
    int rooted;  /* 1: root is a rank */
    struct nccl_side side[2];
};

/* NULL where the row can be believed, else why not (static text, or formatted into buf). `old`:
 * the layouts before 2022, where the bandwidth of some collectives leaves out a rank's own part. */
const char *nccl_row_check(const struct nccl_row *row, int old, char *buf, size_t cap);

enum { NCCL_TABLE_ROWS = 2048 };

/* A run: what its lines said of it, and its rows so far. */
struct nccl_table {
    struct import *im;
    int old;               /* a layout before 2022 */
    enum record_what what; /* named by the file; WHAT_COUNT: to be told from the rows */
    int listed_ranks;      /* from the device list; 0: there was none */
    int64_t line;          /* where the table begins */
    char impl[128], method[32], label[160], note[160];
    char device[64]; /* the GPU's name; "" if unknown */
    int n;
    int flushed;    /* 1: earlier rows of the table have been passed on */
    int said_ranks; /* 1: a conflict has been reported */
    struct nccl_row rows[NCCL_TABLE_ROWS];
};

/* Adds a row that passed the check; passes rows on where the table is full. -1: the sink stops. */
int nccl_table_add(struct nccl_table *t, const struct nccl_row *row);
/* Passes the rows on and forgets them; at the end of a table. -1: the sink stops. */
int nccl_table_flush(struct nccl_table *t);

/* "all_reduce_perf", with any folder and suffix: the collective; WHAT_COUNT where it is none. */
enum record_what nccl_collective(const char *text, size_t len);

/* Settings seen in environment variables, and the CONTRACT name that they make. */
struct nccl_settings {
    char algo[32], proto[32], channels_min[12], channels_max[12], buffsize[16], nthreads[12];
};
/* Takes one NAME and VALUE; 0 where the name is none that changes an allreduce. */
int nccl_settings_take(struct nccl_settings *s, struct word name, struct word value);
void nccl_settings_impl(const struct nccl_settings *s, char *impl, size_t cap);

/* The JSON form (nccl-tests -J). */
enum status nccl_json_parse(struct import *im, struct err *err);

#endif
