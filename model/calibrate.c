#include "model/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/acceptance.h"
#include "model/draw.h"
#include "model/evaluate.h"

enum { CURVE_ANY, CURVE_NONE };

static const struct {
    const char *path, *apart;
    size_t offset;
    double guess, spread;
    int when;
} terms[] = {
#define TERM(id, path, member, guess, spread, when, doc)                                           \
    {path, doc, offsetof(struct scenario, member), guess, spread, when},
#include "model/calibrate_terms.def"
#undef TERM
};

static struct qty *term_of(struct scenario *s, int id)
{
    return (struct qty *)(void *)((char *)s + terms[id].offset);
}

/* --- acceptance ------------------------------------------------------------------------------ */

struct lengths {
    const struct calibrate_run *runs;
    const size_t *at;
    size_t n;
    double noise;
};

static void law(double first, double fall, int k, double *p)
{
    for (int i = 0; i < k; i++)
        p[i] = fmin(fmax(first * exp(-fall * i), 1e-6), 1);
}

static double law_tokens(double first, double fall, const struct calibrate_run *r)
{
    double p[SCENARIO_MAX_LIST];
    int k = r->num_steps < SCENARIO_MAX_LIST ? r->num_steps : SCENARIO_MAX_LIST;
    law(first, fall, k, p);
    int m = r->num_draft_tokens > 0 ? r->num_draft_tokens : r->num_steps + 1;
    return acceptance_tree_tokens(p, k, 1, k, r->topk > 0 ? r->topk : 1, m);
}

static void length_residuals(void *context, const double *x, double *out)
{
    const struct lengths *l = context;
    for (size_t i = 0; i < l->n; i++) {
        const struct calibrate_run *r = &l->runs[l->at[i]];
        double noise = l->noise * fmax(r->tokens_per_cycle - 1, 0.02);
        if (r->topk > 1)
            noise = fmax(noise, ACCEPT_TREE_SIGMA * r->tokens_per_cycle);
        out[i] = (law_tokens(x[0], x[1], r) - r->tokens_per_cycle) / noise;
    }
}

static int has_length(const struct calibrate_run *r)
{
    return r->num_steps > 0 && r->tokens_per_cycle >= 1 && r->tokens_per_cycle <= r->num_steps + 1;
}

enum status accept_fit(const struct calibrate_run *runs, size_t n, double noise, double *first,
                       double *first_sd, double *fall, double *fall_sd, double learned[2],
                       struct err *err)
{
    size_t *at = malloc((n + 1) * sizeof *at);
    if (at == NULL)
        return err_set(err, STATUS_FAILED, "no memory for %zu runs", n);
    struct lengths l = {runs, at, 0, noise};
    for (size_t i = 0; i < n; i++)
        if (has_length(&runs[i]))
            at[l.n++] = i;
    const double mean[] = {0.75, ACCEPT_FALL_MEAN}, sd[] = {0.25, ACCEPT_FALL_SD};
    struct mapfit_problem p = {2, mean, sd, l.n, length_residuals, &l, 0};
    struct mapfit fit;
    enum status status = mapfit_solve(&p, &fit, err);
    free(at);
    if (status != STATUS_OK)
        return status;
    *first = fmin(fmax(fit.value[0], 0), 1);
    *first_sd = fit.sd[0];
    *fall = fmax(fit.value[1], 0);
    *fall_sd = fit.sd[1];
    learned[0] = fit.learned[0];
    learned[1] = fit.learned[1];
    return STATUS_OK;
}

static int deepest_length(const struct calibrate_run *runs, size_t n, int *lengths)
{
    int deepest = 0;
    for (size_t i = 0; i < n; i++)
        if (has_length(&runs[i])) {
            ++*lengths;
            deepest = runs[i].num_steps > deepest ? runs[i].num_steps : deepest;
        }
    return deepest < SCENARIO_MAX_LIST ? deepest : SCENARIO_MAX_LIST;
}

static enum status fit_acceptance(const struct calibrate_run *runs, size_t n, struct calibration *c,
                                  struct err *err)
{
    int deepest = deepest_length(runs, n, &c->n_lengths);
    if (c->n_lengths == 0)
        return STATUS_OK;
    double learned[2];
    enum status status = accept_fit(runs, n, 0.03, &c->accept_first, &c->accept_first_sd,
                                    &c->accept_fall, &c->accept_fall_sd, learned, err);
    if (status != STATUS_OK)
        return status;
    c->accept_first_learned = learned[0];
    c->accept_fall_learned = learned[1];
    struct qty_list *list = &c->s.draft.accept_rate;
    list->n = deepest;
    list->assumed = 0;
    law(c->accept_first, c->accept_fall, list->n, list->v);
    struct qty *decay = &c->s.draft.accept_decay;
    *decay = (struct qty){.value = exp(-c->accept_fall),
                          .low = exp(-(c->accept_fall + 1.96 * c->accept_fall_sd)),
                          .high = fmin(exp(-(c->accept_fall - 1.96 * c->accept_fall_sd)), 1),
                          .set = 1};
    return STATUS_OK;
}

/* Acceptance of each data set of the mix, then of the mix. */
static enum status mix_acceptance(const struct calibrate_run *runs, size_t n, const double *mix,
                                  int n_sets, struct calibration *c, struct err *err)
{
    double(*list)[SCENARIO_MAX_LIST] = calloc((size_t)n_sets, sizeof *list);
    const double **lists = calloc((size_t)n_sets, sizeof *lists);
    int *lengths = calloc((size_t)n_sets, sizeof *lengths);
    struct calibrate_run *own = calloc(n + 1, sizeof *own);
    enum status status = STATUS_OK;
    int deepest = 0;
    if (list == NULL || lists == NULL || lengths == NULL || own == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    for (int s = 0; s < n_sets && status == STATUS_OK; s++) {
        size_t m = 0;
        int known = 0;
        double first, first_sd, fall, fall_sd, learned[2];
        for (size_t i = 0; i < n; i++)
            if (runs[i].set == s)
                own[m++] = runs[i];
        int k = deepest_length(own, m, &known);
        if (known == 0) {
            status = err_set(err, STATUS_UNSUPPORTED,
                             "data set %d of the mix has no run with an accept length", s + 1);
            break;
        }
        deepest = k > deepest ? k : deepest;
        status = accept_fit(own, m, 0.03, &first, &first_sd, &fall, &fall_sd, learned, err);
        law(first, fall, SCENARIO_MAX_LIST, list[s]);
        lists[s] = list[s];
        lengths[s] = SCENARIO_MAX_LIST;
    }
    struct qty_list *mixed = &c->s.draft.accept_rate;
    if (status == STATUS_OK) {
        mixed->n = deepest;
        mixed->assumed = 0;
        if (acceptance_mix(lists, lengths, mix, n_sets, 1, deepest, mixed->v) != 0)
            status = err_set(err, STATUS_UNSUPPORTED,
                             "the shares of a mix must not be negative, nor all 0");
    }
    free(list);
    free(lists);
    free(lengths);
    free(own);
    return status;
}

/* --- plain runs ------------------------------------------------------------------------------ */

static int usable(const struct calibrate_run *r)
{
    return r->batch >= 1 && r->tokens_per_s > 0 && isfinite(r->tokens_per_s);
}

static int at_context(const struct scenario *s, const struct calibrate_run *r)
{
    return isnan(r->context_tokens) ||
           fabs(r->context_tokens - s->context_tokens) <= 0.1 * s->context_tokens + 256;
}

static int by_batch(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* The plain step by rows: the median of the runs at each batch. */
static enum status use_plain(const struct calibrate_run *runs, size_t n, struct calibration *c,
                             struct err *err)
{
    double(*step)[2] = malloc((n + 1) * sizeof *step);
    if (step == NULL)
        return err_set(err, STATUS_FAILED, "no memory for %zu runs", n);
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (runs[i].num_steps == 0 && usable(&runs[i]) && at_context(&c->s, &runs[i])) {
            step[m][0] = runs[i].batch;
            step[m++][1] = runs[i].batch * 1e6 / runs[i].tokens_per_s;
        }
    qsort(step, m, sizeof *step, by_batch);
    c->n_plain = (int)m;
    struct qty_curve curve = {0};
    for (size_t i = 0; i < m;) {
        size_t j = i;
        while (j < m && step[j][0] == step[i][0])
            j++;
        if (curve.n < SCENARIO_MAX_CURVE) {
            curve.x[curve.n] = step[i][0];
            curve.y[curve.n++] = 0.5 * (step[(i + j - 1) / 2][1] + step[(i + j) / 2][1]);
        }
        i = j;
    }
    free(step);
    if (curve.n == 0)
        return STATUS_OK;
    if (curve.n > 1)
        c->s.pass.curve = curve;
    if (curve.n == 1 && c->s.pass.curve.n > 0)
        return STATUS_OK;
    int at = 0;
    for (int i = 0; i < curve.n; i++)
        if (curve.x[i] == c->s.batch)
            at = i;
    double tokens_per_s = curve.x[at] * 1e6 / curve.y[at], noise = c->s.measured.noise;
    c->s.baseline.batch = (int)curve.x[at];
    c->s.baseline.tokens_per_s = (struct qty){.value = tokens_per_s,
                                              .low = tokens_per_s * (1 - 1.96 * noise),
                                              .high = tokens_per_s * (1 + 1.96 * noise),
                                              .set = 1};
    return STATUS_OK;
}

/* --- speculative runs ------------------------------------------------------------------------ */

struct speculative {
    struct scenario s; /* with the priors' terms; edited by each evaluation */
    const struct calibrate_run *runs;
    const size_t *at;
    size_t n;
    int id[CALIBRATE_TERMS], n_terms;
};

static double run_noise(const struct calibrate_run *r)
{
    /* Served throughput repeats to 3-4 % at one request and to 1 % at 64. */
    return r->noise > 0 ? r->noise : 0.01 + 0.025 / sqrt(r->batch);
}

static double predict(struct scenario *s, const struct calibrate_run *r)
{
    struct outcome o;
    double context = s->context_tokens;
    int batch = s->batch, k = s->draft.num_steps, topk = s->draft.topk,
        m = s->draft.num_draft_tokens;
    s->batch = r->batch;
    s->draft.num_steps = r->num_steps;
    if (r->topk > 0)
        s->draft.topk = r->topk;
    if (r->num_draft_tokens > 0 || r->num_steps != k)
        s->draft.num_draft_tokens = r->num_draft_tokens;
    if (!isnan(r->context_tokens))
        s->context_tokens = r->context_tokens;
    evaluate(s, &o);
    s->batch = batch;
    s->draft.num_steps = k;
    s->draft.topk = topk;
    s->draft.num_draft_tokens = m;
    s->context_tokens = context;
    if (r->num_steps == 0)
        return o.baseline_tokens_per_s;
    double tokens = r->tokens_per_cycle >= 1 ? r->tokens_per_cycle : o.tokens_per_cycle;
    return r->batch * tokens * 1e6 / o.cycle_us;
}

static void set_terms(struct speculative *f, const double *x)
{
    for (int i = 0; i < f->n_terms; i++) {
        struct qty *q = term_of(&f->s, f->id[i]);
        double v = exp(fmin(fmax(x[i], -60), 60));
        *q = (struct qty){.value = v, .low = v, .high = v, .set = 1};
    }
}

static void throughput_residuals(void *context, const double *x, double *out)
{
    struct speculative *f = context;
    set_terms(f, x);
    for (size_t i = 0; i < f->n; i++) {
        const struct calibrate_run *r = &f->runs[f->at[i]];
        out[i] = log(predict(&f->s, r) / r->tokens_per_s) / run_noise(r);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, compare);
    return n == 0 ? (double)NAN : 0.5 * (v[(n - 1) / 2] + v[n / 2]);
}

/* How the terms lie around the fit, by a random walk (Metropolis) with the robust likelihood and
 * the priors. A fit's own covariance is not enough: where one run leaves two terms to share a known
 * sum, their trade-off is a bent ridge, and its local width claims knowledge that nobody has. */
struct spread {
    double mean[CALIBRATE_TERMS], sd[CALIBRATE_TERMS], low[CALIBRATE_TERMS], high[CALIBRATE_TERMS];
    double correlation[CALIBRATE_TERMS][CALIBRATE_TERMS];
};

enum { WALK_KEPT = 4000 };

static double log_posterior(struct speculative *f, const double *x, const double *mean,
                            const double *sd, double *room)
{
    double sum = 0;
    throughput_residuals(f, x, room);
    for (size_t i = 0; i < f->n; i++)
        sum -= 2 * log1p(0.25 * room[i] * room[i]);
    for (int i = 0; i < f->n_terms; i++)
        sum -= 0.5 * (x[i] - mean[i]) * (x[i] - mean[i]) / (sd[i] * sd[i]);
    return sum;
}

static void summarise_walk(double (*kept)[CALIBRATE_TERMS], int n_terms, struct spread *s,
                           double *room)
{
    for (int i = 0; i < n_terms; i++) {
        for (int k = 0; k < WALK_KEPT; k++)
            s->mean[i] += kept[k][i] / WALK_KEPT;
        for (int j = i; j >= 0; j--) {
            double c = 0;
            for (int k = 0; k < WALK_KEPT; k++)
                c += (kept[k][i] - s->mean[i]) * (kept[k][j] - s->mean[j]) / (WALK_KEPT - 1);
            if (j == i)
                s->sd[i] = sqrt(c);
            else
                s->correlation[i][j] = s->correlation[j][i] = c / (s->sd[i] * s->sd[j]);
        }
        for (int k = 0; k < WALK_KEPT; k++)
            room[k] = kept[k][i];
        qsort(room, WALK_KEPT, sizeof *room, compare);
        s->low[i] = room[WALK_KEPT / 40];
        s->high[i] = room[WALK_KEPT - 1 - WALK_KEPT / 40];
    }
}

static enum status walk(struct speculative *f, const double *start, const double *mean,
                        const double *sd, struct spread *s, struct err *err)
{
    *s = (struct spread){0};
    double(*kept)[CALIBRATE_TERMS] = malloc(WALK_KEPT * sizeof *kept);
    double *room = malloc((f->n + WALK_KEPT) * sizeof *room);
    if (kept == NULL || room == NULL) {
        free(kept);
        free(room);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    /* At most about two million predictions. */
    int thin = (int)(2000000 / (WALK_KEPT * (f->n + 1)));
    thin = thin < 2 ? 2 : thin > 30 ? 30 : thin;
    struct rng rng;
    rng_init(&rng, 1, 0);
    double x[CALIBRATE_TERMS], y[CALIBRATE_TERMS];
    memcpy(x, start, sizeof x);
    double at = log_posterior(f, x, mean, sd, room);
    for (int k = -WALK_KEPT / 5; k < WALK_KEPT; k++) {
        for (int step = 0; step < thin; step++) {
            /* One term or two, by a step of a random size: ridges are narrow and long. */
            int n = 1 + (rng_next(&rng) & 1);
            memcpy(y, x, sizeof y);
            double scale = exp(-4.6 * rng_uniform(&rng));
            for (int m = 0; m < n; m++) {
                int i = (int)(rng_next(&rng) % (uint64_t)f->n_terms);
                y[i] += sd[i] * scale * rng_normal(&rng);
            }
            double there = log_posterior(f, y, mean, sd, room);
            if (log(rng_uniform(&rng)) < there - at) {
                memcpy(x, y, sizeof x);
                at = there;
            }
        }
        if (k >= 0)
            memcpy(kept[k], x, sizeof x);
    }
    summarise_walk(kept, f->n_terms, s, room);
    free(kept);
    free(room);
    return STATUS_OK;
}

static void report_terms(const struct speculative *f, const struct mapfit *fit,
                         const struct spread *s, const double *mean, const double *sd,
                         struct calibration *c)
{
    c->n_terms = f->n_terms;
    for (int i = 0; i < f->n_terms; i++) {
        struct calibrate_term *t = &c->term[i];
        double learned = 1 - s->sd[i] * s->sd[i] / (sd[i] * sd[i]);
        *t = (struct calibrate_term){.path = terms[f->id[i]].path,
                                     .apart = terms[f->id[i]].apart,
                                     .prior = exp(mean[i]),
                                     .value = exp(fit->value[i]),
                                     .low = exp(fmin(s->low[i], fit->value[i])),
                                     .high = exp(fmax(s->high[i], fit->value[i])),
                                     .learned = fmax(learned, 0),
                                     .identified = learned >= 0.5,
                                     .with = -1};
        for (int j = 0; j < f->n_terms; j++)
            if (j != i && fabs(s->correlation[i][j]) > 0.5 &&
                fabs(s->correlation[i][j]) > fabs(t->correlation)) {
                t->with = j;
                t->correlation = s->correlation[i][j];
            }
        struct qty *q = term_of(&c->s, f->id[i]);
        *q = (struct qty){
            .value = t->value, .low = t->low, .high = t->high, .set = 1, .assumed = !t->identified};
    }
}

static enum status fit_terms(const struct calibrate_run *runs, size_t n, struct calibration *c,
                             struct err *err)
{
    enum status status = STATUS_OK;
    size_t *at = malloc(2 * (n + 1) * sizeof *at), *rest = at + n + 1;
    double *error = malloc(2 * (n + 1) * sizeof *error), *left = error + n + 1;
    if (at == NULL || error == NULL) {
        status = err_set(err, STATUS_FAILED, "no memory for %zu runs", n);
        goto out;
    }
    struct speculative f = {.s = c->s, .runs = runs, .at = at};
    struct outcome o;
    evaluate(&f.s, &o);
    for (size_t i = 0; i < n; i++)
        if (runs[i].num_steps > 0 && usable(&runs[i]) &&
            (runs[i].tokens_per_cycle >= 1 || f.s.draft.accept_rate.n > 0))
            at[f.n++] = i;
    c->n_speculative = (int)f.n;
    double mean[CALIBRATE_TERMS], sd[CALIBRATE_TERMS];
    for (int id = 0; id < CALIBRATE_TERMS; id++) {
        if (terms[id].when == CURVE_NONE && f.s.pass.curve.n > 0)
            continue;
        if (id == CALIBRATE_insitu && (f.s.ranks < 2 || f.s.allreduce.latency_us.set))
            continue;
        const struct qty *q = term_of(&f.s, id);
        double start = q->value > 0 ? q->value : terms[id].guess * o.baseline_step_us;
        mean[f.n_terms] = log(start);
        sd[f.n_terms] = log(terms[id].spread);
        f.id[f.n_terms++] = id;
    }
    struct mapfit_problem p = {f.n_terms, mean, sd, f.n, throughput_residuals, &f, 1};
    struct mapfit fit;
    status = mapfit_solve(&p, &fit, err);
    if (status != STATUS_OK)
        goto out;
    struct spread spread;
    status = walk(&f, fit.value, mean, sd, &spread, err);
    if (status != STATUS_OK)
        goto out;
    report_terms(&f, &fit, &spread, mean, sd, c);
    for (size_t i = 0; i < n; i++)
        c->v[i] = (struct calibrate_case){runs[i].tokens_per_s,
                                          usable(&runs[i]) ? predict(&c->s, &runs[i]) : (double)NAN,
                                          (double)NAN};
    size_t m = f.n;
    for (size_t i = 0; i < m; i++) {
        size_t k = 0;
        for (size_t j = 0; j < m; j++)
            if (j != i)
                rest[k++] = at[j];
        f.at = rest;
        f.n = p.n_obs = k;
        struct mapfit without;
        status = mapfit_solve(&p, &without, err);
        if (status != STATUS_OK)
            goto out;
        set_terms(&f, without.value);
        struct calibrate_case *v = &c->v[at[i]];
        v->left_out = predict(&f.s, &runs[at[i]]);
        error[i] = fabs(v->predicted / v->measured - 1);
        left[i] = fabs(v->left_out / v->measured - 1);
        c->left_out_max_rel_error = fmax(c->left_out_max_rel_error, left[i]);
    }
    c->median_rel_error = median(error, m);
    c->left_out_median_rel_error = median(left, m);
out:
    free(at);
    free(error);
    return status;
}

enum status calibrate(const struct scenario *s, const struct calibrate_run *runs, size_t n,
                      const double *mix, int n_sets, struct calibration *out, struct err *err)
{
    *out = (struct calibration){.s = *s, .n = n};
    size_t any = 0;
    for (size_t i = 0; i < n; i++)
        any += (size_t)(usable(&runs[i]) || has_length(&runs[i]));
    if (any == 0)
        return err_set(err, STATUS_UNSUPPORTED,
                       "none of %zu runs can be used: each needs its number of requests and tokens "
                       "per second, or draft steps and accept length",
                       n);
    out->v = calloc(n, sizeof *out->v);
    if (out->v == NULL)
        return err_set(err, STATUS_FAILED, "no memory for %zu runs", n);
    enum status status = use_plain(runs, n, out, err);
    if (status == STATUS_OK)
        status = fit_acceptance(runs, n, out, err);
    if (status == STATUS_OK && n_sets > 0)
        status = mix_acceptance(runs, n, mix, n_sets, out, err);
    if (status == STATUS_OK) {
        scenario_anchor(&out->s);
        status = scenario_check(&out->s, err);
    }
    if (status == STATUS_OK)
        status = fit_terms(runs, n, out, err);
    if (status != STATUS_OK)
        calibration_release(out);
    return status;
}

void calibration_release(struct calibration *c)
{
    free(c->v);
    c->v = NULL;
    c->n = 0;
}
