/* Ranking backtests: variants of an allreduce in a served model, pairs of implementations by number
 * of requests, and sequences of steps, ordered from what was known before each.
 *
 * Recognised by columns: `variant` with throughputs by number of requests (..._c1, c32_tok_s);
 * `concurrency` with two ..._tok_s columns, and microbenchmarks of the same two in a table of bytes
 * and ..._us columns; `order` and `optimization` with milliseconds or throughput after each step.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/model_io.h"
#include "traces/share.h"
#include "traces/story.h"

enum { MAX_TABLES = 16, MAX_MICRO = 64, NAME = 96 };

/* The shape of the models in such tables where they do not say it. */
static const double hidden_bytes = 7168 * 2, small_hidden_bytes = 4096 * 2;
static const double allreduces = 122;
/* What is saved in a served step, over what a microbenchmark promises: centre of 0.65-1.74. */
static const double insitu = 1.06, insitu_sigma = 0.25;

struct micro {
    char file[NAME];
    int n, n_columns;
    char column[4][48];
    double bytes[MAX_MICRO], us[4][MAX_MICRO];
};

struct pairs_table {
    char file[NAME], stem[2][48];
    int n;
    double concurrency[MAX_MICRO], tok_s[2][MAX_MICRO];
};

struct state {
    struct costs costs; /* of eight GPUs on PCIe, from the recordings that ship */
    struct story_points variants[MAX_TABLES], steps[MAX_TABLES];
    char variants_file[MAX_TABLES][NAME], steps_file[MAX_TABLES][NAME];
    int n_variants, n_steps, n_micro, n_pairs;
    struct micro micro[MAX_TABLES];
    struct pairs_table pairs[MAX_TABLES];
};

static void end(void *state)
{
    struct state *s = state;
    if (s == NULL)
        return;
    for (int i = 0; i < MAX_TABLES; i++) {
        story_points_release(&s->variants[i]);
        story_points_release(&s->steps[i]);
    }
    costs_release(&s->costs);
    free(s);
}

static void *begin(void)
{
    return calloc(1, sizeof(struct state));
}

static enum status load_costs(struct state *s, struct err *err)
{
    if (s->costs.n > 0)
        return STATUS_OK;
    char *path = share_path("traces/recorded/rtx_pro_6000_8gpu_switches.jsonl", err);
    if (path == NULL)
        return STATUS_MISSING;
    enum status status = costs_load(&s->costs, path, NULL, err);
    free(path);
    return status;
}

static void lower(char *to, size_t cap, const char *text)
{
    size_t n = 0;
    for (; text[n] != '\0' && n + 1 < cap; n++)
        to[n] = (char)tolower((unsigned char)text[n]);
    to[n] = '\0';
}

/* --- Variants of an allreduce
 * ---------------------------------------------------------------------- */

enum family { FAMILY_NCCL, FAMILY_ONESHOT, FAMILY_FUSION };

struct variant {
    int known; /* the words say which allreduce it is */
    enum family family;
    int peers;           /* GPUs reach each other's memory */
    int nccl_off_peers;  /* NCCL is told not to use that */
    double cutoff_bytes; /* 0: not said */
};

/* "56k", "<=56KB": a number of kibibytes. */
static double kibibytes(const char *text)
{
    for (const char *p = text; *p != '\0'; p++)
        if (isdigit((unsigned char)*p) && (p == text || !isalnum((unsigned char)p[-1]))) {
            char *rest;
            double x = strtod(p, &rest);
            if (*rest == 'k' && x >= 1)
                return x * 1024;
            p = rest - 1;
        }
    return 0;
}

static struct variant parse_variant(const char *text)
{
    static const char *const oneshot[] = {"custom ar on", "oneshot", "one-shot", "stage1",
                                          "split barrier"};
    struct variant v = {.peers = 1, .cutoff_bytes = kibibytes(text)};
    v.known = strstr(text, "nccl") != NULL || strstr(text, "custom ar off") != NULL;
    for (size_t i = 0; i < sizeof oneshot / sizeof oneshot[0]; i++)
        if (strstr(text, oneshot[i]) != NULL) {
            v.family = FAMILY_ONESHOT;
            v.known = 1;
        }
    if (strstr(text, "ar fusion") != NULL || strstr(text, "allreduce fusion") != NULL) {
        v.family = FAMILY_FUSION;
        v.known = 1;
    }
    if (strstr(text, "no forcep2p") != NULL || strstr(text, "no p2p") != NULL)
        v.peers = 0;
    v.nccl_off_peers = strstr(text, "p2p off") != NULL;
    return v;
}

/* Microseconds of one allreduce and the standard deviation of its log. Without peer access a custom
 * kernel's loads go through the host, 15 times as slow (rtx6kpro: 242 against 16 us); what NCCL
 * makes of a driver without it differs by box. */
static double variant_us(const struct state *s, const struct variant *v, double bytes,
                         double *sigma)
{
    const struct cost *nccl = costs_find(&s->costs, "allreduce", "nccl/ring/ll", 8);
    const struct cost *custom = costs_find(&s->costs, "allreduce", "custom/oneshot", 8);
    double by_nccl = cost_latency_us(nccl, bytes), by_custom = cost_latency_us(custom, bytes);
    *sigma = 0.15;
    if (v->family == FAMILY_NCCL || (v->cutoff_bytes > 0 && bytes > v->cutoff_bytes)) {
        if (!v->peers && !v->nccl_off_peers) {
            *sigma = 0.3;
            return by_nccl * 1.3;
        }
        return by_nccl;
    }
    *sigma = 0.3;
    if (!v->peers)
        return by_custom * 15;
    if (v->cutoff_bytes > 0)
        return by_custom;
    /* Nobody said where it goes back to NCCL: perhaps at the right size, perhaps too late. */
    double best = fmin(by_custom, by_nccl);
    if (v->family == FAMILY_FUSION)
        return best;
    *sigma = fmax(0.3, 0.5 * log(by_custom / best));
    return 0.5 * (best + by_custom);
}

/* Throughput of a variant over that of the baseline at `rows` rows of `requests` requests, when the
 * baseline's tokens/s are known. */
static double variant_ratio(const struct state *s, const struct variant *base,
                            const struct variant *v, double requests, double rows_each,
                            double tok_s, double *sigma)
{
    static const double tokens[] = {1, 1.6, 2.05,
                                    2.4}; /* of 1-4 rows at an acceptance of 0.6-0.8 */
    double bytes = requests * rows_each * hidden_bytes, sigma_base, sigma_v;
    double step_us = requests * tokens[(int)rows_each - 1] * 1e6 / tok_s;
    double saved = allreduces * insitu *
                   (variant_us(s, base, bytes, &sigma_base) - variant_us(s, v, bytes, &sigma_v));
    double us = fmax(step_us - saved, 0.2 * step_us);
    double uncertain = allreduces * insitu *
                       hypot(sigma_base * variant_us(s, base, bytes, &sigma_base),
                             sigma_v * variant_us(s, v, bytes, &sigma_v));
    *sigma = hypot(uncertain, insitu_sigma * saved) / us;
    return step_us / us;
}

/* A column of throughputs by requests: "c1_tok_s", "decode_16k_c16": the number behind the c. */
static double requests_of(const char *header)
{
    char name[NAME];
    lower(name, sizeof name, header);
    static const char *const others[] = {"prefill", "accept", "rate", "ttft", "tpot", "itl", "_ms"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strstr(name, others[i]) != NULL)
            return (double)NAN;
    for (const char *p = name; (p = strchr(p, 'c')) != NULL; p++)
        if ((p == name || p[-1] == '_') && isdigit((unsigned char)p[1])) {
            char *rest;
            double x = strtod(p + 1, &rest);
            if (*rest == '_' || *rest == '\0')
                return x;
        }
    return (double)NAN;
}

static void variant_text(const struct csv *t, size_t row, char *name, size_t cap)
{
    static const char *const columns[] = {"mode", "driver", "variant"};
    char text[240] = "";
    for (int i = 0; i < 3; i++) {
        const char *cell = csv_text(t, row, csv_column(t, columns[i]));
        size_t n = strlen(text);
        if (cell[0] != '\0')
            snprintf(text + n, sizeof text - n, "%s%.70s", n ? ", " : "", cell);
    }
    snprintf(name, cap, "%s", text);
}

static int take_point(struct state *s, struct story_points *points, const struct csv *t, int column,
                      double requests)
{
    char text[240], words[240];
    size_t base_row = t->n_rows;
    for (size_t row = 0; row < t->n_rows && base_row == t->n_rows; row++) {
        variant_text(t, row, text, sizeof text);
        lower(words, sizeof words, text);
        struct variant v = parse_variant(words);
        if (v.known && v.family == FAMILY_NCCL && !v.nccl_off_peers &&
            csv_number(t, row, column) > 0)
            base_row = row;
    }
    /* Without a plain NCCL cell the first known one is what was measured. */
    for (size_t row = 0; row < t->n_rows && base_row == t->n_rows; row++) {
        variant_text(t, row, text, sizeof text);
        lower(words, sizeof words, text);
        if (parse_variant(words).known && csv_number(t, row, column) > 0)
            base_row = row;
    }
    if (base_row == t->n_rows)
        return 0;
    variant_text(t, base_row, text, sizeof text);
    lower(words, sizeof words, text);
    struct variant base = parse_variant(words);
    double tok_s = csv_number(t, base_row, column);
    struct story_point *p = story_points_add(points);
    if (p == NULL)
        return -1;
    snprintf(p->name, sizeof p->name, "%.80s", t->header[column]);
    p->noise = story_noise(requests);
    for (size_t k = 0; k < t->n_rows; k++) {
        size_t row = k == 0 ? base_row : k <= base_row ? k - 1 : k;
        double measured = csv_number(t, row, column);
        variant_text(t, row, text, sizeof text);
        lower(words, sizeof words, text);
        struct variant v = parse_variant(words);
        struct story_choice *c = measured > 0 && v.known ? story_choice_add(p) : NULL;
        if (c == NULL)
            continue;
        snprintf(c->name, sizeof c->name, "%.90s", text);
        /* Rows a request: said to be one, or not said: one to four alike. */
        int most = strstr(words, "no mtp") != NULL || strstr(words, "no spec") != NULL ? 1 : 4;
        double sum = 0, square = 0, sigmas = 0;
        for (int m = 1; m <= most; m++) {
            double sigma, x = log(variant_ratio(s, &base, &v, requests, m, tok_s, &sigma));
            sum += x / most;
            square += x * x / most;
            sigmas += sigma / most;
        }
        c->measured = measured;
        c->predicted = tok_s * exp(sum);
        c->sigma = row == base_row ? 0 : hypot(sigmas, sqrt(fmax(square - sum * sum, 0)));
    }
    return 0;
}

static enum status take_variants(struct state *s, const struct csv *t, const char *file, int *taken,
                                 struct err *err)
{
    enum status status = load_costs(s, err);
    if (status != STATUS_OK || s->n_variants == MAX_TABLES)
        return status;
    struct story_points *points = &s->variants[s->n_variants];
    for (int c = 0; c < t->n_columns; c++) {
        double requests = requests_of(t->header[c]);
        if (requests >= 1 && take_point(s, points, t, c, requests) != 0)
            return err_set(err, STATUS_FAILED, "out of memory");
    }
    if (points->n == 0)
        return STATUS_OK;
    snprintf(s->variants_file[s->n_variants++], NAME, "%s", file);
    *taken = 1;
    return STATUS_OK;
}

/* --- Pairs by number of requests
 * -------------------------------------------------------------------- */

static int ends_with(const char *text, const char *tail)
{
    size_t n = strlen(text), m = strlen(tail);
    return n > m && strcmp(text + n - m, tail) == 0;
}

static void take_micro(struct state *s, const struct csv *t, const char *file)
{
    int bytes = csv_column(t, "bytes");
    if (bytes < 0 || s->n_micro == MAX_TABLES)
        return;
    struct micro *m = &s->micro[s->n_micro];
    *m = (struct micro){0};
    snprintf(m->file, sizeof m->file, "%s", file);
    int columns[4];
    for (int c = 0; c < t->n_columns && m->n_columns < 4; c++)
        if (ends_with(t->header[c], "_us")) {
            lower(m->column[m->n_columns], sizeof m->column[0], t->header[c]);
            columns[m->n_columns++] = c;
        }
    if (m->n_columns < 2)
        return;
    for (size_t row = 0; row < t->n_rows && m->n < MAX_MICRO; row++) {
        m->bytes[m->n] = csv_number(t, row, bytes);
        for (int c = 0; c < m->n_columns; c++)
            m->us[c][m->n] = csv_number(t, row, columns[c]);
        if (m->bytes[m->n] > 0)
            m->n++;
    }
    if (m->n >= 3)
        s->n_micro++;
}

static void take_pairs(struct state *s, const struct csv *t, const char *file, int *taken)
{
    int at = csv_column(t, "concurrency"), columns[2], n = 0;
    if (at < 0 || s->n_pairs == MAX_TABLES)
        return;
    struct pairs_table *p = &s->pairs[s->n_pairs];
    *p = (struct pairs_table){0};
    for (int c = 0; c < t->n_columns; c++) {
        if (!ends_with(t->header[c], "_tok_s"))
            continue;
        if (n == 2)
            return;
        lower(p->stem[n], sizeof p->stem[n], t->header[c]);
        p->stem[n][strlen(p->stem[n]) - strlen("_tok_s")] = '\0';
        columns[n++] = c;
    }
    if (n != 2 || (strstr(p->stem[0], "nccl") == NULL) == (strstr(p->stem[1], "nccl") == NULL))
        return;
    for (size_t row = 0; row < t->n_rows && p->n < MAX_MICRO; row++) {
        p->concurrency[p->n] = csv_number(t, row, at);
        for (int k = 0; k < 2; k++)
            p->tok_s[k][p->n] = csv_number(t, row, columns[k]);
        if (p->concurrency[p->n] >= 1 && p->tok_s[0][p->n] > 0 && p->tok_s[1][p->n] > 0)
            p->n++;
    }
    if (p->n == 0)
        return;
    snprintf(p->file, sizeof p->file, "%s", file);
    s->n_pairs++;
    *taken = 1;
}

/* Log-log between sizes; a lone point far above both its neighbours is an outlier and left out. */
static double micro_us(const struct micro *m, int column, double bytes)
{
    double x[MAX_MICRO], y[MAX_MICRO];
    int n = 0;
    for (int i = 0; i < m->n; i++) {
        double us = m->us[column][i];
        int lone = i > 0 && i + 1 < m->n && us > 2 * m->us[column][i - 1] &&
                   us > 1.5 * m->us[column][i + 1];
        if (!(us > 0) || lone)
            continue;
        x[n] = log(m->bytes[i]);
        y[n++] = log(us);
    }
    if (n < 2)
        return (double)NAN;
    int i = 0;
    while (i + 2 < n && log(bytes) > x[i + 1])
        i++;
    double at = log(bytes) < x[0] ? x[0] : log(bytes);
    return exp(y[i] + (y[i + 1] - y[i]) * (at - x[i]) / (x[i + 1] - x[i]));
}

static int micro_column(const struct micro *m, const char *stem)
{
    for (int c = 0; c < m->n_columns; c++)
        if (strstr(m->column[c], stem) != NULL)
            return c;
    return -1;
}

static enum status report_pairs(const struct state *s, struct backtest_results *rs, struct err *err)
{
    for (int i = 0; i < s->n_pairs; i++) {
        const struct pairs_table *t = &s->pairs[i];
        const int base = strstr(t->stem[0], "nccl") != NULL ? 0 : 1;
        struct story_points points = {0};
        for (int k = 0; k < s->n_micro && points.n == 0; k++) {
            const struct micro *m = &s->micro[k];
            int columns[2] = {micro_column(m, t->stem[0]), micro_column(m, t->stem[1])};
            for (int row = 0; row < t->n && columns[0] >= 0 && columns[1] >= 0; row++) {
                struct story_point *p = story_points_add(&points);
                if (p == NULL)
                    return err_set(err, STATUS_FAILED, "out of memory");
                double c = t->concurrency[row], tok_s = t->tok_s[base][row], log_ratio = 0;
                snprintf(p->name, sizeof p->name, "%g requests", c);
                p->noise = story_noise(c);
                for (int h = 0; h < 2; h++) {
                    double bytes = c * (h ? hidden_bytes : small_hidden_bytes);
                    double saved =
                        allreduces * insitu *
                        (micro_us(m, columns[base], bytes) - micro_us(m, columns[1 - base], bytes));
                    log_ratio -= 0.5 * log(fmax(1 - saved * tok_s / (c * 1e6), 0.2));
                }
                for (int j = 0; j < 2; j++) {
                    struct story_choice *choice = story_choice_add(p);
                    int which = j == 0 ? base : 1 - base;
                    snprintf(choice->name, sizeof choice->name, "%s", t->stem[which]);
                    choice->measured = t->tok_s[which][row];
                    choice->predicted = tok_s * exp(j == 0 ? 0 : log_ratio);
                    choice->sigma = j == 0 ? 0 : fabs(log_ratio) * insitu_sigma + 0.005;
                }
            }
        }
        enum status status =
            points.n == 0
                ? STATUS_OK
                : story_report(rs, &points, t->file,
                               "tokens/s of each implementation by number of requests",
                               "nothing: microbenchmarks, and the other one's tokens/s", err);
        story_points_release(&points);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* --- Sequences of steps
 * ------------------------------------------------------------------------------ */

static const struct {
    const char *words;
    double gain_percent;
} known_steps[] = {
#define STORY_STEP(id, words, gain, source) {words, gain},
#include "traces/story_words.def"
#undef STORY_STEP
};

static int has_word(const char *text, const char *words)
{
    char one[64];
    for (const char *p = words; *p != '\0'; p += strcspn(p, "|"), p += *p == '|') {
        size_t n = strcspn(p, "|");
        snprintf(one, sizeof one, "%.*s", (int)n, p);
        if (strstr(text, one) != NULL)
            return 1;
    }
    return 0;
}

/* Milliseconds a token that a step saves, from the milliseconds before it; NaN where nothing was
 * known. `drafts` counts the draft tokens that are in place. */
static double step_saving(const char *text, double ms, int *drafts)
{
    /* Speculation: its tokens per cycle were counted apart (1.92, 2.58, 2.82, 2.99 for 1-4); a
     * cycle costs 5-60 % more than a plain step. */
    static const double tokens[] = {1, 1.92, 2.58, 2.82, 2.99};
    const char *mtp = strstr(text, "mtp");
    if (mtp != NULL && isdigit((unsigned char)mtp[3])) {
        int k = mtp[3] - '0';
        double e = k >= 1 && k <= 4 && *drafts == 0 ? tokens[k] : (double)NAN;
        *drafts = k;
        return ms * (1 - 1.3 / e);
    }
    if (strstr(text, "allreduce") != NULL && strstr(text, "fuse") != NULL) {
        /* 13.5 -> 8.7 us of an allreduce and the norm behind it, 122 of them a cycle. */
        return 122 * (13.5 - 8.7) / 1e3 / tokens[*drafts <= 4 ? *drafts : 4];
    }
    double gain = (double)NAN;
    for (size_t i = 0; i < sizeof known_steps / sizeof known_steps[0]; i++)
        if (has_word(text, known_steps[i].words)) {
            if (!isnan(gain))
                return (double)NAN;
            gain = known_steps[i].gain_percent;
        }
    return ms * (1 - 1 / (1 + gain / 100));
}

static enum status take_steps(struct state *s, const struct csv *t, const char *file, int *taken,
                              struct err *err)
{
    int text_column = csv_column(t, "optimization"), ms_column = csv_column(t, "ms_per_token");
    int tps = -1, drafts = 0;
    for (int c = 0; c < t->n_columns && tps < 0; c++)
        if (strstr(t->header[c], "cumulative") != NULL)
            tps = c;
    if (text_column < 0 || (ms_column < 0 && tps < 0) || s->n_steps == MAX_TABLES)
        return STATUS_OK;
    struct story_points *points = &s->steps[s->n_steps];
    struct story_point *p = story_points_add(points);
    if (p == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    snprintf(p->name, sizeof p->name, "ms a token saved");
    p->noise = 0.05; /* of a saving, which is a difference */
    p->absolute = 1;
    double before = (double)NAN;
    for (size_t row = 0; row < t->n_rows; row++) {
        double ms = ms_column >= 0 ? csv_number(t, row, ms_column) : 1e3 / csv_number(t, row, tps);
        char text[160];
        lower(text, sizeof text, csv_text(t, row, text_column));
        double saving = step_saving(text, before, &drafts);
        if (saving > 0 && before - ms > 0) {
            struct story_choice *c = story_choice_add(p);
            if (c != NULL) {
                snprintf(c->name, sizeof c->name, "%.90s", text);
                c->predicted = saving;
                c->measured = before - ms;
                c->sigma = 0.5;
            }
        }
        if (ms > 0)
            before = ms;
    }
    if (p->n < 2)
        return STATUS_OK;
    snprintf(s->steps_file[s->n_steps++], NAME, "%s", file);
    *taken = 1;
    return STATUS_OK;
}

static enum status take(void *state, struct backtest_file *f, int *taken, struct err *err)
{
    struct state *s = state;
    *taken = 0;
    const struct csv *t = backtest_csv(f);
    if (t == NULL)
        return STATUS_OK;
    if (csv_has(t, "order optimization"))
        return take_steps(s, t, f->name, taken, err);
    if (csv_has(t, "variant"))
        return take_variants(s, t, f->name, taken, err);
    take_micro(s, t, f->name);
    take_pairs(s, t, f->name, taken);
    return STATUS_OK;
}

static enum status finish(void *state, struct backtest_results *rs, struct err *err)
{
    const struct state *s = state;
    enum status status = report_pairs(s, rs, err);
    for (int i = 0; i < s->n_variants && status == STATUS_OK; i++)
        status = story_report(rs, &s->variants[i], s->variants_file[i],
                              "order of an allreduce's variants, tokens/s",
                              "nothing: one variant's tokens/s is known", err);
    for (int i = 0; i < s->n_steps && status == STATUS_OK; i++)
        status = story_report(rs, &s->steps[i], s->steps_file[i],
                              "order of steps by the milliseconds they save, inputs disclosed",
                              "nothing: gains of such steps in another sequence", err);
    return status;
}

const struct backtest backtest_stories = {
    .id = "stories",
    .doc = "the order of optimizations in published step-by-step stories",
    .begin = begin,
    .take = take,
    .finish = finish,
    .end = end,
};
