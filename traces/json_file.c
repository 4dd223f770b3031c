#include "traces/json_file.h"

#include <stdlib.h>

enum status json_doc_from_source(struct json_doc *doc, struct source *in, struct err *err)
{
    size_t cap = 1 << 16, n = 0;
    char *buf = malloc(cap);
    *doc = (struct json_doc){0};
    while (buf != NULL) {
        size_t got = source_read(in, buf + n, cap - n);
        if (got == 0)
            break;
        n += got;
        if (n > JSON_FILE_MAX_BYTES) {
            free(buf);
            return err_set(err, STATUS_INPUT, "%s: a JSON document of more than %d MiB", in->name,
                           JSON_FILE_MAX_BYTES >> 20);
        }
        if (n == cap) {
            char *more = realloc(buf, cap *= 2);
            if (more == NULL)
                free(buf);
            buf = more;
        }
    }
    if (buf == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    enum status status = source_status(in, err);
    if (status == STATUS_OK)
        status = json_doc_parse(doc, in->name, buf, n, err);
    free(buf);
    return status;
}
