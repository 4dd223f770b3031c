/* The layout of a table of nccl-tests: its columns from the header's words, its rows by them. */
#ifndef UPDRAFT_TRACES_NCCL_LAYOUT_H
#define UPDRAFT_TRACES_NCCL_LAYOUT_H

#include "traces/nccl_table.h"
#include "traces/text.h"

enum { NCCL_MAX_WORDS = 64, NCCL_MAX_HEAD = 40 };

struct nccl_head {
    int n;
    unsigned char column[NCCL_MAX_HEAD], side[NCCL_MAX_HEAD];
    int sides;    /* groups of time, algbw, busbw: 1 or 2 */
    int cputime;  /* the time is the host's */
    int old;      /* before 2022 */
    double to_us; /* 1000 where the layout prints milliseconds */
    int64_t line;
};

/* Reads a header line. 1 where it is one. in_place_only: the line above named only that side. */
int nccl_head_read(struct nccl_head *h, const char *text, size_t len, int64_t line,
                   int in_place_only);

/* A header from the numbers of a row that has none; w begins with the row's size. Every layout is
 * tried, and the one that makes time, size and algbw agree on both sides, to three digits, is the
 * row's. 1 where exactly one does. */
int nccl_head_from_row(struct nccl_head *h, const struct word *w, int n);

/* Where a row begins among the words: at size, count, type. -1 where there is none. A prefix that
 * sticks to the size ("[1,0]<stdout>:4096") is cut off. */
int nccl_row_find(struct word *w, int n);

/* Words of one row, by the header, into *row. NULL, or why not (static text, or formatted into
 * buf). *split is set where the line looks like the first half of a row that other output broke. */
const char *nccl_row_read(const struct nccl_head *h, const struct word *w, int n,
                          struct nccl_row *row, int *split, char *buf, size_t cap);

/* A number in a table's sense; and the tool's words for none. */
int nccl_is_number(struct word w);
int nccl_is_na(struct word w);

#endif
