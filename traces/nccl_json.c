/* The JSON that nccl-tests -J writes: one document a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/json_file.h"
#include "traces/nccl_table.h"

static const char *text_of(const cJSON *object, const char *key)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return s == NULL ? "" : s;
}

static double number_of(const cJSON *object, const char *key, double otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

/* One side of a result. NULL, or why it cannot be taken. Numbers have six decimals. */
static const char *read_side(const cJSON *result, const char *key, const char *iter_key,
                             struct nccl_side *s)
{
    *s = (struct nccl_side){.wrong = -1, .error = NAN, .min_us = NAN, .max_us = NAN, .p99_us = NAN};
    const cJSON *side = cJSON_GetObjectItemCaseSensitive(result, key);
    if (side == NULL || cJSON_IsNull(side))
        return NULL;
    const cJSON *time = cJSON_GetObjectItemCaseSensitive(side, "time");
    const cJSON *algbw = cJSON_GetObjectItemCaseSensitive(side, "alg_bw");
    const cJSON *busbw = cJSON_GetObjectItemCaseSensitive(side, "bus_bw");
    if (time == NULL && cJSON_HasObjectItem(side, "cpu_time"))
        return "the time is the host's (cpu_time)";
    if (!cJSON_IsNumber(time) || !cJSON_IsNumber(algbw) || !cJSON_IsNumber(busbw))
        return "numbers time, alg_bw and bus_bw were expected";
    s->present = 1;
    s->us = (struct printed){time->valuedouble, 5e-7};
    s->algbw = (struct printed){algbw->valuedouble, 5e-7};
    s->busbw = (struct printed){busbw->valuedouble, 5e-7};
    s->wrong = number_of(side, "nwrong", -1);
    const cJSON *iter = cJSON_GetObjectItemCaseSensitive(result, iter_key);
    s->min_us = number_of(iter, "min_us", NAN);
    s->max_us = number_of(iter, "max_us", NAN);
    s->p99_us = number_of(iter, "p99_us", NAN);
    return NULL;
}

static void read_result(struct nccl_table *t, const struct json_doc *doc, const cJSON *result,
                        int number)
{
    char why[160];
    struct nccl_row row = {.line = json_doc_line(doc, result), .dtype = "", .reduces = -1};
    const char *type = text_of(result, "type"), *redop = text_of(result, "redop");
    double size = number_of(result, "size", -1), count = number_of(result, "count", -1);
    const char *reason = NULL;
    if (!(size >= 0 && size < 9e15 && size == floor(size) && count >= 0 && count < 9e15))
        reason = "size and count: whole numbers were expected";
    if (reason == NULL)
        reason = read_side(result, "out_of_place", "out_of_place_per_iter",
                           &row.side[NCCL_OUT_OF_PLACE]);
    if (reason == NULL)
        reason = read_side(result, "in_place", "in_place_per_iter", &row.side[NCCL_IN_PLACE]);
    if (reason == NULL) {
        row.size = (int64_t)size;
        row.count = (int64_t)count;
        const char *dtype = text_dtype((struct word){type, strlen(type)}, &row.dtype_bytes);
        if (dtype != NULL)
            row.dtype = dtype;
        row.reduces = redop[0] == '\0' ? -1 : strcmp(redop, "none") != 0;
        row.rooted =
            strtol(text_of(result, "root"), NULL, 10) >= 0 && text_of(result, "root")[0] != '\0';
        reason = nccl_row_check(&row, 0, why, sizeof why);
    }
    if (reason != NULL)
        import_reject(t->im, row.line, "result %d: %s", number, reason);
    else
        nccl_table_add(t, &row);
}

static int ranks_of(const cJSON *config)
{
    /* One device is listed a process, whatever it drives. */
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(config, "devices");
    double n = cJSON_GetArraySize(devices) * number_of(config, "nthreads", 1) *
               number_of(config, "ngpus", 1);
    return n >= 1 && n < 1e6 ? (int)n : 0;
}

static void read_run(struct nccl_table *t, const cJSON *json)
{
    const cJSON *config = cJSON_GetObjectItemCaseSensitive(json, "config");
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(json, "args");
    struct nccl_settings settings = {0};
    const cJSON *item;
    t->what = WHAT_COUNT;
    cJSON_ArrayForEach(item, args)
    {
        const char *s = cJSON_GetStringValue(item);
        const char *perf = s == NULL ? NULL : strstr(s, "_perf");
        if (perf != NULL && t->what == WHAT_COUNT)
            t->what = nccl_collective(s, (size_t)(perf - s));
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "env"))
    {
        const char *s = cJSON_GetStringValue(item);
        const char *equals = s == NULL ? NULL : strchr(s, '=');
        if (equals != NULL)
            nccl_settings_take(&settings, (struct word){s, (size_t)(equals - s)},
                               (struct word){equals + 1, strlen(equals + 1)});
    }
    nccl_settings_impl(&settings, t->impl, sizeof t->impl);
    double agg = number_of(config, "aggregated_iterations", 1);
    snprintf(t->method, sizeof t->method, "nccl-tests%s%s",
             number_of(config, "graph", 0) > 0 ? "/graph" : "", agg > 1 ? "/aggregated" : "");
    if (agg > 1)
        snprintf(t->note, sizeof t->note, "%.0f operations fused: not the latency of one", agg);
    snprintf(t->label, sizeof t->label, "%s", t->im->label);
    t->listed_ranks = ranks_of(config);
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(config, "devices");
    snprintf(t->device, sizeof t->device, "%.63s",
             text_of(cJSON_GetArrayItem(devices, 0), "device_info"));
}

enum status nccl_json_parse(struct import *im, struct err *err)
{
    struct json_doc doc;
    enum status status = json_doc_from_source(&doc, im->in, err);
    if (status != STATUS_OK)
        return status;
    struct nccl_table *t = calloc(1, sizeof *t);
    if (t == NULL) {
        json_doc_release(&doc);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    t->im = im;
    t->line = 1;
    const cJSON *results = cJSON_GetObjectItemCaseSensitive(doc.root, "results");
    if (!cJSON_IsArray(results)) {
        status = err_set(err, STATUS_INPUT,
                         "%s:1: no measurement: \"results\", an array, was expected", im->path);
    } else {
        read_run(t, doc.root);
        int number = 0;
        const cJSON *result;
        cJSON_ArrayForEach(result, results)
        {
            read_result(t, &doc, result, ++number);
        }
        nccl_table_flush(t);
        if (im->rows == 0 && !im->stopped)
            status =
                err_set(err, STATUS_INPUT, "%s:%ld: no measurement: %s", im->path,
                        json_doc_line(&doc, results),
                        im->rejected > 0 ? "all results were rejected" : "\"results\" is empty");
    }
    free(t);
    json_doc_release(&doc);
    return status;
}
