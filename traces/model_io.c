#include "traces/model_io.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/input.h"
#include "traces/json_doc.h"
#include "traces/load.h"

/* --- Writing ------------------------------------------------------------------------------------
 */

static void put(cJSON *o, const char *key, double x)
{
    if (isfinite(x))
        cJSON_AddNumberToObject(o, key, x);
}

static void put_text(cJSON *o, const char *key, const char *text)
{
    if (text != NULL && text[0] != '\0')
        cJSON_AddStringToObject(o, key, text);
}

static const struct cost_segment *first_segment(const struct cost *c)
{
    return c->n_segments > 0 ? &c->segments[0] : NULL;
}

cJSON *cost_to_json(const struct cost *c, const char *form)
{
    cJSON *o = cJSON_CreateObject();
    if (o == NULL)
        return NULL;
    cJSON_AddStringToObject(o, "impl", c->impl);
    cJSON_AddNumberToObject(o, "ranks", c->ranks);
    cJSON_AddStringToObject(o, "form", form);
    const struct cost_segment *first = first_segment(c);
    put(o, "alpha_us", first ? first->alpha_us : (double)NAN);
    put(o, "beta_us_per_byte", first ? first->beta_us_per_byte : (double)NAN);
    cJSON_AddStringToObject(o, "collective", c->collective);
    put_text(o, "label", c->label);
    put_text(o, "dtype", c->dtype);
    put_text(o, "method", c->method);
    cJSON_AddBoolToObject(o, "in_place", c->in_place);
    cJSON_AddStringToObject(o, "source", cost_source_name(c->source));
    put(o, "min_bytes", c->min_bytes);
    put(o, "max_bytes", c->max_bytes);
    cJSON_AddNumberToObject(o, "points", c->points);
    put(o, "max_rel_error", c->max_rel_error);
    put(o, "median_rel_error", c->median_rel_error);
    put(o, "cv_median_rel_error", c->cv_median_rel_error);
    put(o, "cv_mean_rel_error", c->cv_mean_rel_error);
    put(o, "rel_sigma", c->rel_sigma);
    put(o, "point_sigma", c->point_sigma);
    put(o, "extrap_sigma", c->extrap_sigma);
    cJSON *segments = cJSON_AddArrayToObject(o, "segments");
    for (int i = 0; i < c->n_segments; i++) {
        cJSON *s = cJSON_CreateObject();
        cJSON_AddItemToArray(segments, s);
        put(s, "from_bytes", c->segments[i].from_bytes);
        put(s, "to_bytes", c->segments[i].to_bytes);
        put(s, "alpha_us", c->segments[i].alpha_us);
        put(s, "beta_us_per_byte", c->segments[i].beta_us_per_byte);
    }
    if (c->form == COST_SATURATING)
        put(o, "half_bytes", c->half_bytes);
    if (c->form == COST_TABLE) {
        cJSON *knots = cJSON_AddArrayToObject(o, "knots");
        for (int i = 0; i < c->n_knots; i++) {
            double v[] = {c->knot_x[i], c->knot_y[i], c->knot_slope[i], c->knot_shape[i]};
            cJSON_AddItemToArray(knots, cJSON_CreateDoubleArray(v, 4));
        }
    }
    return o;
}

static void add_ci95(cJSON *o, const struct fit *f)
{
    const struct cost_segment *s = first_segment(&f->cost);
    if (s == NULL || !isfinite(f->cov[0]) || !isfinite(f->cov[2]))
        return;
    double factor = fit_ci95_factor(f);
    double a = factor * sqrt(f->cov[0]), b = factor * sqrt(f->cov[2]);
    double alpha[] = {s->alpha_us - a, s->alpha_us + a};
    double beta[] = {s->beta_us_per_byte - b, s->beta_us_per_byte + b};
    cJSON *ci = cJSON_AddObjectToObject(o, "ci95");
    cJSON_AddItemToObject(ci, "alpha_us", cJSON_CreateDoubleArray(alpha, 2));
    cJSON_AddItemToObject(ci, "beta_us_per_byte", cJSON_CreateDoubleArray(beta, 2));
}

static cJSON *fit_to_json(const struct fit *f)
{
    cJSON *o = cost_to_json(&f->cost, fit_forms[f->form]->id);
    if (o == NULL)
        return NULL;
    add_ci95(o, f);
    cJSON_AddNumberToObject(o, "sizes", f->n_sizes);
    cJSON_AddNumberToObject(o, "records_unusable", f->n_unusable);
    put(o, "repeat_sigma", f->repeat_sigma);
    put(o, "cv_interval_coverage", f->loo_coverage);
    cJSON *contenders = cJSON_AddArrayToObject(o, "contenders");
    for (int i = 0; i < FIT_FORM_COUNT; i++) {
        const struct fit_contender *c = &f->contenders[i];
        cJSON *e = cJSON_CreateObject();
        cJSON_AddItemToArray(contenders, e);
        cJSON_AddStringToObject(e, "form", fit_forms[i]->id);
        cJSON_AddBoolToObject(e, "fitted", c->status == STATUS_OK);
        put(e, "cv_mean_rel_error", c->cv_mean_rel_error);
        put(e, "cv_median_rel_error", c->cv_median_rel_error);
        put(e, "median_rel_error", c->median_rel_error);
        put(e, "max_rel_error", c->max_rel_error);
    }
    cJSON *steps = cJSON_AddArrayToObject(o, "steps");
    for (int i = 0; i < f->n_steps; i++) {
        cJSON *e = cJSON_CreateObject();
        cJSON_AddItemToArray(steps, e);
        put(e, "from_bytes", f->steps[i].from_bytes);
        put(e, "to_bytes", f->steps[i].to_bytes);
        put(e, "ratio", f->steps[i].ratio);
    }
    cJSON *outliers = cJSON_AddArrayToObject(o, "outliers");
    for (int i = 0; i < f->n_outliers; i++) {
        const struct fit_outlier *x = &f->outliers[i];
        cJSON *e = cJSON_CreateObject();
        cJSON_AddItemToArray(outliers, e);
        cJSON_AddStringToObject(e, "kind", fit_outlier_name(x->kind));
        put(e, "bytes", x->bytes);
        put(e, "latency_us", x->us);
        put(e, "expected_us", x->expected_us);
        put_text(e, "origin", x->origin);
        if (x->line > 0)
            cJSON_AddNumberToObject(e, "line", (double)x->line);
        cJSON_AddStringToObject(e, "reason", fit_outlier_doc(x->kind));
    }
    return o;
}

cJSON *fits_to_json(const struct fits *fs)
{
    cJSON *root = cJSON_CreateObject();
    if (root == NULL)
        return NULL;
    cJSON_AddNumberToObject(root, "updraft_model", MODEL_VERSION);
    cJSON *models = cJSON_AddArrayToObject(root, "models");
    for (size_t i = 0; i < fs->n; i++)
        cJSON_AddItemToArray(models, fit_to_json(&fs->v[i]));
    cJSON *unfit = cJSON_AddArrayToObject(root, "not_fitted");
    for (size_t i = 0; i < fs->n_unfit; i++) {
        const struct curve *c = fs->unfit[i].curve;
        cJSON *e = cJSON_CreateObject();
        cJSON_AddItemToArray(unfit, e);
        cJSON_AddStringToObject(e, "impl", c->key->impl);
        cJSON_AddNumberToObject(e, "ranks", c->key->ranks);
        cJSON_AddStringToObject(e, "collective", record_what_name(c->key->what));
        put_text(e, "label", c->key->label);
        cJSON_AddNumberToObject(e, "sizes", (double)c->n_points);
        cJSON_AddNumberToObject(e, "records_unusable", (double)c->skipped);
        cJSON_AddStringToObject(e, "reason", fs->unfit[i].err.msg);
    }
    return root;
}

/* --- Reading ------------------------------------------------------------------------------------
 */

/* A number of an object; `fallback` where it is absent, unless that is NaN: then it is required. */
static enum status get(const struct json_doc *doc, const cJSON *o, const char *key, double min,
                       double fallback, double *x, struct err *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    if (item == NULL && !isnan(fallback)) {
        *x = fallback;
        return STATUS_OK;
    }
    if (item == NULL || !cJSON_IsNumber(item) || !isfinite(item->valuedouble) ||
        item->valuedouble < min)
        return json_doc_error(doc, item ? item : o, err, "%s: a number of at least %g was expected",
                              key, min);
    *x = item->valuedouble;
    return STATUS_OK;
}

static enum status get_text(const struct json_doc *doc, const cJSON *o, const char *key,
                            int required, char *to, size_t cap, struct err *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    if (item == NULL && !required)
        return STATUS_OK;
    if (item == NULL || !cJSON_IsString(item) || strlen(item->valuestring) >= cap)
        return json_doc_error(doc, item ? item : o, err,
                              "%s: a text of at most %zu characters was expected", key, cap - 1);
    memcpy(to, item->valuestring, strlen(item->valuestring) + 1);
    return STATUS_OK;
}

static enum status known_keys(const struct json_doc *doc, const cJSON *o, const char *keys,
                              struct err *err)
{
    for (const cJSON *c = o->child; c != NULL; c = c->next) {
        char wanted[96];
        snprintf(wanted, sizeof wanted, " %.90s ", c->string);
        if (strncmp(c->string, "x_", 2) != 0 && strstr(keys, wanted) == NULL)
            return json_doc_error(doc, c, err,
                                  "no key \"%s\" is known here (x_%s would be ignored)", c->string,
                                  c->string);
    }
    return STATUS_OK;
}

static enum status read_segments(struct cost *c, const struct json_doc *doc, const cJSON *o,
                                 struct err *err)
{
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(o, "segments");
    if (a != NULL && !cJSON_IsArray(a))
        return json_doc_error(doc, a, err, "segments: a list was expected");
    for (const cJSON *s = a ? a->child : NULL; s != NULL; s = s->next) {
        if (!cJSON_IsObject(s) || c->n_segments == COST_MAX_SEGMENTS)
            return json_doc_error(doc, s, err, "segments: at most %d objects were expected",
                                  COST_MAX_SEGMENTS);
        struct cost_segment *g = &c->segments[c->n_segments++];
        enum status status =
            known_keys(doc, s, " from_bytes to_bytes alpha_us beta_us_per_byte ", err);
        if (status == STATUS_OK)
            status = get(doc, s, "from_bytes", 0, NAN, &g->from_bytes, err);
        if (status == STATUS_OK)
            status = get(doc, s, "to_bytes", g->from_bytes, NAN, &g->to_bytes, err);
        if (status == STATUS_OK)
            status = get(doc, s, "alpha_us", -1e12, NAN, &g->alpha_us, err);
        if (status == STATUS_OK)
            status = get(doc, s, "beta_us_per_byte", 0, NAN, &g->beta_us_per_byte, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status read_knots(struct cost *c, const struct json_doc *doc, const cJSON *a,
                              struct err *err)
{
    for (const cJSON *k = a->child; k != NULL; k = k->next) {
        if (c->n_knots == COST_MAX_KNOTS)
            return json_doc_error(doc, k, err, "knots: at most %d were expected", COST_MAX_KNOTS);
        double v[4];
        int n = 0;
        for (const cJSON *x = k->child; cJSON_IsArray(k) && x != NULL; x = x->next, n++)
            if (n < 4 && cJSON_IsNumber(x) && isfinite(x->valuedouble))
                v[n] = x->valuedouble;
            else
                n = 99;
        if (n != 4 || fabs(v[0]) > 1000 || fabs(v[1]) > 100 || !(v[3] > 0) ||
            (c->n_knots > 0 && v[0] <= c->knot_x[c->n_knots - 1]))
            return json_doc_error(doc, k, err,
                                  "knots: [log2 of bytes, ln of us, slope, shape] in ascending "
                                  "order was expected");
        c->knot_x[c->n_knots] = v[0];
        c->knot_y[c->n_knots] = v[1];
        c->knot_slope[c->n_knots] = v[2];
        c->knot_shape[c->n_knots] = v[3];
        c->n_knots++;
    }
    if (c->n_knots < 2)
        return json_doc_error(doc, a, err, "knots: at least 2 were expected");
    c->form = COST_TABLE;
    return STATUS_OK;
}

static enum status read_numbers(struct cost *c, const struct json_doc *doc, const cJSON *o,
                                struct err *err)
{
    double ranks, points;
    const struct {
        const char *key;
        double min, fallback, *to;
    } numbers[] = {
        {"ranks", 0, NAN, &ranks},
        {"points", 0, 0, &points},
        {"min_bytes", 0, 0, &c->min_bytes},
        {"max_bytes", 0, 1e18, &c->max_bytes},
        {"max_rel_error", 0, 0, &c->max_rel_error},
        {"median_rel_error", 0, 0, &c->median_rel_error},
        {"cv_median_rel_error", 0, 0, &c->cv_median_rel_error},
        {"cv_mean_rel_error", 0, 0, &c->cv_mean_rel_error},
        {"rel_sigma", 0, 0.05, &c->rel_sigma},
        {"point_sigma", 0, 0.05, &c->point_sigma},
        {"extrap_sigma", 0, 0.2, &c->extrap_sigma},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        enum status status =
            get(doc, o, numbers[i].key, numbers[i].min, numbers[i].fallback, numbers[i].to, err);
        if (status != STATUS_OK)
            return status;
    }
    c->ranks = ranks < 1e6 ? (int)ranks : 1000000;
    c->points = points < 1e9 ? (int)points : 1000000000;
    return STATUS_OK;
}

static const char model_keys[] =
    " impl ranks form alpha_us beta_us_per_byte collective label dtype method in_place source "
    "min_bytes max_bytes points max_rel_error median_rel_error cv_median_rel_error "
    "cv_mean_rel_error rel_sigma point_sigma extrap_sigma segments half_bytes knots ci95 sizes "
    "records_unusable repeat_sigma cv_interval_coverage contenders steps outliers ";

static enum status read_model(struct cost *c, const struct json_doc *doc, const cJSON *o,
                              struct err *err)
{
    *c = (struct cost){0};
    if (!cJSON_IsObject(o))
        return json_doc_error(doc, o, err, "models: a list of objects was expected");
    char source[16] = "measured";
    enum status status = known_keys(doc, o, model_keys, err);
    if (status == STATUS_OK)
        status = get_text(doc, o, "impl", 1, c->impl, sizeof c->impl, err);
    if (status == STATUS_OK)
        status = get_text(doc, o, "collective", 1, c->collective, sizeof c->collective, err);
    if (status == STATUS_OK)
        status = get_text(doc, o, "label", 0, c->label, sizeof c->label, err);
    if (status == STATUS_OK)
        status = get_text(doc, o, "dtype", 0, c->dtype, sizeof c->dtype, err);
    if (status == STATUS_OK)
        status = get_text(doc, o, "method", 0, c->method, sizeof c->method, err);
    if (status == STATUS_OK)
        status = get_text(doc, o, "source", 0, source, sizeof source, err);
    if (status == STATUS_OK)
        status = read_numbers(c, doc, o, err);
    if (status == STATUS_OK)
        status = read_segments(c, doc, o, err);
    if (status != STATUS_OK)
        return status;
    c->in_place = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "in_place"));
    c->source = strcmp(source, "synthesized") == 0 ? COST_SYNTHESIZED : COST_MEASURED;
    const cJSON *knots = cJSON_GetObjectItemCaseSensitive(o, "knots");
    if (knots != NULL)
        return read_knots(c, doc, knots, err);
    if (c->n_segments == 0)
        return json_doc_error(doc, o, err, "a model needs segments or knots");
    if (cJSON_GetObjectItemCaseSensitive(o, "half_bytes") != NULL) {
        c->form = COST_SATURATING;
        return get(doc, o, "half_bytes", 0, NAN, &c->half_bytes, err);
    }
    c->form = COST_SEGMENTS;
    return STATUS_OK;
}

static enum status read_document(struct costs *cs, const struct json_doc *doc, struct err *err)
{
    enum status status = STATUS_OK;
    size_t had = cs->n;
    struct cost *c = malloc(sizeof *c);
    double version = 0;
    const cJSON *models = cJSON_GetObjectItemCaseSensitive(doc->root, "models");
    if (c == NULL)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK && !cJSON_IsObject(doc->root))
        status = json_doc_error(doc, doc->root, err, "a model file was expected: an object");
    if (status == STATUS_OK)
        status = known_keys(doc, doc->root, " updraft_model models not_fitted ", err);
    if (status == STATUS_OK)
        status = get(doc, doc->root, "updraft_model", 1, NAN, &version, err);
    if (status == STATUS_OK && version > MODEL_VERSION)
        status = json_doc_error(doc, doc->root, err,
                                "a model file of version %g; this program reads up to %d", version,
                                MODEL_VERSION);
    if (status == STATUS_OK && !cJSON_IsArray(models))
        status =
            json_doc_error(doc, models ? models : doc->root, err, "models: a list was expected");
    for (const cJSON *o = status == STATUS_OK && models != NULL ? models->child : NULL; o != NULL;
         o = o->next) {
        status = read_model(c, doc, o, err);
        if (status == STATUS_OK && costs_add(cs, c) != 0)
            status = err_set(err, STATUS_FAILED, "out of memory");
        if (status != STATUS_OK)
            break;
    }
    if (status == STATUS_OK && cs->n == had)
        status = json_doc_error(doc, models, err, "models: the list is empty");
    if (status != STATUS_OK)
        cs->n = had;
    free(c);
    return status;
}

enum status model_read(struct costs *cs, const char *path, struct err *err)
{
    struct json_doc doc;
    enum status status = json_doc_read(&doc, path, err);
    if (status != STATUS_OK)
        return status;
    status = read_document(cs, &doc, err);
    json_doc_release(&doc);
    return status;
}

enum status model_parse(struct costs *cs, const char *name, const char *text, size_t len,
                        struct err *err)
{
    struct json_doc doc;
    enum status status = json_doc_parse(&doc, name, text, len, err);
    if (status != STATUS_OK)
        return status;
    status = read_document(cs, &doc, err);
    json_doc_release(&doc);
    return status;
}

/* Whether it is a model file: one object with the key updraft_model, which a tool that sorts keys
 * may have put anywhere. */
static int is_model(const char *path)
{
    char head[64];
    FILE *f = input_stream(path);
    if (f == NULL)
        return 0;
    size_t n = fread(head, 1, sizeof head - 1, f);
    fclose(f);
    head[n] = '\0';
    const char *p = head + strspn(head, " \t\r\n");
    if (*p != '{')
        return 0;
    p++;
    p += strspn(p, " \t\r\n");
    if (strncmp(p, "\"updraft_model\"", 15) == 0 || strncmp(p, "\"updraft_trace\"", 15) == 0)
        return p[9] == 'm';
    struct json_doc doc;
    struct err ignored;
    int is = json_doc_read(&doc, path, &ignored) == STATUS_OK &&
             cJSON_HasObjectItem(doc.root, "updraft_model");
    json_doc_release(&doc);
    return is;
}

enum status costs_load(struct costs *cs, const char *path, FILE *log, struct err *err)
{
    if (is_model(path))
        return model_read(cs, path, err);
    struct fits fs = {0};
    enum status status = fits_load(&fs, &path, 1, NULL, log, err);
    size_t had = cs->n, shared = 0;
    for (size_t i = 0; i < fs.n; i++) {
        int ranks, gpus;
        shared +=
            sscanf(fs.v[i].placement, "%d ranks on %d GPU", &ranks, &gpus) == 2 && gpus < ranks;
    }
    if (status == STATUS_OK && shared > 0 && log != NULL)
        fprintf(log,
                "updraft: note: %s: %zu curves are of ranks that share a GPU: they say little of a "
                "box with a GPU a rank\n",
                path, shared);
    for (size_t i = 0; i < fs.n && status == STATUS_OK; i++)
        if (costs_add(cs, &fs.v[i].cost) != 0)
            status = err_set(err, STATUS_FAILED, "out of memory");
    if (status != STATUS_OK)
        cs->n = had;
    fits_release(&fs);
    return status;
}
