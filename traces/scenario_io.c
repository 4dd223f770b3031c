#include "traces/scenario_io.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/synth.h"
#include "traces/fabric_io.h"
#include "traces/model_io.h"

void scenario_file_release(struct scenario_file *f)
{
    free(f->fabric);
    free(f->path);
    f->fabric = NULL;
    f->path = NULL;
    costs_release(&f->costs);
    json_doc_release(&f->doc);
}

/* --- Reading one key ------------------------------------------------------------------------ */

static enum status number(const struct json_doc *doc, const struct scenario_key *key,
                          const cJSON *item, double *value, struct err *err)
{
    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
        return json_doc_error(doc, item, err, "%s: a number was expected (%s)", key->path,
                              key->doc);
    *value = item->valuedouble;
    if (*value < key->min || *value > key->max) {
        enum status status =
            json_doc_error(doc, item, err, "%s = %g: a value from %g to %g was expected (%s)",
                           key->path, *value, key->min, key->max, key->doc);
        err->status = STATUS_UNSUPPORTED;
        return status == STATUS_OK ? STATUS_OK : STATUS_UNSUPPORTED;
    }
    return STATUS_OK;
}

static enum status read_list(struct scenario *s, const struct json_doc *doc,
                             const struct scenario_key *key, const cJSON *item, struct err *err)
{
    struct qty_list list = {0};
    enum status status;
    if (!cJSON_IsArray(item)) {
        list.n = list.uniform = 1;
        status = number(doc, key, item, &list.v[0], err);
        if (status != STATUS_OK)
            return status;
    } else {
        for (const cJSON *e = item->child; e != NULL; e = e->next) {
            if (list.n == SCENARIO_MAX_LIST)
                return json_doc_error(doc, item, err, "%s: at most %d numbers", key->path,
                                      SCENARIO_MAX_LIST);
            status = number(doc, key, e, &list.v[list.n], err);
            if (status != STATUS_OK)
                return status;
            list.n++;
        }
    }
    *(struct qty_list *)scenario_member(s, key) = list;
    return STATUS_OK;
}

static enum status read_curve(struct scenario *s, const struct json_doc *doc,
                              const struct scenario_key *key, const cJSON *item, struct err *err)
{
    struct qty_curve curve = {0};
    if (!cJSON_IsArray(item) || item->child == NULL)
        return json_doc_error(doc, item, err, "%s: pairs [rows, us] were expected", key->path);
    for (const cJSON *e = item->child; e != NULL; e = e->next) {
        double x, y;
        if (curve.n == SCENARIO_MAX_CURVE)
            return json_doc_error(doc, item, err, "%s: at most %d points", key->path,
                                  SCENARIO_MAX_CURVE);
        if (!cJSON_IsArray(e) || cJSON_GetArraySize(e) != 2)
            return json_doc_error(doc, e, err, "%s: a pair [rows, us] was expected", key->path);
        enum status status = number(doc, key, e->child, &x, err);
        if (status == STATUS_OK)
            status = number(doc, key, e->child->next, &y, err);
        if (status != STATUS_OK)
            return status;
        if (x <= (curve.n ? curve.x[curve.n - 1] : 0) || y <= 0)
            return json_doc_error(doc, e, err, "%s: rows must ascend from above 0, us be above 0",
                                  key->path);
        curve.x[curve.n] = x;
        curve.y[curve.n++] = y;
    }
    *(struct qty_curve *)scenario_member(s, key) = curve;
    return STATUS_OK;
}

static enum status read_bare(struct scenario *s, const struct json_doc *doc,
                             const struct scenario_key *key, const cJSON *item, struct err *err)
{
    double x = 0;
    enum status status;
    switch (key->type) {
    case KEY_TYPE_TEXT:
        if (!cJSON_IsString(item) || strlen(item->valuestring) >= SCENARIO_TEXT)
            return json_doc_error(doc, item, err, "%s: a string of at most %d bytes was expected",
                                  key->path, SCENARIO_TEXT - 1);
        strcpy(scenario_member(s, key), item->valuestring);
        return STATUS_OK;
    case KEY_TYPE_LIST:
        return read_list(s, doc, key, item, err);
    case KEY_TYPE_CURVE:
        return read_curve(s, doc, key, item, err);
    case KEY_TYPE_BOOL:
        if (!cJSON_IsBool(item))
            return json_doc_error(doc, item, err, "%s: true or false was expected", key->path);
        *(int *)scenario_member(s, key) = cJSON_IsTrue(item);
        return STATUS_OK;
    case KEY_TYPE_INT:
    case KEY_TYPE_NUM:
    case KEY_TYPE_QTY:
        status = number(doc, key, item, &x, err);
        if (status != STATUS_OK)
            return status;
        if (key->type == KEY_TYPE_INT && x != floor(x))
            return json_doc_error(doc, item, err, "%s: a whole number was expected", key->path);
        return scenario_set_number(s, key, x, err);
    }
    return STATUS_OK;
}

/* {"value":..., "low":, "high":, "assumed":, "source":}: any key may be written so. */
static enum status read_wrapped(struct scenario *s, const struct json_doc *doc,
                                const struct scenario_key *key, const cJSON *object,
                                struct err *err)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, "value");
    if (value == NULL)
        return json_doc_error(doc, object, err, "%s: \"value\" is missing", key->path);
    enum status status = read_bare(s, doc, key, value, err);
    if (status != STATUS_OK)
        return status;
    int assumed = 0;
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        const char *name = item->string;
        if (item == value || strncmp(name, "x_", 2) == 0)
            continue;
        if (strcmp(name, "source") == 0) {
            if (!cJSON_IsString(item))
                return json_doc_error(doc, item, err, "%s: source: a string was expected",
                                      key->path);
        } else if (strcmp(name, "assumed") == 0) {
            if (!cJSON_IsBool(item))
                return json_doc_error(doc, item, err, "%s: assumed: true or false was expected",
                                      key->path);
            assumed = cJSON_IsTrue(item);
        } else if (key->type == KEY_TYPE_QTY &&
                   (strcmp(name, "low") == 0 || strcmp(name, "high") == 0)) {
            struct qty *q = scenario_member(s, key);
            status = number(doc, key, item, name[0] == 'l' ? &q->low : &q->high, err);
            if (status != STATUS_OK)
                return status;
        } else {
            return json_doc_error(doc, item, err, "%s: unknown key \"%.60s\"", key->path, name);
        }
    }
    if (key->type == KEY_TYPE_QTY) {
        struct qty *q = scenario_member(s, key);
        q->assumed = assumed;
        if (!(q->low <= q->value && q->value <= q->high))
            return json_doc_error(doc, object, err,
                                  "%s: low %g, value %g, high %g are not in order", key->path,
                                  q->low, q->value, q->high);
    }
    if (key->type == KEY_TYPE_LIST)
        ((struct qty_list *)scenario_member(s, key))->assumed = assumed;
    return STATUS_OK;
}

/* Whether some key lies below `path`. */
static int is_prefix(const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < scenario_n_keys; i++)
        if (strncmp(scenario_keys[i].path, path, n) == 0 && scenario_keys[i].path[n] == '.')
            return 1;
    return 0;
}

static enum status read_object(struct scenario *s, const struct json_doc *doc, const cJSON *object,
                               const char *prefix, struct err *err)
{
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        if (strncmp(item->string, "x_", 2) == 0)
            continue;
        char path[256];
        int n =
            snprintf(path, sizeof path, "%s%s%.100s", prefix, prefix[0] ? "." : "", item->string);
        if (prefix[0] == '\0' &&
            (strcmp(path, "updraft_scenario") == 0 || strcmp(path, "costs") == 0))
            continue;
        for (const cJSON *other = object->child; other != item; other = other->next)
            if (strcmp(other->string, item->string) == 0)
                return json_doc_error(doc, item, err, "%s is given twice", path);
        const struct scenario_key *key = scenario_key_find(path);
        enum status status;
        if (key != NULL)
            status = cJSON_IsObject(item) ? read_wrapped(s, doc, key, item, err)
                                          : read_bare(s, doc, key, item, err);
        else if (n < (int)sizeof path && is_prefix(path) && cJSON_IsObject(item))
            status = read_object(s, doc, item, path, err);
        else
            status =
                json_doc_error(doc, item, err,
                               "unknown key \"%s\" (updraft scenario --keys lists them; a key of "
                               "your own starts with x_)",
                               path);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status scenario_parse(struct scenario *s, const struct json_doc *doc, struct err *err)
{
    scenario_init(s);
    if (!cJSON_IsObject(doc->root))
        return json_doc_error(doc, doc->root, err, "a JSON object was expected");
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(doc->root, "updraft_scenario");
    if (!cJSON_IsNumber(version))
        return json_doc_error(doc, doc->root, err,
                              "\"updraft_scenario\": %d is missing: is this a scenario?",
                              SCENARIO_VERSION);
    if (version->valueint != SCENARIO_VERSION)
        return json_doc_error(doc, version, err, "scenario version %d, this program reads %d",
                              version->valueint, SCENARIO_VERSION);
    return read_object(s, doc, doc->root, "", err);
}

/* --- The file with its costs ---------------------------------------------------------------- */

/* `name` relative to the folder of `base`; the caller frees it; NULL without memory. */
static char *beside(const char *base, const char *name)
{
    const char *slash = strrchr(base, '/');
    size_t n = name[0] == '/' || slash == NULL ? 0 : (size_t)(slash - base) + 1;
    char *path = malloc(n + strlen(name) + 1);
    if (path != NULL) {
        memcpy(path, base, n);
        strcpy(path + n, name);
    }
    return path;
}

static enum status load_costs(struct scenario_file *f, const char *path, FILE *log, struct err *err)
{
    const cJSON *costs = cJSON_GetObjectItemCaseSensitive(f->doc.root, "costs");
    if (costs == NULL)
        return STATUS_OK;
    if (!cJSON_IsArray(costs))
        return json_doc_error(&f->doc, costs, err, "costs: a list of file names was expected");
    for (const cJSON *item = costs->child; item != NULL; item = item->next) {
        if (!cJSON_IsString(item))
            return json_doc_error(&f->doc, item, err, "costs: a file name was expected");
        char *file = beside(path, item->valuestring);
        if (file == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
        enum status status = costs_load(&f->costs, file, log, err);
        free(file);
        if (status != STATUS_OK) {
            err_prefix(err, "%s:%ld: costs", f->doc.name, json_doc_line(&f->doc, item));
            return status;
        }
    }
    return STATUS_OK;
}

/* Loads hardware.fabric: a preset's name, or a file beside the scenario. */
static enum status load_fabric(struct scenario_file *f, struct err *err)
{
    const char *spec = f->s.hardware.fabric;
    int is_path = strpbrk(spec, "/.") != NULL;
    char *name = beside(is_path ? f->path : "", spec);
    f->fabric = malloc(sizeof *f->fabric);
    enum status status = name == NULL || f->fabric == NULL
                             ? err_set(err, STATUS_FAILED, "out of memory")
                             : fabric_load(f->fabric, name, NULL, err);
    if (status != STATUS_OK) {
        free(f->fabric);
        f->fabric = NULL;
        err_prefix(err, "hardware.fabric");
    }
    free(name);
    return status;
}

/* The array of costs may have moved: whatever points into it is looked up again. */
static void bind_again(struct scenario_file *f)
{
    struct err ignored;
    struct scenario_reference ref = f->today.ref;
    scenario_bind(&f->today, &f->costs, &ignored);
    if (ref.set)
        scenario_anchor(&f->today);
    f->s.ref = f->today.ref;
    scenario_bind(&f->s, &f->costs, &ignored);
}

enum status scenario_file_price(struct scenario_file *f, const char *impl, int ranks,
                                struct err *err)
{
    struct cost c;
    if (ranks < 2 || impl[0] == '\0' || f->s.hardware.fabric[0] == '\0' ||
        costs_find(&f->costs, "allreduce", impl, ranks) != NULL || !synth_knows(impl))
        return STATUS_OK;
    enum status status = f->fabric == NULL ? load_fabric(f, err) : STATUS_OK;
    if (status == STATUS_OK)
        status = synth_cost(f->fabric, impl, ranks, NULL, 0, 0, &c, err);
    if (status == STATUS_OK && costs_add(&f->costs, &c) != 0)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK)
        bind_again(f);
    return status;
}

/* Prices what s names; nothing to do where the latency is given. */
static enum status price_named(struct scenario_file *f, const struct scenario *s, struct err *err)
{
    if (s->allreduce.latency_us.set)
        return STATUS_OK;
    enum status status = scenario_file_price(f, s->allreduce.impl, s->ranks, err);
    if (status == STATUS_OK)
        status = scenario_file_price(f, s->allreduce.large_impl, s->ranks, err);
    return status;
}

enum status scenario_file_read(struct scenario_file *f, const char *path, const char *const *more,
                               size_t n_more, FILE *log, struct err *err)
{
    *f = (struct scenario_file){0};
    enum status status = json_doc_read(&f->doc, path, err);
    if (status == STATUS_OK)
        status = scenario_parse(&f->s, &f->doc, err);
    for (size_t i = 0; i < n_more && status == STATUS_OK; i++)
        status = costs_load(&f->costs, more[i], log, err);
    if (status == STATUS_OK)
        status = load_costs(f, path, log, err);
    if (status == STATUS_OK)
        status = scenario_check(&f->s, err);
    if (status == STATUS_OK) {
        f->path = strdup(path);
        status = f->path == NULL ? err_set(err, STATUS_FAILED, "out of memory") : STATUS_OK;
    }
    if (status == STATUS_OK)
        status = price_named(f, &f->s, err);
    if (status == STATUS_OK)
        status = scenario_bind(&f->s, &f->costs, err);
    if (status == STATUS_OK) {
        scenario_anchor(&f->s);
        f->today = f->s;
    } else {
        scenario_file_release(f);
    }
    return status;
}

enum status scenario_file_edit(struct scenario_file *f, const char *const *edits, size_t n_edits,
                               struct err *err)
{
    int restated = 0;
    for (size_t i = 0; i < n_edits; i++) {
        char path[128];
        const char *eq = strchr(edits[i], '=');
        if (eq == NULL || eq == edits[i] || (size_t)(eq - edits[i]) >= sizeof path)
            return err_set(err, STATUS_USAGE, "--set %s: KEY=VALUE was expected", edits[i]);
        memcpy(path, edits[i], (size_t)(eq - edits[i]));
        path[eq - edits[i]] = '\0';
        enum status status = scenario_set(&f->s, path, eq + 1, err);
        const struct scenario_key *key = scenario_key_find(path);
        /* What was measured with speculation was measured in today's state. */
        if (status == STATUS_OK && key->what_if)
            f->s.measured.speculative_tokens_per_s.set = 0;
        if (status == STATUS_OK && !key->what_if) {
            restated = 1;
            status = scenario_set(&f->today, path, eq + 1, err);
        }
        if (status != STATUS_OK) {
            err_prefix(err, "--set");
            return status;
        }
    }
    enum status status = scenario_check(&f->s, err);
    if (status == STATUS_OK)
        status = price_named(f, &f->s, err);
    if (status == STATUS_OK && restated)
        status = price_named(f, &f->today, err);
    if (status == STATUS_OK)
        status = scenario_bind(&f->s, &f->costs, err);
    if (status == STATUS_OK && restated) {
        status = scenario_bind(&f->today, &f->costs, err);
        if (status == STATUS_OK) {
            scenario_anchor(&f->today);
            f->s.ref = f->today.ref;
        }
    }
    return status;
}

enum status scenario_file_open(struct scenario_file *f, const struct invocation *inv, FILE *log,
                               struct err *err)
{
    size_t room = (size_t)inv->n_given + 1, n_costs = 0, n_edits = 0;
    const char **costs = calloc(room, sizeof *costs), **edits = calloc(room, sizeof *edits);
    enum status status;
    if (costs == NULL || edits == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    for (int i = 0; i < inv->n_given; i++) {
        if (strcmp(inv->given[i].name, "costs") == 0)
            costs[n_costs++] = inv->given[i].value;
        if (strcmp(inv->given[i].name, "set") == 0)
            edits[n_edits++] = inv->given[i].value;
    }
    status = scenario_file_read(f, inv->args[0], costs, n_costs, log, err);
    if (status == STATUS_OK) {
        status = scenario_file_edit(f, edits, n_edits, err);
        if (status != STATUS_OK)
            scenario_file_release(f);
    }
out:
    free(costs);
    free(edits);
    return status;
}

const cJSON *scenario_doc_find(const struct json_doc *doc, const char *path)
{
    const cJSON *at = doc->root;
    while (at != NULL && *path != '\0') {
        char part[128];
        size_t n = strcspn(path, ".");
        if (n >= sizeof part)
            return NULL;
        memcpy(part, path, n);
        part[n] = '\0';
        at = cJSON_GetObjectItemCaseSensitive(at, part);
        path += path[n] == '.' ? n + 1 : n;
    }
    return at;
}

const char *scenario_doc_source(const struct json_doc *doc, const char *path)
{
    const cJSON *item = scenario_doc_find(doc, path);
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(item, "source");
    return cJSON_IsString(source) ? source->valuestring : NULL;
}

void scenario_move_costs(cJSON *costs, const char *from, const char *to)
{
    char from_dir[4096], to_dir[4096];
    const char *paths[] = {from, to};
    char *dirs[] = {from_dir, to_dir};
    char *real[] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        const char *slash = strrchr(paths[i], '/');
        snprintf(dirs[i], 4096, "%.*s", slash ? (int)(slash - paths[i]) + 1 : 1,
                 slash ? paths[i] : ".");
        real[i] = realpath(dirs[i], NULL);
    }
    if (real[0] != NULL && real[1] != NULL && strcmp(real[0], real[1]) != 0)
        for (int i = 0; i < cJSON_GetArraySize(costs); i++) {
            const char *name = cJSON_GetStringValue(cJSON_GetArrayItem(costs, i));
            char path[8200];
            if (name == NULL || name[0] == '/')
                continue;
            snprintf(path, sizeof path, "%.4000s/%.4000s", real[0], name);
            char *whole = realpath(path, NULL);
            cJSON_ReplaceItemInArray(costs, i, cJSON_CreateString(whole != NULL ? whole : path));
            free(whole);
        }
    free(real[0]);
    free(real[1]);
}
