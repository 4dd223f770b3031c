/* The PyTorch profiler's trace (Chrome trace events, as Kineto writes them): GPU kernels, gathered
 * by name. The file is read as a stream, one event in memory at a time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "traces/import.h"
#include "traces/kernel_stats.h"
#include "traces/text.h"

enum { MAX_EVENT = 1 << 20, MAX_DEPTH = 512 };

struct reader {
    struct import *im;
    struct kernel_stats *stats;
    int world; /* ranks of the job; 0 if the file does not say */
    int64_t events, line, event_line;
    int too_many;
    /* The scanner: the stack of open brackets, the event being gathered. */
    char stack[MAX_DEPTH];
    int depth, in_string, escaped, event_depth; /* depth outside of the event; -1: none is open */
    int gather_at;                              /* depth at which objects are events */
    char *event;
    size_t n;
    int overlong, broken;
};

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : (double)NAN;
}

static int first_of(const cJSON *args, const char *key)
{
    double x = NAN;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(args, key);
    if (cJSON_IsNumber(cJSON_GetArrayItem(item, 0)))
        x = cJSON_GetArrayItem(item, 0)->valuedouble;
    return x >= 1 && x < 1e9 ? (int)x : 0;
}

static void take_event(struct reader *rd, const cJSON *event)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "name"));
    const char *cat = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "cat"));
    const char *ph = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(event, "ph"));
    if (name == NULL || cat == NULL || strcasecmp(cat, "kernel") != 0 ||
        (ph != NULL && strcmp(ph, "X") != 0))
        return;
    double us = number_of(event, "dur");
    if (!(us > 0) || isinf(us)) {
        if (!(us == 0)) /* below the clock's resolution */
            import_reject(rd->im, rd->event_line, "kernel %.60s: a duration above 0 was expected",
                          name);
        return;
    }
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(event, "args");
    struct kernel_launch l = {
        .name = name, .dtype = "", .size_bytes = -1, .us = us, .line = rd->event_line};
    l.blocks = first_of(args, "grid");
    l.threads = first_of(args, "block");
    /* What a collective moved is there only where the profiler could link it to its call. */
    double elements = number_of(args, "In msg nelems"), group = number_of(args, "Group size");
    const char *dtype = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(args, "dtype"));
    int bytes = 0;
    const char *known =
        dtype != NULL ? text_dtype((struct word){dtype, strlen(dtype)}, &bytes) : NULL;
    if (known != NULL && elements >= 0 && elements < 1e15) {
        l.dtype = known;
        l.size_bytes = (int64_t)elements * bytes;
    }
    if (group >= 1 && group < 1e6)
        l.ranks = (int)group;
    else if (kernel_impl(name)[0] != '\0')
        l.ranks = rd->world;
    rd->events++;
    if (kernel_stats_add(rd->stats, &l) != 0)
        rd->too_many = 1;
}

static void end_event(struct reader *rd)
{
    static const char mark[] = "ernel\"";
    if (rd->overlong) {
        import_reject(rd->im, rd->event_line, "an event of more than %d bytes", MAX_EVENT);
    } else if (memmem(rd->event, rd->n, mark, sizeof mark - 1) != NULL) {
        cJSON *json = cJSON_ParseWithLength(rd->event, rd->n);
        if (json == NULL)
            import_reject(rd->im, rd->event_line, "an event that is no JSON");
        else
            take_event(rd, json);
        cJSON_Delete(json);
    }
    rd->event_depth = -1;
}

static void scan(struct reader *rd, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len && !rd->broken; i++) {
        char c = bytes[i];
        rd->line += c == '\n';
        if (rd->event_depth >= 0) {
            if (rd->n < MAX_EVENT)
                rd->event[rd->n++] = c;
            else
                rd->overlong = 1;
        }
        if (rd->in_string) {
            if (rd->escaped)
                rd->escaped = 0;
            else if (c == '\\')
                rd->escaped = 1;
            else if (c == '"')
                rd->in_string = 0;
        } else if (c == '"') {
            rd->in_string = 1;
        } else if (c == '{' || c == '[') {
            if (c == '{' && rd->event_depth < 0 && rd->depth == rd->gather_at) {
                rd->event_depth = rd->depth;
                rd->event_line = rd->line;
                rd->event[0] = c;
                rd->n = 1;
                rd->overlong = 0;
            }
            if (rd->depth == MAX_DEPTH)
                rd->broken = 1;
            else
                rd->stack[rd->depth++] = c;
        } else if (c == '}' || c == ']') {
            if (rd->depth == 0 || rd->stack[rd->depth - 1] != (c == '}' ? '{' : '[')) {
                rd->broken = 1;
                break;
            }
            rd->depth--;
            if (rd->event_depth == rd->depth)
                end_event(rd);
        }
    }
}

static int world_of(const char *bytes, size_t len)
{
    static const char key[] = "\"world_size\":";
    const char *p = text_find(bytes, len, key);
    if (p == NULL)
        return 0;
    long n = strtol(p + sizeof key - 1, NULL, 10);
    return n >= 1 && n < 1000000 ? (int)n : 0;
}

static enum status parse(struct import *im, struct err *err)
{
    struct reader rd = {.im = im, .event_depth = -1, .line = 1};
    enum status status = STATUS_OK;
    const char *bytes;
    size_t len = source_peek(im->in, &bytes), skip = 0;
    while (skip < len && strchr(" \t\r\n", bytes[skip]) != NULL)
        skip++;
    rd.world = len > 0 ? world_of(bytes, len) : 0;
    /* {"traceEvents":[{...}]}, [{...}] or one event a line. */
    rd.gather_at =
        text_find(bytes, len, "\"traceEvents\"") != NULL ? 2 : skip < len && bytes[skip] == '[';
    rd.stats = kernel_stats_new();
    rd.event = malloc(MAX_EVENT);
    char *block = malloc(1 << 18);
    if (rd.stats == NULL || rd.event == NULL || block == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    size_t got;
    while (!rd.broken && (got = source_read(im->in, block, 1 << 18)) > 0)
        scan(&rd, block, got);
    kernel_stats_flush(rd.stats, im, "torch-profiler");
    if (rd.too_many)
        import_warn(im, 0, "too many different kernels: some were left out");
    if (rd.events == 0)
        status = err_set(err, STATUS_INPUT, "%s:%lld: no measurement: no GPU kernel in the trace%s",
                         im->path, (long long)rd.line,
                         rd.broken || rd.depth > 0 ? "; the JSON breaks off here" : "");
    else if (rd.broken || rd.depth > 0)
        import_warn(im, rd.line, "the JSON breaks off here: kernels after it are missing");
out:
    kernel_stats_free(rd.stats);
    free(rd.event);
    free(block);
    return status;
}

static int sniff(const char *bytes, size_t len)
{
    if (len == 0 || (bytes[0] != '{' && bytes[0] != '[') || memchr(bytes, '\0', len) != NULL)
        return 0;
    if (text_find(bytes, len, "\"traceEvents\"") != NULL)
        return 80;
    return text_find(bytes, len, "\"ph\"") != NULL && text_find(bytes, len, "\"dur\"") != NULL ? 70
                                                                                               : 0;
}

const struct importer import_profiler = {
    .name = "torch-profiler",
    .summary = "GPU kernels of a PyTorch profiler trace (JSON)",
    .sniff = sniff,
    .parse = parse,
};
