#include "traces/catalogue_io.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Small readers; each names the line ------------------------------------------------------- */

static enum status read_text(const struct json_doc *doc, const cJSON *item, const char *key,
                             char *out, size_t size, struct err *err)
{
    if (!cJSON_IsString(item) || strlen(item->valuestring) >= size)
        return json_doc_error(doc, item, err, "%s: a string of at most %zu bytes was expected", key,
                              size - 1);
    memcpy(out, item->valuestring, strlen(item->valuestring) + 1);
    return STATUS_OK;
}

static enum status read_number(const struct json_doc *doc, const cJSON *item, const char *key,
                               double min, double max, double *out, struct err *err)
{
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
        return json_doc_error(doc, item, err, "%s: a number was expected", key);
    if (item->valuedouble < min || item->valuedouble > max)
        return json_doc_error(doc, item, err, "%s = %g: a value from %g to %g was expected", key,
                              item->valuedouble, min, max);
    *out = item->valuedouble;
    return STATUS_OK;
}

static enum status read_bool(const struct json_doc *doc, const cJSON *item, const char *key,
                             int *out, struct err *err)
{
    if (!cJSON_IsBool(item))
        return json_doc_error(doc, item, err, "%s: true or false was expected", key);
    *out = cJSON_IsTrue(item);
    return STATUS_OK;
}

static enum status unknown_key(const struct json_doc *doc, const cJSON *item, const char *of,
                               struct err *err)
{
    return json_doc_error(doc, item, err,
                          "%s: unknown key \"%.60s\" (a key of your own starts with x_)", of,
                          item->string);
}

static enum status need_object(const struct json_doc *doc, const cJSON *item, const char *key,
                               struct err *err)
{
    if (!cJSON_IsObject(item))
        return json_doc_error(doc, item, err, "%s: an object {...} was expected", key);
    for (const cJSON *a = item->child; a != NULL; a = a->next)
        for (const cJSON *b = item->child; b != a; b = b->next)
            if (strcmp(a->string, b->string) == 0)
                return json_doc_error(doc, a, err, "%s: \"%.60s\" is given twice", key, a->string);
    return STATUS_OK;
}

static enum status need_array(const struct json_doc *doc, const cJSON *item, const char *key,
                              int most, struct err *err)
{
    if (!cJSON_IsArray(item))
        return json_doc_error(doc, item, err, "%s: a list [...] was expected", key);
    if (cJSON_GetArraySize(item) > most)
        return json_doc_error(doc, item, err, "%s: at most %d were expected", key, most);
    return STATUS_OK;
}

static int own_key(const cJSON *item)
{
    return strncmp(item->string, "x_", 2) == 0;
}

/* A number, or {"value", "low", "high", "assumed", "source"}. */
static enum status read_qty(const struct json_doc *doc, const cJSON *item, const char *key,
                            double min, double max, struct qty *q, struct err *err)
{
    double value;
    enum status status;
    if (!cJSON_IsObject(item)) {
        status = read_number(doc, item, key, min, max, &value, err);
        if (status == STATUS_OK)
            *q = (struct qty){value, value, value, 1, 0};
        return status;
    }
    int has_value = 0, has_low = 0, has_high = 0, assumed = 0;
    double low = 0, high = 0;
    value = 0;
    for (const cJSON *e = item->child; e != NULL; e = e->next) {
        status = STATUS_OK;
        if (strcmp(e->string, "value") == 0) {
            status = read_number(doc, e, key, min, max, &value, err);
            has_value = 1;
        } else if (strcmp(e->string, "low") == 0) {
            status = read_number(doc, e, key, min, max, &low, err);
            has_low = 1;
        } else if (strcmp(e->string, "high") == 0) {
            status = read_number(doc, e, key, min, max, &high, err);
            has_high = 1;
        } else if (strcmp(e->string, "assumed") == 0) {
            status = read_bool(doc, e, key, &assumed, err);
        } else if (strcmp(e->string, "source") == 0) {
            if (!cJSON_IsString(e))
                status = json_doc_error(doc, e, err, "%s: source: a string was expected", key);
        } else if (!own_key(e)) {
            status = unknown_key(doc, e, key, err);
        }
        if (status != STATUS_OK)
            return status;
    }
    if (!has_value)
        return json_doc_error(doc, item, err, "%s: \"value\" is missing", key);
    if (!has_low)
        low = value;
    if (!has_high)
        high = value;
    if (!(low <= value && value <= high))
        return json_doc_error(doc, item, err, "%s: low %g, value %g, high %g are not in order", key,
                              low, value, high);
    *q = (struct qty){value, low, high, 1, assumed};
    return STATUS_OK;
}

static enum status read_curve(const struct json_doc *doc, const cJSON *item, const char *key,
                              struct qty_curve *curve, struct err *err)
{
    enum status status = need_array(doc, item, key, SCENARIO_MAX_CURVE, err);
    if (status != STATUS_OK)
        return status;
    if (item->child == NULL)
        return json_doc_error(doc, item, err, "%s: pairs [bytes, us] were expected", key);
    for (const cJSON *e = item->child; e != NULL; e = e->next) {
        double x, y;
        if (!cJSON_IsArray(e) || cJSON_GetArraySize(e) != 2)
            return json_doc_error(doc, e, err, "%s: a pair [bytes, us] was expected", key);
        status = read_number(doc, e->child, key, 1, 1e13, &x, err);
        if (status == STATUS_OK)
            status = read_number(doc, e->child->next, key, 1e-3, 1e10, &y, err);
        if (status != STATUS_OK)
            return status;
        if (curve->n > 0 && x <= curve->x[curve->n - 1])
            return json_doc_error(doc, e, err, "%s: bytes must ascend", key);
        curve->x[curve->n] = x;
        curve->y[curve->n++] = y;
    }
    return STATUS_OK;
}

static enum status read_key(const struct json_doc *doc, const cJSON *item,
                            const struct scenario_key **key, struct err *err)
{
    *key = cJSON_IsString(item) ? scenario_key_find(item->valuestring) : NULL;
    if (*key == NULL)
        return json_doc_error(doc, item, err, "key: \"%.60s\" is no scenario key",
                              cJSON_IsString(item) ? item->valuestring : "?");
    return STATUS_OK;
}

/* --- Effects
 * -------------------------------------------------------------------------------------- */

static enum status read_field(const struct json_doc *doc, const cJSON *item,
                              const struct effect_field *f, struct effect *e, struct err *err)
{
    void *p = (char *)e + f->offset;
    switch (f->type) {
    case EFFECT_QTY:
        return read_qty(doc, item, f->name, f->min, f->max, p, err);
    case EFFECT_NUMBER:
        return read_number(doc, item, f->name, f->min, f->max, p, err);
    case EFFECT_TEXT:
        return read_text(doc, item, f->name, p, SCENARIO_TEXT, err);
    case EFFECT_KEY:
        return read_key(doc, item, p, err);
    case EFFECT_CURVE:
        return read_curve(doc, item, f->name, p, err);
    }
    return STATUS_OK;
}

static enum status read_effect(const struct json_doc *doc, const cJSON *item, struct effect *e,
                               struct err *err)
{
    enum status status = need_object(doc, item, "effect", err);
    if (status != STATUS_OK)
        return status;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "type");
    if (!cJSON_IsString(name))
        return json_doc_error(doc, item, err, "effect: \"type\" is missing");
    const struct effect_type *type = effect_type_find(name->valuestring);
    if (type == NULL) {
        char list[400] = "";
        for (int i = 0; effect_types[i] != NULL; i++) {
            size_t n = strlen(list);
            snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", effect_types[i]->name);
        }
        return json_doc_error(doc, name, err, "unknown effect \"%.60s\"; there are: %s",
                              name->valuestring, list);
    }
    effect_init(e, type);
    for (const cJSON *c = item->child; c != NULL; c = c->next) {
        if (c == name || own_key(c) || strcmp(c->string, "source") == 0)
            continue;
        const struct effect_field *f = type->fields;
        while (f->name != NULL && strcmp(f->name, c->string) != 0)
            f++;
        status =
            f->name == NULL ? unknown_key(doc, c, type->name, err) : read_field(doc, c, f, e, err);
        if (status != STATUS_OK)
            return status;
    }
    for (const struct effect_field *f = type->fields; f->name != NULL; f++)
        if (f->required && cJSON_GetObjectItemCaseSensitive(item, f->name) == NULL)
            return json_doc_error(doc, item, err, "%s: \"%s\" is missing (%s)", type->name, f->name,
                                  f->doc);
    struct err inner;
    if (effect_check(e, &inner) != STATUS_OK)
        return json_doc_error(doc, item, err, "%s: %s", type->name, inner.msg);
    return STATUS_OK;
}

/* --- Requirements
 * --------------------------------------------------------------------------------- */

static enum status read_in(const struct json_doc *doc, const cJSON *item, struct condition *c,
                           struct err *err)
{
    enum status status = need_array(doc, item, "in", CONDITION_MAX_VALUES, err);
    for (const cJSON *e = status == STATUS_OK ? item->child : NULL; e != NULL; e = e->next) {
        if (c->key->type == KEY_TYPE_TEXT)
            status = read_text(doc, e, "in", c->words[c->n_words++], sizeof c->words[0], err);
        else
            status = read_number(doc, e, "in", -1e300, 1e300, &c->numbers[c->n_numbers++], err);
        if (status != STATUS_OK)
            return status;
    }
    return status;
}

static enum status read_condition(const struct json_doc *doc, const cJSON *item,
                                  struct condition *c, struct requirement *r, struct err *err)
{
    enum status status = need_object(doc, item, "requires", err);
    if (status != STATUS_OK)
        return status;
    const cJSON *key = cJSON_GetObjectItemCaseSensitive(item, "key");
    if (key == NULL)
        return json_doc_error(doc, item, err, "requires: \"key\" is missing");
    status = read_key(doc, key, &c->key, err);
    int text = status == STATUS_OK && c->key->type == KEY_TYPE_TEXT;
    for (const cJSON *e = item->child; e != NULL && status == STATUS_OK; e = e->next) {
        const char *name = e->string;
        if (e == key || own_key(e))
            continue;
        if (strcmp(name, "min") == 0 && !text) {
            status = read_number(doc, e, name, -1e300, 1e300, &c->min, err);
            c->has_min = 1;
        } else if (strcmp(name, "max") == 0 && !text) {
            status = read_number(doc, e, name, -1e300, 1e300, &c->max, err);
            c->has_max = 1;
        } else if (strcmp(name, "in") == 0) {
            status = read_in(doc, e, c, err);
        } else if (strcmp(name, "version_min") == 0 && text) {
            status = read_text(doc, e, name, c->version_min, sizeof c->version_min, err);
        } else if (strcmp(name, "version_below") == 0 && text) {
            status = read_text(doc, e, name, c->version_below, sizeof c->version_below, err);
        } else if (strcmp(name, "when") == 0 && r != NULL) {
            status = read_condition(doc, e, &r->when, NULL, err);
        } else if (strcmp(name, "why") == 0 && r != NULL) {
            status = read_text(doc, e, name, r->why, sizeof r->why, err);
        } else {
            status = unknown_key(doc, e, "requires", err);
        }
    }
    return status;
}

/* --- Options
 * -------------------------------------------------------------------------------------- */

static enum status read_effort(const struct json_doc *doc, const cJSON *item, struct option *o,
                               struct err *err)
{
    if (cJSON_IsNumber(item)) {
        enum status status =
            read_number(doc, item, "effort_days", 1e-3, 10000, &o->effort_likely, err);
        o->effort_low = o->effort_high = o->effort_likely;
        return status;
    }
    enum status status = need_object(doc, item, "effort_days", err);
    int seen = 0;
    for (const cJSON *e = status == STATUS_OK ? item->child : NULL; e != NULL; e = e->next) {
        double *to = strcmp(e->string, "low") == 0      ? &o->effort_low
                     : strcmp(e->string, "likely") == 0 ? &o->effort_likely
                     : strcmp(e->string, "high") == 0   ? &o->effort_high
                                                        : NULL;
        if (to == NULL && own_key(e))
            continue;
        if (to == NULL)
            return unknown_key(doc, e, "effort_days", err);
        status = read_number(doc, e, "effort_days", 1e-3, 10000, to, err);
        if (status != STATUS_OK)
            return status;
        seen++;
    }
    if (status != STATUS_OK)
        return status;
    if (seen != 3 || !(o->effort_low <= o->effort_likely && o->effort_likely <= o->effort_high))
        return json_doc_error(doc, item, err,
                              "effort_days: low <= likely <= high were expected, all three");
    return STATUS_OK;
}

static enum status read_evidence(const struct json_doc *doc, const cJSON *item, struct option *o,
                                 struct err *err)
{
    enum status status = need_array(doc, item, "evidence", OPTION_MAX_EVIDENCE, err);
    for (const cJSON *e = status == STATUS_OK ? item->child : NULL; e != NULL; e = e->next) {
        struct evidence *ev = &o->evidence[o->n_evidence++];
        status = need_object(doc, e, "evidence", err);
        for (const cJSON *f = status == STATUS_OK ? e->child : NULL; f != NULL; f = f->next) {
            if (strcmp(f->string, "source") == 0)
                status = read_text(doc, f, "source", ev->source, sizeof ev->source, err);
            else if (strcmp(f->string, "says") == 0)
                status = read_text(doc, f, "says", ev->says, sizeof ev->says, err);
            else if (!own_key(f))
                status = unknown_key(doc, f, "evidence", err);
            if (status != STATUS_OK)
                return status;
        }
        if (status == STATUS_OK && ev->source[0] == '\0')
            status = json_doc_error(doc, e, err, "evidence: \"source\" is missing");
        if (status != STATUS_OK)
            return status;
    }
    return status;
}

static enum status read_effects(const struct json_doc *doc, const cJSON *item, struct option *o,
                                struct err *err)
{
    enum status status = need_array(doc, item, "effects", OPTION_MAX_EFFECTS, err);
    for (const cJSON *e = status == STATUS_OK ? item->child : NULL; e != NULL; e = e->next) {
        status = read_effect(doc, e, &o->effects[o->n_effects++], err);
        if (status != STATUS_OK)
            return status;
    }
    return status;
}

static enum status read_requires(const struct json_doc *doc, const cJSON *item, struct option *o,
                                 struct err *err)
{
    enum status status = need_array(doc, item, "requires", OPTION_MAX_REQUIREMENTS, err);
    for (const cJSON *e = status == STATUS_OK ? item->child : NULL; e != NULL; e = e->next) {
        struct requirement *r = &o->requirements[o->n_requirements++];
        status = read_condition(doc, e, &r->must, r, err);
        if (status != STATUS_OK)
            return status;
    }
    return status;
}

static enum status read_option(const struct json_doc *doc, const cJSON *item, struct option *o,
                               struct err *err)
{
    enum status status = need_object(doc, item, "option", err);
    if (status != STATUS_OK)
        return status;
    *o = (struct option){.p_works = 1, .line = json_doc_line(doc, item)};
    int has_effort = 0;
    for (const cJSON *e = item->child; e != NULL && status == STATUS_OK; e = e->next) {
        const char *name = e->string;
        if (strcmp(name, "id") == 0)
            status = read_text(doc, e, name, o->id, sizeof o->id, err);
        else if (strcmp(name, "title") == 0)
            status = read_text(doc, e, name, o->title, sizeof o->title, err);
        else if (strcmp(name, "risk") == 0)
            status = read_text(doc, e, name, o->risk, sizeof o->risk, err);
        else if (strcmp(name, "requires") == 0)
            status = read_requires(doc, e, o, err);
        else if (strcmp(name, "effects") == 0)
            status = read_effects(doc, e, o, err);
        else if (strcmp(name, "evidence") == 0)
            status = read_evidence(doc, e, o, err);
        else if (strcmp(name, "p_works") == 0)
            status = read_number(doc, e, name, 0, 1, &o->p_works, err);
        else if (strcmp(name, "changes_summation") == 0)
            status = read_bool(doc, e, name, &o->changes_summation, err);
        else if (strcmp(name, "effort_days") == 0) {
            status = read_effort(doc, e, o, err);
            has_effort = 1;
        } else if (strcmp(name, "excludes") != 0 && strcmp(name, "needs") != 0 && !own_key(e))
            status = unknown_key(doc, e, "option", err);
    }
    if (status != STATUS_OK)
        return status;
    if (o->id[0] == '\0' || strspn(o->id, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(o->id))
        return json_doc_error(doc, item, err,
                              "option: \"id\" of a-z, 0-9 and _ was expected, it is \"%s\"", o->id);
    if (o->n_effects == 0)
        return json_doc_error(doc, item, err, "%s: \"effects\" is missing: what does it change?",
                              o->id);
    if (!has_effort)
        return json_doc_error(doc, item, err, "%s: \"effort_days\" is missing", o->id);
    if (o->title[0] == '\0')
        memcpy(o->title, o->id, sizeof o->id);
    return STATUS_OK;
}

/* "excludes" and "needs": lists of ids, once all options are known. */
static enum status read_ids(const struct json_doc *doc, const cJSON *option, const char *name,
                            const struct catalogue *c, int self, uint64_t *mask, struct err *err)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(option, name);
    if (list == NULL)
        return STATUS_OK;
    enum status status = need_array(doc, list, name, OPTION_MAX, err);
    if (status != STATUS_OK)
        return status;
    for (const cJSON *e = list->child; e != NULL; e = e->next) {
        int i = cJSON_IsString(e) ? catalogue_find(c, e->valuestring) : -1;
        if (i < 0)
            return json_doc_error(doc, e, err, "%s: %s: no option \"%.60s\"", c->v[self].id, name,
                                  cJSON_IsString(e) ? e->valuestring : "?");
        if (i == self)
            return json_doc_error(doc, e, err, "%s: %s names the option itself", c->v[self].id,
                                  name);
        *mask |= (uint64_t)1 << i;
    }
    return STATUS_OK;
}

static enum status link_options(const struct json_doc *doc, const cJSON *options,
                                struct catalogue *c, struct err *err)
{
    int i = 0;
    for (const cJSON *e = options->child; e != NULL; e = e->next, i++) {
        enum status status = read_ids(doc, e, "excludes", c, i, &c->v[i].excludes, err);
        if (status == STATUS_OK)
            status = read_ids(doc, e, "needs", c, i, &c->v[i].needs, err);
        if (status != STATUS_OK)
            return status;
    }
    catalogue_close(c);
    int bad = catalogue_cycle(c);
    if (bad >= 0)
        return json_doc_error(doc, cJSON_GetArrayItem(options, bad), err,
                              "%s: its prerequisites lead back to itself", c->v[bad].id);
    bad = catalogue_contradiction(c);
    if (bad >= 0)
        return json_doc_error(doc, cJSON_GetArrayItem(options, bad), err,
                              "%s needs an option that is excluded with it", c->v[bad].id);
    return STATUS_OK;
}

enum status catalogue_parse(struct catalogue *c, const struct json_doc *doc, struct err *err)
{
    *c = (struct catalogue){0};
    enum status status = need_object(doc, doc->root, "catalogue", err);
    if (status != STATUS_OK)
        return status;
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(doc->root, "updraft_catalogue");
    if (!cJSON_IsNumber(version))
        return json_doc_error(doc, doc->root, err,
                              "\"updraft_catalogue\": %d is missing: is this a catalogue?",
                              CATALOGUE_VERSION);
    if (version->valueint != CATALOGUE_VERSION)
        return json_doc_error(doc, version, err, "catalogue version %d, this program reads %d",
                              version->valueint, CATALOGUE_VERSION);
    for (const cJSON *e = doc->root->child; e != NULL; e = e->next)
        if (e != version && strcmp(e->string, "options") != 0 && !own_key(e))
            return unknown_key(doc, e, "catalogue", err);
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(doc->root, "options");
    if (!cJSON_IsArray(options) || options->child == NULL)
        return json_doc_error(doc, doc->root, err, "\"options\" is missing or empty");
    status = need_array(doc, options, "options", OPTION_MAX, err);
    if (status != STATUS_OK)
        return status;
    c->v = calloc(OPTION_MAX, sizeof *c->v);
    if (c->v == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (const cJSON *e = options->child; e != NULL && status == STATUS_OK; e = e->next) {
        status = read_option(doc, e, &c->v[c->n], err);
        if (status != STATUS_OK)
            break;
        if (catalogue_find(c, c->v[c->n].id) >= 0)
            status = json_doc_error(doc, e, err, "a second option \"%s\"", c->v[c->n].id);
        c->n++;
    }
    if (status == STATUS_OK)
        status = link_options(doc, options, c, err);
    if (status != STATUS_OK)
        catalogue_release(c);
    return status;
}

enum status catalogue_read(struct catalogue *c, const char *path, struct err *err)
{
    struct json_doc doc;
    *c = (struct catalogue){0};
    enum status status = json_doc_read(&doc, path, err);
    if (status != STATUS_OK)
        return status;
    status = catalogue_parse(c, &doc, err);
    json_doc_release(&doc);
    return status;
}
