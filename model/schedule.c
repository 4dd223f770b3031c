#include "model/schedule.h"

#include <stdlib.h>
#include <string.h>

void schedule_release(struct schedule *s)
{
    free(s->flows);
    free(s->rounds);
    *s = (struct schedule){0};
}

void schedule_start(struct schedule *s, int ranks, int n_chunks)
{
    s->ranks = ranks;
    s->n_chunks = n_chunks;
    s->pipelined = s->neighbours = s->end_barrier = s->failed = 0;
    s->n_flows = s->n_rounds = 0;
}

static int grow(void **v, int *cap, int n, size_t size)
{
    if (n < *cap)
        return 0;
    int to = *cap ? *cap * 2 : 64;
    void *p = realloc(*v, (size_t)to * size);
    if (p == NULL)
        return -1;
    *v = p;
    *cap = to;
    return 0;
}

int schedule_round(struct schedule *s, enum round_sync sync, int same_as)
{
    void *v = s->rounds;
    if (grow(&v, &s->cap_rounds, s->n_rounds, sizeof *s->rounds) != 0) {
        s->failed = 1;
        return 0;
    }
    s->rounds = v;
    s->rounds[s->n_rounds] =
        (struct round){s->n_flows, 0, same_as < 0 ? s->n_rounds : same_as, sync};
    return s->n_rounds++;
}

void schedule_flow(struct schedule *s, int src, int dst, int first, int count, enum flow_op op,
                   enum flow_kind kind)
{
    void *v = s->flows;
    if (s->failed || grow(&v, &s->cap_flows, s->n_flows, sizeof *s->flows) != 0) {
        s->failed = 1;
        return;
    }
    s->flows = v;
    s->flows[s->n_flows++] =
        (struct flow){(short)src, (short)dst, first, count, (unsigned char)op, (unsigned char)kind};
    s->rounds[s->n_rounds - 1].n_flows++;
}

#define ALGORITHM(id) extern const struct algorithm algo_##id;
#include "model/algorithms.def"
#undef ALGORITHM
const struct algorithm *const algorithms[] = {
#define ALGORITHM(id) &algo_##id,
#include "model/algorithms.def"
#undef ALGORITHM
    NULL,
};

const struct algorithm *algorithm_find(const char *name, unsigned long len)
{
    for (int i = 0; algorithms[i] != NULL; i++)
        if (strlen(algorithms[i]->name) == len && strncmp(algorithms[i]->name, name, len) == 0)
            return algorithms[i];
    return NULL;
}

static const struct {
    const char *name;
    double factor, marks;
} payloads[] = {
#define PAYLOAD(id, factor, marks, doc) {#id, factor, marks},
#include "model/payloads.def"
#undef PAYLOAD
};

double payload_factor(enum payload p)
{
    return payloads[p].factor;
}

double payload_marks(enum payload p)
{
    return payloads[p].marks;
}

const char *payload_name(enum payload p)
{
    return payloads[p].name;
}

enum payload payload_find(const char *name, unsigned long len)
{
    int p = 0;
    while (p < PAYLOAD_COUNT &&
           (strlen(payloads[p].name) != len || strncmp(payloads[p].name, name, len) != 0))
        p++;
    return (enum payload)p;
}

double schedule_wire(const struct schedule *s, int in)
{
    long chunks[SCHEDULE_MAX_RANKS] = {0}, worst = 0;
    int seen[SCHEDULE_MAX_RANKS] = {0}; /* the last round + 1 in which a shared copy was counted */
    for (int r = 0; r < s->n_rounds; r++) {
        const struct round *round = &s->rounds[r];
        for (int i = 0; i < round->n_flows; i++) {
            const struct flow *f = &s->flows[round->first_flow + i];
            int rank = in ? f->dst : f->src;
            /* One copy on the shared side: out of a multicast's source, into a reduction's end. */
            if (f->kind == (in ? FLOW_REDUCE : FLOW_MULTICAST)) {
                if (seen[rank] == r + 1)
                    continue;
                seen[rank] = r + 1;
            }
            chunks[rank] += f->count;
        }
    }
    for (int rank = 0; rank < s->ranks; rank++)
        worst = chunks[rank] > worst ? chunks[rank] : worst;
    return (double)worst / s->n_chunks;
}
