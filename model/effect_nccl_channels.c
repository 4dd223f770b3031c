/* Channels, buffers and threads of NCCL. Whether they can change the latency of a message is a rule
 * of NCCL's own: it uses as many channels as the message fills (nccl_channels). Where the rule
 * gives the same number before and after, the latency stays, and only memory changes. */
#include "model/effect.h"

#include <stdio.h>
#include <string.h>

static int capped(int now, double wanted)
{
    return wanted > 0 ? (int)wanted : now;
}

static enum status bind(struct effect *e, const struct scenario *s, const struct costs *costs,
                        struct err *err)
{
    (void)costs;
    (void)err;
    const double bytes = (double)s->batch * scenario_verify_tokens(s) * s->model.hidden *
                         s->model.dtype_bytes * s->allreduce.bytes_scale;
    int before =
        nccl_channels(s->allreduce.impl, bytes, s->ranks, s->nccl.nthreads, s->nccl.max_nchannels);
    int after =
        nccl_channels(s->allreduce.impl, bytes, s->ranks, capped(s->nccl.nthreads, e->nthreads),
                      capped(s->nccl.max_nchannels, e->max_nchannels));
    e->changes_latency = before != after;
    return STATUS_OK;
}

static void apply(const struct effect *e, const struct effect_draw *d, struct scenario *s)
{
    s->nccl.max_nchannels = capped(s->nccl.max_nchannels, e->max_nchannels);
    s->nccl.nthreads = capped(s->nccl.nthreads, e->nthreads);
    if (e->buffsize_bytes > 0)
        s->nccl.buffsize_bytes = e->buffsize_bytes;
    s->allreduce.latency_scale.value *= e->changes_latency ? d->other : d->amount;
}

static void explain(const struct effect *e, const struct scenario *s, char *text, size_t size)
{
    const double bytes = (double)s->batch * scenario_verify_tokens(s) * s->model.hidden *
                         s->model.dtype_bytes * s->allreduce.bytes_scale;
    double each = nccl_channel_bytes(s->allreduce.impl, s->ranks, s->nccl.nthreads);
    int before =
        nccl_channels(s->allreduce.impl, bytes, s->ranks, s->nccl.nthreads, s->nccl.max_nchannels);
    int after =
        nccl_channels(s->allreduce.impl, bytes, s->ranks, capped(s->nccl.nthreads, e->nthreads),
                      capped(s->nccl.max_nchannels, e->max_nchannels));
    if (before == 0)
        snprintf(text, size, "%s is not NCCL's: its channels do not matter", s->allreduce.impl);
    else if (before == after)
        snprintf(text, size,
                 "%.0f bytes fill %.2f channels of %.0f bytes, so NCCL already uses %d: no latency "
                 "to gain (x %.3g [%.3g, %.3g]), only memory",
                 bytes, bytes / each, each, before, e->amount.value, e->amount.low, e->amount.high);
    else
        snprintf(
            text, size,
            "%.0f bytes fill %.2f channels of %.0f bytes: %d channels become %d, latency x %.3g "
            "[%.3g, %.3g]",
            bytes, bytes / each, each, before, after, e->other.value, e->other.low, e->other.high);
}

static const struct effect_field fields[] = {
    {"max_nchannels", EFFECT_NUMBER, offsetof(struct effect, max_nchannels), 0, 1, 64,
     "NCCL_MAX_NCHANNELS"},
    {"buffsize_bytes", EFFECT_NUMBER, offsetof(struct effect, buffsize_bytes), 0, 1024, 1e10,
     "NCCL_BUFFSIZE"},
    {"nthreads", EFFECT_NUMBER, offsetof(struct effect, nthreads), 0, 32, 640, "NCCL_NTHREADS"},
    {"factor_same", EFFECT_QTY, offsetof(struct effect, amount), 0, 0.01, 100,
     "factor on the latency where the number of channels of the message stays"},
    {"factor_changed", EFFECT_QTY, offsetof(struct effect, other), 0, 0.01, 100,
     "factor on the latency where it changes"},
    {0},
};

const struct effect_type effect_nccl_channels = {
    .name = "nccl_channels",
    .doc =
        "NCCL's channels, buffers and threads; whether they reach the latency is NCCL's own rule",
    .fields = fields,
    .sets = "nccl.max_nchannels",
    .terms = TERM_WIRE,
    .bind = bind,
    .apply = apply,
    .explain = explain,
};
