/* nvbandwidth, text and JSON (-j). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/command.h"
#include "traces/json_file.h"
#include "traces/link_tables.h"
#include "traces/text.h"

static int sniff(const char *bytes, size_t len)
{
    if (memchr(bytes, '\0', len) != NULL)
        return 0;
    if (len > 0 && bytes[0] == '{')
        return text_find(bytes, len, "\"nvbandwidth\"") != NULL ? 90 : 0;
    if (text_find(bytes, len, "(row)") != NULL && text_find(bytes, len, "(column)") != NULL)
        return 85;
    return text_find(bytes, len, "nvbandwidth Version") != NULL ? 80 : 0;
}

static void read_testcase(struct import *im, const struct json_doc *doc, const cJSON *test)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(test, "name"));
    const cJSON *matrix = cJSON_GetObjectItemCaseSensitive(test, "bandwidth_matrix"), *row, *cell;
    const char *text =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(test, "bandwidth_description"));
    if (name == NULL || !cJSON_IsArray(matrix))
        return; /* waived or failed */
    int by_host = text != NULL && strstr(text, "CPU(row)") != NULL &&
                  strncmp(name, "device_to_device", 16) != 0;
    int from = 0;
    cJSON_ArrayForEach(row, matrix)
    {
        int to = 0;
        cJSON_ArrayForEach(cell, row)
        {
            double x = NAN;
            const char *s = cJSON_GetStringValue(cell);
            int blank = s != NULL && strcmp(s, "N/A") == 0;
            if (cJSON_IsNumber(cell))
                x = cell->valuedouble;
            else if (s != NULL && !blank && parse_double(s, &x) != 0)
                x = NAN;
            if (!blank && !(x > 0) && !(x == 0 && from == to))
                import_reject(im, json_doc_line(doc, cell),
                              "%s, row %d, column %d: a number above 0 was expected", name, from,
                              to);
            else if (x > 0 && nvbandwidth_cell(im, name, by_host ? -1 : from, to, x,
                                               json_doc_line(doc, row)) != 0)
                return;
            to++;
        }
        from++;
        im->rows++;
    }
}

static enum status parse_json(struct import *im, struct err *err)
{
    struct json_doc doc;
    enum status status = json_doc_from_source(&doc, im->in, err);
    if (status != STATUS_OK)
        return status;
    const cJSON *root = cJSON_GetObjectItemCaseSensitive(doc.root, "nvbandwidth"), *test;
    cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(root, "testcases"))
    {
        read_testcase(im, &doc, test);
    }
    if (im->records == 0 && !im->stopped)
        status =
            err_set(err, STATUS_INPUT,
                    "%s:1: no measurement: no test case of nvbandwidth has a matrix", im->path);
    json_doc_release(&doc);
    return status;
}

static enum status parse(struct import *im, struct err *err)
{
    const char *bytes;
    size_t len = source_peek(im->in, &bytes);
    return len > 0 && bytes[0] == '{' ? parse_json(im, err) : link_tables_parse(im, err);
}

const struct importer import_nvbandwidth = {
    .name = "nvbandwidth",
    .summary = "nvbandwidth's matrices, text or JSON (-j)",
    .sniff = sniff,
    .parse = parse,
};
