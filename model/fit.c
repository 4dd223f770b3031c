/* The competition of forms, its judge (one size left out) and the intervals that come of it. */
#include "model/fit_sample.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORM(id) extern const struct fit_form fit_form_##id;
#include "model/forms.def"
#undef FORM

const struct fit_form *const fit_forms[FIT_FORM_COUNT] = {
#define FORM(id) &fit_form_##id,
#include "model/forms.def"
#undef FORM
};

static const double normal_95 = 1.959964;
static const double sigma_floor = 0.01; /* no two runs agree better than this */
static const double residual_cap = 0.7; /* a form that is off by two is wrong; by ten no more so */
/* Steps cluster in the middle of the range, where latencies are asked for, and one curve holds few:
 * the quantile over all its sizes is a little narrow there. */
static const double stretch = 1.2;
static const double least_step = 0.12; /* smaller jumps are not called steps */
static const double tie = 1.03;        /* scores that differ by less are equal */

static enum status form_fit(enum fit_form_id id, const struct point *p, int n, struct cost *c,
                            double cov[3], struct err *err)
{
    if (n < fit_forms[id]->min_sizes)
        return err_set(err, STATUS_UNSUPPORTED, "%s needs %d sizes", fit_forms[id]->id,
                       fit_forms[id]->min_sizes);
    enum status status = fit_forms[id]->fit(p, n, c, cov, err);
    if (status != STATUS_OK)
        return status;
    c->source = COST_MEASURED;
    c->min_bytes = p[0].bytes;
    c->max_bytes = p[n - 1].bytes;
    /* So that cost_sigma is the shape alone until the scale is known. */
    c->point_sigma = 1;
    c->rel_sigma = c->extrap_sigma = 0;
    return STATUS_OK;
}

/* What one form makes of each interior size of a curve when that size is left out. Of a curve with
 * more than MAX_TRIALS sizes, of every k-th. */
enum { MAX_TRIALS = 192 };
struct trial {
    enum status status;
    int n;
    double residual[MAX_TRIALS]; /* log(measured / predicted) */
    double scaled[MAX_TRIALS];   /* |residual| over the shape there */
    double score;                /* mean of |residual|, each at most residual_cap */
};

static void trial_add(struct trial *t, const struct cost *c, const struct point *p)
{
    double r = log(p->us / cost_latency_us(c, p->bytes));
    t->residual[t->n] = r;
    t->scaled[t->n++] = fabs(r) / cost_sigma(c, p->bytes);
    t->score += fmin(fabs(r), residual_cap);
}

/* A sample that is the curve itself: the points that are not outliers, each left out in turn. */
static void try_sparse(struct trial *t, enum fit_form_id id, const struct sample *s, struct cost *c)
{
    struct point rest[FIT_MAX_SIZES];
    for (int i = 1; i + 1 < s->n; i++) {
        memcpy(rest, s->p, (size_t)i * sizeof *rest);
        memcpy(rest + i, s->p + i + 1, (size_t)(s->n - 1 - i) * sizeof *rest);
        t->status = form_fit(id, rest, s->n - 1, c, NULL, NULL);
        if (t->status != STATUS_OK)
            return;
        trial_add(t, c, &s->p[i]);
    }
}

/* A dense curve: sizes, not bins, are left out and predicted, so that the noise of one size shows.
 */
static void try_dense(struct trial *t, enum fit_form_id id, const struct point *p, size_t n,
                      struct cost *c)
{
    struct sample *s = malloc(sizeof *s);
    if (s == NULL)
        t->status = STATUS_FAILED;
    size_t every = (n + MAX_TRIALS - 1) / MAX_TRIALS;
    for (size_t i = 1; i + 1 < n && t->status == STATUS_OK; i += every) {
        t->status = sample_make(s, p, n, i, NULL);
        if (t->status == STATUS_OK)
            t->status = form_fit(id, s->p, s->n, c, NULL, NULL);
        if (t->status == STATUS_OK)
            trial_add(t, c, &p[i]);
    }
    free(s);
}

/* p, n: the whole curve; s: the sample of it. */
static void try_form(struct trial *t, enum fit_form_id id, const struct sample *s,
                     const struct point *p, size_t n)
{
    struct cost *c = malloc(sizeof *c);
    t->n = 0;
    t->score = 0;
    t->status = STATUS_OK;
    if (c == NULL) {
        t->status = STATUS_FAILED;
        return;
    }
    memset(c, 0, sizeof *c);
    if (n > FIT_MAX_SIZES)
        try_dense(t, id, p, n, c);
    else
        try_sparse(t, id, s, c);
    if (t->n > 0)
        t->score /= t->n;
    else if (t->status == STATUS_OK)
        t->status = STATUS_UNSUPPORTED;
    free(c);
}

/* 1 where the trial's residuals are smaller than the other's, size by size, by more than twice the
 * standard error of their mean difference. Trials of one curve leave the same sizes out. */
static int clearly_better(const struct trial *t, const struct trial *than)
{
    double sum = 0, squares = 0;
    int n = t->n < than->n ? t->n : than->n;
    for (int i = 0; i < n; i++) {
        double d =
            fmin(fabs(than->residual[i]), residual_cap) - fmin(fabs(t->residual[i]), residual_cap);
        sum += d;
        squares += d * d;
    }
    double mean = sum / n, variance = fmax(squares / n - mean * mean, 0);
    return mean > 0 && mean > 2 * sqrt(variance / n);
}

/* The form, or -1. A table takes a curve as it is, so it is what the others have to beat, clearly;
 * of those that do, the one with the smallest error, on a tie the earlier row. */
static int choose(const struct trial trials[FIT_FORM_COUNT])
{
    int best = -1;
    for (int i = 0; i < FIT_FORM_COUNT; i++) {
        if (trials[i].status != STATUS_OK || i == FIT_table)
            continue;
        if (trials[FIT_table].status == STATUS_OK &&
            !clearly_better(&trials[i], &trials[FIT_table]))
            continue;
        if (best < 0 || trials[i].score * tie < trials[best].score)
            best = i;
    }
    return best >= 0 ? best : trials[FIT_table].status == STATUS_OK ? (int)FIT_table : -1;
}

/* The factor that makes 95 % of the scaled residuals of left-out sizes fall inside: the
 * ceil(0.95 (n + 1))-th of them (split-conformal prediction: Vovk, Gammerman and Shafer (2005)), as
 * a standard deviation. Where n < 19 that rank does not exist; the largest is stretched to the
 * quantile that a normal sample of n would need. */
static double scale_95(const struct trial *t, double repeat_sigma)
{
    double v[MAX_TRIALS];
    memcpy(v, t->scaled, (size_t)t->n * sizeof *v);
    int q = (int)ceil(0.95 * (t->n + 1) - 1e-9);
    double largest = sample_ranked(v, t->n, q);
    if (q > t->n)
        largest *= sqrt(1 + 4.0 / t->n);
    double sigma = stretch * largest / normal_95;
    if (isfinite(repeat_sigma) && sigma < repeat_sigma)
        sigma = repeat_sigma;
    return sigma > sigma_floor ? sigma : sigma_floor;
}

/* How fast predictions beyond the measured range go wrong, per factor of two: the root mean square
 * over the last three sizes at the upper end, each predicted from all smaller ones, and over the
 * first two from all larger ones. */
static double extrapolation_sigma(enum fit_form_id id, const struct sample *s)
{
    struct cost *c = malloc(sizeof *c);
    double sum = 0;
    int m = 0;
    if (c == NULL)
        return 0.5;
    memset(c, 0, sizeof *c);
    for (int k = 1; k <= 3 && s->n - k >= 4; k++) {
        if (form_fit(id, s->p, s->n - k, c, NULL, NULL) != STATUS_OK)
            continue;
        const struct point *q = &s->p[s->n - k];
        double r =
            log(q->us / cost_latency_us(c, q->bytes)) / fmax(log2(q->bytes / q[-1].bytes), 1);
        sum += r * r;
        m++;
    }
    for (int k = 1; k <= 2 && s->n - k >= 4; k++) {
        if (form_fit(id, s->p + k, s->n - k, c, NULL, NULL) != STATUS_OK)
            continue;
        const struct point *q = &s->p[k - 1];
        double r = log(q->us / cost_latency_us(c, q->bytes)) / fmax(log2(q[1].bytes / q->bytes), 1);
        sum += r * r;
        m++;
    }
    free(c);
    double sigma = m > 0 ? sqrt(sum / m) : 0.3;
    return fmin(fmax(sigma, 0.05), 1);
}

static void set_sigmas(struct cost *c, const struct trial *t, const struct sample *s,
                       enum fit_form_id id, double repeat_sigma)
{
    double sigma = scale_95(t, repeat_sigma);
    c->rel_sigma = sigma / sqrt(s->n);
    c->point_sigma = sqrt(sigma * sigma - c->rel_sigma * c->rel_sigma);
    c->extrap_sigma = extrapolation_sigma(id, s);
}

/* The whole decision for a sample: form and intervals. (p, n) is the curve where it is dense. -1
 * with *err filled where there is none. */
static int decide(const struct sample *s, const struct point *p, size_t n,
                  struct trial trials[FIT_FORM_COUNT], struct cost *c, double cov[3],
                  double repeat_sigma, struct err *err)
{
    if (s->n < FIT_MIN_SIZES) {
        err_set(
            err, STATUS_UNSUPPORTED,
            "%d size%s cannot be fitted and checked: at least %d are needed, 6 or more are better",
            s->n, s->n == 1 ? "" : "s", FIT_MIN_SIZES);
        return -1;
    }
    for (int i = 0; i < FIT_FORM_COUNT; i++)
        try_form(&trials[i], (enum fit_form_id)i, s, p, n);
    int form = choose(trials);
    if (form < 0) {
        err_set(err, STATUS_UNSUPPORTED, "no form fits these %d sizes", s->n);
        return -1;
    }
    if (form_fit((enum fit_form_id)form, s->p, s->n, c, cov, err) != STATUS_OK)
        return -1;
    set_sigmas(c, &trials[form], s, (enum fit_form_id)form, repeat_sigma);
    return form;
}

/* Spread between repeats of a size, over the curve: the median. NaN where fewer than three sizes
 * were repeated: one pair that disagrees says nothing of the others. */
static double repeat_sigma_of(const struct curve *curve)
{
    double *v = malloc((curve->n_points ? curve->n_points : 1) * sizeof *v);
    int m = 0;
    if (v == NULL)
        return NAN;
    for (size_t i = 0; i < curve->n_points; i++)
        if (isfinite(curve->points[i].spread))
            v[m++] = curve->points[i].spread;
    double sigma = m >= 3 ? sample_median(v, m) : (double)NAN;
    free(v);
    return sigma;
}

/* Errors in sample of a fitted cost; v has room for s->n. */
static void in_sample(const struct cost *c, const struct sample *s, double *med, double *max)
{
    double v[FIT_MAX_SIZES];
    *max = 0;
    for (int i = 0; i < s->n; i++) {
        v[i] = fabs(cost_latency_us(c, s->p[i].bytes) / s->p[i].us - 1);
        *max = fmax(*max, v[i]);
    }
    *med = sample_median(v, s->n);
}

static void report_contender(struct fit_contender *out, enum fit_form_id id, const struct trial *t,
                             const struct sample *s)
{
    double v[MAX_TRIALS], sum = 0;
    *out = (struct fit_contender){t->status, NAN, NAN, NAN, NAN};
    if (t->status != STATUS_OK)
        return;
    for (int i = 0; i < t->n; i++) {
        v[i] = fabs(expm1(-t->residual[i]));
        sum += v[i];
    }
    out->cv_mean_rel_error = sum / t->n;
    out->cv_median_rel_error = sample_median(v, t->n);
    struct cost *c = calloc(1, sizeof *c);
    if (c != NULL && form_fit(id, s->p, s->n, c, NULL, NULL) == STATUS_OK)
        in_sample(c, s, &out->median_rel_error, &out->max_rel_error);
    free(c);
}

static void find_steps(struct fit *f, const struct sample *s)
{
    const struct cost *c = &f->cost;
    for (int k = 0; k + 1 < c->n_segments && f->n_steps < FIT_MAX_STEPS; k++) {
        const struct cost_segment *l = &c->segments[k], *r = &c->segments[k + 1];
        double edge = l->to_bytes;
        double before = l->alpha_us + l->beta_us_per_byte * edge;
        double after = r->alpha_us + r->beta_us_per_byte * edge;
        if (!(before > 0) || !(after > 0) || fabs(log(after / before)) < least_step)
            continue;
        struct fit_step step = {0, 0, after / before};
        for (int i = 0; i < s->n; i++) {
            if (s->p[i].bytes < edge)
                step.from_bytes = s->p[i].bytes;
            else if (step.to_bytes == 0)
                step.to_bytes = s->p[i].bytes;
        }
        f->steps[f->n_steps++] = step;
    }
}

/* Segments beside a table, for alpha, beta and the steps that are reported: piecewise where that
 * fits, else one line. */
static void add_segments(struct fit *f, const struct sample *s)
{
    struct cost *c = calloc(1, sizeof *c);
    if (c == NULL)
        return;
    if (form_fit(FIT_piecewise, s->p, s->n, c, f->cov, NULL) == STATUS_OK ||
        form_fit(FIT_hockney, s->p, s->n, c, f->cov, NULL) == STATUS_OK) {
        f->cost.n_segments = c->n_segments;
        memcpy(f->cost.segments, c->segments, sizeof c->segments);
    }
    free(c);
}

enum status fit_curve(struct fit *f, const struct curve *curve, struct err *err)
{
    gsl_set_error_handler_off(); /* the default one aborts; errors are values here */
    memset(f, 0, sizeof *f);
    f->cov[0] = f->cov[1] = f->cov[2] = NAN;
    struct sample *s = malloc(sizeof *s);
    struct trial *trials = malloc(FIT_FORM_COUNT * sizeof *trials);
    enum status status = STATUS_OK;
    if (s == NULL || trials == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    status = sample_make(s, curve->points, curve->n_points, curve->n_points, err);
    if (status != STATUS_OK)
        goto out;
    f->repeat_sigma = repeat_sigma_of(curve);
    struct cost *c = &f->cost;
    struct err why = {STATUS_OK, ""};
    int form = decide(s, curve->points, curve->n_points, trials, c, f->cov, f->repeat_sigma, &why);
    if (form < 0) {
        status = err_set(err, why.status, "%s", why.msg);
        goto out;
    }
    f->form = (enum fit_form_id)form;
    if (c->form == COST_TABLE)
        add_segments(f, s);
    find_steps(f, s);
    for (int i = 0; i < FIT_FORM_COUNT; i++)
        report_contender(&f->contenders[i], (enum fit_form_id)i, &trials[i], s);
    int inside = 0;
    double sigma = hypot(c->rel_sigma, c->point_sigma);
    for (int i = 0; i < trials[form].n; i++)
        inside += trials[form].scaled[i] <= normal_95 * sigma;
    f->loo_coverage = (double)inside / trials[form].n;
    f->n_sizes = (int)curve->n_points;
    f->n_unusable = (int)curve->skipped;
    f->n_outliers = s->n_off;
    memcpy(f->outliers, s->off, sizeof f->outliers);
    const struct record *key = curve->key;
    snprintf(c->impl, sizeof c->impl, "%s", key->impl);
    snprintf(c->label, sizeof c->label, "%s", key->label);
    snprintf(c->collective, sizeof c->collective, "%s", record_what_name(key->what));
    snprintf(c->dtype, sizeof c->dtype, "%s", key->dtype);
    snprintf(c->method, sizeof c->method, "%s", key->method);
    snprintf(f->placement, sizeof f->placement, "%s", key->placement);
    c->ranks = key->ranks;
    c->in_place = key->in_place;
    c->points = (int)curve->records;
    c->max_rel_error = f->contenders[form].max_rel_error;
    c->median_rel_error = f->contenders[form].median_rel_error;
    c->cv_median_rel_error = f->contenders[form].cv_median_rel_error;
    c->cv_mean_rel_error = f->contenders[form].cv_mean_rel_error;
out:
    free(s);
    free(trials);
    return status;
}

double fit_ci95_factor(const struct fit *f)
{
    int left = f->n_sizes - f->n_outliers - 2;
    return gsl_cdf_tdist_Pinv(0.975, left > 0 ? left : 1);
}

/* --- Leave one size out, everything decided without it -----------------------------------------
 */

static double loglog_at(const struct point *p, size_t n, size_t skip, double bytes)
{
    size_t l = n, r = n;
    for (size_t i = 0; i < n; i++) {
        if (i == skip)
            continue;
        if (p[i].bytes <= bytes)
            l = i;
        else if (r == n)
            r = i;
    }
    /* At an end: the line through the last two. */
    if (l == n) {
        l = r;
        r = r + 1 == skip ? r + 2 : r + 1;
    } else if (r == n) {
        r = l;
        l = l - 1 == skip ? l - 2 : l - 1;
    }
    double t = log(bytes / p[l].bytes) / log(p[r].bytes / p[l].bytes);
    return exp(log(p[l].us) + t * log(p[r].us / p[l].us));
}

/* One straight line through all other points, least squares of relative errors. */
static double line_at(const struct point *p, size_t n, size_t skip, double bytes)
{
    double s11 = 0, s12 = 0, s22 = 0, t1 = 0, t2 = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == skip)
            continue;
        double u = 1 / p[i].us, v = p[i].bytes / p[i].us;
        s11 += u * u;
        s12 += u * v;
        s22 += v * v;
        t1 += u;
        t2 += v;
    }
    double det = s11 * s22 - s12 * s12;
    double alpha = det > 0 ? (t1 * s22 - t2 * s12) / det : t1 / s11;
    double beta = det > 0 ? (s11 * t2 - s12 * t1) / det : 0;
    double us = alpha + beta * bytes;
    return us > 0.01 ? us : 0.01;
}

enum status fit_leave_one_out(const struct curve *curve, double from_bytes, double to_bytes,
                              struct left_out *out, size_t *n_out, struct err *err)
{
    gsl_set_error_handler_off();
    *n_out = 0;
    size_t n = curve->n_points;
    const struct point *p = curve->points;
    if (n < FIT_MIN_SIZES + 1)
        return err_set(err, STATUS_UNSUPPORTED,
                       "leaving one of %zu sizes out needs at least %d of them", n,
                       FIT_MIN_SIZES + 1);
    struct sample *s = malloc(sizeof *s);
    struct trial *trials = malloc(FIT_FORM_COUNT * sizeof *trials);
    struct cost *c = calloc(1, sizeof *c);
    struct fit *full = malloc(sizeof *full);
    enum status status = STATUS_OK;
    if (s == NULL || trials == NULL || c == NULL || full == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    status = fit_curve(full, curve, err);
    if (status != STATUS_OK)
        goto out;
    double repeat_sigma = repeat_sigma_of(curve);
    /* Of a dense curve one size of a thousand decides neither the form nor the interval's scale. */
    int dense = n > FIT_MAX_SIZES;
    for (size_t i = 0; i < n; i++) {
        if (p[i].bytes < from_bytes || p[i].bytes > to_bytes)
            continue;
        status = sample_make(s, p, n, i, err);
        if (status != STATUS_OK)
            goto out;
        if (dense) {
            struct cost *f = &full->cost;
            if (form_fit(full->form, s->p, s->n, c, NULL, err) != STATUS_OK)
                continue;
            c->rel_sigma = f->rel_sigma;
            c->point_sigma = f->point_sigma;
            c->extrap_sigma = f->extrap_sigma;
        } else if (decide(s, NULL, 0, trials, c, NULL, repeat_sigma, NULL) < 0) {
            continue;
        }
        struct left_out *o = &out[(*n_out)++];
        *o = (struct left_out){.bytes = p[i].bytes, .us = p[i].us, .interior = i > 0 && i + 1 < n};
        o->predicted_us = cost_latency_us(c, p[i].bytes);
        cost_ci95(c, p[i].bytes, &o->lo_us, &o->hi_us);
        o->loglog_us = loglog_at(p, n, i, p[i].bytes);
        o->line_us = line_at(p, n, i, p[i].bytes);
        for (int k = 0; k < full->n_outliers; k++)
            o->outlier |=
                full->outliers[k].bytes >= p[i].bytes && full->outliers[k].bytes <= p[i].bytes;
    }
out:
    free(s);
    free(trials);
    free(c);
    free(full);
    return status;
}
