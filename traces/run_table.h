/* Tables of served runs: columns found by the words that published tables use for them, numbers in
 * our units. What a table does not say is NaN (numbers) or "" (texts).
 */
#ifndef UPDRAFT_TRACES_RUN_TABLE_H
#define UPDRAFT_TRACES_RUN_TABLE_H

#include "traces/csv.h"

enum run_number {
#define RUN_NUMBER(id, names, doc) RUN_##id,
#define RUN_TEXT(id, names, doc)
#include "traces/run_columns.def"
#undef RUN_NUMBER
#undef RUN_TEXT
    RUN_NUMBERS
};

enum run_text {
#define RUN_NUMBER(id, names, doc)
#define RUN_TEXT(id, names, doc) RUN_##id,
#include "traces/run_columns.def"
#undef RUN_NUMBER
#undef RUN_TEXT
    RUN_TEXTS
};

struct run_table {
    const struct csv *csv;                    /* borrowed */
    int number[RUN_NUMBERS], text[RUN_TEXTS]; /* columns, -1: none */
};

/* Finds the columns of a table. */
void run_table_open(struct run_table *t, const struct csv *csv);
/* Whether the table has that column. */
int run_table_has(const struct run_table *t, enum run_number id);
int run_table_has_text(const struct run_table *t, enum run_text id);
/* A number of a row; "16k" is 16384, "~83k" 84992. NaN where the cell is empty or no number. */
double run_table_number(const struct run_table *t, size_t row, enum run_number id);
const char *run_table_text(const struct run_table *t, size_t row, enum run_text id);

/* Tokens per cycle of a row, from its accept length or, where there is none, from its rate of
 * accepted drafts; NaN where neither is given or it is impossible. Needs the draft steps. */
double run_table_tokens_per_cycle(const struct run_table *t, size_t row);
/* Output tokens per second of a row, all requests together, by what the table gives: tokens per
 * second, tokens per second and user, or time per output token. NaN where it gives none. */
double run_table_tokens_per_s(const struct run_table *t, size_t row);

/* Joins the texts of a row that tell one series of runs from another (stack, run, mode, draft,
 * hardware, ...) but not what varies inside it. */
void run_table_series(const struct run_table *t, size_t row, char *to, size_t cap);

#endif
