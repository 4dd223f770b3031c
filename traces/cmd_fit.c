/* fit: measurements into models of latency against size. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "traces/command.h"
#include "traces/model_io.h"

static const char *size_text(char *buf, size_t cap, double bytes)
{
    if (bytes >= 1 << 20 && fmod(bytes, 1 << 20) == 0)
        snprintf(buf, cap, "%.0f MiB", bytes / (1 << 20));
    else if (bytes >= 1 << 10 && fmod(bytes, 1 << 10) == 0)
        snprintf(buf, cap, "%.0f KiB", bytes / (1 << 10));
    else
        snprintf(buf, cap, "%.0f B", bytes);
    return buf;
}

/* What sets a curve apart from every other one. */
static void print_title(FILE *out, const char *impl, int ranks, const char *const words[5])
{
    fprintf(out, "%s", impl);
    if (ranks > 0)
        fprintf(out, ", %d ranks", ranks);
    for (int i = 0; i < 5; i++)
        if (words[i][0] != '\0')
            fprintf(out, ", %s", words[i]);
}

static void print_fit(FILE *out, const struct fit *f)
{
    const struct cost *c = &f->cost;
    char a[32], b[32];
    const char *const words[5] = {c->label, c->dtype, c->method, c->impl[0] ? "" : f->placement,
                                  c->in_place ? "in place" : ""};
    print_title(out, c->impl[0] ? c->impl : c->collective, c->ranks, words);
    fprintf(out, "\n");
    fprintf(out, "  %-12s %d sizes %s to %s, %d measurements; %s\n", c->collective, f->n_sizes,
            size_text(a, sizeof a, c->min_bytes), size_text(b, sizeof b, c->max_bytes), c->points,
            fit_forms[f->form]->doc);
    if (f->n_unusable > 0)
        fprintf(out, "  not used     %d measurements: wrong results, failed, or no value\n",
                f->n_unusable);
    if (c->n_segments > 0 && c->segments[0].beta_us_per_byte > 0)
        fprintf(out, "  small        alpha %.4g us, 1/beta %.4g GB/s\n", c->segments[0].alpha_us,
                1e-3 / c->segments[0].beta_us_per_byte);
    else if (c->n_segments > 0)
        fprintf(out, "  small        alpha %.4g us, no growth with size\n",
                c->segments[0].alpha_us);
    fprintf(out, "  left out     median error %.1f %%, mean %.1f %%; by form:",
            100 * c->cv_median_rel_error, 100 * c->cv_mean_rel_error);
    for (int i = 0; i < FIT_FORM_COUNT; i++)
        if (f->contenders[i].status == STATUS_OK)
            fprintf(out, " %s %.1f %%", fit_forms[i]->id, 100 * f->contenders[i].cv_mean_rel_error);
    fprintf(out, "\n  interval     95 %%: %.1f %% either way where the curve is smooth\n",
            100 * expm1(1.96 * hypot(c->rel_sigma, c->point_sigma)));
    for (int i = 0; i < f->n_steps; i++)
        fprintf(out, "  step         between %s and %s: x %.2f\n",
                size_text(a, sizeof a, f->steps[i].from_bytes),
                size_text(b, sizeof b, f->steps[i].to_bytes), f->steps[i].ratio);
    for (int i = 0; i < f->n_outliers; i++)
        fprintf(out, "  outlier      %s at %.4g us, the curve says %.4g: %s\n",
                size_text(a, sizeof a, f->outliers[i].bytes), f->outliers[i].us,
                f->outliers[i].expected_us, fit_outlier_doc(f->outliers[i].kind));
}

static void print_text(FILE *out, const struct fits *fs)
{
    for (size_t i = 0; i < fs->n; i++)
        print_fit(out, &fs->v[i]);
    for (size_t i = 0; i < fs->n_unfit; i++) {
        const struct record *key = fs->unfit[i].curve->key;
        const char *const words[5] = {key->label, key->dtype, key->method,
                                      key->impl[0] ? "" : key->placement,
                                      key->in_place == 1 ? "in place" : ""};
        print_title(out, key->impl[0] ? key->impl : record_what_name(key->what), key->ranks, words);
        fprintf(out, ": not fitted: %s\n", fs->unfit[i].err.msg);
    }
    fprintf(out, "%zu model%s", fs->n, fs->n == 1 ? "" : "s");
    if (fs->n_unfit > 0)
        fprintf(out, ", %zu curve%s without one", fs->n_unfit, fs->n_unfit == 1 ? "" : "s");
    fprintf(out, "\n");
}

static enum status run(struct invocation *inv, struct err *err)
{
    int64_t ranks = 0;
    enum status status = invocation_integer(inv, "ranks", 1, 1000000, &ranks, err);
    if (status != STATUS_OK)
        return status;
    struct fits_filter filter = {
        .impl = invocation_value(inv, "impl"),
        .label = invocation_value(inv, "label"),
        .collective = invocation_value(inv, "collective"),
        .ranks = (int)ranks,
    };
    struct fits fs;
    status =
        fits_load(&fs, (const char *const *)inv->args, (size_t)inv->n_args, &filter, inv->log, err);
    if (status != STATUS_OK)
        return status;
    int to_file = inv->out_path != NULL && strcmp(inv->out_path, "-") != 0;
    if (inv->json || to_file)
        status = print_json(inv->out, fits_to_json(&fs), err);
    if (!inv->json && status == STATUS_OK)
        print_text(to_file ? stdout : inv->out, &fs);
    fits_release(&fs);
    return status;
}

static const struct command_option options[] = {
    {"impl", "I", 0, "only curves of this implementation"},
    {"ranks", "R", 0, "only curves at this number of ranks"},
    {"label", "L", 0, "only curves with this label"},
    {"collective", "C", 0, "only this operation: allreduce, all_gather, ..."},
    {0},
};

const struct command cmd_fit = {
    .name = "fit",
    .synopsis = "TRACE... [--impl I] [--ranks R] [--label L] [--collective C] [-o MODEL]",
    .summary = "fits the latency/bandwidth models, writes a model file",
    .details =
        "Every curve of latency against size in the traces (or in files that import knows) gets a\n"
        "model. Several forms compete; the judge is the error at sizes left out. -o writes the\n"
        "model file, which predict, simulate and rank take.\n",
    .min_args = 1,
    .max_args = -1,
    .options = options,
    .run = run,
};
