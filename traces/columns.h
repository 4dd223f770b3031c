/* What the columns of CSV tables mean: data, not code. docs/importing-csv.md is the manual of the
 * map's format; traces/columns.json is the map that ships; users add their own in front of it.
 */
#ifndef UPDRAFT_TRACES_COLUMNS_H
#define UPDRAFT_TRACES_COLUMNS_H

#include "model/err.h"

struct cJSON;
struct columns;

/* Loads the map that ships and, in front of it, the user's (path may be NULL). STATUS_INPUT with
 * file, line and key where a map is malformed; STATUS_MISSING where the shipped one is not found.
 */
enum status columns_load(struct columns **columns, const char *user_path, struct err *err);
void columns_free(struct columns *columns); /* safe on NULL */

/* The table rule that knows a header of n column names, or NULL; it is borrowed. */
const struct cJSON *columns_match(const struct columns *columns, char *const *names, int n);

/* Index of the first of n names that matches one of the patterns "a|b|c*" (letter case does not
 * matter), earlier patterns first. -1: none. */
int columns_find(const char *patterns, char *const *names, int n);
/* Whether a name matches one of the patterns. */
int columns_like(const char *patterns, const char *name);

/* Whether a cell passes a rule's test: "*_eager" a pattern, ">2" a comparison, "@list" one of the
 * patterns of a list. */
int columns_test(const struct columns *columns, const char *test, const char *cell);

/* The implementation that a table's word for one means ("NCCL no XML" is "nccl/auto"), and what
 * the word says beyond it ("no XML", "" if nothing), which belongs in the curve's label. */
void columns_impl(const struct columns *columns, const char *word, char *impl,
                  unsigned long impl_cap, char *rest, unsigned long rest_cap);

#endif
