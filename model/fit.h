/* Fits of latency against size. Several forms compete (forms.def); the one whose predictions of
 * left-out sizes are best wins, and how all of them did is reported. docs/fit.md derives it.
 *
 * All errors here are relative; residuals are log(measured / predicted). Sizes in bytes, times in
 * us.
 */
#ifndef UPDRAFT_MODEL_FIT_H
#define UPDRAFT_MODEL_FIT_H

#include "model/cost.h"
#include "model/curve.h"
#include "model/err.h"

enum {
    FIT_MIN_SIZES = 3,   /* fewer cannot be fitted and checked */
    FIT_MAX_SIZES = 128, /* what the forms see; a denser curve is gathered into bins first */
    FIT_MAX_OUTLIERS = 16,
    FIT_MAX_STEPS = 16,
};

enum fit_form_id {
#define FORM(id) FIT_##id,
#include "model/forms.def"
#undef FORM
    FIT_FORM_COUNT
};

/* A form of curve. fit() fills form, segments, half_bytes and the knots of *c from n >= min_sizes
 * points (ascending, positive); for tables knot_shape too. STATUS_UNSUPPORTED where the points do
 * not suit the form, STATUS_FAILED where the solver gave up. cov (may be NULL) receives the
 * covariance of alpha and beta of the first segment: {aa, ab, bb}; NaN where there is none. */
struct fit_form {
    const char *id, *doc;
    int min_sizes;
    enum status (*fit)(const struct point *p, int n, struct cost *c, double cov[3],
                       struct err *err);
};
extern const struct fit_form *const fit_forms[FIT_FORM_COUNT];

/* A point that lies off the curve while its neighbours on both sides lie on it. */
enum fit_outlier_kind { FIT_LONE, FIT_PAIR, FIT_COLD };
struct fit_outlier {
    enum fit_outlier_kind kind;
    double bytes, us, expected_us;
    const char *origin; /* borrowed from the point */
    int64_t line;
};

/* A jump of the fitted segments: a protocol, channel or algorithm switch. */
struct fit_step {
    double from_bytes, to_bytes; /* it lies between these two measured sizes */
    double ratio;                /* latency after it over the continuation of what was before */
};

struct fit_contender {
    enum status status;                            /* STATUS_OK: it was fitted */
    double cv_mean_rel_error, cv_median_rel_error; /* one size left out */
    double median_rel_error, max_rel_error;        /* in sample */
};

struct fit {
    struct cost cost;   /* the winner, ready to use */
    char placement[96]; /* of the curve's records */
    enum fit_form_id form;
    struct fit_contender contenders[FIT_FORM_COUNT];
    double
        cov[3]; /* of alpha_us and beta_us_per_byte (cost.segments[0]): {aa, ab, bb}; NaN if none */
    double repeat_sigma; /* relative spread between repeated measurements of a size; NaN if none */
    int n_sizes;
    int n_unusable; /* records of the curve that could not be used (struct curve, skipped) */
    int n_outliers;
    struct fit_outlier outliers[FIT_MAX_OUTLIERS];
    int n_steps;
    struct fit_step steps[FIT_MAX_STEPS];
    double loo_coverage; /* share of left-out sizes inside their 95 % interval */
};

/* Fits a curve. STATUS_UNSUPPORTED with the number of sizes needed where there are too few. The
 * text keys of f->cost come from curve->key. */
enum status fit_curve(struct fit *f, const struct curve *curve, struct err *err);

/* What a prediction of one left-out size was. */
struct left_out {
    double bytes, us;          /* the size that was left out, and what was measured there */
    double predicted_us;       /* by fit_curve of the other sizes, form chosen anew without it */
    double lo_us, hi_us;       /* its 95 % interval */
    double loglog_us, line_us; /* by log-log interpolation and by one straight line, likewise */
    int interior;              /* 1: there are smaller and larger sizes; 0: an extrapolation */
    int outlier;               /* 1: the full fit calls this size an outlier */
};

/* How many standard deviations (of cov) make the 95 % interval of alpha or beta: Student's t with
 * the degrees of freedom that two parameters leave. */
double fit_ci95_factor(const struct fit *f);

/* Leaves each size of [from_bytes, to_bytes] out in turn, everything (outliers, form, interval)
 * decided from the rest. `out` has room for n_points; *n_out are filled. */
enum status fit_leave_one_out(const struct curve *curve, double from_bytes, double to_bytes,
                              struct left_out *out, size_t *n_out, struct err *err);

/* --- Parts, for the forms and for tests ------------------------------------------------------- */

/* Robust (bisquare) straight line through n >= 2 points with relative errors; alpha, beta >= 0. */
enum status fit_line(const struct point *p, int n, double *alpha_us, double *beta_us_per_byte,
                     double cov[3], struct err *err);

/* What lies at `bytes` between p[i] and p[i + 1] of n points: log(us), and half the range of what
 * the left line, the right line and the chord say (log). */
void fit_between(const struct point *p, int n, int i, double bytes, double *log_us,
                 double *half_range);

/* Fills the knots of a table through the points. */
void fit_knots(const struct point *p, int n, struct cost *c);

/* Marks outliers among n points: off[i] = 1 + kind, else 0; expected[i] is set where marked. */
void fit_find_outliers(const struct point *p, int n, unsigned char *off, double *expected_us);

/* "lone", "pair", "cold"; and a sentence that says what was seen. */
const char *fit_outlier_name(enum fit_outlier_kind kind);
const char *fit_outlier_doc(enum fit_outlier_kind kind);

#endif
