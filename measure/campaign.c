#include "measure/campaign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/monitor.h"
#include "measure/stats.h"

enum { MAX_FAILURES = 2, MAX_VERIFIED = 64 };

/* A variant while its group is measured. */
struct live {
    int variant;
    struct session session;
    int failures; /* in a row */
    int given_up;
    int64_t memory_bytes;
    int memory_known; /* its record is in the journal */
    int n_verified;
    struct verified {
        int64_t size_bytes, checked, wrong;
    } verified[MAX_VERIFIED];
};

/* One cell of a row while it is measured: the samples of both passes. */
struct pass_pair {
    struct cell *cell;
    struct live *live;
    struct record record;
    struct result last;
    double *samples; /* room for two passes */
    int n;
    double median[2];
    int over; /* 1: nothing more to measure, the record stands */
};

static void show(struct campaign *c, int force)
{
    double now = clock_us(), every = c->is_terminal ? 0.3e6 : 10e6;
    int done = c->measured + c->wrong + c->failed + c->skipped;
    if (c->log == NULL || (!force && now - c->shown_us < every))
        return;
    c->shown_us = now;
    char left[48] = "";
    if (done > 0) {
        double s = (now - c->started_us) / 1e6 / done * (c->to_do - done);
        snprintf(left, sizeof left, s < 100 ? ", %.0f s left" : ", %.0f min left",
                 s < 100 ? s : s / 60);
    }
    fprintf(c->log, "%s%d of %d%s: %s%s", c->is_terminal ? "\r\033[K" : "updraft: ", done, c->to_do,
            left, c->doing, c->is_terminal ? "" : "\n");
    fflush(c->log);
}

static void clear_line(struct campaign *c)
{
    if (c->log != NULL && c->is_terminal) {
        fprintf(c->log, "\r\033[K");
        fflush(c->log);
    }
}

static void tick(void *arg)
{
    struct campaign *c = arg;
    monitor_sample(c->monitor);
    show(c, 0);
}

static enum status journal_it(struct campaign *c, const struct record *r, struct err *err)
{
    enum status status = journal_append(c->journal, r, err);
    if (status == STATUS_OK && records_add(c->records, r) != 0)
        status = err_set(err, STATUS_FAILED, "out of memory");
    return status;
}

static void count(struct campaign *c, const struct record *r)
{
    if (r->verified == RECORD_WRONG)
        c->wrong++;
    else if (r->state[0] == '\0')
        c->measured++;
    else if (strcmp(r->state, "skipped") == 0)
        c->skipped++;
    else
        c->failed++;
}

static void set_state(struct record *r, enum verdict v, const char *note)
{
    snprintf(r->state, sizeof r->state, "%s", verdict_state(v));
    snprintf(r->note, sizeof r->note, "%.*s", NOTE - 1, note);
}

/* The rest of a variant will not be measured: one record says so. */
static enum status give_up(struct campaign *c, struct live *l, enum verdict v, const char *note,
                           struct err *err)
{
    struct record r;
    variant_record(&c->plan->variants[l->variant], &r);
    set_state(&r, v, note);
    l->given_up = 1;
    session_close(&l->session);
    for (int i = 0; i < c->plan->n_cells; i++) {
        struct cell *cell = &c->plan->cells[i];
        if (cell->variant == l->variant && !cell->done) {
            cell->done = 1;
            count(c, &r);
        }
    }
    return journal_it(c, &r, err);
}

/* Opens the session where it is not. *usable says whether the variant can go on. */
static enum status ensure_open(struct campaign *c, struct live *l, int *usable, struct err *err)
{
    char note[NOTE] = "";
    *usable = !l->given_up;
    if (l->given_up || session_is_open(&l->session))
        return STATUS_OK;
    const struct planned_variant *pv = &c->plan->variants[l->variant];
    snprintf(c->doing, sizeof c->doing, "setting up %.100s, %d ranks", pv->v.impl, pv->v.ranks);
    show(c, 0);
    l->n_verified = 0;
    l->session = (struct session){.tick = tick, .tick_arg = c};
    enum verdict v =
        session_open(&l->session, pv->backend, &pv->v, c->timeout_ms, c->interrupts, note);
    if (v == CALL_OK)
        return STATUS_OK;
    *usable = 0;
    if (v == CALL_INTERRUPTED)
        return STATUS_OK;
    return give_up(c, l, v, note, err);
}

/* A call of this pair's session ended badly: its record says how. */
static enum status fail(struct campaign *c, struct pass_pair *p, enum verdict v, const char *note,
                        struct err *err)
{
    struct live *l = p->live;
    p->over = 1;
    if (v == CALL_INTERRUPTED)
        return STATUS_OK;
    set_state(&p->record, v, note);
    p->cell->done = 1;
    count(c, &p->record);
    enum status status = journal_it(c, &p->record, err);
    if (v == CALL_UNSUPPORTED)
        return status;
    session_close(&l->session); /* after an OOM too: what is half allocated must go */
    if (++l->failures >= MAX_FAILURES && status == STATUS_OK) {
        char why[NOTE];
        snprintf(why, sizeof why, "given up after %d failures in a row; the last: %.90s",
                 l->failures, note);
        status = give_up(c, l, CALL_UNSUPPORTED, why, err);
    }
    return status;
}

/* Verifies a size once a session. */
static enum status verify(struct campaign *c, struct pass_pair *p, struct err *err)
{
    struct live *l = p->live;
    int64_t size = p->cell->size_bytes;
    char note[NOTE] = "";
    const struct verified *known = NULL;
    for (int i = 0; i < l->n_verified; i++)
        if (l->verified[i].size_bytes == size)
            known = &l->verified[i];
    if (known == NULL) {
        struct result r;
        result_init(&r, NULL, 0);
        enum verdict v = session_verify(&l->session, size, &r, note);
        if (v != CALL_OK)
            return fail(c, p, v, note, err);
        if (l->n_verified == MAX_VERIFIED)
            l->n_verified = 0;
        l->verified[l->n_verified] = (struct verified){size, r.checked, r.wrong};
        known = &l->verified[l->n_verified++];
    }
    if (known->wrong > 0) {
        p->over = 1;
        p->record.verified = RECORD_WRONG;
        p->record.wrong = known->wrong;
        snprintf(p->record.state, sizeof p->record.state, "wrong");
        snprintf(p->record.note, sizeof p->record.note,
                 "%lld of %lld elements differ from the sum; not timed", (long long)known->wrong,
                 (long long)known->checked);
        p->cell->done = 1;
        count(c, &p->record);
        return journal_it(c, &p->record, err);
    }
    if (known->checked > 0)
        p->record.verified = RECORD_VERIFIED;
    return STATUS_OK;
}

static enum status time_pass(struct campaign *c, struct pass_pair *p, int pass, struct err *err)
{
    const struct plan *plan = c->plan;
    char note[NOTE] = "";
    struct timing t = {
        .method = p->cell->method,
        .size_bytes = p->cell->size_bytes,
        .iterations = plan->iterations,
        .warmup = plan->warmup,
        .chain = plan->chain,
        .compute_us = plan->compute_us,
        .skew_us = p->cell->skew_us,
        .budget_us = plan->budget_us,
    };
    result_init(&p->last, p->samples + p->n, MAX_SAMPLES - p->n);
    enum verdict v = session_time(&p->live->session, &t, &p->last, note);
    if (v != CALL_OK)
        return fail(c, p, v, note, err);
    if (p->last.n == 0)
        return fail(c, p, CALL_FAILED, "the backend gave no samples", err);
    double *copy = malloc((size_t)p->last.n * sizeof *copy);
    if (copy == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    memcpy(copy, p->samples + p->n, (size_t)p->last.n * sizeof *copy);
    p->median[pass] = median_of(copy, (size_t)p->last.n);
    free(copy);
    p->n += p->last.n;
    return STATUS_OK;
}

/* What both passes together say. */
static enum status finish(struct campaign *c, struct pass_pair *p, struct err *err)
{
    struct record *r = &p->record;
    const struct planned_variant *pv = &c->plan->variants[p->live->variant];
    record_quantiles(r, p->samples, (size_t)p->n);
    if (!(r->value > 0) || !isfinite(r->value)) {
        r->value = r->p10 = r->p90 = r->p99 = r->min = r->max = NAN;
        r->count = 0;
        return fail(c, p, CALL_FAILED, "the median is not above zero: noise covers the result",
                    err);
    }
    if (p->median[0] > 0 && p->median[1] > 0)
        r->field[FIELD_noise] = relative_difference(p->median[0], p->median[1]);
    memcpy(r->kernel, p->last.kernel, sizeof r->kernel);
    const struct {
        enum record_field field;
        double value;
        int known;
    } extra[] = {
        {FIELD_blocks, p->last.blocks, p->last.blocks > 0},
        {FIELD_threads, p->last.threads, p->last.threads > 0},
        {FIELD_channels, p->last.channels, p->last.channels > 0},
        {FIELD_predicted_us, p->last.predicted_us, isfinite(p->last.predicted_us)},
        {FIELD_memory_bytes, (double)p->last.memory_bytes, p->last.memory_bytes >= 0},
    };
    for (size_t i = 0; i < sizeof extra / sizeof extra[0]; i++)
        if (extra[i].known)
            r->field[extra[i].field] = extra[i].value;
    const char *spoiled = monitor_spoiled(c->monitor);
    snprintf(r->note, sizeof r->note, "%s%s%s", p->last.note,
             p->last.note[0] != '\0' && spoiled[0] != '\0' ? "; " : "", spoiled);
    if (r->note[0] == '\0' && pv->placement[0] != '\0')
        snprintf(r->note, sizeof r->note, "ranks share a GPU: not representative of several");
    p->over = 1;
    p->live->failures = 0;
    enum status status = STATUS_OK;
    if (p->last.memory_bytes >= 0 && !p->live->memory_known) {
        struct record m;
        variant_record(pv, &m);
        m.what = WHAT_device_memory;
        m.value = (double)p->last.memory_bytes;
        status = journal_it(c, &m, err); /* before the cell, or a kill between would lose it */
        p->live->memory_known = 1;
    }
    if (status == STATUS_OK)
        status = journal_it(c, r, err);
    p->cell->done = 1;
    count(c, r);
    return status;
}

static int signalled(struct campaign *c)
{
    if (c->interrupts != NULL && c->interrupts->caught != 0)
        c->interrupted = c->interrupts->caught;
    return c->interrupted != 0;
}

/* Measures the cells [first, end) of one row. */
static enum status run_row(struct campaign *c, struct live *lives, int first, int end,
                           double *samples, struct err *err)
{
    struct pass_pair pairs[GROUP];
    enum status status = STATUS_OK;
    int n = 0;
    for (int i = first; i < end && n < GROUP; i++) {
        struct cell *cell = &c->plan->cells[i];
        if (cell->done)
            continue;
        struct pass_pair *p = &pairs[n];
        *p = (struct pass_pair){.cell = cell, .samples = samples + (size_t)n * MAX_SAMPLES};
        for (int k = 0; k < GROUP; k++)
            if (lives[k].variant == cell->variant)
                p->live = &lives[k];
        cell_record(c->plan, cell, &p->record);
        n++;
    }
    for (int i = 0; i < n && status == STATUS_OK; i++) {
        int usable = 0;
        status = ensure_open(c, pairs[i].live, &usable, err);
        if (signalled(c) || status != STATUS_OK)
            return status;
        pairs[i].over = !usable;
        if (usable)
            status = verify(c, &pairs[i], err);
        if (signalled(c))
            return status;
    }
    for (int k = 0; k < 2 * n && status == STATUS_OK; k++) {
        struct pass_pair *p = &pairs[k < n ? k : 2 * n - 1 - k];
        if (p->over)
            continue;
        snprintf(c->doing, sizeof c->doing, "%.90s, %d ranks, %lld bytes, %s", p->record.impl,
                 p->record.ranks, (long long)p->cell->size_bytes, method_name(p->cell->method));
        show(c, 0);
        monitor_begin(c->monitor);
        status = time_pass(c, p, k >= n, err);
        if (signalled(c))
            return status;
        if (status == STATUS_OK && !p->over && k >= n)
            status = finish(c, p, err);
    }
    return status;
}

static int same_row(const struct cell *a, const struct cell *b)
{
    return a->method == b->method && a->size_bytes == b->size_bytes &&
           fabs(a->skew_us - b->skew_us) <= 0;
}

static int memory_recorded(const struct campaign *c, int variant)
{
    struct record want;
    variant_record(&c->plan->variants[variant], &want);
    want.what = WHAT_device_memory;
    for (size_t i = 0; i < c->records->n; i++)
        if (same_cell(&want, &c->records->v[i]))
            return 1;
    return 0;
}

/* Measures the cells from `first` on that belong to one group; *end is the first of the next. */
static enum status run_group(struct campaign *c, int first, int *end, double *samples,
                             struct err *err)
{
    const struct plan *plan = c->plan;
    struct live lives[GROUP];
    int group = plan->variants[plan->cells[first].variant].group, n = 0;
    enum status status = STATUS_OK;
    memset(lives, 0, sizeof lives);
    for (int k = 0; k < GROUP; k++)
        lives[k].variant = -1;
    for (int i = 0; i < plan->n_variants && n < GROUP; i++)
        if (plan->variants[i].group == group) {
            lives[n].variant = i;
            lives[n++].memory_known = memory_recorded(c, i);
        }
    int i = first;
    while (i < plan->n_cells && plan->variants[plan->cells[i].variant].group == group) {
        int row = i;
        while (i < plan->n_cells && plan->variants[plan->cells[i].variant].group == group &&
               same_row(&plan->cells[row], &plan->cells[i]))
            i++;
        if (status == STATUS_OK && !c->interrupted)
            status = run_row(c, lives, row, i, samples, err);
    }
    for (int k = 0; k < n; k++)
        session_close(&lives[k].session);
    *end = i;
    return status;
}

/* *failures counts a probe's failures in a row; after MAX_FAILURES its cases are only recorded. */
static enum status run_case(struct campaign *c, struct session *s, struct planned_case *pc,
                            int *failures, double *samples, struct err *err)
{
    char note[NOTE] = "";
    struct record r = pc->c.record;
    struct result result;
    snprintf(r.origin, sizeof r.origin, "measure");
    snprintf(c->doing, sizeof c->doing, "probe %.60s: %.80s", pc->probe->id, r.placement);
    show(c, 0);
    result_init(&result, samples, MAX_SAMPLES);
    enum verdict v = CALL_OK;
    if (*failures >= MAX_FAILURES) {
        v = CALL_UNSUPPORTED;
        snprintf(note, sizeof note, "given up after %d failures in a row", *failures);
    }
    if (v == CALL_OK && !session_is_open(s)) {
        *s = (struct session){.tick = tick, .tick_arg = c};
        v = session_open_probe(s, pc->probe, pc->host, c->timeout_ms, c->interrupts, note);
    }
    if (v == CALL_OK)
        v = session_probe(s, &pc->c, c->plan->iterations, &result, note);
    if (v == CALL_OK && result.n == 0) {
        v = CALL_FAILED;
        snprintf(note, sizeof note, "the probe gave no samples");
    }
    if (v == CALL_INTERRUPTED)
        return STATUS_OK;
    if (v == CALL_OK) {
        record_quantiles(&r, samples, (size_t)result.n);
        snprintf(r.kernel, sizeof r.kernel, "%s", result.kernel);
        snprintf(r.note, sizeof r.note, "%s", result.note);
        if (result.blocks > 0)
            r.field[FIELD_blocks] = result.blocks;
        if (result.threads > 0)
            r.field[FIELD_threads] = result.threads;
        *failures = 0;
    } else {
        set_state(&r, v, note);
        *failures += v != CALL_UNSUPPORTED;
    }
    pc->done = 1;
    count(c, &r);
    return journal_it(c, &r, err);
}

static enum status run_probes(struct campaign *c, double *samples, struct err *err)
{
    enum status status = STATUS_OK;
    struct session s = {0};
    const struct probe *open = NULL;
    int failures = 0;
    for (int i = 0; i < c->plan->n_cases && status == STATUS_OK && !signalled(c); i++) {
        struct planned_case *pc = &c->plan->cases[i];
        if (pc->done)
            continue;
        if (pc->probe != open) {
            session_close(&s);
            failures = 0;
        }
        open = pc->probe;
        status = run_case(c, &s, pc, &failures, samples, err);
    }
    session_close(&s);
    return status;
}

enum status campaign_run(struct campaign *c, struct err *err)
{
    double *samples = malloc((size_t)GROUP * MAX_SAMPLES * sizeof *samples);
    if (samples == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    c->started_us = c->shown_us = clock_us();
    c->to_do = plan_left(c->plan);
    enum status status = run_probes(c, samples, err);
    for (int i = 0; i < c->plan->n_cells && status == STATUS_OK && !signalled(c);)
        status = run_group(c, i, &i, samples, err);
    clear_line(c);
    free(samples);
    return status;
}
