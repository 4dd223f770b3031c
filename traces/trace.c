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
        return bad_key(err, name, line, value_key,
                       "missing (a failed measurement needs \"state\")");
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
    int n = text == NULL
                ? fprintf(out, "{\"updraft_trace\":%d}\n", TRACE_VERSION)
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

/* One line being written. Longer than any record can be: texts are at most escaped sixfold. */
struct line {
    char text[16384];
    size_t n;
};

static void put(struct line *l, const char *s, size_t n)
{
    if (n <= sizeof l->text - l->n) {
        memcpy(l->text + l->n, s, n);
        l->n += n;
    }
}

static void put_key(struct line *l, const char *key)
{
    if (l->text[l->n - 1] != '{')
        put(l, ",", 1);
    put(l, "\"", 1);
    put(l, key, strlen(key));
    put(l, "\":", 2);
}

static void put_text(struct line *l, const char *s)
{
    put(l, "\"", 1);
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        char escape[8];
        if (c == '"' || c == '\\')
            put(l, (char[]){'\\', (char)c}, 2);
        else if (c < 0x20)
            put(l, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", c));
        else
            put(l, s, 1);
    }
    put(l, "\"", 1);
}

static void put_digits(struct line *l, uint64_t x, int at_least)
{
    char digits[24];
    int i = sizeof digits;
    do {
        digits[--i] = (char)('0' + x % 10);
        x /= 10;
        at_least--;
    } while (x > 0 || at_least > 0);
    put(l, digits + i, sizeof digits - (size_t)i);
}

/* The shortest decimal that reads back as x. Most measurements have a few decimals: m / 10^d with
 * m below 2^53 is rounded correctly, so where it equals x its digits are x's. */
static void put_number(struct line *l, double x)
{
    static const double powers[] = {1, 10, 100, 1000, 1e4, 1e5, 1e6};
    double a = fabs(x);
    if (a < 1e9)
        for (size_t d = 0; d < sizeof powers / sizeof powers[0]; d++) {
            double m = a * powers[d] + 0.5;
            uint64_t i = (uint64_t)m;
            if ((double)i / powers[d] != a)
                continue;
            if (x < 0)
                put(l, "-", 1);
            uint64_t scale = (uint64_t)powers[d];
            put_digits(l, i / scale, 1);
            if (d > 0) {
                put(l, ".", 1);
                put_digits(l, i % scale, (int)d);
            }
            return;
        }
    char text[40];
    int n = snprintf(text, sizeof text, "%.15g", x);
    if (strtod(text, NULL) != x)
        n = snprintf(text, sizeof text, "%.17g", x);
    put(l, text, (size_t)n);
}

static void put_keys(struct line *l, const struct record *r, const struct record *defaults)
{
    for (int k = 0; k < N_KEYS; k++) {
        if (!has_key(r, k) || (defaults != NULL && same_key(r, defaults, k)))
            continue;
        int i;
        int64_t i64;
        double x = 0;
        put_key(l, keys[k].name);
        switch (keys[k].type) {
        case KEY_TEXT:
            put_text(l, member(r, k));
            break;
        case KEY_INT:
            memcpy(&i, member(r, k), sizeof i);
            put_digits(l, (uint64_t)i, 1);
            break;
        case KEY_INT64:
            memcpy(&i64, member(r, k), sizeof i64);
            put_digits(l, (uint64_t)i64, 1);
            break;
        case KEY_NUM:
            memcpy(&x, member(r, k), sizeof x);
            put_number(l, x);
            break;
        }
    }
    int same = defaults != NULL && memcmp(r->field, defaults->field, sizeof r->field) == 0;
    for (int f = 0; f < FIELD_COUNT && !same; f++)
        if (isfinite(r->field[f]) && (defaults == NULL || r->field[f] != defaults->field[f])) {
            put_key(l, record_field_name((enum record_field)f));
            put_number(l, r->field[f]);
        }
    if (r->verified != RECORD_UNVERIFIED &&
        (defaults == NULL || r->verified != defaults->verified)) {
        put_key(l, "verified");
        put(l, r->verified == RECORD_VERIFIED ? "true" : "false",
            r->verified == RECORD_VERIFIED ? 4 : 5);
    }
}

/* One write for the whole line, newline included. */
static int write_line(FILE *out, struct line *l)
{
    put(l, "\n", 1);
    return fwrite_unlocked(l->text, 1, l->n, out) == l->n ? 0 : -1;
}

int trace_write_record(FILE *out, const struct record *r, const struct record *defaults)
{
    struct line l;
    l.n = 0;
    put(&l, "{", 1);
    put_key(&l, "what");
    put_text(&l, record_what_name(r->what));
    if (isfinite(r->value)) {
        put_key(&l, record_what_key(r->what));
        put_number(&l, r->value);
    }
    put_keys(&l, r, defaults);
    put(&l, "}", 1);
    return write_line(out, &l);
}

int trace_write_defaults(FILE *out, const struct record *r)
{
    struct line l;
    l.n = 0;
    put(&l, "{", 1);
    put_key(&l, "defaults");
    put(&l, "{", 1);
    put_keys(&l, r, NULL);
    put(&l, "}}", 2);
    return write_line(out, &l);
}
