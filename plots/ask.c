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
    FILE *out = open_memstream(&text, &len);
    if (out == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    status = invocation_parse(&inv, command, argc, argv, err);
    if (status == STATUS_OK) {
        inv.out = out;
        inv.log = log;
        status = command->run(&inv, err);
    }
    if (fclose(out) != 0 && status == STATUS_OK)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK)
        status = json_doc_parse(doc, name, text, len, err);
out:
    invocation_release(&inv);
    free(text);
    for (int i = 0; i < argc - 1; i++)
        free(argv[i]);
    return status;
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
