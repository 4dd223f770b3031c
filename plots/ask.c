#include "plots/ask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 256 };

enum status ask_command(const char *name, const char *const *args, FILE *log, struct json_doc *doc,
                        struct err *err)
{
    const struct command *command = command_find(name);
    if (command == NULL)
        return err_set(err, STATUS_FAILED, "this build has no command %s", name);
    /* invocation_parse takes main's argv, whose strings may be written; ours are copies. */
    char *argv[MAX_WORDS] = {NULL}, *text = NULL;
    static char json_flag[] = "--json";
    size_t len = 0;
    int argc = 0;
    enum status status = STATUS_OK;
    struct invocation inv = {0};
    for (; args[argc] != NULL && argc < MAX_WORDS - 2; argc++)
        argv[argc] = strdup(args[argc]);
    argv[argc++] = json_flag;
    FILE *nowhere = log == NULL ? fopen("/dev/null", "w") : NULL;
    FILE *out = open_memstream(&text, &len);
    if (out == NULL || (log == NULL && nowhere == NULL)) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    status = invocation_parse(&inv, command, argc, argv, err);
    if (status == STATUS_OK) {
        inv.out = out;
        inv.log = log != NULL ? log : nowhere;
        status = command->run(&inv, err);
    }
    int closed = fclose(out);
    out = NULL;
    if (closed != 0 && status == STATUS_OK)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK)
        status = json_doc_parse(doc, name, text, len, err);
out:
    invocation_release(&inv);
    if (out != NULL)
        fclose(out);
    if (nowhere != NULL)
        fclose(nowhere);
    free(text);
    for (int i = 0; i < argc - 1; i++)
        free(argv[i]);
    return status;
}

void ask_pass_options(const char **args, const char *input, const struct invocation *inv,
                      const char *const *passed)
{
    int n = 0;
    args[n++] = input;
    for (int i = 0; i < inv->n_given && n + 2 < ASK_MAX_ARGS; i++)
        for (int p = 0; passed[p] != NULL; p++)
            if (strcmp(inv->given[i].name, passed[p] + 2) == 0) {
                args[n++] = passed[p];
                args[n++] = inv->given[i].value;
            }
    args[n] = NULL;
}

const cJSON *json_member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

double json_number(const cJSON *object, const char *key)
{
    const cJSON *item = json_member(object, key);
    return item != NULL && cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

const char *json_text(const cJSON *object, const char *key)
{
    const cJSON *item = json_member(object, key);
    return item != NULL && cJSON_IsString(item) ? item->valuestring : "";
}

void json_interval(const cJSON *object, const char *key, double *low, double *high)
{
    const cJSON *item = json_member(object, key);
    const cJSON *a = cJSON_GetArrayItem(item, 0), *b = cJSON_GetArrayItem(item, 1);
    *low = a != NULL && cJSON_IsNumber(a) ? a->valuedouble : (double)NAN;
    *high = b != NULL && cJSON_IsNumber(b) ? b->valuedouble : (double)NAN;
}
