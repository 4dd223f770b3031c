/* scenario: the keys, the schema, and a scenario completed or made from keys. */
#include <stdio.h>
#include <string.h>

#include "traces/scenario_io.h"
#include "traces/scenario_make.h"

static void list_keys(FILE *out)
{
    static const char *const types[] = {"text",     "integer", "boolean", "number",
                                        "quantity", "list",    "curve"};
    for (size_t i = 0; i < scenario_n_keys; i++) {
        const struct scenario_key *k = &scenario_keys[i];
        fprintf(out, "%-32s %-9s %s\n", k->path, types[k->type], k->doc);
    }
}

/* What one option adds. Keys and flags apply in the order given, so a later --set wins. */
static enum status apply(struct scenario *s, cJSON *costs, const struct given *g, struct err *err)
{
    if (strcmp(g->name, "costs") == 0) {
        if (strcmp(g->value, "-") == 0)
            return err_set(err, STATUS_USAGE,
                           "--costs -: a scenario names its costs, so they have to be a file");
        cJSON_AddItemToArray(costs, cJSON_CreateString(g->value));
        return STATUS_OK;
    }
    if (strcmp(g->name, "flags") == 0)
        return scenario_apply_engine_flags(s, g->value, err);
    if (strcmp(g->name, "set") == 0) {
        char path[128];
        size_t n = strcspn(g->value, "=");
        if (g->value[n] != '=' || n >= sizeof path)
            return err_set(err, STATUS_USAGE, "--set %s: KEY=VALUE was expected", g->value);
        memcpy(path, g->value, n);
        path[n] = '\0';
        return scenario_set(s, path, g->value + n + 1, err);
    }
    int target = strcmp(g->name, "model-config") == 0;
    if (!target && strcmp(g->name, "draft-config") != 0)
        return STATUS_OK;
    struct json_doc doc;
    enum status status = json_doc_read(&doc, g->value, err);
    if (status == STATUS_OK) {
        status = target ? scenario_apply_model_config(s, &doc, err)
                        : scenario_apply_draft_config(s, &doc, err);
        json_doc_release(&doc);
    }
    return status;
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
    const char *to = inv->out_path != NULL ? inv->out_path : "-";
    cJSON *costs = cJSON_CreateArray(), *more = cJSON_CreateArray();
    cJSON *old = cJSON_GetObjectItemCaseSensitive(doc.root, "costs");
    for (const cJSON *item = old == NULL ? NULL : old->child; item != NULL; item = item->next)
        cJSON_AddItemToArray(costs, cJSON_Duplicate(item, 1));
    for (int i = 0; i < inv->n_given && status == STATUS_OK; i++)
        if (inv->given[i].value != NULL)
            status = apply(&s, more, &inv->given[i], err);
    scenario_move_costs(costs, inv->n_args == 1 ? inv->args[0] : "-", to);
    scenario_move_costs(more, "-", to);
    while (cJSON_GetArraySize(more) > 0)
        cJSON_AddItemToArray(costs, cJSON_DetachItemFromArray(more, 0));
    cJSON_Delete(more);
    if (status == STATUS_OK)
        status = scenario_check(&s, err);
    if (status == STATUS_OK) {
        cJSON *json = scenario_to_json(&s);
        if (cJSON_GetArraySize(costs) > 0) {
            cJSON_AddItemToObject(json, "costs", costs);
            costs = NULL;
        }
        status = print_json(inv->out, json, err);
    }
    cJSON_Delete(costs);
    json_doc_release(&doc);
    return status;
}

static const struct command_option options[] = {
    {"set", "KEY=VALUE", 1, "set a key"},
    {"costs", "FILE", 1, "a trace or model that prices the collectives"},
    {"model-config", "FILE", 0, "the target's config.json: shape, experts, bytes of weights"},
    {"draft-config", "FILE", 0, "the draft's config.json"},
    {"flags", "COMMAND", 0, "the engine's launch command, quoted: sglang, vllm, trtllm-serve"},
    {"keys", NULL, 0, "list every key with its type, range and meaning"},
    {"schema", NULL, 0, "print the JSON Schema of scenario files"},
    {0},
};

const struct command cmd_scenario = {
    .name = "scenario",
    .synopsis = "[SCENARIO] [--model-config FILE] [--draft-config FILE] [--flags COMMAND]\n"
                "         [--costs FILE]... [--set KEY=VALUE]... | --keys | --schema",
    .summary = "makes a scenario from a model's shape, a trace and an engine's flags",
    .details =
        "Options apply in the order given. What a config or a flag does not say is left at its\n"
        "default; baseline.tokens_per_s (what you measure without speculation) is always needed.",
    .min_args = 0,
    .max_args = 1,
    .options = options,
    .run = run,
};
