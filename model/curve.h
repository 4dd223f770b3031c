/* Curves: the records of one operation by one implementation at one rank count, by size.
 *
 * Records with equal what, label, impl, ranks, dtype, method, placement and in_place form a curve.
 * Sizes that were measured repeatedly become one point: the median of their logarithms, with the
 * spread between them. Records that are not usable (record_usable), have no size, or whose value
 * is not between 1e-6 and 1e12, never become points.
 */
#ifndef UPDRAFT_MODEL_CURVE_H
#define UPDRAFT_MODEL_CURVE_H

#include <stddef.h>
#include <stdint.h>

#include "model/err.h"
#include "model/record.h"

/* One size of a curve. */
struct point {
    double bytes;  /* > 0 */
    double us;     /* > 0: exp of the median of log over the records of this size */
    double spread; /* robust standard deviation of log(us) over them; NaN where there is one */
    int records;
    int gathered; /* 0; of a point that fit.c made from several sizes, or from one among many: 1 */
    const char *origin; /* of the first of them; borrowed from the record */
    int64_t line;
};

struct curve {
    const struct record *key; /* one of its records, for the text keys; borrowed */
    struct point *points;     /* ascending by bytes, no two alike; owned */
    size_t n_points;
    size_t records; /* behind the points */
    size_t
        skipped; /* records of this curve that were not usable: wrong results, failures, no value */
};

struct curves {
    struct curve *v;
    size_t n;
};

/* Sorts rs into curves of the kinds for which `want` is true (NULL: those whose value is a latency
 * and that have a size). The order is that of the key: what, impl, ranks, label; then out of place
 * before in place. STATUS_FAILED without memory. Release with curves_release. */
enum status curves_collect(struct curves *cs, const struct records *rs,
                           int (*want)(const struct record *), struct err *err);
void curves_release(struct curves *cs);

#endif
