/* The JSON Schema of catalogues, made from the table of effects. */
#include <string.h>

#include "traces/catalogue_io.h"

static cJSON *type(const char *name, const char *doc)
{
    cJSON *j = cJSON_CreateObject();
    cJSON_AddStringToObject(j, "type", name);
    if (doc != NULL)
        cJSON_AddStringToObject(j, "description", doc);
    return j;
}

static cJSON *object(const char *doc)
{
    cJSON *j = type("object", doc);
    cJSON_AddObjectToObject(j, "properties");
    cJSON *own = cJSON_AddObjectToObject(j, "patternProperties");
    cJSON_AddObjectToObject(own, "^x_");
    cJSON_AddBoolToObject(j, "additionalProperties", 0);
    return j;
}

static void property(cJSON *of, const char *name, cJSON *schema)
{
    cJSON_AddItemToObject(cJSON_GetObjectItemCaseSensitive(of, "properties"), name, schema);
}

static void require(cJSON *of, const char *name)
{
    cJSON *list = cJSON_GetObjectItemCaseSensitive(of, "required");
    if (list == NULL)
        list = cJSON_AddArrayToObject(of, "required");
    cJSON_AddItemToArray(list, cJSON_CreateString(name));
}

static cJSON *number(double min, double max, const char *doc)
{
    cJSON *j = type("number", doc);
    cJSON_AddNumberToObject(j, "minimum", min);
    cJSON_AddNumberToObject(j, "maximum", max);
    return j;
}

static cJSON *array(cJSON *items, int most, const char *doc)
{
    cJSON *j = type("array", doc);
    cJSON_AddItemToObject(j, "items", items);
    if (most > 0)
        cJSON_AddNumberToObject(j, "maxItems", most);
    return j;
}

static cJSON *quantity(double min, double max, const char *doc)
{
    cJSON *j = cJSON_CreateObject(), *any, *full = object(NULL);
    cJSON_AddStringToObject(j, "description", doc);
    any = cJSON_AddArrayToObject(j, "anyOf");
    cJSON_AddItemToArray(any, number(min, max, NULL));
    property(full, "value", number(min, max, NULL));
    property(full, "low", number(min, max, "2.5 % quantile"));
    property(full, "high", number(min, max, "97.5 % quantile"));
    property(full, "assumed", type("boolean", NULL));
    property(full, "source", type("string", NULL));
    require(full, "value");
    cJSON_AddItemToArray(any, full);
    return j;
}

static cJSON *key_name(int what_if_only)
{
    cJSON *j = type("string", "a scenario key by its dotted path"), *list;
    list = cJSON_AddArrayToObject(j, "enum");
    for (size_t i = 0; i < scenario_n_keys; i++)
        if (!what_if_only || scenario_keys[i].what_if)
            cJSON_AddItemToArray(list, cJSON_CreateString(scenario_keys[i].path));
    return j;
}

static cJSON *field(const struct effect_field *f)
{
    switch (f->type) {
    case EFFECT_QTY:
        return quantity(f->min, f->max, f->doc);
    case EFFECT_NUMBER:
        return number(f->min, f->max, f->doc);
    case EFFECT_TEXT:
        return type("string", f->doc);
    case EFFECT_KEY:
        return key_name(1);
    case EFFECT_CURVE:
        return array(array(type("number", NULL), 2, NULL), SCENARIO_MAX_CURVE, f->doc);
    }
    return NULL;
}

static cJSON *effect_schema(void)
{
    cJSON *j = cJSON_CreateObject(), *any = cJSON_AddArrayToObject(j, "oneOf");
    for (int i = 0; effect_types[i] != NULL; i++) {
        const struct effect_type *t = effect_types[i];
        cJSON *e = object(t->doc), *name = cJSON_CreateObject();
        cJSON_AddStringToObject(name, "const", t->name);
        property(e, "type", name);
        require(e, "type");
        property(e, "source", type("string", NULL));
        for (const struct effect_field *f = t->fields; f->name != NULL; f++) {
            property(e, f->name, field(f));
            if (f->required)
                require(e, f->name);
        }
        cJSON_AddItemToArray(any, e);
    }
    return j;
}

static cJSON *condition_schema(int with_when)
{
    cJSON *j = object("a condition on a scenario key; every part must hold");
    property(j, "key", key_name(0));
    require(j, "key");
    property(j, "min", type("number", NULL));
    property(j, "max", type("number", NULL));
    property(j, "in", array(cJSON_CreateObject(), CONDITION_MAX_VALUES, "one of these"));
    property(j, "version_min", type("string", "dotted numbers"));
    property(j, "version_below", type("string", "dotted numbers, exclusive"));
    if (with_when) {
        property(j, "when", condition_schema(0));
        property(j, "why", type("string", "what is said where it does not hold"));
    }
    return j;
}

static cJSON *option_schema(void)
{
    cJSON *o = object(NULL);
    cJSON *id = type("string", "unique in the catalogue");
    cJSON_AddStringToObject(id, "pattern", "^[a-z0-9_]{1,63}$");
    property(o, "id", id);
    property(o, "title", type("string", NULL));
    property(o, "requires",
             array(condition_schema(1), OPTION_MAX_REQUIREMENTS,
                   "what blocks it where it does not hold"));
    property(o, "needs", array(type("string", NULL), OPTION_MAX, "ids of prerequisites"));
    property(o, "excludes", array(type("string", NULL), OPTION_MAX, "ids that it cannot go with"));
    property(o, "effects", array(effect_schema(), OPTION_MAX_EFFECTS, "what it changes"));
    cJSON *effort = cJSON_CreateObject(), *any = cJSON_AddArrayToObject(effort, "anyOf");
    cJSON *three = object(NULL);
    static const char *const parts[] = {"low", "likely", "high"};
    for (int i = 0; i < 3; i++) {
        property(three, parts[i], number(1e-3, 10000, NULL));
        require(three, parts[i]);
    }
    cJSON_AddItemToArray(any, number(1e-3, 10000, NULL));
    cJSON_AddItemToArray(any, three);
    cJSON_AddStringToObject(effort, "description", "days of work");
    property(o, "effort_days", effort);
    property(o, "p_works", number(0, 1, "probability that it works at all; 1 where absent"));
    property(o, "changes_summation",
             type("boolean", "adds in another order, so acceptance may change"));
    property(o, "risk", type("string", NULL));
    cJSON *evidence = object(NULL);
    property(evidence, "source", type("string", NULL));
    property(evidence, "says", type("string", NULL));
    require(evidence, "source");
    property(o, "evidence", array(evidence, OPTION_MAX_EVIDENCE, "where this is known from"));
    require(o, "id");
    require(o, "effects");
    require(o, "effort_days");
    return o;
}

cJSON *catalogue_schema(void)
{
    cJSON *root = object("optimizations that updraft rank considers");
    cJSON_AddStringToObject(root, "$schema", "https://json-schema.org/draft/2020-12/schema");
    cJSON_AddStringToObject(root, "title", "updraft catalogue");
    cJSON *version = cJSON_CreateObject();
    cJSON_AddNumberToObject(version, "const", CATALOGUE_VERSION);
    property(root, "updraft_catalogue", version);
    property(root, "options", array(option_schema(), OPTION_MAX, NULL));
    require(root, "updraft_catalogue");
    require(root, "options");
    return root;
}
