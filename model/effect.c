#include "model/effect.h"

#include <math.h>
#include <string.h>

#include "model/draw.h"

#define EFFECT(id) extern const struct effect_type effect_##id;
#include "model/effects.def"
#undef EFFECT

const struct effect_type *const effect_types[] = {
#define EFFECT(id) &effect_##id,
#include "model/effects.def"
#undef EFFECT
    NULL,
};

const struct effect_type *effect_type_find(const char *name)
{
    for (int i = 0; effect_types[i] != NULL; i++)
        if (strcmp(effect_types[i]->name, name) == 0)
            return effect_types[i];
    return NULL;
}

/* Keys whose reach is narrower than everything; tests/unit/test_effect.c checks each row against
 * evaluate(). */
static const struct {
    const char *prefix;
    unsigned terms;
} reach[] = {
    {"allreduce.insitu", TERM_ALL},
    {"allreduce.box_scale", TERM_ALL},
    {"allreduce.", TERM_WIRE},
    {"logits.dtype_bytes", TERM_ALL},
    {"logits.", TERM_WIRE},
    {"host.", TERM_HOST},
    {"pass.scale", TERM_COMPUTE},
    {"pass.weight_scale", TERM_COMPUTE},
    {"pass.context_scale", TERM_COMPUTE},
    {"engine.cuda_graph_max_batch", TERM_COMPUTE},
    {"draft.tensor_parallel", TERM_DRAFT | TERM_WIRE},
    {"draft.pass_us", TERM_DRAFT},
    {"draft.extend_us", TERM_DRAFT},
    {"draft.scale", TERM_DRAFT},
    {"draft.accept_rate", TERM_TOKENS},
    {"draft.accept_decay", TERM_TOKENS},
    {"nccl.", 0},
    {"measured.", 0},
    {"engine.workspace_bytes", 0},
};

unsigned terms_of_key(const struct scenario_key *key)
{
    for (size_t i = 0; i < sizeof reach / sizeof reach[0]; i++)
        if (strncmp(key->path, reach[i].prefix, strlen(reach[i].prefix)) == 0)
            return reach[i].terms;
    return TERM_ALL;
}

void effect_init(struct effect *e, const struct effect_type *type)
{
    *e = (struct effect){.type = type, .spread = 1};
    e->amount = e->other = (struct qty){1, 1, 1, 0, 0};
}

enum status effect_check(const struct effect *e, struct err *err)
{
    return e->type->check == NULL ? STATUS_OK : e->type->check(e, err);
}

enum status effect_bind(struct effect *e, const struct scenario *s, const struct costs *costs,
                        struct err *err)
{
    return e->type->bind == NULL ? STATUS_OK : e->type->bind(e, s, costs, err);
}

unsigned effect_terms(const struct effect *e)
{
    return e->key != NULL ? terms_of_key(e->key) : e->type->terms;
}

const char *effect_sets(const struct effect *e)
{
    return e->key != NULL ? e->key->path : e->type->sets;
}

struct effect_draw effect_mean(const struct effect *e)
{
    return (struct effect_draw){e->amount.value, e->other.value, 1, 1};
}

struct effect_draw effect_sample(const struct effect *e, double z_amount, double z_other,
                                 double z_small, double z_large, double message_bytes)
{
    struct effect_draw d = effect_mean(e);
    d.amount = qty_draw(&e->amount, z_amount);
    d.other = qty_draw(&e->other, z_other);
    if (e->small != NULL)
        d.small_factor = exp(z_small * cost_sigma(e->small, message_bytes));
    if (e->large != NULL)
        d.large_factor = exp(z_large * cost_sigma(e->large, message_bytes));
    return d;
}

static int is_tree(const char *impl)
{
    return strncmp(impl, "nccl/tree", 9) == 0;
}

/* Protocol of an implementation's name; a name without one runs Ring/LL at the sizes of decoding.
 */
static const char *protocol(const char *impl)
{
    if (strstr(impl, "/ll128") != NULL)
        return "ll128";
    return strstr(impl, "/simple") != NULL ? "simple" : "ll";
}

double nccl_channel_bytes(const char *impl, int ranks, int nthreads)
{
    const char *proto = protocol(impl);
    int ll128 = strcmp(proto, "ll128") == 0;
    double threads = ll128 || is_tree(impl) ? 640 : nthreads > 0 ? nthreads : 512;
    if (is_tree(impl) && !ll128)
        threads = 512;
    double threshold = strcmp(proto, "simple") == 0 ? 64 : 8;
    if (strcmp(proto, "ll") == 0 && !is_tree(impl))
        threshold *= ranks;
    return threads * threshold;
}

int nccl_channels(const char *impl, double bytes, int ranks, int nthreads, int cap)
{
    if (strncmp(impl, "nccl/", 5) != 0)
        return 0;
    double each = nccl_channel_bytes(impl, ranks, nthreads);
    int channels = cap > 0 ? cap : 64;
    while (channels > 1 && bytes < channels * each)
        channels--;
    return channels;
}
