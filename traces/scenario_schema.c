/* Scenarios out of the key table: the JSON Schema, and a scenario written back. */
#include <string.h>

#include "traces/scenario_io.h"

/* The object for the path's folder ("draft" of "draft.topk") below root, made where absent; `list`
 * is "properties" in a schema, NULL in a document. *leaf is the key's last part. */
static cJSON *folder(cJSON *root, const char *path, int schema, const char **leaf)
{
    cJSON *at = root;
    for (const char *dot; at != NULL && (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        char part[64];
        size_t n = (size_t)(dot - path);
        if (n >= sizeof part)
            return NULL;
        memcpy(part, path, n);
        part[n] = '\0';
        cJSON *next = cJSON_GetObjectItemCaseSensitive(at, part);
        if (next == NULL) {
            next = cJSON_AddObjectToObject(at, part);
            if (schema && next != NULL) {
                cJSON_AddStringToObject(next, "type", "object");
                cJSON_AddBoolToObject(next, "additionalProperties", 0);
                cJSON *own = cJSON_AddObjectToObject(next, "patternProperties");
                cJSON_AddTrueToObject(own, "^x_");
                cJSON_AddObjectToObject(next, "properties");
            }
        }
        at = schema ? cJSON_GetObjectItemCaseSensitive(next, "properties") : next;
    }
    *leaf = path;
    return at;
}

static cJSON *number_schema(const struct scenario_key *key, int whole)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "type", whole ? "integer" : "number");
    cJSON_AddNumberToObject(o, "minimum", key->min);
    cJSON_AddNumberToObject(o, "maximum", key->max);
    return o;
}

static cJSON *typed(const char *type)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "type", type);
    return o;
}

static cJSON *array_of(cJSON *items, int min, int max)
{
    cJSON *o = typed("array");
    cJSON_AddItemToObject(o, "items", items);
    cJSON_AddNumberToObject(o, "minItems", min);
    cJSON_AddNumberToObject(o, "maxItems", max);
    return o;
}

static cJSON *bare_schema(const struct scenario_key *key)
{
    switch (key->type) {
    case KEY_TYPE_TEXT: {
        cJSON *o = typed("string");
        cJSON_AddNumberToObject(o, "maxLength", SCENARIO_TEXT - 1);
        return o;
    }
    case KEY_TYPE_BOOL:
        return typed("boolean");
    case KEY_TYPE_LIST: {
        cJSON *o = cJSON_CreateObject(), *any = cJSON_AddArrayToObject(o, "anyOf");
        cJSON_AddItemToArray(any, number_schema(key, 0));
        cJSON_AddItemToArray(any, array_of(number_schema(key, 0), 0, SCENARIO_MAX_LIST));
        return o;
    }
    case KEY_TYPE_CURVE:
        return array_of(array_of(number_schema(key, 0), 2, 2), 1, SCENARIO_MAX_CURVE);
    case KEY_TYPE_INT:
    case KEY_TYPE_NUM:
    case KEY_TYPE_QTY:
        break;
    }
    return number_schema(key, key->type == KEY_TYPE_INT);
}

static cJSON *key_schema(const struct scenario_key *key)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "description", key->doc);
    cJSON *any = cJSON_AddArrayToObject(o, "anyOf");
    cJSON_AddItemToArray(any, bare_schema(key));
    cJSON *wrapped = typed("object"), *p = cJSON_AddObjectToObject(wrapped, "properties");
    cJSON_AddItemToObject(p, "value", bare_schema(key));
    if (key->type == KEY_TYPE_QTY) {
        cJSON_AddItemToObject(p, "low", number_schema(key, 0));
        cJSON_AddItemToObject(p, "high", number_schema(key, 0));
    }
    cJSON_AddItemToObject(p, "assumed", typed("boolean"));
    cJSON_AddItemToObject(p, "source", typed("string"));
    cJSON *own = cJSON_AddObjectToObject(wrapped, "patternProperties");
    cJSON_AddTrueToObject(own, "^x_");
    cJSON_AddBoolToObject(wrapped, "additionalProperties", 0);
    cJSON *required = cJSON_AddArrayToObject(wrapped, "required");
    cJSON_AddItemToArray(required, cJSON_CreateString("value"));
    cJSON_AddItemToArray(any, wrapped);
    return o;
}

cJSON *scenario_schema(void)
{
    cJSON *root = cJSON_CreateObject();
    if (root == NULL)
        return NULL;
    cJSON_AddStringToObject(root, "$schema", "https://json-schema.org/draft/2020-12/schema");
    cJSON_AddStringToObject(root, "title", "Updraft scenario");
    cJSON_AddStringToObject(root, "type", "object");
    cJSON *required = cJSON_AddArrayToObject(root, "required");
    cJSON_AddItemToArray(required, cJSON_CreateString("updraft_scenario"));
    cJSON_AddBoolToObject(root, "additionalProperties", 0);
    cJSON *own = cJSON_AddObjectToObject(root, "patternProperties");
    cJSON_AddTrueToObject(own, "^x_");
    cJSON *properties = cJSON_AddObjectToObject(root, "properties");
    cJSON *version = cJSON_AddObjectToObject(properties, "updraft_scenario");
    cJSON_AddNumberToObject(version, "const", SCENARIO_VERSION);
    cJSON *costs = array_of(typed("string"), 0, 64);
    cJSON_AddStringToObject(
        costs, "description",
        "traces or model files that price the collectives, relative to this file");
    cJSON_AddItemToObject(properties, "costs", costs);
    for (size_t i = 0; i < scenario_n_keys; i++) {
        const char *leaf;
        cJSON *at = folder(properties, scenario_keys[i].path, 1, &leaf);
        cJSON_AddItemToObject(at, leaf, key_schema(&scenario_keys[i]));
    }
    return root;
}

static cJSON *qty_json(const struct qty *q)
{
    if (q->low == q->value && q->high == q->value && !q->assumed)
        return cJSON_CreateNumber(q->value);
    cJSON *o = cJSON_CreateObject();
    cJSON_AddNumberToObject(o, "value", q->value);
    cJSON_AddNumberToObject(o, "low", q->low);
    cJSON_AddNumberToObject(o, "high", q->high);
    if (q->assumed)
        cJSON_AddBoolToObject(o, "assumed", 1);
    return o;
}

static cJSON *value_json(const struct scenario *s, const struct scenario_key *key)
{
    const void *p = scenario_member_const(s, key);
    switch (key->type) {
    case KEY_TYPE_TEXT:
        return cJSON_CreateString(p);
    case KEY_TYPE_BOOL:
        return cJSON_CreateBool(*(const int *)p);
    case KEY_TYPE_INT:
        return cJSON_CreateNumber(*(const int *)p);
    case KEY_TYPE_NUM:
        return cJSON_CreateNumber(*(const double *)p);
    case KEY_TYPE_QTY:
        return qty_json(p);
    case KEY_TYPE_LIST: {
        const struct qty_list *list = p;
        cJSON *array = list->uniform ? cJSON_CreateNumber(list->v[0])
                                     : cJSON_CreateDoubleArray(list->v, list->n);
        if (!list->assumed)
            return array;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToObject(o, "value", array);
        cJSON_AddBoolToObject(o, "assumed", 1);
        return o;
    }
    case KEY_TYPE_CURVE: {
        const struct qty_curve *curve = p;
        cJSON *array = cJSON_CreateArray();
        for (int i = 0; i < curve->n; i++) {
            double pair[] = {curve->x[i], curve->y[i]};
            cJSON_AddItemToArray(array, cJSON_CreateDoubleArray(pair, 2));
        }
        return array;
    }
    }
    return NULL;
}

static int is_default(const struct scenario *s, const struct scenario *d,
                      const struct scenario_key *key)
{
    const void *a = scenario_member_const(s, key), *b = scenario_member_const(d, key);
    switch (key->type) {
    case KEY_TYPE_TEXT:
        return strcmp(a, b) == 0;
    case KEY_TYPE_BOOL:
    case KEY_TYPE_INT:
        return *(const int *)a == *(const int *)b;
    case KEY_TYPE_NUM:
        return *(const double *)a == *(const double *)b;
    case KEY_TYPE_QTY:
        return !((const struct qty *)a)->set;
    case KEY_TYPE_LIST:
        return ((const struct qty_list *)a)->n == 0;
    case KEY_TYPE_CURVE:
        return ((const struct qty_curve *)a)->n == 0;
    }
    return 0;
}

cJSON *scenario_to_json(const struct scenario *s)
{
    struct scenario defaults;
    scenario_init(&defaults);
    cJSON *root = cJSON_CreateObject();
    if (root == NULL)
        return NULL;
    cJSON_AddNumberToObject(root, "updraft_scenario", SCENARIO_VERSION);
    for (size_t i = 0; i < scenario_n_keys; i++) {
        const struct scenario_key *key = &scenario_keys[i];
        const char *leaf;
        if (is_default(s, &defaults, key))
            continue;
        cJSON *at = folder(root, key->path, 0, &leaf);
        cJSON_AddItemToObject(at, leaf, value_json(s, key));
    }
    return root;
}
