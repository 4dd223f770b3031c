#include "traces/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/accept_quantity.h"
#include "traces/command.h"
#include "traces/input.h"
#include "traces/load.h"
#include "traces/run_table.h"

enum { MAX_RUNS = 2000 };

void run_list_release(struct run_list *l)
{
    free(l->v);
    free(l->label);
    *l = (struct run_list){0};
}

static enum status add(struct run_list *l, const struct calibrate_run *r, const char *file,
                       struct err *err)
{
    if (l->n == MAX_RUNS)
        return err_set(err, STATUS_UNSUPPORTED,
                       "more than %d runs: choose some with --where COLUMN=VALUE", MAX_RUNS);
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 32;
        struct calibrate_run *v = realloc(l->v, cap * sizeof *v);
        if (v == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        l->v = v;
        char(*label)[96] = realloc(l->label, cap * sizeof *label);
        if (label == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        l->label = label;
        l->cap = cap;
    }
    const char *slash = strrchr(file, '/');
    char context[32] = "";
    if (!isnan(r->context_tokens) && r->context_tokens > 0)
        snprintf(context, sizeof context, ", context %.0f", r->context_tokens);
    snprintf(l->label[l->n], sizeof *l->label, "%.40s: %d requests, %d drafts%.20s",
             slash ? slash + 1 : file, r->batch, r->num_steps, context);
    l->v[l->n++] = *r;
    return STATUS_OK;
}

/* --- tables ----------------------------------------------------------------------------------- */

static int keep_row(const struct csv *csv, size_t row, const char *const *where, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr(where[i], '=');
        char name[96];
        snprintf(name, sizeof name, "%.*s", (int)(eq - where[i]), where[i]);
        if (strcasecmp(csv_text(csv, row, csv_column(csv, name)), eq + 1) != 0)
            return 0;
    }
    return 1;
}

static enum status check_where(const struct csv *csv, const char *path, const char *const *where,
                               size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr(where[i], '=');
        char name[96];
        if (eq == NULL || eq - where[i] >= (long)sizeof name)
            return err_set(err, STATUS_USAGE, "--where %s: COLUMN=VALUE was expected", where[i]);
        snprintf(name, sizeof name, "%.*s", (int)(eq - where[i]), where[i]);
        if (csv_column(csv, name) < 0)
            return err_set(err, STATUS_UNSUPPORTED, "%s has no column \"%s\"", path, name);
    }
    return STATUS_OK;
}

static int find_set(const struct run_list *l, const char *name)
{
    for (int i = 0; i < l->n_sets; i++)
        if (strcasecmp(l->set[i], name) == 0)
            return i;
    return -1;
}

static enum status add_row(struct run_list *l, const struct run_table *t, size_t row,
                           const char *path, struct err *err)
{
    double batch = run_table_number(t, row, RUN_batch), k = run_table_number(t, row, RUN_num_steps);
    double topk = run_table_number(t, row, RUN_topk),
           m = run_table_number(t, row, RUN_verify_tokens);
    double plain = run_table_number(t, row, RUN_base_tokens_per_s);
    double spec = run_table_number(t, row, RUN_spec_tokens_per_s);
    double other = run_table_tokens_per_s(t, row);
    double context = run_table_number(t, row, RUN_context);
    struct calibrate_run r = {.batch = batch >= 1 && batch <= 65536 ? (int)batch : 1,
                              .topk = topk >= 1 && topk <= 64 ? (int)topk : 1,
                              .set = find_set(l, run_table_text(t, row, RUN_dataset)),
                              .context_tokens = context,
                              .tokens_per_s = plain,
                              .tokens_per_cycle = (double)NAN};
    if (!(k >= 0 && k <= 64))
        k = 0;
    if (isnan(plain) && isnan(spec))
        *(k > 0 ? &spec : &plain) = other;
    enum status status = STATUS_OK;
    if (plain > 0) {
        r.tokens_per_s = plain;
        /* Tables repeat the plain throughput beside each configuration. */
        int known = 0;
        for (size_t i = 0; i < l->n; i++)
            known |=
                l->v[i].num_steps == 0 && l->v[i].batch == r.batch && l->v[i].tokens_per_s == plain;
        if (!known)
            status = add(l, &r, path, err);
    }
    r.tokens_per_cycle = run_table_tokens_per_cycle(t, row);
    if (status == STATUS_OK && k > 0 && (spec > 0 || r.tokens_per_cycle >= 1)) {
        r.num_steps = (int)k;
        r.num_draft_tokens = r.topk > 1 && m >= 2 && m <= 1024 ? (int)m : 0;
        r.tokens_per_s = spec;
        status = add(l, &r, path, err);
    }
    return status;
}

static enum status load_table(struct run_list *l, const struct csv *csv, const char *path,
                              const char *const *where, size_t n_where, struct err *err)
{
    struct run_table t;
    run_table_open(&t, csv);
    enum status status = check_where(csv, path, where, n_where, err);
    for (size_t i = 0; i < csv->n_rows && status == STATUS_OK; i++)
        if (keep_row(csv, i, where, n_where))
            status = add_row(l, &t, i, path, err);
    return status;
}

static int is_run_table(const struct csv *csv)
{
    struct run_table t;
    run_table_open(&t, csv);
    return run_table_has(&t, RUN_base_tokens_per_s) || run_table_has(&t, RUN_spec_tokens_per_s) ||
           (run_table_has(&t, RUN_num_steps) &&
            (run_table_has(&t, RUN_accept_length) || run_table_has(&t, RUN_tokens_per_s) ||
             run_table_has(&t, RUN_tpot_ms) || run_table_has(&t, RUN_user_tokens_per_s)));
}

/* --- traces ----------------------------------------------------------------------------------- */

/* Accept length of a record: printed, from its positions, or from its rate; NaN if none. */
static double accept_length(const struct record *r, int k)
{
    if (r->what == WHAT_acceptance && !isnan(r->value))
        return r->value;
    if (!isnan(r->field[FIELD_accept_length]))
        return r->field[FIELD_accept_length];
    double sum = 1;
    for (int i = 0; i < k && i < 8; i++)
        sum += r->field[FIELD_p1 + i];
    if (k > 0 && k <= 8 && !isnan(sum))
        return sum;
    return 1 + k * r->field[FIELD_accept_rate];
}

static int same(const struct calibrate_run *a, const struct calibrate_run *b)
{
    return a->batch == b->batch && a->num_steps == b->num_steps && a->topk == b->topk &&
           a->num_draft_tokens == b->num_draft_tokens &&
           (a->context_tokens == b->context_tokens ||
            (isnan(a->context_tokens) && isnan(b->context_tokens)));
}

static int whole(double x, double otherwise)
{
    if (!(x >= 0 && x <= 65536))
        x = otherwise;
    return (int)(x + 0.5);
}

static int run_of(const struct record *r, int num_steps, struct calibrate_run *run)
{
    if (r->what == WHAT_forward_pass && r->state[0] == '\0' && r->value > 0 &&
        r->field[FIELD_rows] >= 1 && r->field[FIELD_rows] <= 65536) {
        /* A profile's pass of so many rows is the plain step of as many requests. */
        *run = (struct calibrate_run){.batch = (int)r->field[FIELD_rows],
                                      .topk = 1,
                                      .set = -1,
                                      .context_tokens = r->field[FIELD_context_tokens],
                                      .tokens_per_s = r->field[FIELD_rows] * 1e6 / r->value,
                                      .tokens_per_cycle = (double)NAN};
        return 1;
    }
    if ((r->what != WHAT_server_window && r->what != WHAT_acceptance) || r->state[0] != '\0')
        return 0;
    const double *f = r->field;
    double batch = isnan(f[FIELD_batch]) ? f[FIELD_concurrency] : f[FIELD_batch];
    int speculates = r->what == WHAT_acceptance || !isnan(f[FIELD_accept_length]) ||
                     !isnan(f[FIELD_accept_rate]) || !isnan(f[FIELD_p1]);
    *run = (struct calibrate_run){
        .batch = whole(batch, r->what == WHAT_acceptance ? 1 : 0),
        .set = -1,
        .num_steps = whole(f[FIELD_num_steps], speculates ? num_steps : 0),
        .topk = whole(f[FIELD_topk], 1),
        .context_tokens = f[FIELD_context_tokens],
        .tokens_per_s = r->what == WHAT_server_window && r->value > 0 ? r->value : (double)NAN,
        .tokens_per_cycle = (double)NAN,
    };
    if (run->num_steps > 64 || run->batch < 1)
        return 0;
    if (run->topk > 1)
        run->num_draft_tokens = whole(f[FIELD_num_draft_tokens], 0);
    if (run->num_steps > 0) {
        double length = accept_length(r, run->num_steps);
        if (length >= 1 && length <= run->num_steps + 1.005)
            run->tokens_per_cycle = fmin(length, run->num_steps + 1);
    }
    return run->tokens_per_s > 0 || run->tokens_per_cycle >= 1;
}

/* Windows of one configuration are one run: cycles and tokens add up, so that throughput is their
 * mean and the accept length is weighted by the cycles. */
static enum status load_records(struct run_list *l, const struct records *rs, const char *path,
                                int num_steps, struct err *err)
{
    char *used = calloc(rs->n + 1, 1);
    if (used == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    enum status status = STATUS_OK;
    for (size_t i = 0; i < rs->n && status == STATUS_OK; i++) {
        struct calibrate_run run, other;
        if (used[i] || !run_of(&rs->v[i], num_steps, &run))
            continue;
        double tokens = 0, n_tokens = 0, lengths = 0, cycles = 0;
        for (size_t j = i; j < rs->n; j++) {
            if (used[j] || !run_of(&rs->v[j], num_steps, &other) || !same(&run, &other))
                continue;
            used[j] = 1;
            if (other.tokens_per_s > 0) {
                tokens += other.tokens_per_s;
                n_tokens++;
            }
            if (other.tokens_per_cycle >= 1) {
                double weight =
                    other.tokens_per_s > 0 ? other.tokens_per_s / other.tokens_per_cycle : 1;
                lengths += weight * other.tokens_per_cycle;
                cycles += weight;
            }
        }
        run.tokens_per_s = n_tokens > 0 ? tokens / n_tokens : (double)NAN;
        run.tokens_per_cycle = cycles > 0 ? lengths / cycles : (double)NAN;
        status = add(l, &run, path, err);
    }
    free(used);
    return status;
}

enum status run_list_load(struct run_list *l, const char *path, const char *const *where,
                          size_t n_where, int num_steps, FILE *log, struct err *err)
{
    size_t before = l->n;
    struct csv csv = {0};
    struct err ignored;
    enum status status;
    if (csv_read(&csv, path, &ignored) == STATUS_OK && is_run_table(&csv)) {
        status = load_table(l, &csv, input_name(path), where, n_where, err);
    } else {
        struct trace t = {0};
        status = trace_load(&t, path, log, err);
        if (status == STATUS_OK)
            status = load_records(l, &t.records, path, num_steps, err);
        trace_release(&t);
    }
    csv_release(&csv);
    if (status == STATUS_OK && l->n == before)
        status = err_set(err, STATUS_UNSUPPORTED,
                         "%s: no served run in it; needed are tokens per second by number of "
                         "requests, or accept lengths by draft steps",
                         path);
    return status;
}

/* --- an engine's own figures --------------------------------------------------------------------
 */

static enum status unknown_quantity(const char *text, struct err *err)
{
    char names[700] = "";
    for (int q = 0; q < ACCEPT_QUANTITIES; q++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", q ? ", " : "",
                 accept_quantity_name((enum accept_quantity)q));
    }
    return err_set(err, STATUS_USAGE,
                   "--accept %.100s: QUANTITY=VALUE[,VALUE...][@K] was expected; "
                   "there are %s",
                   text, names);
}

enum status run_list_add_accept(struct run_list *l, const char *text, int num_steps,
                                struct err *err)
{
    char name[64], number[64];
    double value[64];
    int64_t k = num_steps;
    int n = 0;
    size_t len = strcspn(text, "=");
    snprintf(name, sizeof name, "%.*s", (int)(len < 63 ? len : 63), text);
    enum accept_quantity q = accept_quantity_find(name);
    if (q == ACCEPT_QUANTITIES || text[len] != '=')
        return unknown_quantity(text, err);
    const char *p = text + len + 1;
    for (;;) {
        len = strcspn(p, ",@");
        snprintf(number, sizeof number, "%.*s", (int)(len < 63 ? len : 63), p);
        if (n == 64 || parse_double(number, &value[n++]) != 0)
            return unknown_quantity(text, err);
        p += len;
        if (*p != ',')
            break;
        p++;
    }
    if (*p == '@' && (parse_int64(p + 1, &k) != 0 || k < 1 || k > 64))
        return unknown_quantity(text, err);
    int by_position = q == ACCEPT_vllm_per_position || q == ACCEPT_eagle_n_alpha;
    if (by_position)
        k = n;
    if (k < 1 || k > 64 || (n > 1 && !by_position))
        return unknown_quantity(text, err);
    /* Rates by position tell the length of every shorter chain too. */
    enum status status = STATUS_OK;
    for (int steps = by_position ? 1 : (int)k; steps <= k && status == STATUS_OK; steps++) {
        struct accept_reading r = {
            .quantity = q, .value = value, .n_values = n, .num_steps = steps};
        struct calibrate_run run = {.batch = 1,
                                    .num_steps = steps,
                                    .topk = 1,
                                    .set = -1,
                                    .context_tokens = (double)NAN,
                                    .tokens_per_s = (double)NAN};
        status = accept_tokens_per_cycle(&r, &run.tokens_per_cycle, err);
        if (status == STATUS_OK)
            status = add(l, &run, name, err);
    }
    return status;
}
