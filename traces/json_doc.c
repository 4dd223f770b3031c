#include "traces/json_doc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "traces/input.h"

enum { MAX_BYTES = 64 << 20 };

void json_doc_release(struct json_doc *doc)
{
    cJSON_Delete(doc->root);
    free(doc->text);
    free(doc->name);
    *doc = (struct json_doc){0};
}

static long line_at(const char *text, size_t offset)
{
    long line = 1;
    for (size_t i = 0; i < offset; i++)
        line += text[i] == '\n';
    return line;
}

static enum status parse(struct json_doc *doc, struct err *err)
{
    const char *end = NULL;
    if (doc->len == 0)
        return err_set(err, STATUS_INPUT, "%s: the file is empty; JSON was expected", doc->name);
    /* cJSON takes a NUL for the end; in a file it is rubbish. */
    const char *nul = memchr(doc->text, '\0', doc->len);
    if (nul != NULL)
        return err_set(err, STATUS_INPUT, "%s:%ld: a zero byte; JSON was expected", doc->name,
                       line_at(doc->text, (size_t)(nul - doc->text)));
    doc->root = cJSON_ParseWithLengthOpts(doc->text, doc->len + 1, &end, 1);
    if (doc->root == NULL) {
        size_t at = end == NULL ? 0 : (size_t)(end - doc->text);
        if (at > doc->len)
            at = doc->len;
        return err_set(err, STATUS_INPUT, "%s:%ld: not valid JSON from here on", doc->name,
                       line_at(doc->text, at));
    }
    return STATUS_OK;
}

enum status json_doc_parse(struct json_doc *doc, const char *name, const char *text, size_t len,
                           struct err *err)
{
    *doc = (struct json_doc){.name = strdup(name), .text = malloc(len + 1), .len = len};
    enum status status;
    if (doc->name == NULL || doc->text == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
    } else {
        memcpy(doc->text, text, len);
        doc->text[len] = '\0';
        status = parse(doc, err);
    }
    if (status != STATUS_OK)
        json_doc_release(doc);
    return status;
}

enum status json_doc_read(struct json_doc *doc, const char *path, struct err *err)
{
    *doc = (struct json_doc){0};
    const char *name = input_name(path);
    FILE *f = input_stream(path);
    enum status status = STATUS_OK;
    struct stat st;
    if (f == NULL)
        return err_set(err, STATUS_INPUT, "%s: %s", name, strerror(errno));
    if (fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
        status = err_set(err, STATUS_INPUT, "%s: is a directory; a JSON file was expected", name);
        goto out;
    }
    size_t cap = 0;
    for (;;) {
        if (doc->len + 1 >= cap) {
            size_t grown = cap ? cap * 2 : 1 << 16;
            char *text = realloc(doc->text, grown);
            if (text == NULL) {
                status = err_set(err, STATUS_FAILED, "out of memory");
                goto out;
            }
            doc->text = text;
            cap = grown;
        }
        size_t got = fread(doc->text + doc->len, 1, cap - doc->len - 1, f);
        if (got == 0)
            break;
        if (doc->len == 0 && doc->text[0] == '\0') {
            status = err_set(err, STATUS_INPUT, "%s:1: a zero byte; JSON was expected", name);
            goto out;
        }
        doc->len += got;
        if (doc->len > MAX_BYTES) {
            status = err_set(err, STATUS_INPUT, "%s: larger than 64 MiB; a JSON file was expected",
                             name);
            goto out;
        }
    }
    if (ferror(f)) {
        status = err_set(err, STATUS_INPUT, "%s: %s", name, strerror(errno));
        goto out;
    }
    doc->text[doc->len] = '\0';
    doc->name = strdup(name);
    status = doc->name == NULL ? err_set(err, STATUS_FAILED, "out of memory") : parse(doc, err);
out:
    fclose(f);
    if (status != STATUS_OK)
        json_doc_release(doc);
    return status;
}

/* The tree is in the text's order: walk both together until the item comes up. The text is valid,
 * cJSON has read it. */
struct walk {
    const char *p;
    const cJSON *wanted;
    const char *found;
};

static void skip_space(struct walk *w)
{
    while (*w->p == ' ' || *w->p == '\t' || *w->p == '\n' || *w->p == '\r')
        w->p++;
}

static void skip_string(struct walk *w)
{
    for (w->p++; *w->p != '\0' && *w->p != '"'; w->p++)
        if (*w->p == '\\' && w->p[1] != '\0')
            w->p++;
    if (*w->p == '"')
        w->p++;
}

static void walk_value(struct walk *w, const cJSON *item)
{
    skip_space(w);
    if (item == w->wanted)
        w->found = w->p;
    if (w->found != NULL)
        return;
    if (*w->p == '"') {
        skip_string(w);
    } else if (*w->p == '{' || *w->p == '[') {
        int object = *w->p++ == '{';
        for (const cJSON *child = item->child; child != NULL && w->found == NULL;
             child = child->next) {
            skip_space(w);
            if (*w->p == ',') {
                w->p++;
                skip_space(w);
            }
            if (object) {
                const char *key = w->p;
                skip_string(w);
                skip_space(w);
                if (*w->p == ':')
                    w->p++;
                if (child == w->wanted) {
                    w->found = key;
                    return;
                }
            }
            walk_value(w, child);
        }
        skip_space(w);
        if (w->found == NULL && (*w->p == '}' || *w->p == ']'))
            w->p++;
    } else {
        w->p += strcspn(w->p, ",]} \t\r\n");
    }
}

long json_doc_line(const struct json_doc *doc, const cJSON *item)
{
    struct walk w = {doc->text, item, NULL};
    if (doc->root != NULL)
        walk_value(&w, doc->root);
    return w.found == NULL ? 0 : line_at(doc->text, (size_t)(w.found - doc->text));
}

enum status json_doc_error(const struct json_doc *doc, const cJSON *item, struct err *err,
                           const char *fmt, ...)
{
    char msg[768];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    long line = item == NULL ? 0 : json_doc_line(doc, item);
    if (line == 0)
        return err_set(err, STATUS_INPUT, "%s: %s", doc->name, msg);
    return err_set(err, STATUS_INPUT, "%s:%ld: %s", doc->name, line, msg);
}
