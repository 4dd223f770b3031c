#include "traces/json_file.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static enum status read_all(char **text, size_t *len, struct source *in, struct err *err)
{
    size_t cap = 1 << 16, n = 0;
    char *buf = malloc(cap);
    while (buf != NULL) {
        size_t got = source_read(in, buf + n, cap - n - 1);
        if (got == 0)
            break;
        n += got;
        if (n > JSON_MAX_BYTES) {
            free(buf);
            return err_set(err, STATUS_INPUT, "%s: a JSON document of more than %d MiB", in->name,
                           JSON_MAX_BYTES >> 20);
        }
        if (cap - n < cap / 4) {
            char *more = realloc(buf, cap * 2);
            if (more == NULL)
                free(buf);
            buf = more;
            cap *= 2;
        }
    }
    if (buf == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    buf[n] = '\0';
    *text = buf;
    *len = n;
    return source_status(in, err);
}

enum status json_read(cJSON **json, struct source *in, struct err *err)
{
    char *text = NULL;
    size_t len = 0;
    enum status status = read_all(&text, &len, in, err);
    if (status == STATUS_OK) {
        const char *end = text;
        *json = cJSON_ParseWithLengthOpts(text, len + 1, &end, 0);
        if (*json == NULL) {
            long line = 1;
            for (const char *p = text; p < end && p < text + len; p++)
                line += *p == '\n';
            while (end < text + len && isspace((unsigned char)*end))
                end++;
            status = err_set(err, STATUS_INPUT, "%s:%ld: %s", in->name, line,
                             end >= text + len ? "the JSON breaks off: is the file complete?"
                                               : "JSON was expected here");
        }
    }
    free(text);
    return status;
}
