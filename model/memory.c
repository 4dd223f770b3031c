#include "model/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0

static double round_up(double bytes, double unit)
{
    return ceil(bytes / unit) * unit;
}

double nccl_channel_memory(double buffsize_bytes)
{
    const double ll = 8.0 * 512 * 8 * 16;     /* lines x threads x steps x bytes */
    const double ll128 = 120.0 * 640 * 8 * 8; /* words x threads x steps x bytes */
    double simple = buffsize_bytes > 0 ? buffsize_bytes : 4 * MIB;
    return round_up(4096 + ll + ll128 + simple, 2 * MIB) + 2 * MIB;
}

double nccl_communicator_memory(int channels, double buffsize_bytes, int trees)
{
    return channels * nccl_channel_memory(buffsize_bytes) * (trees ? 2 : 1);
}

/* Channels that are connected: the cap where there is one. Without one, what PCIe boxes are given
 * (2 found, doubled). */
static int connected_channels(const struct scenario *s)
{
    return s->nccl.max_nchannels > 0 ? s->nccl.max_nchannels : 4;
}

/* A communicator connects an algorithm at its first use: rings and trees where NCCL chooses or a
 * tree is named, else rings, which large messages use beside a custom kernel too. */
static int has_trees(const char *impl)
{
    return strncmp(impl, "nccl/auto", 9) == 0 || strncmp(impl, "nccl/tree", 9) == 0;
}

static double setting(const char *impl, const char *key, double otherwise)
{
    const char *at = strchr(impl, ':');
    size_t n = strlen(key);
    while (at != NULL) {
        at++;
        if (strncmp(at, key, n) == 0 && at[n] == '=')
            return strtod(at + n + 1, NULL);
        at = strchr(at, ',');
    }
    return otherwise;
}

double memory_of_impl(const struct scenario *s, const char *impl)
{
    if (strncmp(impl, "nccl/", 5) != 0)
        return (double)NAN;
    int channels = (int)setting(impl, "channels", connected_channels(s));
    return nccl_communicator_memory(channels, setting(impl, "buffsize", s->nccl.buffsize_bytes),
                                    has_trees(impl));
}

void memory_predict(const struct scenario *s, struct memory *m)
{
    *m = (struct memory){0};
    const double ranks = s->ranks;
    m->weights = s->model.weight_bytes.value * s->pass.weight_scale.value / ranks;
    if (scenario_speculates(s))
        m->draft_weights = s->draft.weight_bytes.value / (s->draft.tensor_parallel ? ranks : 1);
    m->kv_cache = s->batch * s->context_tokens * s->model.kv_bytes_per_token.value *
                  s->pass.context_scale.value;
    m->nccl_channels = connected_channels(s);
    m->nccl_per_channel = nccl_channel_memory(s->nccl.buffsize_bytes);
    m->nccl_ring = nccl_communicator_memory(m->nccl_channels, s->nccl.buffsize_bytes, 0);
    m->nccl_ring_tree = nccl_communicator_memory(m->nccl_channels, s->nccl.buffsize_bytes, 1);
    int both = has_trees(s->allreduce.impl);
    if (s->ranks > 1)
        m->communicators = s->nccl.communicators * (both ? m->nccl_ring_tree : m->nccl_ring);
    m->workspaces = s->engine.workspace_bytes;
    m->runtime = 2048 * MIB + 8 * MIB * s->engine.cuda_graph_max_batch;
    m->total =
        m->weights + m->draft_weights + m->kv_cache + m->communicators + m->workspaces + m->runtime;
    m->limit = s->hardware.memory_bytes * s->engine.memory_fraction;
    m->known = m->limit > 0 && m->weights > 0;
    m->fits = !m->known || m->total <= m->limit;
}

void memory_text(const struct memory *m, char *text, size_t size)
{
    const double gib = 1024 * MIB;
    snprintf(text, size,
             "weights %.2f + draft %.2f + KV %.2f + NCCL %.2f + workspaces %.3f + runtime %.2f = "
             "%.2f of %.2f GiB",
             m->weights / gib, m->draft_weights / gib, m->kv_cache / gib, m->communicators / gib,
             m->workspaces / gib, m->runtime / gib, m->total / gib, m->limit / gib);
}
