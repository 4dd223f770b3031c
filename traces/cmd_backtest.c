/* backtest: runs the predictor over every known table in a folder and reports its errors. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>

#include "traces/backtest.h"
#include "traces/command.h"

enum { MAX_DEPTH = 8, MAX_BACKTESTS = 32 };

struct paths {
    char **v;
    size_t n, cap;
};

static int paths_add(struct paths *ps, const char *path)
{
    if (ps->n == ps->cap) {
        size_t cap = ps->cap ? 2 * ps->cap : 64;
        char **v = realloc(ps->v, cap * sizeof *v);
        if (v == NULL)
            return -1;
        ps->v = v;
        ps->cap = cap;
    }
    ps->v[ps->n] = strdup(path);
    return ps->v[ps->n] == NULL ? -1 : (ps->n++, 0);
}

static void paths_release(struct paths *ps)
{
    for (size_t i = 0; i < ps->n; i++)
        free(ps->v[i]);
    free(ps->v);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Every regular file below `path`, hidden ones left out. Links to folders are not followed. */
static enum status walk(struct paths *ps, const char *path, int depth, struct err *err)
{
    struct stat st, target;
    if ((depth == 0 ? stat : lstat)(path, &st) != 0)
        return depth == 0 ? err_set(err, STATUS_INPUT, "%s: %s", path, strerror(errno)) : STATUS_OK;
    if (S_ISREG(st.st_mode) ||
        (S_ISLNK(st.st_mode) && stat(path, &target) == 0 && S_ISREG(target.st_mode)))
        return paths_add(ps, path) == 0 ? STATUS_OK : err_set(err, STATUS_FAILED, "out of memory");
    if (!S_ISDIR(st.st_mode) || depth == MAX_DEPTH)
        return STATUS_OK;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return err_set(err, STATUS_INPUT, "%s: %s", path, strerror(errno));
    enum status status = STATUS_OK;
    for (struct dirent *e; status == STATUS_OK && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        char below[4096];
        if (snprintf(below, sizeof below, "%s/%s", path, e->d_name) < (int)sizeof below)
            status = walk(ps, below, depth + 1, err);
    }
    closedir(dir);
    return status;
}

static void put(cJSON *o, const char *key, double x)
{
    if (isfinite(x))
        cJSON_AddNumberToObject(o, key, x);
}

static void put_errors(cJSON *o, const struct backtest_errors *e)
{
    if (e->formula[0] != '\0')
        cJSON_AddStringToObject(o, "formula", e->formula);
    put(o, "median_rel_error", e->median_rel_error);
    put(o, "mean_rel_error", e->mean_rel_error);
    put(o, "p90_rel_error", e->p90_rel_error);
    put(o, "max_rel_error", e->max_rel_error);
    put(o, "sign_accuracy", e->sign_accuracy);
    put(o, "argmax_accuracy", e->argmax_accuracy);
    put(o, "mean_regret", e->mean_regret);
    put(o, "kendall_tau", e->kendall_tau);
}

static cJSON *result_json(const struct backtest_result *r, int cases)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "table", r->table);
    cJSON_AddStringToObject(o, "target", r->target);
    cJSON_AddNumberToObject(o, "cases", (double)r->cases);
    cJSON_AddNumberToObject(o, "fitted_parameters", r->fitted_parameters);
    cJSON_AddStringToObject(o, "fitted_on", r->fitted_on);
    put_errors(o, &r->errors);
    put(o, "interval_coverage", r->interval_coverage);
    if (r->n_naive > 0)
        put_errors(cJSON_AddObjectToObject(o, "naive"), &r->naive[0]);
    cJSON *more = r->n_naive > 1 ? cJSON_AddArrayToObject(o, "more_naive") : NULL;
    for (int i = 1; i < r->n_naive; i++) {
        cJSON *e = cJSON_CreateObject();
        cJSON_AddItemToArray(more, e);
        put_errors(e, &r->naive[i]);
    }
    cJSON *list = cases ? cJSON_AddArrayToObject(o, "each") : NULL;
    for (size_t i = 0; cases && i < r->n_v; i++) {
        const struct backtest_case *c = &r->v[i];
        cJSON *e = cJSON_CreateObject();
        cJSON_AddItemToArray(list, e);
        cJSON_AddStringToObject(e, "case", c->name);
        put(e, "rel_error", c->error);
        put(e, "naive_rel_error", c->naive_error);
        put(e, "measured", c->measured);
        put(e, "predicted", c->predicted);
        if (c->naive_predicted > 0)
            put(e, "naive_predicted", c->naive_predicted);
        if (isfinite(c->low) && isfinite(c->high)) {
            double ci[] = {c->low, c->high};
            cJSON_AddItemToObject(e, "ci95", cJSON_CreateDoubleArray(ci, 2));
        }
    }
    return o;
}

static void percent(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, " %7.1f", 100 * x);
    else
        fprintf(out, " %7s", "-");
}

static void print_errors(FILE *out, const char *name, const struct backtest_errors *e)
{
    fprintf(out, "  %-34.34s", name);
    percent(out, e->median_rel_error);
    percent(out, e->mean_rel_error);
    percent(out, e->p90_rel_error);
    percent(out, e->max_rel_error);
    if (isfinite(e->sign_accuracy))
        fprintf(out, "  sign %.0f %%", 100 * e->sign_accuracy);
    if (isfinite(e->argmax_accuracy))
        fprintf(out, "  best choice %.0f %%", 100 * e->argmax_accuracy);
    if (isfinite(e->mean_regret))
        fprintf(out, "  regret %.1f %%", 100 * e->mean_regret);
    if (isfinite(e->kendall_tau))
        fprintf(out, "  tau %.2f", e->kendall_tau);
    fprintf(out, "\n");
}

static void print_text(FILE *out, const struct backtest_results *rs, int cases)
{
    fprintf(out, "%-36s %7s %7s %7s %7s\n", "relative error, %", "median", "mean", "p90", "worst");
    for (size_t i = 0; i < rs->n; i++) {
        const struct backtest_result *r = &rs->v[i];
        fprintf(out, "%s: %s\n", r->table, r->target);
        char name[64];
        snprintf(name, sizeof name, "updraft, %lld cases", (long long)r->cases);
        print_errors(out, name, &r->errors);
        for (int k = 0; k < r->n_naive; k++)
            print_errors(out, r->naive[k].formula, &r->naive[k]);
        if (isfinite(r->interval_coverage))
            fprintf(out, "  95 %% intervals hold %.1f %%\n", 100 * r->interval_coverage);
        fprintf(out, "  %d parameter%s fitted on %s\n", r->fitted_parameters,
                r->fitted_parameters == 1 ? "" : "s", r->fitted_on);
        for (size_t k = 0; cases && k < r->n_v; k++) {
            fprintf(out, "    ");
            percent(out, r->v[k].error);
            percent(out, r->v[k].naive_error);
            fprintf(out, "  %s\n", r->v[k].name);
        }
    }
}

static void csv_text_cell(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

/* Three digits: what two compilers agree on. */
static void csv_cell(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, ",%.3f", x);
    else
        fprintf(out, ",");
}

static void csv_errors(FILE *out, const char *formula, const struct backtest_errors *e,
                       double coverage)
{
    fputc(',', out);
    csv_text_cell(out, formula);
    csv_cell(out, e->median_rel_error);
    csv_cell(out, e->mean_rel_error);
    csv_cell(out, e->p90_rel_error);
    csv_cell(out, e->max_rel_error);
    csv_cell(out, e->sign_accuracy);
    csv_cell(out, e->argmax_accuracy);
    csv_cell(out, e->mean_regret);
    csv_cell(out, e->kendall_tau);
    csv_cell(out, coverage);
    fputc('\n', out);
}

static void csv_head(FILE *out, const struct backtest_result *r)
{
    csv_text_cell(out, r->table);
    fputc(',', out);
    csv_text_cell(out, r->target);
    fprintf(out, ",%lld,%d", (long long)r->cases, r->fitted_parameters);
}

static void print_csv(FILE *out, const struct backtest_results *rs)
{
    fprintf(out, "table,target,cases,fitted_parameters,formula,median_rel_error,mean_rel_error,"
                 "p90_rel_error,max_rel_error,sign_accuracy,argmax_accuracy,mean_regret,"
                 "kendall_tau,interval_coverage\n");
    for (size_t i = 0; i < rs->n; i++) {
        const struct backtest_result *r = &rs->v[i];
        csv_head(out, r);
        csv_errors(out, "updraft", &r->errors, r->interval_coverage);
        for (int k = 0; k < r->n_naive; k++) {
            csv_head(out, r);
            csv_errors(out, r->naive[k].formula, &r->naive[k], NAN);
        }
    }
}

static void markdown_cell(FILE *out, double x)
{
    if (isfinite(x))
        fprintf(out, " %.1f |", 100 * x);
    else
        fprintf(out, " |");
}

static void markdown_errors(FILE *out, const struct backtest_errors *e)
{
    markdown_cell(out, e->median_rel_error);
    markdown_cell(out, e->mean_rel_error);
    markdown_cell(out, e->max_rel_error);
    markdown_cell(out, e->sign_accuracy);
    markdown_cell(out, e->argmax_accuracy);
    markdown_cell(out, e->mean_regret);
}

/* A table for documents: each result with its first naive formula below it, all in per cent. */
static void print_markdown(FILE *out, const struct backtest_results *rs)
{
    fprintf(out,
            "| table | predicted | cases | fitted on | median | mean | worst | sign right | best "
            "chosen | regret | inside 95 %% |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < rs->n; i++) {
        const struct backtest_result *r = &rs->v[i];
        fprintf(out, "| %s | %s | %lld | %s |", r->table, r->target, (long long)r->cases,
                r->fitted_on);
        markdown_errors(out, &r->errors);
        markdown_cell(out, r->interval_coverage);
        fprintf(out, "\n");
        if (r->n_naive == 0)
            continue;
        fprintf(out, "| | *%s* | | |", r->naive[0].formula);
        markdown_errors(out, &r->naive[0]);
        fprintf(out, " |\n");
    }
}

static enum status look_at_files(const struct paths *ps, void **states, size_t *taken_files,
                                 FILE *log, struct err *err)
{
    enum status status = STATUS_OK;
    *taken_files = 0;
    for (size_t i = 0; i < ps->n && status == STATUS_OK; i++) {
        struct backtest_file f = {.path = ps->v[i]};
        const char *slash = strrchr(f.path, '/');
        f.name = slash ? slash + 1 : f.path;
        int any = 0;
        for (int k = 0; backtests[k] != NULL && status == STATUS_OK; k++) {
            int taken = 0;
            struct err why = {STATUS_OK, ""};
            enum status one = backtests[k]->take(states[k], &f, &taken, &why);
            if (one == STATUS_FAILED)
                status = err_set(err, one, "%s", why.msg);
            else if (one != STATUS_OK)
                fprintf(log, "updraft: warning: %s\n", why.msg);
            any |= taken;
        }
        *taken_files += any != 0;
        backtest_file_release(&f);
    }
    return status;
}

static enum status run(struct invocation *inv, struct err *err)
{
    struct paths ps = {0};
    struct backtest_results rs = {0};
    void *states[MAX_BACKTESTS] = {0};
    const char *dir = inv->args[0];
    int cases = invocation_has(inv, "cases");
    size_t taken = 0;
    enum status status = walk(&ps, dir, 0, err);
    if (status == STATUS_OK && ps.n > 0)
        qsort(ps.v, ps.n, sizeof *ps.v, compare_paths);
    for (int k = 0; backtests[k] != NULL && status == STATUS_OK; k++)
        if ((states[k] = backtests[k]->begin()) == NULL)
            status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK)
        status = look_at_files(&ps, states, &taken, inv->log, err);
    for (int k = 0; backtests[k] != NULL && status == STATUS_OK; k++)
        status = backtests[k]->finish(states[k], &rs, err);
    if (status == STATUS_OK && rs.n == 0)
        status = err_set(err, STATUS_UNSUPPORTED,
                         "%s: no table in it that a backtest knows, of %zu files (updraft help "
                         "backtest says which are known)",
                         dir, ps.n);
    if (status == STATUS_OK && inv->json) {
        cJSON *root = cJSON_CreateObject(), *tables = cJSON_AddArrayToObject(root, "tables");
        cJSON_AddNumberToObject(root, "files", (double)ps.n);
        cJSON_AddNumberToObject(root, "files_used", (double)taken);
        for (size_t i = 0; i < rs.n; i++)
            cJSON_AddItemToArray(tables, result_json(&rs.v[i], cases));
        status = print_json(inv->out, root, err);
    } else if (status == STATUS_OK && invocation_has(inv, "markdown")) {
        print_markdown(inv->out, &rs);
    } else if (status == STATUS_OK && invocation_has(inv, "csv")) {
        print_csv(inv->out, &rs);
    } else if (status == STATUS_OK) {
        print_text(inv->out, &rs, cases);
        fprintf(inv->out, "%zu of %zu files used\n", taken, ps.n);
    }
    for (int k = 0; backtests[k] != NULL; k++)
        backtests[k]->end(states[k]);
    backtest_results_release(&rs);
    paths_release(&ps);
    return status;
}

static const struct command_option options[] = {
    {"cases", NULL, 0, "list every case with its error and the naive formula's"},
    {"csv", NULL, 0, "one line a formula, as in traces/reference/results.csv"},
    {"markdown", NULL, 0, "a table for documents, as in docs/accuracy.md"},
    {0},
};

const struct command cmd_backtest = {
    .name = "backtest",
    .synopsis = "DIR [--cases] [--csv] [--markdown]",
    .summary = "runs the predictor over every known table in DIR and reports its errors",
    .details =
        "Looks at every file below DIR. Allreduce curves of 6 or more sizes: each size between\n"
        "4 KiB and 1 MiB is left out and predicted from the others. Tables of served runs, known "
        "by\n"
        "their columns: throughput with and without speculation by requests; by draft "
        "configuration\n"
        "and data set; accept lengths and throughput by draft steps; gains by batch; what a "
        "faster\n"
        "allreduce saved; rounds whose parts were timed.",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .run = run,
};
