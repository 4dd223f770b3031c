/* CSV tables in memory, cells by the header's words. For tables of results; measurements come
 * through import. Cells may be quoted ("" inside quotes is one quote); blank lines and lines that
 * begin with '#' are left out, except that where no header was found yet, a '#' line with as many
 * cells as the first data row is the header.
 */
#ifndef UPDRAFT_TRACES_CSV_H
#define UPDRAFT_TRACES_CSV_H

#include <stddef.h>

#include "model/err.h"

struct csv {
    char *text; /* owns every cell */
    char **header;
    int n_columns;
    char **cells; /* n_rows x n_columns, row by row; a short row's missing cells are "" */
    long *lines;  /* of each row, 1-based */
    size_t n_rows;
};

/* Reads a whole file of at most 64 MiB. STATUS_INPUT where it cannot be read, holds zero bytes (it
 * is no text), has no header or no row, or a row has more cells than the header. Release with
 * csv_release, which is safe on zero-initialised. */
enum status csv_read(struct csv *t, const char *path, struct err *err);
/* The same from memory. `name` is what messages call it. */
enum status csv_parse(struct csv *t, const char *name, const char *text, size_t len,
                      struct err *err);
void csv_release(struct csv *t);

/* Index of a column by its name, letter case and blanks around it aside; -1 if there is none. */
int csv_column(const struct csv *t, const char *name);
/* Whether every one of the names (separated by blanks) is a column. */
int csv_has(const struct csv *t, const char *names);
/* A cell; "" for column -1. */
const char *csv_text(const struct csv *t, size_t row, int column);
/* A cell as a number; NaN where it is none, or for column -1. */
double csv_number(const struct csv *t, size_t row, int column);

#endif
