#include "model/synth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/synth_plan.h"

static const double z95 = 1.959964;

struct synth *synth_new(void)
{
    return calloc(1, sizeof(struct synth));
}

void synth_free(struct synth *s)
{
    if (s == NULL)
        return;
    schedule_release(&s->schedule);
    free(s->legs);
    free(s->start);
    free(s->use);
    free(s->weight);
    free(s->rate);
    free(s->binding);
    free(s->slot_of);
    free(s->of_slot);
    free(s->capacity);
    free(s->load);
    free(s->active);
    free(s->fanout);
    free(s->param);
    free(s);
}

int synth_knows(const char *name)
{
    struct synth_impl impl;
    return synth_impl_parse(&impl, name, NULL) == STATUS_OK;
}

/* A query made ready: where the ranks are, and in which islands. */
struct ready {
    struct synth_impl impl;
    struct nccl_topology nccl;
    int nccl_open; /* 1: NCCL chooses, and it is open what its search found */
    int ranks;
    int placement[FABRIC_MAX_GPUS], island[FABRIC_MAX_GPUS], n_islands;
};

/* Islands: by socket; on one socket by root port, where several ranks share one; else two halves.
 */
static void find_islands(struct ready *q, const struct fabric *f)
{
    if (q->impl.islands > 0) { /* said: runs of neighbours */
        q->n_islands = q->impl.islands < q->ranks ? q->impl.islands : q->ranks;
        for (int r = 0; r < q->ranks; r++)
            q->island[r] = r * q->n_islands / q->ranks;
        return;
    }
    for (int by_root = 0; by_root < 2; by_root++) {
        int seen[FABRIC_MAX_GPUS];
        q->n_islands = 0;
        for (int r = 0; r < q->ranks; r++) {
            int end = q->placement[r];
            int key = by_root ? f->root_of[end] : f->socket_of[end], i = 0;
            while (i < q->n_islands && seen[i] != key)
                i++;
            if (i == q->n_islands)
                seen[q->n_islands++] = key;
            q->island[r] = i;
        }
        if (q->n_islands > 1 && q->n_islands < q->ranks)
            return;
    }
    q->n_islands = q->ranks > 2 ? 2 : 1;
    for (int r = 0; r < q->ranks; r++)
        q->island[r] = q->n_islands == 2 && r >= (q->ranks + 1) / 2;
}

static enum status check_reach(const struct ready *q, const struct fabric *f, const char *impl,
                               struct err *err)
{
    int nvlink = 1, apart = 0;
    for (int r = 0; r < q->ranks; r++) {
        nvlink &= f->nvlinked[q->placement[r]];
        apart |= q->placement[r] != q->placement[0];
    }
    if (q->impl.family == SYNTH_CUSTOM && apart && !f->peer_access)
        return err_set(err, STATUS_UNSUPPORTED,
                       "%s: the GPUs cannot reach each other's memory, so %s cannot run: price a "
                       "host/ variant",
                       f->name, impl);
    if (q->impl.family == SYNTH_HOST && f->n_memories == 0)
        return err_set(err, STATUS_UNSUPPORTED,
                       "%s: the fabric has no host memory, so %s cannot run", f->name, impl);
    if (q->impl.family == SYNTH_NCCL && f->param[FABRIC_nccl_p2p].value < 0.5 && f->n_memories == 0)
        return err_set(err, STATUS_UNSUPPORTED, "%s: no peer access and no host memory", f->name);
    if (q->impl.algorithm != NULL && q->impl.algorithm->multicast && !(f->multicast && nvlink))
        return err_set(err, STATUS_UNSUPPORTED,
                       "%s: no switch here reduces and multicasts, so %s cannot run", f->name,
                       impl);
    return STATUS_OK;
}

static enum status make_ready(struct ready *q, const struct fabric *f, const char *impl, int ranks,
                              const int *placement, struct err *err)
{
    memset(q, 0, sizeof *q);
    enum status status = synth_impl_parse(&q->impl, impl, err);
    if (status != STATUS_OK)
        return status;
    if (ranks < 2 || ranks > FABRIC_MAX_GPUS)
        return err_set(err, STATUS_UNSUPPORTED, "%d ranks: 2 to %d can be priced", ranks,
                       FABRIC_MAX_GPUS);
    q->ranks = ranks;
    int nvlink = 1;
    for (int r = 0; r < ranks; r++) {
        int gpu = placement ? placement[r] : r % f->n_gpus;
        if (gpu < 0 || gpu >= f->n_gpus)
            return err_set(err, STATUS_UNSUPPORTED, "%s: rank %d on GPU %d, but there are %d GPUs",
                           f->name, r, gpu, f->n_gpus);
        q->placement[r] = gpu;
        nvlink &= f->nvlinked[gpu] &&
                  f->links[f->route[gpu][q->placement[0]][0] / 2].kind != FABRIC_LINK_pcie;
    }
    q->nccl = (struct nccl_topology){
        .ranks = ranks,
        .search_channels = (int)lround(f->param[FABRIC_nccl_search_channels].value),
        .search_gb_per_s = f->param[FABRIC_nccl_search_gb_per_s].value,
        .channels = (int)lround(f->param[FABRIC_nccl_channels].value),
        .nvlink = nvlink,
        .nvls = nvlink && f->multicast,
        .compute_capability = f->compute_capability,
    };
    if (q->nccl.search_channels < 1)
        q->nccl.search_channels = 1;
    const struct fabric_quantity *found = &f->param[FABRIC_nccl_search_gb_per_s];
    q->nccl_open = q->impl.family == SYNTH_NCCL && q->impl.algorithm == NULL &&
                   !q->impl.nccl_model && found->high > 4 * found->low;
    find_islands(q, f);
    return check_reach(q, f, impl, err);
}

/* Relative standard deviation of a quantity whose 95 % interval is [low, high]. */
static double rel_sigma(const struct fabric_quantity *q)
{
    return q->low > 0 && q->high > q->low ? log(q->high / q->low) / (2 * z95) : 0;
}

static double abs_sigma(const struct fabric_quantity *q)
{
    return (q->high - q->low) / (2 * z95);
}

/* What one rank can put out, whatever the links, GB/s, and the parameter that says so; 0: no limit.
 * NCCL's channels limit it; so does, over PCIe, what all ranks together get through. */
static double issue_limit(const struct ready *q, const struct fabric *f, int channels,
                          enum fabric_param *p)
{
    *p = FABRIC_block_gb_per_s;
    if (q->impl.family != SYNTH_NCCL)
        return f->param[*p].value;
    int ll = q->impl.proto == NCCL_LL;
    *p = ll ? FABRIC_nccl_ll_channel_gb_per_s : FABRIC_nccl_channel_gb_per_s;
    double limit = f->param[*p].value * channels;
    int shm = f->param[FABRIC_nccl_p2p].value < 0.5;
    enum fabric_param all = shm ? FABRIC_nccl_shm_total_gb_per_s : FABRIC_nccl_ll_total_gb_per_s;
    double total = f->param[all].value / q->ranks;
    if ((shm || (ll && !q->nccl.nvlink)) && total < limit) {
        *p = all;
        limit = total;
    }
    return limit;
}

/* A plan at one size. */
static void evaluate(const struct ready *q, const struct fabric *f, const struct synth_plan *plan,
                     double bytes, int channels, struct synth_estimate *e)
{
    double fixed = 0, transfer = 0, variance = 0;
    memset(e->share_us, 0, sizeof e->share_us);
    memset(e->variance, 0, sizeof e->variance);
    for (int p = 0; p < FABRIC_PARAM_COUNT; p++) {
        e->share_us[p] = plan->count[p] * f->param[p].value;
        fixed += e->share_us[p];
        transfer += plan->us_per_byte[p] * bytes;
    }
    double factor = payload_factor(q->impl.payload);
    enum fabric_param issue;
    double limit = issue_limit(q, f, channels, &issue);
    double issue_us = limit > 0 ? plan->issue_fraction * factor * bytes / (limit * 1e3) : 0;
    if (issue_us > transfer) {
        transfer = issue_us;
        e->share_us[issue] += issue_us;
    } else {
        for (int p = 0; p < FABRIC_PARAM_COUNT; p++)
            e->share_us[p] += plan->us_per_byte[p] * bytes;
    }
    e->us = fixed + transfer;
    for (int p = 0; p < FABRIC_PARAM_COUNT; p++) {
        double d = plan->count[p] * abs_sigma(&f->param[p]);
        if (issue_us < transfer || p == (int)issue)
            d += (e->share_us[p] - plan->count[p] * f->param[p].value) * rel_sigma(&f->param[p]);
        if (issue_us < transfer && (p == FABRIC_fanout_loss || p == FABRIC_nvlink_fanout_loss))
            d += plan->fanout_us_per_byte[p == FABRIC_nvlink_fanout_loss] * bytes *
                 abs_sigma(&f->param[p]);
        e->variance[p] = d * d / (e->us * e->us);
        variance += e->variance[p];
    }
    double model = f->param[FABRIC_model_sigma].value;
    e->variance[FABRIC_model_sigma] = model * model;
    e->sigma_params = sqrt(variance);
    e->sigma = sqrt(variance + model * model);
    e->fixed_us = fixed;
    e->transfer_us = transfer;
    e->low_us = e->us * exp(-z95 * e->sigma);
    e->high_us = e->us * exp(z95 * e->sigma);
    e->wire_out_bytes = plan->out_fraction * factor * bytes;
    e->wire_in_bytes = plan->in_fraction * factor * bytes;
    e->rounds = plan->rounds;
    e->payload = q->impl.payload;
}

/* NCCL's belief. Its uncertainty is that of a choice, so only the model's error is given. */
static void evaluate_model(const struct ready *q, const struct fabric *f, double bytes,
                           struct synth_estimate *e)
{
    enum nccl_algo a = NCCL_RING;
    enum nccl_proto p = NCCL_LL;
    double us = nccl_model_choose(&q->nccl, bytes, &a, &p);
    memset(e, 0, sizeof *e);
    e->us = us;
    e->fixed_us = nccl_model_us(&q->nccl, a, p, 0, 1);
    e->transfer_us = us - e->fixed_us;
    e->share_us[FABRIC_nccl_search_gb_per_s] = e->transfer_us;
    double rel = rel_sigma(&f->param[FABRIC_nccl_search_gb_per_s]);
    double part = e->transfer_us / us * rel, model = f->param[FABRIC_model_sigma].value;
    e->variance[FABRIC_nccl_search_gb_per_s] = part * part;
    e->variance[FABRIC_model_sigma] = model * model;
    e->sigma_params = part;
    e->sigma = sqrt(part * part + model * model);
    e->low_us = us * exp(-z95 * e->sigma);
    e->high_us = us * exp(z95 * e->sigma);
    snprintf(e->priced, sizeof e->priced, "NCCL's model: %s/%s", nccl_algo_name(a),
             nccl_proto_name(p));
}

/* Plans are kept while NCCL's choice stays the same. */
struct planned {
    int valid;
    enum nccl_algo a;
    enum nccl_proto p;
    struct synth_plan plan;
};

static enum status price(struct synth *s, const struct fabric *f, struct ready *q, double bytes,
                         struct planned *kept, struct synth_estimate *e, struct err *err)
{
    if (q->impl.nccl_model) {
        evaluate_model(q, f, bytes, e);
        return STATUS_OK;
    }
    int nccl = q->impl.family == SYNTH_NCCL, channels = q->impl.channels, threads = 0;
    int chosen = nccl && (q->impl.algorithm == NULL || kept->valid == 2);
    enum nccl_algo a = q->impl.nccl_algo;
    enum nccl_proto p = q->impl.proto;
    if (chosen)
        nccl_model_choose(&q->nccl, bytes, &a, &p);
    if (!kept->valid || (chosen && (a != kept->a || p != kept->p))) {
        if (chosen)
            synth_impl_nccl(&q->impl, a, p);
        enum status status = synth_plan(s, f, &q->impl, q->ranks, q->placement, q->island,
                                        q->n_islands, &kept->plan, err);
        if (status != STATUS_OK)
            return status;
        kept->valid = 1 + chosen; /* 2: NCCL chooses again at the next size */
        kept->a = a;
        kept->p = p;
    }
    if (nccl && channels == 0)
        nccl_model_channels(&q->nccl, a, p, bytes, &channels, &threads);
    evaluate(q, f, &kept->plan, bytes, channels, e);
    if (nccl)
        snprintf(e->priced, sizeof e->priced, "%s/%s, %d channel%s%s", nccl_algo_name(a),
                 nccl_proto_name(p), channels, channels == 1 ? "" : "s",
                 f->param[FABRIC_nccl_p2p].value < 0.5 ? ", shared memory" : "");
    else
        snprintf(e->priced, sizeof e->priced, "%s, %s payload", q->impl.algorithm->name,
                 payload_name(q->impl.payload));
    return STATUS_OK;
}

static enum status check_bytes(double bytes, struct err *err)
{
    if (bytes > 0 && bytes <= 1e15)
        return STATUS_OK;
    return err_set(err, STATUS_UNSUPPORTED, "a message of %g bytes: expected 1 to 1e15", bytes);
}

/* Where it is open whether NCCL's search found anything, NCCL may pick the one or the other
 * protocol: the interval takes both in. */
static enum status widen(struct synth *s, const struct fabric *f, const struct synth_query *query,
                         const struct ready *q, struct synth_estimate *e, struct err *err)
{
    const double ends[] = {f->param[FABRIC_nccl_search_gb_per_s].low,
                           f->param[FABRIC_nccl_search_gb_per_s].high};
    for (int i = 0; i < 2; i++) {
        struct ready other = *q;
        struct planned kept = {0};
        struct synth_estimate o;
        other.nccl.search_gb_per_s = ends[i];
        enum status status = price(s, f, &other, query->bytes, &kept, &o, err);
        if (status != STATUS_OK)
            return status;
        e->low_us = fmin(e->low_us, o.low_us);
        e->high_us = fmax(e->high_us, o.high_us);
    }
    e->sigma = fmax(e->sigma, log(e->high_us / e->low_us) / (2 * z95));
    return STATUS_OK;
}

enum status synth_price(struct synth *s, const struct fabric *f, const struct synth_query *query,
                        struct synth_estimate *e, struct err *err)
{
    struct ready q;
    struct planned kept = {0};
    enum status status = check_bytes(query->bytes, err);
    if (status == STATUS_OK)
        status = make_ready(&q, f, query->impl, query->ranks, query->placement, err);
    if (status != STATUS_OK)
        return status;
    struct synth *own = s == NULL ? synth_new() : NULL, *use = s ? s : own;
    if (use == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    status = price(use, f, &q, query->bytes, &kept, e, err);
    if (status == STATUS_OK && q.nccl_open)
        status = widen(use, f, query, &q, e, err);
    synth_free(own);
    return status;
}

enum status synth_link_load(struct synth *s, const struct fabric *f,
                            const struct synth_query *query, double *load, struct err *err)
{
    struct synth *own = s == NULL ? synth_new() : NULL, *use = s ? s : own;
    struct synth_estimate e;
    if (use == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (int d = 0; d < 2 * f->n_links; d++)
        load[d] = 0;
    use->link_load = load;
    enum status status = synth_price(use, f, query, &e, err);
    use->link_load = NULL;
    synth_free(own);
    return status;
}

/* Steffen's slopes: monotone between knots. */
static void steffen(struct cost *c)
{
    int n = c->n_knots;
    const double *x = c->knot_x, *y = c->knot_y;
    for (int i = 0; i < n; i++) {
        double left = i > 0 ? (y[i] - y[i - 1]) / (x[i] - x[i - 1]) : 0;
        double right = i + 1 < n ? (y[i + 1] - y[i]) / (x[i + 1] - x[i]) : left;
        if (i == 0)
            left = right;
        double hl = i > 0 ? x[i] - x[i - 1] : 1, hr = i + 1 < n ? x[i + 1] - x[i] : hl;
        double p = (left * hr + right * hl) / (hl + hr);
        double least = fmin(fabs(left), fabs(right));
        c->knot_slope[i] = left * right <= 0 ? 0 : copysign(fmin(2 * least, fabs(p)), left);
    }
}

enum status synth_cost(const struct fabric *f, const char *impl, int ranks, const int *placement,
                       double min_bytes, double max_bytes, struct cost *c, struct err *err)
{
    struct ready q;
    struct planned kept = {0};
    double lo = min_bytes > 0 ? min_bytes : 8, hi = max_bytes > 0 ? max_bytes : 64 << 20;
    enum status status = check_bytes(lo, err);
    if (status == STATUS_OK)
        status = check_bytes(hi, err);
    if (status == STATUS_OK)
        status = make_ready(&q, f, impl, ranks, placement, err);
    if (status != STATUS_OK)
        return status;
    if (!(hi > lo))
        return err_set(err, STATUS_UNSUPPORTED, "a curve from %g to %g bytes is empty", lo, hi);
    struct synth *s = synth_new();
    if (s == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    memset(c, 0, sizeof *c);
    snprintf(c->impl, sizeof c->impl, "%s", impl);
    snprintf(c->label, sizeof c->label, "synthesized on %s", f->name);
    snprintf(c->collective, sizeof c->collective, "allreduce");
    c->ranks = ranks;
    c->form = COST_TABLE;
    c->source = COST_SYNTHESIZED;
    c->min_bytes = lo;
    c->max_bytes = hi;
    /* Two knots a doubling: the bend from latency to bandwidth is then followed to a percent. */
    double span = log2(hi / lo);
    int n = (int)ceil(2 * span) + 1;
    n = n < 2 ? 2 : n > COST_MAX_KNOTS ? COST_MAX_KNOTS : n;
    double variance = 0;
    for (int i = 0; i < n && status == STATUS_OK; i++) {
        struct synth_estimate e;
        double x = log2(lo) + span * i / (n - 1);
        status = price(s, f, &q, exp2(x), &kept, &e, err);
        c->knot_x[i] = x;
        c->knot_y[i] = log(e.us);
        variance += e.sigma_params * e.sigma_params / n;
    }
    synth_free(s);
    if (status != STATUS_OK)
        return status;
    c->n_knots = n;
    steffen(c);
    c->rel_sigma = sqrt(variance);
    c->point_sigma = f->param[FABRIC_model_sigma].value;
    c->extrap_sigma = 0.05;
    return STATUS_OK;
}

int synth_impls(const struct fabric *f, int ranks, struct synth_name *impl, int cap)
{
    struct ready q;
    int n = 0;
    for (int host = 0; host < 2; host++)
        for (int i = 0; algorithms[i] != NULL && n < cap; i++) {
            snprintf(impl[n].name, sizeof impl[n].name, "%s/%s", host ? "host" : "custom",
                     algorithms[i]->name);
            n += make_ready(&q, f, impl[n].name, ranks, NULL, NULL) == STATUS_OK;
        }
    if (n < cap) {
        snprintf(impl[n].name, sizeof impl[n].name, "nccl/auto");
        n += make_ready(&q, f, impl[n].name, ranks, NULL, NULL) == STATUS_OK;
    }
    return n;
}
