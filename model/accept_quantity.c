#include "model/accept_quantity.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *engine, *doc;
} quantities[] = {
#define QUANTITY(id, engine, versions, doc) {#id, engine, doc},
#include "model/accept_quantities.def"
#undef QUANTITY
};

const char *accept_quantity_name(enum accept_quantity q)
{
    return quantities[q].name;
}

const char *accept_quantity_engine(enum accept_quantity q)
{
    return quantities[q].engine;
}

const char *accept_quantity_doc(enum accept_quantity q)
{
    return quantities[q].doc;
}

enum accept_quantity accept_quantity_find(const char *name)
{
    for (int i = 0; i < ACCEPT_QUANTITIES; i++)
        if (strcmp(quantities[i].name, name) == 0)
            return (enum accept_quantity)i;
    return ACCEPT_QUANTITIES;
}

static enum status impossible(const struct accept_reading *r, double value, double low, double high,
                              struct err *err)
{
    const char *hint = "";
    if (r->quantity == ACCEPT_sglang_accept_rate_old && value < low)
        hint = "; a rate that small counts accepted over proposed drafts: sglang_accept_rate";
    else if (value > high && high > 1.5)
        hint = "; check num_steps";
    else if (value > 1 && high <= 1)
        hint = "; a number above 1 is a length, not a rate";
    return err_set(err, STATUS_UNSUPPORTED,
                   "%s of %g lies outside [%.4g, %.4g] for %d draft steps%s",
                   quantities[r->quantity].name, value, low, high, r->num_steps, hint);
}

enum status accept_conditional(const struct accept_reading *r, double *p, struct err *err)
{
    double before = 1;
    for (int i = 0; i < r->n_values; i++) {
        double x = r->value[i];
        if (!(x >= 0 && x <= 1))
            return impossible(r, x, 0, 1, err);
        if (r->quantity == ACCEPT_eagle_n_alpha) {
            p[i] = x;
        } else if (r->quantity == ACCEPT_vllm_per_position) {
            /* Rates come from windows, so a deeper one may exceed a shallower by its noise. */
            p[i] = before > 0 ? fmin(x / before, 1) : 0;
            before = fmin(x, before);
        } else {
            return err_set(err, STATUS_UNSUPPORTED, "%s is not a list by position",
                           quantities[r->quantity].name);
        }
    }
    return STATUS_OK;
}

enum status accept_tokens_per_cycle(const struct accept_reading *r, double *tokens, struct err *err)
{
    const double k = r->num_steps, m = r->num_draft_tokens > 0 ? r->num_draft_tokens : k + 1;
    if (r->n_values < 1)
        return err_set(err, STATUS_UNSUPPORTED, "%s without a value", quantities[r->quantity].name);
    double x = r->value[0], low = 1, high = k + 1, slack = 0, t = x;
    switch (r->quantity) {
    case ACCEPT_sglang_accept_rate_old:
        low = 1 / m;
        high = (k + 1) / m;
        t = x * m;
        break;
    case ACCEPT_sglang_accept_rate:
    case ACCEPT_vllm_draft_acceptance_rate:
        low = 0;
        high = 1;
        t = 1 + k * x;
        break;
    case ACCEPT_sglang_bench_accept_length:
        slack = r->cycles > 0 ? 1 / r->cycles : 1;
        t = r->cycles > 0 ? x - 1 / r->cycles : x;
        break;
    case ACCEPT_eagle_tau:
        slack = r->cycles > 1 ? x / r->cycles : 0.1 * (k + 1);
        t = r->cycles > 1 ? x * (r->cycles - 1) / r->cycles : x;
        break;
    case ACCEPT_vllm_per_position:
    case ACCEPT_eagle_n_alpha: {
        double sum = 1, reach = 1;
        for (int i = 0; i < r->n_values; i++) {
            if (!(r->value[i] >= 0 && r->value[i] <= 1))
                return impossible(r, r->value[i], 0, 1, err);
            reach = r->quantity == ACCEPT_eagle_n_alpha ? reach * r->value[i] : r->value[i];
            if (i < r->num_steps)
                sum += reach;
        }
        *tokens = sum;
        return STATUS_OK;
    }
    default:
        break;
    }
    const double rounding = 0.005; /* two decimals are printed */
    if (!(x >= low - rounding && x <= high + slack + rounding))
        return impossible(r, x, low, high + slack, err);
    *tokens = fmin(fmax(t, 1), k + 1);
    return STATUS_OK;
}
