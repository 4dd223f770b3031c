/* calibrate: fits the scenario's free terms to measured runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "model/calibrate.h"
#include "traces/command.h"
#include "traces/runs.h"
#include "traces/scenario_io.h"

/* --- the calibrated scenario --------------------------------------------------------------------
 */

/* Puts a node at a dotted path of the document, in place of what is there. */
static void put(cJSON *root, const char *path, cJSON *node)
{
    char part[64];
    cJSON *at = root;
    for (;;) {
        size_t n = strcspn(path, ".");
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        cJSON *old = cJSON_GetObjectItemCaseSensitive(at, part);
        if (path[n] == '\0') {
            if (old != NULL)
                cJSON_ReplaceItemInObjectCaseSensitive(at, part, node);
            else
                cJSON_AddItemToObject(at, part, node);
            return;
        }
        at = cJSON_IsObject(old) ? old : cJSON_AddObjectToObject(at, part);
        path += n + 1;
    }
}

static cJSON *quantity(const struct qty *q, const char *source)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "value", q->value);
    cJSON_AddNumberToObject(o, "low", q->low);
    cJSON_AddNumberToObject(o, "high", q->high);
    if (q->assumed)
        cJSON_AddTrueToObject(o, "assumed");
    cJSON_AddStringToObject(o, "source", source);
    return o;
}

static cJSON *calibrated_document(const cJSON *original, const struct calibration *c,
                                  const char *from, const char *to)
{
    cJSON *root = cJSON_Duplicate(original, 1);
    if (root == NULL)
        return NULL;
    char source[96];
    snprintf(source, sizeof source, "calibrated on %d speculative runs", c->n_speculative);
    for (int i = 0; i < c->n_terms && c->n_speculative > 0; i++) {
        const struct calibrate_term *t = &c->term[i];
        struct qty q = {
            .value = t->value, .low = t->low, .high = t->high, .assumed = !t->identified};
        put(root, t->path, quantity(&q, source));
    }
    if (c->n_lengths > 0) {
        snprintf(source, sizeof source, "calibrated on %d accept lengths", c->n_lengths);
        cJSON *list = cJSON_CreateObject();
        cJSON_AddItemToObject(
            list, "value",
            cJSON_CreateDoubleArray(c->s.draft.accept_rate.v, c->s.draft.accept_rate.n));
        cJSON_AddStringToObject(list, "source", source);
        put(root, "draft.accept_rate", list);
        put(root, "draft.accept_decay", quantity(&c->s.draft.accept_decay, source));
    }
    if (c->n_plain > 0) {
        snprintf(source, sizeof source, "%d plain runs", c->n_plain);
        if (c->s.pass.curve.n > 0) {
            cJSON *curve = cJSON_CreateObject(), *points = cJSON_AddArrayToObject(curve, "value");
            for (int i = 0; i < c->s.pass.curve.n; i++) {
                double xy[] = {c->s.pass.curve.x[i], c->s.pass.curve.y[i]};
                cJSON_AddItemToArray(points, cJSON_CreateDoubleArray(xy, 2));
            }
            cJSON_AddStringToObject(curve, "source", source);
            put(root, "pass.curve", curve);
        }
        if (c->s.baseline.tokens_per_s.set) {
            put(root, "baseline.tokens_per_s", quantity(&c->s.baseline.tokens_per_s, source));
            put(root, "baseline.batch", cJSON_CreateNumber(c->s.baseline.batch));
        }
    }
    scenario_move_costs(cJSON_GetObjectItemCaseSensitive(root, "costs"), from, to);
    return root;
}

static enum status write_scenario(const struct scenario_file *f, const struct calibration *c,
                                  const char *from, const char *path, struct err *err)
{
    struct atomic_file file = {0};
    enum status status = atomic_open(&file, path, err);
    if (status == STATUS_OK)
        status = print_json(file.f, calibrated_document(f->doc.root, c, from, path), err);
    if (status == STATUS_OK)
        status = atomic_commit(&file, err);
    atomic_abandon(&file);
    return status;
}

/* --- reports ------------------------------------------------------------------------------------
 */

static void add_number(cJSON *o, const char *key, double x)
{
    if (isfinite(x))
        cJSON_AddNumberToObject(o, key, x);
}

static cJSON *report_json(const struct calibration *c, const struct run_list *runs)
{
    cJSON *root = cJSON_CreateObject(), *n = cJSON_AddObjectToObject(root, "runs");
    cJSON_AddNumberToObject(n, "plain", c->n_plain);
    cJSON_AddNumberToObject(n, "speculative", c->n_speculative);
    cJSON_AddNumberToObject(n, "accept_lengths", c->n_lengths);
    cJSON *terms = cJSON_AddArrayToObject(root, "terms");
    for (int i = 0; i < c->n_terms && c->n_speculative > 0; i++) {
        const struct calibrate_term *t = &c->term[i];
        cJSON *o = cJSON_CreateObject();
        double ci[] = {t->low, t->high};
        cJSON_AddItemToArray(terms, o);
        cJSON_AddStringToObject(o, "key", t->path);
        cJSON_AddNumberToObject(o, "prior", t->prior);
        cJSON_AddNumberToObject(o, "value", t->value);
        cJSON_AddItemToObject(o, "ci95", cJSON_CreateDoubleArray(ci, 2));
        cJSON_AddNumberToObject(o, "learned", t->learned);
        cJSON_AddBoolToObject(o, "identified", t->identified);
        if (t->with >= 0) {
            cJSON_AddStringToObject(o, "entangled_with", c->term[t->with].path);
            cJSON_AddNumberToObject(o, "correlation", t->correlation);
        }
        if (!t->identified)
            cJSON_AddStringToObject(o, "would_identify", t->apart);
    }
    if (c->n_lengths > 0) {
        cJSON *o = cJSON_AddObjectToObject(root, "acceptance");
        double first[] = {c->accept_first - 1.96 * c->accept_first_sd,
                          c->accept_first + 1.96 * c->accept_first_sd};
        double fall[] = {c->accept_fall - 1.96 * c->accept_fall_sd,
                         c->accept_fall + 1.96 * c->accept_fall_sd};
        cJSON_AddNumberToObject(o, "first", c->accept_first);
        cJSON_AddNumberToObject(o, "fall", c->accept_fall);
        cJSON_AddBoolToObject(o, "fall_identified", c->accept_fall_learned >= 0.5);
        cJSON *ci = cJSON_AddObjectToObject(o, "ci95");
        cJSON_AddItemToObject(ci, "first", cJSON_CreateDoubleArray(first, 2));
        cJSON_AddItemToObject(ci, "fall", cJSON_CreateDoubleArray(fall, 2));
        cJSON_AddItemToObject(
            o, "accept_rate",
            cJSON_CreateDoubleArray(c->s.draft.accept_rate.v, c->s.draft.accept_rate.n));
    }
    add_number(root, "median_rel_error", c->median_rel_error);
    add_number(root, "left_out_median_rel_error", c->left_out_median_rel_error);
    if (c->n_speculative > 0)
        add_number(root, "left_out_max_rel_error", c->left_out_max_rel_error);
    cJSON *list = cJSON_AddArrayToObject(root, "residuals");
    for (size_t i = 0; i < c->n; i++) {
        if (!isfinite(c->v[i].measured))
            continue;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(list, o);
        cJSON_AddStringToObject(o, "run", runs->label[i]);
        cJSON_AddNumberToObject(o, "measured_tokens_per_s", c->v[i].measured);
        add_number(o, "predicted_tokens_per_s", c->v[i].predicted);
        add_number(o, "left_out_tokens_per_s", c->v[i].left_out);
    }
    return root;
}

static void print_terms(FILE *out, const struct calibration *c)
{
    fprintf(out, "\n  %-22s %10s %10s  %-22s %s\n", "term", "before", "now", "95 % interval",
            "identified");
    for (int i = 0; i < c->n_terms; i++) {
        const struct calibrate_term *t = &c->term[i];
        char range[64];
        snprintf(range, sizeof range, "[%.4g, %.4g]", t->low, t->high);
        fprintf(out, "  %-22s %10.4g %10.4g  %-22s %s (%.0f %% learned)\n", t->path, t->prior,
                t->value, range, t->identified ? "yes" : "no", 100 * t->learned);
    }
    for (int i = 0; i < c->n_terms; i++) {
        const struct calibrate_term *t = &c->term[i];
        if (t->with > i)
            fprintf(out, "  %s and %s are known together only (correlation %.2f)\n", t->path,
                    c->term[t->with].path, t->correlation);
        if (!t->identified)
            fprintf(out, "  %s would be told by %s\n", t->path, t->apart);
    }
}

static void print_text(FILE *out, const struct calibration *c, const struct run_list *runs)
{
    fprintf(out, "%d plain runs, %d speculative runs, %d accept lengths\n", c->n_plain,
            c->n_speculative, c->n_lengths);
    if (c->s.pass.curve.n > 0 && c->n_plain > 0)
        fprintf(out, "  pass.curve: the plain step at %d batches, %.4g us at %g to %.4g us at %g\n",
                c->s.pass.curve.n, c->s.pass.curve.y[0], c->s.pass.curve.x[0],
                c->s.pass.curve.y[c->s.pass.curve.n - 1], c->s.pass.curve.x[c->s.pass.curve.n - 1]);
    if (c->n_lengths > 0)
        fprintf(out,
                "  draft.accept_rate: %.3f +- %.3f at the first position, falling %.1f +- %.1f %% "
                "a position%s\n",
                c->accept_first, 1.96 * c->accept_first_sd, 100 * c->accept_fall,
                196 * c->accept_fall_sd,
                c->accept_fall_learned < 0.5 ? " (the fall is the prior's: lengths at several "
                                               "numbers of draft steps would tell)"
                                             : "");
    if (runs->n_sets > 0 && c->n_lengths > 0) {
        fprintf(out, "  draft.accept_rate of the mix:");
        for (int i = 0; i < c->s.draft.accept_rate.n; i++)
            fprintf(out, " %.3f", c->s.draft.accept_rate.v[i]);
        fprintf(out, "\n");
    }
    if (c->n_speculative == 0) {
        fprintf(out, "  no speculative throughput: the terms of the cycle stay as they were\n");
        return;
    }
    if (c->n_lengths < c->n_speculative)
        fprintf(
            out,
            "  %d speculative runs do not tell their accept length: the scenario's is taken, and "
            "its error goes into the terms\n",
            c->n_speculative - c->n_lengths);
    print_terms(out, c);
    fprintf(out, "\n  %-64s %10s %10s %10s\n", "tokens/s", "measured", "predicted", "left out");
    for (size_t i = 0; i < c->n; i++) {
        if (!isfinite(c->v[i].measured))
            continue;
        fprintf(out, "  %-64.64s %10.4g %10.4g", runs->label[i], c->v[i].measured,
                c->v[i].predicted);
        if (isfinite(c->v[i].left_out))
            fprintf(out, " %10.4g", c->v[i].left_out);
        fprintf(out, "\n");
    }
    fprintf(out, "  speculative runs: median error %.1f %%", 100 * c->median_rel_error);
    if (c->n_speculative > 1)
        fprintf(out, "; each left out and predicted from the others: median %.1f %%, worst %.1f %%",
                100 * c->left_out_median_rel_error, 100 * c->left_out_max_rel_error);
    fprintf(out, "\n");
}

/* --- the command --------------------------------------------------------------------------------
 */

/* The data sets of --mix NAME=SHARE: names (owned) and shares. */
struct mix {
    char **name;
    double *share;
    int n;
};

static void mix_release(struct mix *m)
{
    for (int i = 0; i < m->n; i++)
        free(m->name[i]);
    free(m->name);
    free(m->share);
}

static enum status read_mix(struct mix *m, const struct invocation *inv, struct err *err)
{
    m->name = calloc((size_t)inv->n_given + 1, sizeof *m->name);
    m->share = calloc((size_t)inv->n_given + 1, sizeof *m->share);
    if (m->name == NULL || m->share == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (int i = 0; i < inv->n_given; i++) {
        if (strcmp(inv->given[i].name, "mix") != 0)
            continue;
        const char *text = inv->given[i].value, *eq = strrchr(text, '=');
        if (eq == NULL || eq == text || parse_double(eq + 1, &m->share[m->n]) != 0 ||
            !(m->share[m->n] >= 0))
            return err_set(err, STATUS_USAGE,
                           "--mix %s: DATASET=SHARE was expected, a share of at least 0", text);
        m->name[m->n] = strndup(text, (size_t)(eq - text));
        if (m->name[m->n++] == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
    }
    return STATUS_OK;
}

static enum status load_all(struct run_list *runs, const struct invocation *inv, int num_steps,
                            struct err *err)
{
    const char **where = calloc((size_t)inv->n_given + 1, sizeof *where);
    if (where == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    size_t n_where = 0, n_files = 0;
    enum status status = STATUS_OK;
    for (int i = 0; i < inv->n_given; i++)
        if (strcmp(inv->given[i].name, "where") == 0)
            where[n_where++] = inv->given[i].value;
    for (int i = 0; i < inv->n_given && status == STATUS_OK; i++)
        if (strcmp(inv->given[i].name, "with") == 0) {
            n_files++;
            status =
                run_list_load(runs, inv->given[i].value, where, n_where, num_steps, inv->log, err);
        }
    for (int i = 1; i < inv->n_args && status == STATUS_OK; i++) {
        n_files++;
        status = run_list_load(runs, inv->args[i], where, n_where, num_steps, inv->log, err);
    }
    for (int i = 0; i < inv->n_given && status == STATUS_OK; i++)
        if (strcmp(inv->given[i].name, "accept") == 0) {
            n_files++;
            status = run_list_add_accept(runs, inv->given[i].value, num_steps, err);
        }
    free(where);
    if (status == STATUS_OK && n_files == 0)
        status = err_set(err, STATUS_USAGE, "measured runs are needed: --with TRACE...");
    return status;
}

static enum status run(struct invocation *inv, struct err *err)
{
    struct scenario_file f;
    struct run_list runs = {0};
    struct calibration c = {0};
    enum status status = scenario_file_read(&f, inv->args[0], NULL, 0, inv->log, err);
    if (status != STATUS_OK)
        return status;
    struct mix mix = {0};
    status = read_mix(&mix, inv, err);
    runs.set = (const char *const *)mix.name;
    runs.n_sets = mix.n;
    if (status == STATUS_OK)
        status = load_all(&runs, inv, f.s.draft.num_steps, err);
    if (status == STATUS_OK)
        status = calibrate(&f.s, runs.v, runs.n, mix.share, mix.n, &c, err);
    int to_stdout = inv->out_path != NULL && strcmp(inv->out_path, "-") == 0;
    if (status == STATUS_OK && to_stdout)
        status = print_json(inv->out, calibrated_document(f.doc.root, &c, inv->args[0], "./"), err);
    else if (status == STATUS_OK && inv->out_path != NULL)
        status = write_scenario(&f, &c, inv->args[0], inv->out_path, err);
    if (status == STATUS_OK && !to_stdout) {
        if (inv->json)
            status = print_json(inv->out, report_json(&c, &runs), err);
        else
            print_text(inv->out, &c, &runs);
    }
    calibration_release(&c);
    run_list_release(&runs);
    mix_release(&mix);
    scenario_file_release(&f);
    return status;
}

static const struct command_option options[] = {
    {"with", "TRACE", 1, "measured runs: a trace, what import recognises, or a table"},
    {"where", "COLUMN=VALUE", 1, "of tables, only the rows with that value in that column"},
    {"accept", "QUANTITY=VALUE", 1,
     "what an engine printed, by its own definition: vllm_per_position=0.8,0.5, "
     "sglang_accept_len=2.3@3"},
    {"mix", "DATASET=SHARE", 1, "of a table's data sets: acceptance of a mix, by share of tokens"},
    {0},
};

const struct command cmd_calibrate = {
    .name = "calibrate",
    .synopsis =
        "SCENARIO --with TRACE... [--where COLUMN=VALUE]... [--accept Q=V]... [--mix D=S]... "
        "[-o CALIBRATED.json]",
    .summary = "fits the scenario's free terms to measured runs",
    .details =
        "Plain runs give the plain batch curve, accept lengths the acceptance by position,\n"
        "speculative runs the terms of the cycle. Says which terms the runs identify and which\n"
        "stay at what the scenario assumed; -o writes the calibrated scenario.\n",
    .min_args = 1,
    .max_args = -1,
    .options = options,
    .flags = COMMAND_OUTPUT_PATH,
    .run = run,
};
