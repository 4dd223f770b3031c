/* sweep: a grid of scenarios, one CSV line each. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/parallel.h"
#include "model/simulate.h"
#include "traces/format.h"
#include "traces/scenario_io.h"
#include "traces/vary.h"

enum {
    CHUNK = 8192,      /* points that one thread formats before the line goes out */
    LINE_ROOM = 2048,  /* bytes of one point, texts apart */
    AUTO_POINTS = 500, /* up to so many points the intervals are drawn unasked */
    AUTO_DRAWS = 400,
};

struct sweep {
    const struct scenario_file *file;
    struct axis axes[VARY_MAX_AXES];
    int n_axes, rebind, draws, json;
    uint64_t seed;
    size_t points;
    size_t first; /* of this wave */
    /* One slot a chunk of the wave. */
    struct slot {
        char *text;
        size_t len, cap;
        enum status status;
        struct err err;
    } slots[PARALLEL_MAX_THREADS];
};

/* The columns of results. Intervals are empty (in JSON null) where none were drawn. */
static const char *const columns[] = {
    "baseline_tokens_per_s",
    "speculative_tokens_per_s",
    "speculative_low",
    "speculative_high",
    "speedup",
    "speedup_low",
    "speedup_high",
    "tokens_per_cycle",
    "cycle_us",
    "draft_us",
    "verify_compute_us",
    "verify_allreduce_us",
    "draft_allreduce_us",
    "host_us",
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static const unsigned extrapolations = OUTCOME_COST_EXTRAPOLATED | OUTCOME_ROWS_EXTRAPOLATED |
                                       OUTCOME_ACCEPT_EXTRAPOLATED | OUTCOME_RANKS_CHANGED |
                                       OUTCOME_COST_SYNTHESIZED;

static char *begin_field(char *p, int json, int first, const char *name)
{
    if (!first)
        *p++ = ',';
    if (json) {
        *p++ = '"';
        p = stpcpy(stpcpy(p, name), "\":");
    }
    return p;
}

/* One point: a line of CSV, or an object of JSON's list. Texts are names, without quotes. */
static char *point_line(char *p, const struct sweep *w, size_t point, const struct simulation *sim)
{
    const struct outcome *m = &sim->mean;
    int drawn = sim->draws > 0;
    const double values[COLUMNS] = {
        m->baseline_tokens_per_s,
        m->speculative_tokens_per_s,
        drawn ? sim->low.speculative_tokens_per_s : (double)NAN,
        drawn ? sim->high.speculative_tokens_per_s : (double)NAN,
        m->speedup,
        drawn ? sim->low.speedup : (double)NAN,
        drawn ? sim->high.speedup : (double)NAN,
        m->tokens_per_cycle,
        m->cycle_us,
        m->draft_us,
        m->verify_compute_us,
        m->verify_allreduce_us,
        m->draft_allreduce_us,
        m->host_us,
    };
    size_t stride = w->points;
    if (w->json)
        p = stpcpy(p, point == 0 ? "\n{" : ",\n{");
    for (int a = 0; a < w->n_axes; a++) {
        const struct axis *axis = &w->axes[a];
        stride /= axis->n;
        size_t i = point / stride % axis->n;
        p = begin_field(p, w->json, a == 0, axis->key->path);
        if (axis->texts == NULL)
            p = format_double(p, axis->numbers[i]);
        else if (w->json)
            p = stpcpy(stpcpy(stpcpy(p, "\""), axis->texts[i]), "\"");
        else
            p = stpcpy(p, axis->texts[i]);
    }
    for (int c = 0; c < COLUMNS; c++) {
        p = begin_field(p, w->json, 0, columns[c]);
        p = w->json && !isfinite(values[c]) ? stpcpy(p, "null") : format_double(p, values[c]);
    }
    p = begin_field(p, w->json, 0, "extrapolated");
    *p++ = m->flags & extrapolations ? '1' : '0';
    *p++ = w->json ? '}' : '\n';
    return p;
}

static enum status place(const struct sweep *w, size_t point, struct scenario *s, struct err *err)
{
    size_t stride = w->points;
    enum status status = STATUS_OK;
    for (int a = 0; a < w->n_axes && status == STATUS_OK; a++) {
        stride /= w->axes[a].n;
        status = axis_set(&w->axes[a], point / stride % w->axes[a].n, s, err);
    }
    if (status == STATUS_OK)
        status = scenario_check(s, err);
    if (status == STATUS_OK && w->rebind)
        status = scenario_bind(s, &w->file->costs, err);
    return status;
}

static void chunk(const struct sweep *w, struct slot *slot, size_t begin, size_t end)
{
    struct scenario s = w->file->s;
    slot->len = 0;
    for (size_t point = begin; point < end; point++) {
        struct simulation sim = {0};
        slot->status = place(w, point, &s, &slot->err);
        if (slot->status == STATUS_OK && w->draws > 0)
            slot->status = simulate(&s, w->seed, w->draws, 1, &sim, &slot->err);
        else
            evaluate(&s, &sim.mean);
        if (slot->status != STATUS_OK) {
            err_prefix(&slot->err, "point %zu of the sweep", point + 1);
            return;
        }
        if (slot->cap - slot->len < LINE_ROOM + VARY_MAX_AXES * SCENARIO_TEXT) {
            size_t cap = slot->cap ? slot->cap * 2 : 1 << 16;
            char *text = realloc(slot->text, cap);
            if (text == NULL) {
                slot->status = err_set(&slot->err, STATUS_FAILED, "out of memory");
                return;
            }
            slot->text = text;
            slot->cap = cap;
        }
        slot->len = (size_t)(point_line(slot->text + slot->len, w, point, &sim) - slot->text);
    }
}

static void run_chunks(void *ctx, size_t begin, size_t end)
{
    struct sweep *w = ctx;
    for (size_t c = begin; c < end; c++) {
        size_t first = w->first + c * CHUNK, last = first + CHUNK;
        struct slot *slot = &w->slots[c];
        slot->len = 0;
        if (first < w->points)
            chunk(w, slot, first, last < w->points ? last : w->points);
    }
}

static enum status sweep(struct sweep *w, int threads, FILE *out, struct err *err)
{
    enum status status = STATUS_OK;
    for (int a = 0; a < w->n_axes && !w->json; a++)
        fprintf(out, "%s,", w->axes[a].key->path);
    for (int c = 0; c < COLUMNS && !w->json; c++)
        fprintf(out, "%s,", columns[c]);
    fputs(w->json ? "{\"points\":[" : "extrapolated\n", out);
    for (w->first = 0; w->first < w->points && status == STATUS_OK;
         w->first += (size_t)threads * CHUNK) {
        parallel_for(threads, (size_t)threads, run_chunks, w);
        for (int c = 0; c < threads && status == STATUS_OK; c++) {
            struct slot *slot = &w->slots[c];
            if (slot->len > 0 && fwrite(slot->text, 1, slot->len, out) != slot->len)
                status = err_set(err, STATUS_FAILED, "cannot write the results");
            else if (slot->status != STATUS_OK) {
                *err = slot->err;
                status = slot->status;
            }
        }
    }
    if (w->json)
        fputs("]}\n", out);
    for (int c = 0; c < threads; c++)
        free(w->slots[c].text);
    return status;
}

/* Prices every implementation that the grid names, at every number of ranks that it names. */
static enum status price_axes(const struct sweep *w, struct scenario_file *f, struct err *err)
{
    const struct axis *impls = NULL, *ranks = NULL;
    enum status status = STATUS_OK;
    for (int a = 0; a < w->n_axes; a++) {
        if (strcmp(w->axes[a].key->path, "allreduce.impl") == 0)
            impls = &w->axes[a];
        if (strcmp(w->axes[a].key->path, "ranks") == 0)
            ranks = &w->axes[a];
    }
    for (size_t i = 0; i < (impls ? impls->n : 1); i++)
        for (size_t r = 0; r < (ranks ? ranks->n : 1) && status == STATUS_OK; r++) {
            char impl[SCENARIO_TEXT]; /* pricing may rebind f->s: no pointer into it */
            snprintf(impl, sizeof impl, "%s", impls ? impls->texts[i] : f->s.allreduce.impl);
            double n = ranks ? ranks->numbers[r] : f->s.ranks;
            if (n >= 1 && n <= 1024 && !f->s.allreduce.latency_us.set)
                status = scenario_file_price(f, impl, (int)n, err);
        }
    return status;
}

/* Every point must be possible before the first line goes out: nothing half-written. Each value of
 * each axis is tried alone. */
static enum status try_axes(const struct sweep *w, struct err *err)
{
    for (int a = 0; a < w->n_axes; a++)
        for (size_t i = 0; i < w->axes[a].n; i++) {
            struct scenario s = w->file->s;
            enum status status = axis_set(&w->axes[a], i, &s, err);
            if (status == STATUS_OK)
                status = scenario_bind(&s, &w->file->costs, err);
            if (status != STATUS_OK) {
                err_prefix(err, "--vary");
                return status;
            }
        }
    return STATUS_OK;
}

static enum status parse_axes(struct sweep *w, const struct invocation *inv, struct err *err)
{
    static const char *const binding[] = {"ranks", "allreduce.impl", "allreduce.large_impl",
                                          "allreduce.cutoff_bytes", "allreduce.latency_us"};
    w->points = 1;
    for (int g = 0; g < inv->n_given; g++) {
        if (strcmp(inv->given[g].name, "vary") != 0)
            continue;
        if (w->n_axes == VARY_MAX_AXES)
            return err_set(err, STATUS_USAGE, "at most %d --vary", VARY_MAX_AXES);
        struct axis *a = &w->axes[w->n_axes];
        enum status status = axis_parse(a, inv->given[g].value, err);
        if (status != STATUS_OK)
            return status;
        w->n_axes++;
        for (int b = 0; b < w->n_axes - 1; b++)
            if (w->axes[b].key == a->key)
                return err_set(err, STATUS_USAGE,
                               "--vary %s twice: name all its values in one list", a->key->path);
        if (a->n > VARY_MAX_POINTS / w->points)
            return err_set(err, STATUS_USAGE, "the grid has more than %d points", VARY_MAX_POINTS);
        w->points *= a->n;
        for (size_t b = 0; b < sizeof binding / sizeof binding[0]; b++)
            w->rebind |= strcmp(a->key->path, binding[b]) == 0;
    }
    if (w->n_axes == 0)
        return err_set(err, STATUS_USAGE, "sweep needs --vary KEY=LIST or KEY=FIRST:LAST[:STEP]");
    return STATUS_OK;
}

static enum status run(struct invocation *inv, struct err *err)
{
    struct sweep w = {0};
    struct scenario_file f = {0};
    int64_t seed = 1, draws = -1, threads = parallel_default_threads();
    enum status status = invocation_integer(inv, "seed", 0, INT64_MAX, &seed, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "draws", 0, 1000000, &draws, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "threads", 1, PARALLEL_MAX_THREADS, &threads, err);
    if (status == STATUS_OK)
        status = parse_axes(&w, inv, err);
    if (status == STATUS_OK && draws > 0 && draws < 20)
        status = err_set(err, STATUS_USAGE, "--draws: 0 or at least 20");
    if (status == STATUS_OK)
        status = scenario_file_open(&f, inv, inv->log, err);
    if (status != STATUS_OK)
        goto out;
    w.file = &f;
    w.json = inv->json;
    w.seed = (uint64_t)seed;
    w.draws = draws >= 0 ? (int)draws : w.points <= AUTO_POINTS ? AUTO_DRAWS : 0;
    status = price_axes(&w, &f, err);
    if (status == STATUS_OK)
        status = try_axes(&w, err);
    if (status == STATUS_OK)
        status = sweep(&w, (int)threads, inv->out, err);
out:
    for (int a = 0; a < w.n_axes; a++)
        axis_release(&w.axes[a]);
    scenario_file_release(&f);
    return status;
}

static const struct command_option options[] = {
    {"vary", "KEY=VALUES", 1, "1,2,3 or FIRST:LAST or FIRST:LAST:STEP; the first varies slowest"},
    {"set", "KEY=VALUE", 1, "edit the scenario before"},
    {"costs", "FILE", 1, "a trace or model that prices collectives"},
    {"draws", "N", 0, "worlds drawn per point for the intervals (400 up to 500 points, else 0)"},
    {"seed", "N", 0, "seed of the draws (1)"},
    {"threads", "N", 0, "threads (all processors); the result does not depend on it"},
    {0},
};

const struct command cmd_sweep = {
    .name = "sweep",
    .synopsis = "SCENARIO --vary KEY=VALUES [--vary ...] [--set KEY=VALUE]... [--draws N]",
    .summary = "a grid of scenarios, as CSV",
    .details = "One line a point: the varied keys, the throughputs with the 95 % interval of the "
               "speculative\n"
               "one and of the speedup (empty where none were drawn), and the cycle's parts in "
               "microseconds. --json prints the same as a list \"points\" of objects.",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .run = run,
};
