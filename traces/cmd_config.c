/* config: communication settings as transactions. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "traces/command.h"
#include "traces/settings.h"

/* The whole file as text; an absent file is empty. */
static enum status read_text(const char *path, char **text, struct err *err)
{
    size_t cap = 0, len = 0;
    *text = NULL;
    FILE *f = fopen(path, "rb");
    if (f == NULL && errno == ENOENT) {
        *text = calloc(1, 1);
        return *text ? STATUS_OK : err_set(err, STATUS_FAILED, "out of memory");
    }
    if (f == NULL)
        return err_set(err, STATUS_INPUT, "%s: %s", path, strerror(errno));
    enum status status = STATUS_OK;
    for (size_t got = 1; got > 0 && status == STATUS_OK; len += got) {
        if (len + 4097 > cap) {
            cap = len + 65536;
            char *grown = realloc(*text, cap);
            if (grown == NULL) {
                status = err_set(err, STATUS_FAILED, "out of memory");
                break;
            }
            *text = grown;
        }
        got = fread(*text + len, 1, 4096, f);
        if (memchr(*text + len, '\0', got) != NULL || len > (1 << 20))
            status =
                err_set(err, STATUS_INPUT, "%s: is no settings file (binary or over 1 MiB)", path);
    }
    if (status == STATUS_OK && ferror(f))
        status = err_set(err, STATUS_INPUT, "%s: %s", path, strerror(errno));
    fclose(f);
    if (status == STATUS_OK) {
        (*text)[len] = '\0';
    } else {
        free(*text);
        *text = NULL;
    }
    return status;
}

static enum status write_text(const char *path, const char *text, struct err *err)
{
    struct atomic_file a;
    enum status status = atomic_open(&a, path, err);
    if (status != STATUS_OK)
        return status;
    fputs(text, a.f);
    return atomic_commit(&a, err);
}

static char *history_path(const char *path)
{
    size_t n = strlen(path) + sizeof ".updraft-history.jsonl";
    char *name = malloc(n);
    if (name != NULL)
        snprintf(name, n, "%s.updraft-history.jsonl", path);
    return name;
}

/* One entry of the history: the file before and after. The last line of an interrupted append is
 * no entry. Returns an array of objects (owned by the caller), NULL without memory. */
static cJSON *history_read(const char *path)
{
    cJSON *entries = cJSON_CreateArray();
    char *name = history_path(path), *line = NULL;
    size_t cap = 0;
    FILE *f = name == NULL ? NULL : fopen(name, "rb");
    for (ssize_t got; f != NULL && (got = getline(&line, &cap, f)) > 0;) {
        cJSON *entry = line[got - 1] == '\n' ? cJSON_Parse(line) : NULL;
        if (cJSON_IsObject(entry))
            cJSON_AddItemToArray(entries, entry);
        else
            cJSON_Delete(entry);
    }
    if (f != NULL)
        fclose(f);
    free(line);
    free(name);
    return entries;
}

static enum status history_write(const char *path, const cJSON *entries, struct err *err)
{
    char *name = history_path(path);
    struct atomic_file a;
    enum status status =
        name == NULL ? err_set(err, STATUS_FAILED, "out of memory") : atomic_open(&a, name, err);
    if (status == STATUS_OK) {
        for (const cJSON *e = entries->child; e != NULL; e = e->next) {
            char *text = cJSON_PrintUnformatted(e);
            if (text != NULL)
                fprintf(a.f, "%s\n", text);
            free(text);
        }
        status = atomic_commit(&a, err);
    }
    free(name);
    return status;
}

static const char *text_of(const cJSON *entry, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(entry, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static cJSON *settings_json(const struct settings *s)
{
    cJSON *o = cJSON_CreateObject();
    for (size_t i = 0; i < s->n; i++)
        cJSON_AddStringToObject(o, s->v[i].name, s->v[i].value);
    return o;
}

static enum status form_of(const struct invocation *inv, const char *path,
                           const struct settings_form **form, struct err *err)
{
    const char *name = invocation_value(inv, "form");
    size_t n = strlen(path);
    if (name == NULL)
        name = n > 3 && strcmp(path + n - 3, ".py") == 0     ? "python"
               : n > 5 && strcmp(path + n - 5, ".conf") == 0 ? "conf"
                                                             : "env";
    *form = settings_form_find(name);
    if (*form == NULL)
        return err_set(err, STATUS_USAGE, "--form %s: conf, env or python was expected", name);
    return STATUS_OK;
}

static enum status report(struct invocation *inv, const char *path,
                          const struct settings_form *form, const char *what,
                          const struct settings *effective, struct err *err)
{
    if (inv->json) {
        cJSON *o = cJSON_CreateObject();
        cJSON_AddStringToObject(o, "file", path);
        cJSON_AddStringToObject(o, "form", form->name);
        cJSON_AddStringToObject(o, "result", what);
        cJSON_AddItemToObject(o, "effective", settings_json(effective));
        return print_json(inv->out, o, err);
    }
    fprintf(inv->out, "%s: %s (%s)\n", path, what, form->summary);
    for (size_t i = 0; i < effective->n; i++) {
        const char *doc = setting_doc(effective->v[i].name);
        fprintf(inv->out, "  %s=%s%s%s\n", effective->v[i].name, effective->v[i].value,
                doc ? "    " : "", doc ? doc : "");
    }
    return STATUS_OK;
}

static enum status do_write(struct invocation *inv, const char *path,
                            const struct settings_form *form, struct err *err)
{
    struct settings block = {0}, effective;
    for (int i = 0; i < inv->n_given; i++) {
        struct setting s;
        if (strcmp(inv->given[i].name, "set") != 0)
            continue;
        enum status status =
            setting_parse(&s, inv->given[i].value, invocation_has(inv, "unknown-ok"), err);
        if (status != STATUS_OK)
            return status;
        if (settings_put(&block, &s) != 0)
            return err_set(err, STATUS_USAGE, "more than %d settings", SETTINGS_MAX);
    }
    if (block.n == 0 && !invocation_has(inv, "none"))
        return err_set(err, STATUS_USAGE,
                       "config write FILE --set NCCL_X=value...; --none takes Updraft's block out");
    char *before = NULL, *after = NULL, *back = NULL;
    cJSON *history = NULL;
    enum status status = read_text(path, &before, err);
    if (status != STATUS_OK)
        return status;
    after = settings_rewrite(form, before, &block);
    history = history_read(path);
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "form", form->name);
    cJSON_AddNumberToObject(entry, "unix_time_s", (double)time(NULL));
    cJSON_AddBoolToObject(entry, "existed", access(path, F_OK) == 0);
    cJSON_AddStringToObject(entry, "before", before);
    cJSON_AddStringToObject(entry, "after", after ? after : "");
    cJSON_AddItemToArray(history, entry);
    /* The history goes first: whatever happens after can be undone. */
    status = after == NULL ? err_set(err, STATUS_FAILED, "out of memory")
                           : history_write(path, history, err);
    if (status == STATUS_OK)
        status = write_text(path, after, err);
    if (status == STATUS_OK)
        status = read_text(path, &back, err);
    if (status == STATUS_OK) {
        settings_effective(form, back, &effective);
        for (size_t i = 0; i < block.n && status == STATUS_OK; i++) {
            const char *got = settings_get(&effective, block.v[i].name);
            if (got == NULL || strcmp(got, block.v[i].value) != 0)
                status = err_set(err, STATUS_FAILED,
                                 "%s: %s reads back as %s, not %s; see config revert", path,
                                 block.v[i].name, got ? got : "nothing", block.v[i].value);
        }
    }
    if (status == STATUS_OK)
        status = report(inv, path, form, "written and read back", &effective, err);
    cJSON_Delete(history);
    free(before);
    free(after);
    free(back);
    return status;
}

static enum status do_verify(struct invocation *inv, const char *path,
                             const struct settings_form *form, struct err *err)
{
    cJSON *history = history_read(path);
    int n = cJSON_GetArraySize(history);
    char *now = NULL;
    struct settings effective, wanted;
    enum status status =
        n == 0 ? err_set(err, STATUS_UNSUPPORTED, "%s: Updraft has written nothing there yet", path)
               : read_text(path, &now, err);
    if (status == STATUS_OK) {
        settings_block(form, text_of(cJSON_GetArrayItem(history, n - 1), "after"), &wanted);
        settings_effective(form, now, &effective);
        for (size_t i = 0; i < wanted.n && status == STATUS_OK; i++) {
            const char *got = settings_get(&effective, wanted.v[i].name);
            /* The environment wins over NCCL's file. */
            const char *env = form->first_wins ? getenv(wanted.v[i].name) : NULL;
            if (env != NULL && strcmp(env, wanted.v[i].value) != 0)
                status = err_set(err, STATUS_FAILED, "%s=%s in the environment overrides %s in %s",
                                 wanted.v[i].name, env, wanted.v[i].value, path);
            else if (got == NULL || strcmp(got, wanted.v[i].value) != 0)
                status = err_set(err, STATUS_FAILED, "%s: %s is %s, last written was %s", path,
                                 wanted.v[i].name, got ? got : "not set", wanted.v[i].value);
        }
    }
    if (status == STATUS_OK)
        status = report(inv, path, form, "as last written", &effective, err);
    cJSON_Delete(history);
    free(now);
    return status;
}

static enum status do_revert(struct invocation *inv, const char *path,
                             const struct settings_form *form, struct err *err)
{
    cJSON *history = history_read(path);
    int n = cJSON_GetArraySize(history);
    char *now = NULL;
    struct settings effective;
    if (n == 0) {
        cJSON_Delete(history);
        return err_set(err, STATUS_UNSUPPORTED, "%s: there is nothing to revert", path);
    }
    cJSON *last = cJSON_GetArrayItem(history, n - 1);
    enum status status = read_text(path, &now, err);
    if (status == STATUS_OK && strcmp(now, text_of(last, "after")) != 0 &&
        strcmp(now, text_of(last, "before")) != 0 && !invocation_has(inv, "force"))
        status = err_set(err, STATUS_FAILED,
                         "%s was changed by someone since; --force reverts it all the same", path);
    if (status == STATUS_OK) {
        const char *before = text_of(last, "before");
        settings_effective(form, before, &effective);
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(last, "existed")))
            status = write_text(path, before, err);
        else if (unlink(path) != 0 && errno != ENOENT)
            status = err_set(err, STATUS_FAILED, "%s: %s", path, strerror(errno));
        if (status == STATUS_OK)
            status = report(inv, path, form, "reverted to what stood before", &effective, err);
        cJSON_DeleteItemFromArray(history, n - 1);
        if (status == STATUS_OK)
            status = history_write(path, history, err);
    }
    cJSON_Delete(history);
    free(now);
    return status;
}

static enum status do_show(struct invocation *inv, const char *path,
                           const struct settings_form *form, struct err *err)
{
    char *now;
    struct settings effective;
    enum status status = access(path, F_OK) == 0
                             ? read_text(path, &now, err)
                             : err_set(err, STATUS_INPUT, "%s: %s", path, strerror(errno));
    if (status != STATUS_OK)
        return status;
    settings_effective(form, now, &effective);
    free(now);
    return report(inv, path, form, "sets", &effective, err);
}

static enum status run(struct invocation *inv, struct err *err)
{
    static const struct {
        const char *verb;
        enum status (*fn)(struct invocation *inv, const char *path,
                          const struct settings_form *form, struct err *err);
    } verbs[] = {
        {"show", do_show}, {"write", do_write}, {"verify", do_verify}, {"revert", do_revert}};
    const struct settings_form *form;
    enum status status = form_of(inv, inv->args[1], &form, err);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (strcmp(verbs[i].verb, inv->args[0]) == 0)
            return verbs[i].fn(inv, inv->args[1], form, err);
    return err_set(err, STATUS_USAGE, "config %s: show, write, verify or revert was expected",
                   inv->args[0]);
}

static const struct command_option options[] = {
    {"set", "NCCL_X=VALUE", 1, "a setting to write"},
    {"none", NULL, 0, "write no setting: take Updraft's block out"},
    {"form", "FORM", 0, "conf (nccl.conf), env or python; else by FILE's ending (.conf, .py)"},
    {"unknown-ok", NULL, 0, "write variables that Updraft does not know"},
    {"force", NULL, 0, "revert although the file was changed since"},
    {0},
};

const struct command cmd_config = {
    .name = "config",
    .synopsis = "show|write|verify|revert FILE [--set NCCL_X=VALUE]... [--form FORM]",
    .summary = "communication settings as a transaction",
    .details = "write replaces Updraft's own block of FILE through a temporary file and a rename, "
               "reads it\n"
               "back as its reader would and remembers it beside FILE; verify compares with what "
               "was last\n"
               "written; revert puts back what stood before, one write at a time. Other lines are "
               "left alone.",
    .min_args = 2,
    .max_args = 2,
    .options = options,
    .run = run,
};
