/* Allreduces priced from a description of the box alone, beside what was measured there: tables
 * that hold a kernel of ours (custom/...) and NCCL at the same box, ranks and size, whatever import
 * made them of. No measurement of the box is used. A label's words make the fabric
 * (model/fabric_words.h); what they do not say is assumed. The measurements on which the
 * assumptions were set are listed in traces/fabrics/assumptions.csv, and whatever equals
 * one of them is reported apart.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/fabric_words.h"
#include "model/synth.h"
#include "traces/backtest.h"
#include "traces/share.h"

/* What no table tells about NCCL: whether its search found a bandwidth, and its transport. */
enum { HYPOTHESES = 4 };
static const struct {
    double search_gb_per_s; /* a channel, at PCIe generation 5; 0.1: failed */
    int p2p;
} hypotheses[HYPOTHESES] = {{20, 1}, {0.1, 1}, {20, 0}, {0.1, 0}};

/* One measurement and its price. */
struct point {
    char label[160], impl[128], about[240];
    int ranks, custom, set_on;
    int given;    /* 1: told, so no case */
    size_t known; /* length of what was known */
    double bytes, us, predicted, low, high, naive;
    double told[HYPOTHESES]; /* NCCL's price under each */
};

struct state {
    struct point *v;
    size_t n, cap;
    struct csv set_on;
    int set_on_read;
    struct fabric *f;
    struct synth *s;
};

static void *begin(void)
{
    struct state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->f = malloc(sizeof *s->f);
    s->s = synth_new();
    if (s->f != NULL && s->s != NULL)
        return s;
    free(s->f);
    synth_free(s->s);
    free(s);
    return NULL;
}

static void end(void *state)
{
    struct state *s = state;
    if (s == NULL)
        return;
    csv_release(&s->set_on);
    free(s->f);
    synth_free(s->s);
    free(s->v);
    free(s);
}

/* What a kernel's own name comes down to, for names that synthesis does not know. */
static const char *priced_as(const struct record *r)
{
    static const struct {
        const char *word, *impl;
    } words[] = {
        {"hier", "custom/hier"},   {"two", "custom/twoshot"},   {"2stage", "custom/twoshot"},
        {"ring", "custom/ring"},   {"fused", "custom/oneshot"}, {"1stage", "custom/oneshot"},
        {"one", "custom/oneshot"},
    };
    /* The kernel of that name publishes, raises flags and loads (b12x, "one-shot pull"). */
    if (strcmp(r->kernel, "pcie_oneshot") == 0)
        return "custom/oneshot-pull";
    /* b12x works with islands of four neighbours; its "hierarchical" has leaders (its sources). */
    if (strstr(r->kernel, "hierarchical") != NULL)
        return r->ranks > 12 ? "custom/leaders:islands=4" : "custom/leaders:islands=2";
    if (strstr(r->kernel, "island") != NULL)
        return r->ranks > 12 ? "custom/hier:islands=4" : "custom/hier:islands=2";
    if (synth_knows(r->impl))
        return r->impl;
    if (strncmp(r->impl, "custom/", 7) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(r->impl, words[i].word) != NULL || strstr(r->kernel, words[i].word) != NULL)
            return words[i].impl;
    return NULL;
}

/* Whether ranks shared a GPU: then the GPU is the box, and no description of one holds. */
static int ranks_share_gpus(const struct record *r)
{
    int ranks, gpus;
    return sscanf(r->placement, "%d ranks on %d GPU", &ranks, &gpus) == 2 && gpus < ranks;
}

static int usable(const struct record *r)
{
    return !ranks_share_gpus(r) && r->what == WHAT_allreduce && r->ranks >= 2 &&
           r->ranks <= FABRIC_MAX_GPUS && r->size_bytes > 0 && record_usable(r) &&
           strstr(r->method, "eager") == NULL && priced_as(r) != NULL &&
           strcmp(r->impl, "nccl/model") != 0;
}

/* Whether the other kind of implementation was measured at the same place. */
static int paired(const struct records *rs, const struct record *r)
{
    int custom = strncmp(r->impl, "nccl/", 5) != 0;
    for (size_t i = 0; i < rs->n; i++) {
        const struct record *o = &rs->v[i];
        if (usable(o) && o->ranks == r->ranks && o->size_bytes == r->size_bytes &&
            (strncmp(o->impl, "nccl/", 5) != 0) != custom && strcmp(o->label, r->label) == 0)
            return 1;
    }
    return 0;
}

static int is_set_on(const struct state *s, const struct record *r)
{
    int ranks = csv_column(&s->set_on, "ranks"), bytes = csv_column(&s->set_on, "bytes");
    int us = csv_column(&s->set_on, "us");
    for (size_t i = 0; i < s->set_on.n_rows; i++)
        if (csv_number(&s->set_on, i, ranks) == r->ranks &&
            csv_number(&s->set_on, i, bytes) == (double)r->size_bytes &&
            fabs(csv_number(&s->set_on, i, us) / r->value - 1) < 0.005)
            return 1;
    return 0;
}

static enum status read_set_on(struct state *s, struct err *err)
{
    if (s->set_on_read)
        return STATUS_OK;
    char *path = share_path("traces/fabrics/assumptions.csv", err);
    if (path == NULL)
        return STATUS_MISSING;
    enum status status = csv_read(&s->set_on, path, err);
    free(path);
    s->set_on_read = status == STATUS_OK;
    return status;
}

static enum status add_point(struct state *s, const struct record *r, struct err *err)
{
    struct fabric_guess g;
    struct synth_estimate e;
    struct err why;
    char words[360];
    snprintf(words, sizeof words, "%s %s", r->label, r->kernel);
    struct synth_query q = {priced_as(r), r->ranks, (double)r->size_bytes, NULL};
    if (fabric_from_words(s->f, words, r->ranks, &g, &why) != STATUS_OK ||
        synth_price(s->s, s->f, &q, &e, &why) != STATUS_OK)
        return STATUS_OK; /* no box that can be priced */
    struct point *p = NULL;
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].us == r->value && s->v[i].ranks == r->ranks &&
            s->v[i].bytes == (double)r->size_bytes &&
            s->v[i].custom == (strncmp(r->impl, "nccl/", 5) != 0)) {
            /* The same number in another table or another column: the fuller description stays. */
            if (strlen(g.known) <= s->v[i].known)
                return STATUS_OK;
            p = &s->v[i];
        }
    if (p == NULL && s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        struct point *v = realloc(s->v, cap * sizeof *v);
        if (v == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        s->v = v;
        s->cap = cap;
    }
    if (p == NULL)
        p = &s->v[s->n++];
    memset(p, 0, sizeof *p);
    p->known = strlen(g.known);
    snprintf(p->label, sizeof p->label, "%s", r->label);
    snprintf(p->impl, sizeof p->impl, "%s", r->impl);
    snprintf(p->about, sizeof p->about, "known: %.100s; assumed: %.120s", g.known, g.assumed);
    p->ranks = r->ranks;
    p->bytes = (double)r->size_bytes;
    p->us = r->value;
    p->custom = strncmp(r->impl, "nccl/", 5) != 0;
    p->set_on = is_set_on(s, r);
    p->predicted = e.us;
    p->low = e.low_us;
    p->high = e.high_us;
    for (int h = 0; h < HYPOTHESES; h++) {
        p->told[h] = e.us;
        fabric_assumed(s->f, FABRIC_nccl_search_gb_per_s, hypotheses[h].search_gb_per_s,
                       hypotheses[h].search_gb_per_s, hypotheses[h].search_gb_per_s);
        fabric_assumed(s->f, FABRIC_nccl_p2p, hypotheses[h].p2p, hypotheses[h].p2p,
                       hypotheses[h].p2p);
        if (!p->custom && synth_price(s->s, s->f, &q, &e, &why) == STATUS_OK)
            p->told[h] = e.us;
    }
    p->naive = 10 + (p->custom ? r->ranks - 1 : 2.0 * (r->ranks - 1) / r->ranks) * p->bytes / 50e3;
    return STATUS_OK;
}

static enum status take(void *state, struct backtest_file *file, int *taken, struct err *err)
{
    struct state *s = state;
    const struct trace *t = backtest_trace(file);
    enum status status = STATUS_OK;
    size_t before = s->n;
    *taken = 0;
    for (size_t i = 0; t != NULL && i < t->records.n && status == STATUS_OK; i++) {
        const struct record *r = &t->records.v[i];
        if (!usable(r) || !paired(&t->records, r))
            continue;
        status = read_set_on(s, err);
        if (status == STATUS_OK)
            status = add_point(s, r, err);
    }
    *taken = s->n > before;
    return status;
}

static const char naive_formula[] = "10 us + wire bytes at 50 GB/s";

static void start(struct backtest_result *r, int set_on, const char *target)
{
    snprintf(r->table, sizeof r->table, "allreduces priced from a box's description%s",
             set_on ? " (where assumptions were set)" : "");
    snprintf(r->target, sizeof r->target, "%s", target);
    snprintf(r->fitted_on, sizeof r->fitted_on, "%s",
             set_on ? "assumptions were set on these points"
                    : "nothing of these boxes; assumptions: traces/fabrics/assumptions.csv");
    r->fitted_parameters = 0;
    r->n_naive = 1;
    snprintf(r->naive[0].formula, sizeof r->naive[0].formula, "%s", naive_formula);
}

static enum status no_memory(struct err *err)
{
    return err_set(err, STATUS_FAILED, "out of memory");
}

static enum status latencies(const struct state *s, int set_on, struct backtest_results *rs,
                             struct err *err)
{
    struct backtest_result *r = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const struct point *p = &s->v[i];
        if (p->set_on != set_on || p->given)
            continue;
        if (r == NULL && (r = backtest_add(rs)) == NULL)
            return no_memory(err);
        if (r->cases++ == 0)
            start(r, set_on, "latency of custom kernels and of NCCL");
        struct backtest_case c = {.error = fabs(p->predicted / p->us - 1),
                                  .naive_error = fabs(p->naive / p->us - 1),
                                  .measured = p->us,
                                  .predicted = p->predicted,
                                  .low = p->low,
                                  .high = p->high};
        snprintf(c.name, sizeof c.name, "%.40s, %d ranks, %.0f B, %.24s; %.130s", p->label,
                 p->ranks, p->bytes, p->impl, p->about);
        if (backtest_add_case(r, &c) != 0)
            return no_memory(err);
    }
    return r == NULL || backtest_summarise_cases(r) == 0 ? STATUS_OK : no_memory(err);
}

/* NCCL's point of the same place, or NULL. */
static const struct point *nccl_of(const struct state *s, const struct point *p)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].custom && s->v[i].ranks == p->ranks && s->v[i].bytes == p->bytes &&
            strcmp(s->v[i].label, p->label) == 0)
            return &s->v[i];
    return NULL;
}

/* Custom against NCCL: was the faster one named? The error is that of the ratio of the two. */
static enum status signs(const struct state *s, int set_on, struct backtest_results *rs,
                         struct err *err)
{
    struct backtest_result *r = NULL;
    double right = 0, naive_right = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct point *p = &s->v[i], *n = p->custom ? nccl_of(s, p) : NULL;
        if (n == NULL || p->set_on != set_on || (p->given && n->given))
            continue;
        if (r == NULL && (r = backtest_add(rs)) == NULL)
            return no_memory(err);
        if (r->cases++ == 0)
            start(r, set_on, "custom over NCCL, and which is faster");
        int gain = p->us < n->us;
        right += (p->predicted < n->predicted) == gain;
        naive_right += (p->naive < n->naive) == gain;
        double ratio = p->us / n->us;
        struct backtest_case c = {.error = fabs(p->predicted / n->predicted / ratio - 1),
                                  .naive_error = fabs(p->naive / n->naive / ratio - 1),
                                  .measured = ratio,
                                  .predicted = p->predicted / n->predicted,
                                  .low = NAN,
                                  .high = NAN};
        snprintf(c.name, sizeof c.name, "%.40s, %d ranks, %.0f B, %.24s%s; %.120s", p->label,
                 p->ranks, p->bytes, p->impl,
                 (p->predicted < n->predicted) == gain ? "" : ", WRONG SIGN", p->about);
        if (backtest_add_case(r, &c) != 0)
            return no_memory(err);
    }
    if (r == NULL)
        return STATUS_OK;
    if (backtest_summarise_cases(r) != 0)
        return no_memory(err);
    r->errors.sign_accuracy = right / (double)r->cases;
    r->naive[0].sign_accuracy = naive_right / (double)r->cases;
    return STATUS_OK;
}

/* --- Crossovers ---------------------------------------------------------------------------------
 */

/* The size up to which custom wins, if one size has to be named: the border, in the middle between
 * two measured sizes, that puts the fewest points on the wrong side. 0 or infinity where all points
 * are on one side. */
static double border(const struct point *const *custom, const struct point *const *nccl, int n,
                     int predicted)
{
    double best = 0;
    int fewest = n + 1;
    for (int k = 0; k <= n; k++) {
        int wrong = 0;
        for (int i = 0; i < n; i++) {
            double a = predicted ? custom[i]->predicted : custom[i]->us;
            double b = predicted ? nccl[i]->predicted : nccl[i]->us;
            wrong += (a < b) != (i < k);
        }
        if (wrong < fewest) {
            fewest = wrong;
            best = k == 0 ? 0 : k == n ? 1e300 : sqrt(custom[k - 1]->bytes * custom[k]->bytes);
        }
    }
    return best;
}

enum { MOST_SIZES = 64 };

/* Boxes and kernels with three or more sizes. A border beyond the measured sizes only says that it
 * is beyond; it is right where the other border is within a factor of two of that end, or beyond
 * too. */
static enum status crossovers(const struct state *s, int set_on, struct backtest_results *rs,
                              struct err *err)
{
    struct backtest_result *r = NULL;
    double right = 0;
    for (size_t first = 0; first < s->n; first++) {
        const struct point *custom[MOST_SIZES], *nccl[MOST_SIZES], *p = &s->v[first];
        int n = 0, later = 0;
        for (size_t i = 0; i < s->n && n < MOST_SIZES; i++) {
            const struct point *o = &s->v[i], *other = o->custom ? nccl_of(s, o) : NULL;
            if (other == NULL || o->set_on != set_on || o->ranks != p->ranks ||
                strcmp(o->label, p->label) != 0 || strcmp(o->impl, p->impl) != 0)
                continue;
            later |= i < first;
            int at = n++;
            for (; at > 0 && custom[at - 1]->bytes > o->bytes; at--)
                custom[at] = custom[at - 1], nccl[at] = nccl[at - 1];
            custom[at] = o;
            nccl[at] = other;
        }
        if (n < 3 || later || !p->custom)
            continue;
        if (r == NULL && (r = backtest_add(rs)) == NULL)
            return no_memory(err);
        if (r->cases++ == 0)
            start(r, set_on, "crossover of custom and NCCL (sign accuracy: within a factor of 2)");
        double least = custom[0]->bytes, most = custom[n - 1]->bytes;
        double m = fmin(fmax(border(custom, nccl, n, 0), least), most);
        double v = fmin(fmax(border(custom, nccl, n, 1), least), most);
        int good = fmax(m / v, v / m) <= 2.0 * (1 + 1e-9);
        right += good;
        struct backtest_case c = {.error = fabs(v / m - 1),
                                  .naive_error = fabs(65536 / m - 1),
                                  .measured = m,
                                  .predicted = v,
                                  .low = NAN,
                                  .high = NAN};
        snprintf(c.name, sizeof c.name, "%.40s, %d ranks, %.20s%s; %.100s", p->label, p->ranks,
                 p->impl, good ? "" : ", BEYOND A FACTOR OF 2", p->about);
        if (backtest_add_case(r, &c) != 0)
            return no_memory(err);
    }
    if (r == NULL)
        return STATUS_OK;
    if (backtest_summarise_cases(r) != 0)
        return no_memory(err);
    snprintf(r->naive[0].formula, sizeof r->naive[0].formula, "64 KiB everywhere");
    r->errors.sign_accuracy = right / (double)r->cases;
    return STATUS_OK;
}

/* The hypothesis that a box's own NCCL numbers speak for. */
static int told_by(const struct state *s, const struct point *p)
{
    double least = INFINITY;
    int best = 0;
    for (int h = 0; h < HYPOTHESES; h++) {
        double off = 0;
        for (size_t i = 0; i < s->n; i++)
            if (!s->v[i].custom && s->v[i].ranks == p->ranks &&
                strcmp(s->v[i].label, p->label) == 0)
                off += fabs(log(s->v[i].told[h] / s->v[i].us));
        if (off < least) {
            least = off;
            best = h;
        }
    }
    return best;
}

/* Moves a whole curve by what its smallest size is off: the floor of its launches and latencies. */
static void tell_floor(struct state *s)
{
    double *moved = calloc(s->n, sizeof *moved);
    for (size_t i = 0; i < s->n && moved != NULL; i++) {
        const struct point *least = &s->v[i];
        for (size_t k = 0; k < s->n; k++)
            if (s->v[k].ranks == least->ranks && s->v[k].bytes < least->bytes &&
                strcmp(s->v[k].label, s->v[i].label) == 0 &&
                strcmp(s->v[k].impl, s->v[i].impl) == 0)
                least = &s->v[k];
        moved[i] = s->v[i].predicted + least->us - least->predicted;
        s->v[i].given = least == &s->v[i];
    }
    for (size_t i = 0; i < s->n && moved != NULL; i++)
        s->v[i].predicted = fmax(moved[i], 0.5);
    free(moved);
}

/* The same again where more is known, so that it shows how much of the error is missing knowledge:
 * what NCCL's search found and which transport it took, read off each box's own NCCL numbers, one
 * of four; and the latency of each curve's smallest size, which a minute's measurement gives. */
static enum status finish_told(struct state *s, struct backtest_results *rs, struct err *err)
{
    for (size_t i = 0; i < s->n; i++) {
        if (!s->v[i].custom)
            s->v[i].predicted = s->v[i].told[told_by(s, &s->v[i])];
        s->v[i].low = s->v[i].high = NAN;
    }
    size_t first = rs->n;
    tell_floor(s);
    enum status status = latencies(s, 0, rs, err);
    if (status == STATUS_OK)
        status = signs(s, 0, rs, err);
    if (status == STATUS_OK)
        status = crossovers(s, 0, rs, err);
    for (size_t i = first; i < rs->n; i++) {
        snprintf(rs->v[i].table, sizeof rs->v[i].table,
                 "allreduces priced from a box's description, each curve's smallest size told");
        snprintf(rs->v[i].fitted_on, sizeof rs->v[i].fitted_on,
                 "each curve's smallest size, and one of four states of NCCL a box");
        rs->v[i].fitted_parameters = 2;
    }
    return status;
}

static enum status finish(void *state, struct backtest_results *rs, struct err *err)
{
    struct state *s = state;
    enum status status = STATUS_OK;
    for (int set_on = 0; set_on < 2 && status == STATUS_OK; set_on++) {
        status = latencies(s, set_on, rs, err);
        if (status == STATUS_OK)
            status = signs(s, set_on, rs, err);
        if (status == STATUS_OK)
            status = crossovers(s, set_on, rs, err);
    }
    return status == STATUS_OK ? finish_told(s, rs, err) : status;
}

const struct backtest backtest_synthesis = {
    .id = "synthesis",
    .doc = "custom kernels and NCCL side by side: both priced from the words about the box",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
