/* The core of pricing: rounds to legs, legs to shared resources, resources to rates.
 *
 * Resources of a round: every direction of every link; both directions of a PCIe link in sum; and
 * for each GPU its stores to host memory, its loads from there, and both in sum. Flows of one round
 * run together, max-min fairly in proportion to what they have to move (a kernel has as many
 * accesses of each kind under way as it has to make); the round's transfer ends when its slowest
 * flow does. Since all sizes scale with the message, rates need to be found once for all sizes.
 */
#include "model/synth_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int reserve(void **v, int n, size_t size)
{
    void *p = realloc(*v, (size_t)n * size);
    if (p == NULL)
        return -1;
    *v = p;
    return 0;
}

#define RESERVE(v, n)                                                                              \
    do {                                                                                           \
        void *reserve_ = (v);                                                                      \
        if (reserve(&reserve_, (n), sizeof *(v)) != 0)                                             \
            return -1;                                                                             \
        (v) = reserve_;                                                                            \
    } while (0)

static int reserve_legs(struct synth *s, int n)
{
    if (n <= s->cap_legs)
        return 0;
    RESERVE(s->legs, n);
    RESERVE(s->start, n + 1);
    RESERVE(s->rate, n);
    RESERVE(s->binding, n);
    s->cap_legs = n;
    return 0;
}

static int reserve_uses(struct synth *s, int n)
{
    if (n <= s->cap_uses)
        return 0;
    RESERVE(s->use, n);
    RESERVE(s->weight, n);
    s->cap_uses = n;
    return 0;
}

static int reserve_resources(struct synth *s, int n)
{
    if (n <= s->cap_resources)
        return 0;
    RESERVE(s->slot_of, n);
    RESERVE(s->of_slot, n);
    RESERVE(s->capacity, n);
    RESERVE(s->load, n);
    RESERVE(s->active, n);
    RESERVE(s->fanout, n);
    RESERVE(s->param, n);
    for (int i = s->cap_resources; i < n; i++)
        s->slot_of[i] = -1;
    s->cap_resources = n;
    return 0;
}

static void add_leg(struct synth *s, int from, int to, enum leg_kind kind, double size)
{
    s->legs[s->n_legs++] = (struct leg){(short)from, (short)to, (unsigned char)kind, size, 1, 1};
}

/* The legs of a round. A push through host memory stores each run of chunks once, whoever reads it.
 * Where marks have to be put back, that is a store as long as the data: into host memory it crosses
 * the link, into the reader's own memory it only counts where all ranks share that memory. */
static int make_legs(struct synth *s, const struct fabric *f, const struct synth_impl *impl,
                     int host, const struct round *round, const int *placement, double unit)
{
    const struct flow *flows = &s->schedule.flows[round->first_flow];
    double marks = payload_marks(impl->payload) / payload_factor(impl->payload);
    double loads = f->param[FABRIC_local_store_gb_per_s].value /
                   f->param[FABRIC_local_load_gb_per_s].value; /* a load counts so many stores */
    int sends[FABRIC_MAX_GPUS] = {0}, receives[FABRIC_MAX_GPUS] = {0}, last[FABRIC_MAX_GPUS] = {0};
    if (reserve_legs(s, 2 * round->n_flows) != 0)
        return -1;
    s->n_legs = 0;
    for (int i = 0; i < round->n_flows; i++)
        sends[flows[i].src]++, receives[flows[i].dst]++;
    for (int i = 0; i < round->n_flows; i++) {
        const struct flow *w = &flows[i];
        int from = placement[w->src], to = placement[w->dst];
        int load = w->kind == FLOW_READ || w->kind == FLOW_REDUCE;
        double size = w->count * unit;
        if (host) {
            /* Several readers of the same chunks follow each other in every schedule. */
            int at = f->n_gpus + f->socket_of[from];
            if (last[w->src] != w->first + 1)
                add_leg(s, from, at, LEG_HOST_STORE, size * (1 + marks));
            last[w->src] = w->first + 1;
            add_leg(s, at, to, LEG_HOST_LOAD, size);
            continue;
        }
        add_leg(s, from, to, load ? LEG_LOAD : LEG_STORE, size);
        struct leg *leg = &s->legs[s->n_legs - 1];
        if (from == to)
            leg->weight_first = load ? loads + 1.0 / sends[w->src] : 1 + marks + loads;
        else if (w->kind == FLOW_MULTICAST)
            leg->weight_first = 1.0 / sends[w->src];
        else if (w->kind == FLOW_REDUCE)
            leg->weight_last = 1.0 / receives[w->dst];
    }
    return 0;
}

static int slot(struct synth *s, int resource, int *n_slots, double capacity, enum fabric_param p)
{
    int k = s->slot_of[resource];
    if (k >= 0)
        return k;
    k = (*n_slots)++;
    s->slot_of[resource] = k;
    s->of_slot[k] = resource;
    s->capacity[k] = capacity;
    s->fanout[k] = 0;
    s->param[k] = (int)p;
    return k;
}

static void use(struct synth *s, int k, double weight)
{
    s->use[s->n_uses] = k;
    s->weight[s->n_uses++] = weight;
}

/* A port whose GPU sends to f others at once keeps 1 / (1 + loss (f - 1)) of its bandwidth. */
static void apply_fanout(struct synth *s, const struct fabric *f)
{
    unsigned long long to[FABRIC_MAX_GPUS] = {0};
    for (int i = 0; i < s->n_legs; i++) {
        const struct leg *leg = &s->legs[i];
        if (leg->kind <= LEG_LOAD && leg->from != leg->to && leg->weight_first >= 1)
            to[leg->from] |= 1ull << leg->to;
    }
    for (int g = 0; g < f->n_gpus; g++) {
        int fan = __builtin_popcountll(to[g]);
        if (fan < 2)
            continue;
        int peer = __builtin_ctzll(to[g]);
        int direction = f->route[g][peer][0];
        int nvlink = f->links[direction / 2].kind == FABRIC_LINK_nvlink;
        double loss = f->param[nvlink ? FABRIC_nvlink_fanout_loss : FABRIC_fanout_loss].value;
        int k = s->slot_of[direction];
        if (k < 0 || nvlink != (s->param[k] == (int)FABRIC_nvlink_gb_per_s))
            continue;
        s->capacity[k] /= 1 + loss * (fan - 1);
        s->fanout[k] = (fan - 1) / (1 + loss * (fan - 1));
    }
}

/* Whether several GPUs of one uplink send up it, as stores or as answers to loads, to two or more
 * root ports; only legs count for which it is their own switch's uplink, the first of their way. */
static int crowded(const struct synth *s, const struct fabric *f, int d, int load, int at_least)
{
    unsigned long long sources = 0;
    int first_root = -1, roots = 0;
    for (int i = 0; i < s->n_legs; i++) {
        const struct leg *leg = &s->legs[i];
        int is_load = leg->kind == LEG_LOAD || leg->kind == LEG_HOST_LOAD;
        if (is_load != load || f->hops[leg->from][leg->to] < 2 ||
            f->route[leg->from][leg->to][1] != d)
            continue;
        sources |= 1ull << leg->from;
        int root = f->root_of[leg->to];
        roots += roots == 0 || (roots == 1 && root != first_root);
        first_root = first_root < 0 ? root : first_root;
    }
    return roots >= 2 && __builtin_popcountll(sources) >= at_least;
}

/* Crowded uplinks collapse: for stores each by itself, for loads where two or more are crowded. */
static void apply_collapse(struct synth *s, const struct fabric *f, int n_slots)
{
    int at_least = (int)f->param[FABRIC_collapse_sources].value;
    for (int load = 0; load < 2 && at_least > 0; load++) {
        enum fabric_param p = load ? FABRIC_collapse_read_gb_per_s : FABRIC_collapse_gb_per_s;
        double left = f->param[p].value;
        int which[FABRIC_MAX_LINKS], n = 0;
        for (int k = 0; k < n_slots && left > 0; k++) {
            int d = s->of_slot[k];
            if (d < 2 * f->n_links && f->links[d / 2].kind == FABRIC_LINK_uplink &&
                s->capacity[k] > left && n < FABRIC_MAX_LINKS && crowded(s, f, d, load, at_least))
                which[n++] = k;
        }
        for (int i = 0; i < n && n > load; i++) {
            s->capacity[which[i]] = left;
            s->param[which[i]] = (int)p;
        }
    }
}

/* Finds the rates of the legs, and adds the slowest's time per byte to the plan. */
static int solve(struct synth *s, const struct fabric *f, struct synth_plan *plan, double times)
{
    int links = f->n_links, n_slots = 0;
    if (reserve_resources(s, 3 * links + 3 * f->n_gpus) != 0 ||
        reserve_uses(s, s->n_legs * (2 * FABRIC_MAX_HOPS + 2)) != 0)
        return -1;
    double read_ratio = f->param[FABRIC_read_ratio].value;
    s->n_uses = 0;
    for (int i = 0; i < s->n_legs; i++) {
        const struct leg *leg = &s->legs[i];
        int hops = f->hops[leg->from][leg->to];
        s->start[i] = s->n_uses;
        for (int h = 0; h < hops; h++) {
            int d = f->route[leg->from][leg->to][h], link = d / 2;
            enum fabric_link_kind kind = f->links[link].kind;
            double capacity = fabric_link_gb_per_s(f, link);
            double w = h == 0 ? leg->weight_first : h == hops - 1 ? leg->weight_last : 1;
            if (leg->kind == LEG_LOAD &&
                (fabric_link_duplex(kind) != FABRIC_none || kind == FABRIC_LINK_nvlink))
                w /= read_ratio > 0 ? read_ratio : 1;
            use(s, slot(s, d, &n_slots, capacity, fabric_link_capacity(kind)), w * leg->size);
            enum fabric_param duplex = fabric_link_duplex(kind);
            if (duplex != FABRIC_none)
                use(s,
                    slot(s, 2 * links + link, &n_slots, capacity * f->param[duplex].value, duplex),
                    w * leg->size);
            if (s->link_load != NULL)
                s->link_load[d] += leg->size * (leg->from == leg->to ? 1 : w) * times;
        }
        if (leg->kind >= LEG_HOST_STORE) {
            int load = leg->kind == LEG_HOST_LOAD, gpu = load ? leg->to : leg->from;
            enum fabric_param p = load ? FABRIC_host_load_gb_per_s : FABRIC_host_store_gb_per_s;
            int base = 3 * links + 3 * gpu;
            use(s, slot(s, base + load, &n_slots, f->param[p].value, p), leg->size);
            use(s,
                slot(s, base + 2, &n_slots, f->param[FABRIC_host_both_gb_per_s].value,
                     FABRIC_host_both_gb_per_s),
                leg->size);
        }
    }
    s->start[s->n_legs] = s->n_uses;
    apply_fanout(s, f);
    apply_collapse(s, f, n_slots);
    struct maxmin m = {s->n_legs,   n_slots, 1,         s->start, s->use,    s->weight,
                       s->capacity, s->load, s->active, s->rate,  s->binding};
    maxmin_solve(&m);
    /* Rates are completions, so the slowest are those of the first level. */
    double worst = 0;
    int bound = -1;
    for (int i = 0; i < s->n_legs && bound < 0; i++)
        if (s->binding[i] >= 0) {
            bound = s->binding[i];
            worst = 1 / (s->rate[i] * 1e3);
        }
    if (bound >= 0) {
        plan->us_per_byte[s->param[bound]] += worst * times;
        int nvlink = s->param[bound] == (int)FABRIC_nvlink_gb_per_s;
        plan->fanout_us_per_byte[nvlink] += worst * times * s->fanout[bound];
    }
    for (int k = 0; k < n_slots; k++)
        s->slot_of[s->of_slot[k]] = -1;
    return 0;
}

static const enum fabric_param latency_of[3][3] = {
    {FABRIC_local_write_us, FABRIC_local_read_us, FABRIC_local_fence_us},
    {FABRIC_peer_write_us, FABRIC_peer_read_us, FABRIC_peer_fence_us},
    {FABRIC_host_write_us, FABRIC_host_read_us, FABRIC_host_fence_us},
};

/* Adds `ways` times what the hops between two ends cost. */
static void pay_hops(const struct fabric *f, int from, int to, double ways, struct synth_plan *plan)
{
    for (int h = 0; h < f->hops[from][to]; h++) {
        enum fabric_param hop = fabric_link_hop(f->links[f->route[from][to][h] / 2].kind);
        if (hop != FABRIC_none)
            plan->count[hop] += ways;
    }
}

/* What a round waits for. Its flows all cross the slowest medium that one of them needs, and the
 * longest way; but round a ring nobody waits for all others, so there the mean way counts. */
static void pay_latency(const struct synth *s, const struct fabric *f,
                        const struct synth_impl *impl, const struct round *round,
                        const int *placement, double times, struct synth_plan *plan)
{
    int nccl = impl->family == SYNTH_NCCL;
    int shm = nccl && f->param[FABRIC_nccl_p2p].value < 0.5;
    int medium = impl->family == SYNTH_HOST || shm ? 2 : 0, from = -1, to = -1;
    int fan[FABRIC_MAX_GPUS] = {0}, widest = 0;
    double longest = -1;
    const struct flow *begin = &s->schedule.flows[round->first_flow];
    const struct flow *end = &s->schedule.flows[round->first_flow + round->n_flows];
    for (const struct flow *w = begin; w < end; w++) {
        int a = medium == 2 ? f->n_gpus + f->socket_of[placement[w->src]] : placement[w->src];
        int b = placement[w->dst];
        widest = ++fan[w->dst] > widest ? fan[w->dst] : widest;
        if (a == b)
            continue;
        medium = medium == 2 ? 2 : 1;
        double us = fabric_hops_us(f, a, b);
        if (us > longest)
            longest = us, from = a, to = b;
    }
    double ways = 0; /* how often the hops are paid */
    if (nccl) {
        static const enum fabric_param step[] = {FABRIC_nccl_ll_step_us, FABRIC_nccl_ll128_step_us,
                                                 FABRIC_nccl_simple_step_us};
        plan->count[step[impl->proto]] += times;
        plan->count[FABRIC_nccl_shm_step_us] += shm * times;
        plan->count[latency_of[medium][0]] += times;
        ways = 1;
    } else {
        plan->count[latency_of[medium][0]] += times;
        plan->count[FABRIC_poll_us] += times;
        plan->count[!medium                        ? FABRIC_local_peer_us
                    : round->sync == ROUND_BARRIER ? FABRIC_peer_load_us
                                                   : FABRIC_peer_us] += (widest - 1) * times;
        ways = 1;
        if (round->sync != ROUND_INBAND)
            plan->count[latency_of[medium][2]] += times;
        if (round->sync == ROUND_BARRIER) {
            plan->count[latency_of[medium][1]] += times;
            ways += 2;
        }
    }
    ways *= times;
    if (from >= 0 && s->schedule.neighbours)
        for (const struct flow *w = begin; w < end; w++)
            pay_hops(f,
                     medium == 2 ? f->n_gpus + f->socket_of[placement[w->src]] : placement[w->src],
                     placement[w->dst], ways / round->n_flows, plan);
    else if (from >= 0)
        pay_hops(f, from, to, ways, plan);
    plan->rounds += (int)times;
}

/* Sum over rounds of what the busiest rank puts out in each; pipelined: over the whole schedule. */
static double issue(const struct schedule *sched)
{
    if (sched->pipelined)
        return schedule_wire(sched, 0);
    double sum = 0, worst = 0;
    for (int r = 0; r < sched->n_rounds; r++) {
        const struct round *round = &sched->rounds[r];
        if (round->same_as == r) {
            int out[FABRIC_MAX_GPUS] = {0};
            worst = 0;
            for (int i = 0; i < round->n_flows; i++) {
                const struct flow *w = &sched->flows[round->first_flow + i];
                out[w->src] += w->count;
                worst = out[w->src] > worst ? out[w->src] : worst;
            }
        }
        sum += worst / sched->n_chunks;
    }
    return sum;
}

enum status synth_plan(struct synth *s, const struct fabric *f, const struct synth_impl *impl,
                       int ranks, const int *placement, const int *island, int n_islands,
                       struct synth_plan *plan, struct err *err)
{
    struct schedule *sched = &s->schedule;
    memset(plan, 0, sizeof *plan);
    impl->algorithm->build(sched, ranks, island, n_islands);
    if (sched->failed)
        return err_set(err, STATUS_FAILED, "out of memory for a schedule of %d ranks", ranks);
    int nccl = impl->family == SYNTH_NCCL;
    int host = impl->family == SYNTH_HOST || (nccl && f->param[FABRIC_nccl_p2p].value < 0.5);
    if (impl->end_barrier >= 0)
        sched->end_barrier = impl->end_barrier;
    double unit = payload_factor(impl->payload) / sched->n_chunks;
    int bad = 0;
    for (int r = 0; r < sched->n_rounds && !bad; r++) {
        const struct round *round = &sched->rounds[r];
        double times = 0;
        if (round->same_as != r)
            continue;
        for (int q = r; q < sched->n_rounds; q++)
            times += sched->rounds[q].same_as == r;
        pay_latency(s, f, impl, round, placement, times, plan);
        if (!sched->pipelined)
            bad = make_legs(s, f, impl, host, round, placement, unit) || solve(s, f, plan, times);
    }
    if (sched->pipelined) {
        struct round all = {0, sched->n_flows, 0, ROUND_INBAND};
        bad = make_legs(s, f, impl, host, &all, placement, unit) || solve(s, f, plan, 1);
    }
    if (bad)
        return err_set(err, STATUS_FAILED, "out of memory for %d flows", sched->n_flows);
    if (nccl) {
        plan->count[FABRIC_nccl_base_us] = 1;
    } else {
        plan->count[FABRIC_node_us] = 1;
        plan->count[FABRIC_work_us] = 1;
        plan->count[FABRIC_kernel_us] = 1;
        plan->count[FABRIC_local_read_us] += 1; /* the number of the call */
        if (sched->end_barrier) {
            int apart = 0;
            for (int r = 1; r < ranks; r++)
                apart |= placement[r] != placement[0];
            plan->count[host    ? FABRIC_host_write_us
                        : apart ? FABRIC_peer_write_us
                                : FABRIC_local_write_us] += 1;
            plan->count[FABRIC_poll_us] += 1;
        }
    }
    plan->out_fraction = schedule_wire(sched, 0);
    plan->in_fraction = schedule_wire(sched, 1);
    plan->issue_fraction = issue(sched);
    return STATUS_OK;
}
