#include "traces/columns.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "traces/command.h"
#include "traces/json_doc.h"
#include "traces/share.h"

struct columns {
    struct json_doc maps[2]; /* the user's, then the one that ships */
    int n;
};

/* The keys of a table rule and their types: what a map may say. */
static const struct {
    const char *key;
    int type; /* 's' text, 'n' number, 'a' array */
    int needed;
} table_keys[] = {
    {"name", 's', 1},    {"doc", 's', 0},          {"when", 'a', 1},      {"collective", 's', 0},
    {"ranks", 'a', 0},   {"size", 's', 1},         {"size_unit", 's', 1}, {"dtype", 's', 0},
    {"latency", 's', 1}, {"latency_unit", 's', 1}, {"min", 's', 0},       {"max", 's', 0},
    {"count", 'n', 0},   {"impl", 's', 1},         {"label", 's', 0},     {"method", 's', 0},
    {"version", 's', 0}, {"rules", 'a', 0},
};

static enum status check_table(const struct json_doc *doc, const cJSON *table, struct err *err)
{
    if (!cJSON_IsObject(table))
        return json_doc_error(doc, table, err, "an object was expected for a table");
    for (const cJSON *item = table->child; item != NULL; item = item->next) {
        size_t k = 0, n = sizeof table_keys / sizeof table_keys[0];
        while (k < n && strcmp(table_keys[k].key, item->string) != 0)
            k++;
        if (k == n && strncmp(item->string, "x_", 2) != 0)
            return json_doc_error(
                doc, item, err, "\"%.40s\": unknown key (see docs/importing-csv.md)", item->string);
        if (k < n && (table_keys[k].type == 's'   ? !cJSON_IsString(item)
                      : table_keys[k].type == 'n' ? !cJSON_IsNumber(item)
                                                  : !cJSON_IsArray(item)))
            return json_doc_error(doc, item, err, "%s was expected",
                                  table_keys[k].type == 's'   ? "a string"
                                  : table_keys[k].type == 'n' ? "a number"
                                                              : "an array");
    }
    for (size_t k = 0; k < sizeof table_keys / sizeof table_keys[0]; k++)
        if (table_keys[k].needed &&
            cJSON_GetObjectItemCaseSensitive(table, table_keys[k].key) == NULL)
            return json_doc_error(doc, table, err, "a table needs \"%s\"", table_keys[k].key);
    static const char *const units[][6] = {{"bytes", "KiB", "MiB", "elements", NULL},
                                           {"us", "ms", "s", "ns", NULL}};
    static const char *const unit_keys[] = {"size_unit", "latency_unit"};
    for (int i = 0; i < 2; i++) {
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(table, unit_keys[i]);
        int known = 0;
        for (int u = 0; units[i][u] != NULL; u++)
            known |= strcmp(item->valuestring, units[i][u]) == 0;
        if (!known)
            return json_doc_error(doc, item, err,
                                  i == 0 ? "bytes, KiB, MiB or elements was expected"
                                         : "us, ms, s or ns was expected");
    }
    const cJSON *rule, *item;
    cJSON_ArrayForEach(rule, cJSON_GetObjectItemCaseSensitive(table, "rules"))
    {
        if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(rule, "if")))
            return json_doc_error(doc, rule, err, "a rule needs \"if\", an object");
        for (item = rule->child; item != NULL; item = item->next)
            if (strcmp(item->string, "if") != 0 && strcmp(item->string, "drop") != 0 &&
                strcmp(item->string, "impl") != 0 && strcmp(item->string, "note") != 0 &&
                strcmp(item->string, "method") != 0)
                return json_doc_error(doc, item, err,
                                      "\"%.40s\": unknown key (see docs/importing-csv.md)",
                                      item->string);
            else if (strcmp(item->string, "if") != 0 && !cJSON_IsString(item))
                return json_doc_error(doc, item, err, "a string was expected");
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(rule, "if"))
        {
            if (!cJSON_IsString(item))
                return json_doc_error(doc, item, err, "a string was expected");
        }
    }
    static const char *const arrays[] = {"when", "ranks"};
    for (int i = 0; i < 2; i++)
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(table, arrays[i]))
        {
            if (!cJSON_IsString(item))
                return json_doc_error(doc, item, err, "a string was expected");
        }
    return STATUS_OK;
}

static enum status check_map(const struct json_doc *doc, struct err *err)
{
    if (!cJSON_IsObject(doc->root))
        return json_doc_error(doc, doc->root, err, "an object was expected");
    for (const cJSON *item = doc->root->child; item != NULL; item = item->next) {
        int lists = strcmp(item->string, "lists") == 0;
        if (!lists && strcmp(item->string, "impls") != 0 && strcmp(item->string, "tables") != 0 &&
            strncmp(item->string, "x_", 2) != 0)
            return json_doc_error(
                doc, item, err, "\"%.40s\": unknown key (see docs/importing-csv.md)", item->string);
        if (lists ? !cJSON_IsObject(item) : item->string[1] != '_' && !cJSON_IsArray(item))
            return json_doc_error(doc, item, err,
                                  lists ? "an object was expected" : "an array was expected");
    }
    const cJSON *item, *part;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc->root, "lists"))
    {
        if (!cJSON_IsArray(item))
            return json_doc_error(doc, item, err, "an array of patterns was expected");
        cJSON_ArrayForEach(part, item)
        {
            if (!cJSON_IsString(part))
                return json_doc_error(doc, part, err, "a string was expected");
        }
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc->root, "impls"))
    {
        if (cJSON_GetArraySize(item) != 2 || !cJSON_IsString(cJSON_GetArrayItem(item, 0)) ||
            !cJSON_IsString(cJSON_GetArrayItem(item, 1)))
            return json_doc_error(doc, item, err,
                                  "a pair of strings was expected: word, implementation");
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(doc->root, "tables"))
    {
        enum status status = check_table(doc, item, err);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status add_map(struct columns *c, const char *path, struct err *err)
{
    struct json_doc *doc = &c->maps[c->n];
    enum status status = json_doc_read(doc, path, err);
    if (status != STATUS_OK)
        return status;
    c->n++;
    return check_map(doc, err);
}

enum status columns_load(struct columns **columns, const char *user_path, struct err *err)
{
    struct columns *c = calloc(1, sizeof *c);
    if (c == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    enum status status = STATUS_OK;
    if (user_path != NULL)
        status = add_map(c, user_path, err);
    if (status == STATUS_OK) {
        char *path = share_path("traces/columns.json", err);
        status = path == NULL ? STATUS_MISSING : add_map(c, path, err);
        free(path);
    }
    if (status != STATUS_OK) {
        columns_free(c);
        return status;
    }
    *columns = c;
    return STATUS_OK;
}

void columns_free(struct columns *c)
{
    if (c == NULL)
        return;
    for (int i = 0; i < c->n; i++)
        json_doc_release(&c->maps[i]);
    free(c);
}

/* Pattern number k of "a|b|c"; 0 where there are fewer. */
static int pattern_at(const char *patterns, int k, char *to, size_t cap)
{
    while (k-- > 0) {
        patterns = strchr(patterns, '|');
        if (patterns == NULL)
            return 0;
        patterns++;
    }
    size_t n = strcspn(patterns, "|");
    if (n >= cap)
        n = cap - 1;
    memcpy(to, patterns, n);
    to[n] = '\0';
    return 1;
}

int columns_find(const char *patterns, char *const *names, int n)
{
    char pattern[128];
    for (int k = 0; pattern_at(patterns, k, pattern, sizeof pattern); k++)
        for (int i = 0; i < n; i++)
            if (fnmatch(pattern, names[i], FNM_CASEFOLD) == 0)
                return i;
    return -1;
}

int columns_like(const char *patterns, const char *name)
{
    char *const names[] = {(char *)(uintptr_t)name};
    return columns_find(patterns, names, 1) == 0;
}

const cJSON *columns_match(const struct columns *c, char *const *names, int n)
{
    for (int m = 0; m < c->n; m++) {
        const cJSON *table, *when;
        cJSON_ArrayForEach(table, cJSON_GetObjectItemCaseSensitive(c->maps[m].root, "tables"))
        {
            int all = 1;
            cJSON_ArrayForEach(when, cJSON_GetObjectItemCaseSensitive(table, "when"))
            {
                all = all && columns_find(when->valuestring, names, n) >= 0;
            }
            if (all)
                return table;
        }
    }
    return NULL;
}

int columns_test(const struct columns *c, const char *test, const char *cell)
{
    if (test[0] == '<' || test[0] == '>') {
        double limit, x;
        if (parse_double(test + 1, &limit) != 0 || parse_double(cell, &x) != 0)
            return 0;
        return test[0] == '<' ? x < limit : x > limit;
    }
    if (test[0] != '@')
        return fnmatch(test, cell, FNM_CASEFOLD) == 0;
    for (int m = 0; m < c->n; m++) {
        const cJSON *lists = cJSON_GetObjectItemCaseSensitive(c->maps[m].root, "lists"), *item;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(lists, test + 1))
        {
            if (fnmatch(item->valuestring, cell, FNM_CASEFOLD) == 0)
                return 1;
        }
    }
    return 0;
}

/* Lower case, letters and digits, single underscores between. */
static void slug(const char *word, char *to, size_t cap)
{
    size_t n = 0;
    for (; *word != '\0' && n + 1 < cap; word++)
        if (isalnum((unsigned char)*word))
            to[n++] = (char)tolower((unsigned char)*word);
        else if (n > 0 && to[n - 1] != '_')
            to[n++] = '_';
    while (n > 0 && to[n - 1] == '_')
        n--;
    to[n] = '\0';
}

void columns_impl(const struct columns *c, const char *word, char *impl, unsigned long impl_cap,
                  char *rest, unsigned long rest_cap)
{
    rest[0] = '\0';
    if (strchr(word, '/') != NULL) {
        snprintf(impl, impl_cap, "%s", word);
        return;
    }
    for (int m = 0; m < c->n; m++) {
        const cJSON *pair;
        cJSON_ArrayForEach(pair, cJSON_GetObjectItemCaseSensitive(c->maps[m].root, "impls"))
        {
            const char *known = cJSON_GetArrayItem(pair, 0)->valuestring;
            const char *at = strcasestr(word, known);
            if (at == NULL)
                continue;
            snprintf(impl, impl_cap, "%s", cJSON_GetArrayItem(pair, 1)->valuestring);
            size_t head = (size_t)(at - word);
            while (head > 0 && strchr(" _-,", word[head - 1]) != NULL)
                head--;
            const char *tail = at + strlen(known);
            tail += strspn(tail, " _-,");
            snprintf(rest, rest_cap, "%.*s%s%s", (int)head, word, head > 0 && *tail ? " " : "",
                     tail);
            return;
        }
    }
    char name[96];
    slug(word, name, sizeof name);
    snprintf(impl, impl_cap, "custom/%s", name[0] != '\0' ? name : "unnamed");
}
