/* scenario: the keys, the schema, and a scenario completed or made from keys. */
#include <stdio.h>

#include "traces/scenario_io.h"

static void list_keys(FILE *out)
{
    static const char *const types[] = {"text",     "integer", "boolean", "number",
                                        "quantity", "list",    "curve"};
    for (size_t i = 0; i < scenario_n_keys; i++) {
        const struct scenario_key *k = &scenario_keys[i];
        fprintf(out, "%-32s %-9s %s\n", k->path, types[k->type], k->doc);
    }
}

static enum status run(struct invocation *inv, struct err *err)
{
    if (invocation_has(inv, "keys")) {
        list_keys(inv->out);
        return STATUS_OK;
    }
    if (invocation_has(inv, "schema"))
        return print_json(inv->out, scenario_schema(), err);
    struct scenario s;
    enum status status = STATUS_OK;
    struct json_doc doc = {0};
    scenario_init(&s);
    if (inv->n_args == 1) {
        status = json_doc_read(&doc, inv->args[0], err);
        if (status == STATUS_OK)
            status = scenario_parse(&s, &doc, err);
    }
    cJSON *costs = cJSON_CreateArray();
    cJSON *old = cJSON_GetObjectItemCaseSensitive(doc.root, "costs");
    for (const cJSON *item = old == NULL ? NULL : old->child; item != NULL; item = item->next)
        cJSON_AddItemToArray(costs, cJSON_Duplicate(item, 1));
    for (int i = 0; i < inv->n_given && status == STATUS_OK; i++) {
        const char *value = inv->given[i].value;
        char path[128];
        if (value == NULL)
            continue;
        if (sscanf(value, "%127[^=]=", path) == 1 && inv->given[i].name[0] == 's') {
            size_t n = 0;
            while (value[n] != '\0' && value[n] != '=')
                n++;
            if (value[n] != '=')
                status = err_set(err, STATUS_USAGE, "--set %s: KEY=VALUE was expected", value);
            else
                status = scenario_set(&s, path, value + n + 1, err);
        } else if (inv->given[i].name[0] == 'c') {
            cJSON_AddItemToArray(costs, cJSON_CreateString(value));
        }
    }
    if (status == STATUS_OK)
        status = scenario_check(&s, err);
    if (status == STATUS_OK) {
        cJSON *json = scenario_to_json(&s);
        cJSON_AddItemToObject(json, "costs", costs);
        costs = NULL;
        status = print_json(inv->out, json, err);
    }
    cJSON_Delete(costs);
    json_doc_release(&doc);
    return status;
}

static const struct command_option options[] = {
    {"set", "KEY=VALUE", 1, "set a key"},
    {"costs", "FILE", 1, "a trace or model that prices the collectives"},
    {"keys", NULL, 0, "list every key with its type, range and meaning"},
    {"schema", NULL, 0, "print the JSON Schema of scenario files"},
    {0},
};

const struct command cmd_scenario = {
    .name = "scenario",
    .synopsis = "[SCENARIO] [--set KEY=VALUE]... [--costs FILE]... | --keys | --schema",
    .summary = "makes a scenario from keys, or lists what a scenario may say",
    .min_args = 0,
    .max_args = 1,
    .options = options,
    .run = run,
};
