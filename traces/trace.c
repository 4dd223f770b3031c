#include "traces/trace.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The keys of a record that are text or plain numbers: one table for reading and writing. */
enum key_type { KEY_TEXT, KEY_INT, KEY_INT64, KEY_NUM };

static const struct {
    const char *name;
    enum key_type type;
    size_t offset, size;
} keys[] = {
#define K(name, type, member)                                                                      \
    {                                                                                              \
        name, type, offsetof(struct record, member), sizeof(((struct record *)0)->member)          \
    }
    K("impl", KEY_TEXT, impl),
    K("kernel", KEY_TEXT, kernel),
    K("label", KEY_TEXT, label),
    K("dtype", KEY_TEXT, dtype),
    K("method", KEY_TEXT, method),
    K("placement", KEY_TEXT, placement),
    K("state", KEY_TEXT, state),
    K("note", KEY_TEXT, note),
    K("ranks", KEY_INT, ranks),
    K("in_place", KEY_INT, in_place),
    K("size_bytes", KEY_INT64, size_bytes),
    K("p10", KEY_NUM, p10),
    K("p90", KEY_NUM, p90),
    K("p99", KEY_NUM, p99),
    K("min", KEY_NUM, min),
    K("max", KEY_NUM, max),
    K("count", KEY_INT64, count),
    K("wrong", KEY_INT64, wrong),
    K("origin", KEY_TEXT, origin),
    K("line", KEY_INT64, line),
#undef K
};
enum { N_KEYS = sizeof keys / sizeof keys[0] };

static const void *member(const struct record *r, int k)
{
    return (const char *)r + keys[k].offset;
}

void trace_release(struct trace *t)
{
    records_release(&t->records);
    cJSON_Delete(t->host);
    *t = (struct trace){0};
}

int trace_sniff(const char *buf, size_t len)
{
    static const char magic[] = "{\"updraft_trace\"";
    return len >= sizeof magic - 1 && memcmp(buf, magic, sizeof magic - 1) == 0;
}

static enum status bad(struct err *err, const char *name, long line, const char *what)
{
    return err_set(err, STATUS_INPUT, "%s:%ld: %s (see docs/trace-format.md)", name, line, what);
}

static enum status bad_key(struct err *err, const char *name, long line, const char *key,
                           const char *what)
{
    return err_set(err, STATUS_INPUT, "%s:%ld: key \"%.60s\": %s", name, line, key, what);
}

/* Sets one key of the record from JSON. */
static enum status set_key(struct record *r, const cJSON *item, const char *name, long line,
                           struct err *err)
{
    const char *key = item->string;
    for (int k = 0; k < N_KEYS; k++) {
        if (strcmp(keys[k].name, key) != 0)
            continue;
        char *p = (char *)r + keys[k].offset;
        if (keys[k].type == KEY_TEXT) {
            if (!cJSON_IsString(item))
                return bad_key(err, name, line, key, "a string was expected");
            if (strlen(item->valuestring) >= keys[k].size)
                return bad_key(err, name, line, key, "the string is too long");
            memcpy(p, item->valuestring, strlen(item->valuestring) + 1);
            return STATUS_OK;
        }
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return bad_key(err, name, line, key, "a finite number was expected");
        double x = item->valuedouble;
        if (keys[k].type == KEY_NUM) {
            memcpy(p, &x, sizeof x);
            return STATUS_OK;
        }
        double limit = keys[k].type == KEY_INT ? 2147483647.0 : 9007199254740992.0;
        if (x != floor(x) || x < 0 || x > limit)
            return bad_key(err, name, line, key, "a whole number >= 0 was expected");
        if (keys[k].type == KEY_INT) {
            int i = (int)x;
            memcpy(p, &i, sizeof i);
        } else {
            int64_t i = (int64_t)x;
            memcpy(p, &i, sizeof i);
        }
        return STATUS_OK;
    }
    enum record_field field = record_field_find(key);
    if (field != FIELD_COUNT) {
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
            return bad_key(err, name, line, key, "a finite number was expected");
        r->field[field] = item->valuedouble;
        return STATUS_OK;
    }
    if (strcmp(key, "verified") == 0) {
        if (!cJSON_IsBool(item))
            return bad_key(err, name, line, key, "true or false was expected");
        r->verified = cJSON_IsTrue(item) ? RECORD_VERIFIED : RECORD_WRONG;
        return STATUS_OK;
    }
    if (strncmp(key, "x_", 2) == 0)
        return STATUS_OK;
    return bad_key(err, name, line, key, "unknown key (a key of your own starts with x_)");
}

/* Fills the record from an object; `what` and its value key where want_what. */
static enum status from_object(struct record *r, const cJSON *object, int want_what,
                               const char *name, long line, struct err *err)
{
    const char *value_key = "";
    if (want_what) {
        const cJSON *what = cJSON_GetObjectItemCaseSensitive(object, "what");
        if (!cJSON_IsString(what))
            return bad(err, name, line, "a record needs \"what\", a string");
        r->what = record_what_find(what->valuestring);
        if (r->what == WHAT_COUNT)
            return bad_key(err, name, line, "what", "no such kind of measurement");
        value_key = record_what_key(r->what);
    }
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        if (want_what && strcmp(item->string, "what") == 0)
            continue;
        if (want_what && strcmp(item->string, value_key) == 0) {
            if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || item->valuedouble < 0)
                return bad_key(err, name, line, value_key, "a finite number >= 0 was expected");
            r->value = item->valuedouble;
            continue;
        }
        enum status status = set_key(r, item, name, line, err);
        if (status != STATUS_OK)
            return status;
    }
    if (want_what && isnan(r->value) && r->state[0] == '\0')
        return bad_key(err, name, line, value_key, "missing (a failed measurement needs \"state\")");
    return STATUS_OK;
}

enum status trace_parse_record(struct record *r, const struct record *defaults, const char *line,
                               size_t len, const char *name, long line_no, struct err *err)
{
    if (defaults != NULL)
        *r = *defaults;
    else
        record_init(r);
    cJSON *json = cJSON_ParseWithLength(line, len);
    enum status status;
    if (!cJSON_IsObject(json))
        status = bad(err, name, line_no, "one JSON object a line was expected");
    else
        status = from_object(r, json, 1, name, line_no, err);
    cJSON_Delete(json);
    return status;
}

static enum status read_header(struct trace *t, const cJSON *json, const char *name, long line,
                               struct err *err)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(json, "updraft_trace");
    if (!cJSON_IsNumber(version))
        return bad(err, name, line, "the first line must be {\"updraft_trace\":1, ...}");
    if (version->valueint != TRACE_VERSION)
        return err_set(err, STATUS_INPUT, "%s:%ld: trace version %d, this program reads %d", name,
                       line, version->valueint, TRACE_VERSION);
    for (const cJSON *item = json->child; item != NULL; item = item->next)
        if (strcmp(item->string, "updraft_trace") != 0 && strcmp(item->string, "host") != 0 &&
            strncmp(item->string, "x_", 2) != 0)
            return bad_key(err, name, line, item->string, "unknown key");
    const cJSON *host = cJSON_GetObjectItemCaseSensitive(json, "host");
    if (host != NULL && t->host == NULL) {
        t->host = cJSON_Duplicate(host, 1);
        if (t->host == NULL)
            return err_set(err, STATUS_FAILED, "out of memory");
    }
    return STATUS_OK;
}

enum status trace_read(struct trace *t, FILE *in, const char *name, struct err *err)
{
    enum status status = STATUS_OK;
    char *line = NULL;
    size_t cap = 0;
    long line_no = 0;
    int headed = 0;
    struct record defaults;
    record_init(&defaults);
    for (;;) {
        ssize_t got = getline(&line, &cap, in);
        if (got < 0) {
            if (ferror(in))
                status = err_set(err, STATUS_INPUT, "%s: %s", name, strerror(errno));
            else if (!headed)
                status = err_set(err, STATUS_INPUT, "%s: the file is empty", name);
            break;
        }
        line_no++;
        if (line[got - 1] != '\n' && headed) {
            t->torn = 1;
            break;
        }
        if (strspn(line, " \t\r\n") == (size_t)got)
            continue;
        cJSON *json = cJSON_ParseWithLength(line, (size_t)got);
        if (!cJSON_IsObject(json)) {
            status = bad(err, name, line_no, "one JSON object a line was expected");
        } else if (!headed) {
            status = read_header(t, json, name, line_no, err);
            headed = 1;
        } else if (cJSON_HasObjectItem(json, "updraft_trace")) {
            status = read_header(t, json, name, line_no, err); /* traces may be concatenated */
            record_init(&defaults);
        } else if (cJSON_HasObjectItem(json, "defaults")) {
            record_init(&defaults);
            const cJSON *d = cJSON_GetObjectItemCaseSensitive(json, "defaults");
            status = from_object(&defaults, d, 0, name, line_no, err);
        } else {
            struct record r = defaults;
            status = from_object(&r, json, 1, name, line_no, err);
            if (status == STATUS_OK && records_add(&t->records, &r) != 0)
                status = err_set(err, STATUS_FAILED, "out of memory");
        }
        cJSON_Delete(json);
        if (status != STATUS_OK)
            break;
    }
    free(line);
    return status;
}

int trace_write_header(FILE *out, const cJSON *host)
{
    char *text = host == NULL ? NULL : cJSON_PrintUnformatted(host);
    if (host != NULL && text == NULL) {
        errno = ENOMEM;
        return -1;
    }
    int n = text == NULL ? fprintf(out, "{\"updraft_trace\":%d}\n", TRACE_VERSION)
                         : fprintf(out, "{\"updraft_trace\":%d,\"host\":%s}\n", TRACE_VERSION, text);
    free(text);
    return n < 0 ? -1 : 0;
}

static int has_key(const struct record *r, int k)
{
    int i;
    int64_t i64;
    double x;
    switch (keys[k].type) {
    case KEY_TEXT:
        return *(const char *)member(r, k) != '\0';
    case KEY_INT:
        memcpy(&i, member(r, k), sizeof i);
        return i > 0;
    case KEY_INT64:
        memcpy(&i64, member(r, k), sizeof i64);
        return i64 >= 0 && (i64 > 0 || strcmp(keys[k].name, "size_bytes") == 0);
    case KEY_NUM:
        memcpy(&x, member(r, k), sizeof x);
        return isfinite(x);
    }
    return 0;
}

static int same_key(const struct record *a, const struct record *b, int k)
{
    if (keys[k].type == KEY_TEXT)
        return strcmp(member(a, k), member(b, k)) == 0;
    return memcmp(member(a, k), member(b, k), keys[k].size) == 0;
}

static int add_keys(cJSON *object, const struct record *r, const struct record *defaults)
{
    int ok = 1;
    for (int k = 0; k < N_KEYS; k++) {
        if (!has_key(r, k) || (defaults != NULL && same_key(r, defaults, k)))
            continue;
        int i;
        int64_t i64;
        double x = 0;
        switch (keys[k].type) {
        case KEY_TEXT:
            ok = ok && cJSON_AddStringToObject(object, keys[k].name, member(r, k)) != NULL;
            continue;
        case KEY_INT:
            memcpy(&i, member(r, k), sizeof i);
            x = i;
            break;
        case KEY_INT64:
            memcpy(&i64, member(r, k), sizeof i64);
            x = (double)i64;
            break;
        case KEY_NUM:
            memcpy(&x, member(r, k), sizeof x);
            break;
        }
        ok = ok && cJSON_AddNumberToObject(object, keys[k].name, x) != NULL;
    }
    for (int f = 0; f < FIELD_COUNT; f++)
        if (isfinite(r->field[f]) && (defaults == NULL || r->field[f] != defaults->field[f]))
            ok = ok && cJSON_AddNumberToObject(object, record_field_name((enum record_field)f),
                                               r->field[f]) != NULL;
    if (r->verified != RECORD_UNVERIFIED && (defaults == NULL || r->verified != defaults->verified))
        ok = ok && cJSON_AddBoolToObject(object, "verified", r->verified == RECORD_VERIFIED) != NULL;
    return ok;
}

/* Prints and frees the object. */
static int write_line(FILE *out, cJSON *object, int ok)
{
    char *text = ok ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
    if (text == NULL) {
        errno = ENOMEM;
        return -1;
    }
    /* One write for the whole line, newline included. */
    size_t n = strlen(text);
    text[n] = '\n';
    int failed = fwrite(text, 1, n + 1, out) != n + 1;
    free(text);
    return failed ? -1 : 0;
}

int trace_write_record(FILE *out, const struct record *r, const struct record *defaults)
{
    cJSON *object = cJSON_CreateObject();
    int ok = object != NULL &&
             cJSON_AddStringToObject(object, "what", record_what_name(r->what)) != NULL &&
             (!isfinite(r->value) ||
              cJSON_AddNumberToObject(object, record_what_key(r->what), r->value) != NULL) &&
             add_keys(object, r, defaults);
    return write_line(out, object, ok);
}

int trace_write_defaults(FILE *out, const struct record *r)
{
    cJSON *object = cJSON_CreateObject();
    cJSON *inner = object == NULL ? NULL : cJSON_AddObjectToObject(object, "defaults");
    int ok = inner != NULL && add_keys(inner, r, NULL);
    return write_line(out, object, ok);
}
