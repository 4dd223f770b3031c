/* Engines define accept length and accept rate differently; here each is converted, never assumed.
 */
#ifndef UPDRAFT_MODEL_ACCEPT_QUANTITY_H
#define UPDRAFT_MODEL_ACCEPT_QUANTITY_H

#include "model/err.h"

enum accept_quantity {
#define QUANTITY(id, engine, versions, doc) ACCEPT_##id,
#include "model/accept_quantities.def"
#undef QUANTITY
    ACCEPT_QUANTITIES
};

const char *accept_quantity_name(enum accept_quantity q);
const char *accept_quantity_engine(enum accept_quantity q);
const char *accept_quantity_doc(enum accept_quantity q);
/* The row of that name, or ACCEPT_QUANTITIES. */
enum accept_quantity accept_quantity_find(const char *name);

/* What an engine printed. value: the number, or for the two per-position quantities n_values of
 * them. num_steps K; num_draft_tokens m, 0: K + 1; cycles M that it was counted over, 0: unknown
 * (the two biases that need it are then left in, and are at most 1/M). */
struct accept_reading {
    enum accept_quantity quantity;
    const double *value;
    int n_values, num_steps, num_draft_tokens;
    double cycles;
};

/* Tokens per cycle, the bonus token included. STATUS_UNSUPPORTED where the number is impossible
 * under that definition (a rate above 1, a length above K + 1 or below 1) and says which definition
 * would allow it. */
enum status accept_tokens_per_cycle(const struct accept_reading *r, double *tokens,
                                    struct err *err);

/* The conditional probability of each of r's positions, into p[0..n_values-1]; only for the two
 * per-position quantities, else STATUS_UNSUPPORTED. */
enum status accept_conditional(const struct accept_reading *r, double *p, struct err *err);

#endif
