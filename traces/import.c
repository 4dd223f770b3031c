#include "traces/import.h"

#include <stdarg.h>
#include <string.h>

#include "traces/trace.h"

#define IMPORTER(id) extern const struct importer import_##id;
#include "traces/importers.def"
#undef IMPORTER

const struct importer *const importers[] = {
#define IMPORTER(id) &import_##id,
#include "traces/importers.def"
#undef IMPORTER
    NULL,
};

const struct importer *importer_find(const char *name)
{
    for (int i = 0; importers[i] != NULL; i++)
        if (strcmp(importers[i]->name, name) == 0)
            return importers[i];
    return NULL;
}

/* The importer that is surest of these bytes, or NULL. */
static const struct importer *recognise(const char *bytes, size_t len)
{
    const struct importer *best = NULL;
    int best_score = 0;
    for (int i = 0; importers[i] != NULL; i++) {
        int score = importers[i]->sniff(bytes, len);
        if (score > best_score) {
            best_score = score;
            best = importers[i];
        }
    }
    return best;
}

void import_label(char *label, size_t cap, const char *path, int with_folder)
{
    const char *base = strrchr(path, '/');
    base = base != NULL ? base + 1 : path;
    const char *dot = strrchr(base, '.');
    const char *end = dot != NULL && dot != base ? dot : base + strlen(base);
    if (with_folder && base > path + 1) {
        base--;
        while (base > path && base[-1] != '/')
            base--;
    }
    snprintf(label, cap, "%.*s", (int)(end - base), base);
}

enum status import_source(struct import *im, struct source *in, const struct importer *importer,
                          const struct columns *columns, struct import_sink *sink, struct err *err)
{
    *im = (struct import){.in = in, .path = in->name, .sink = sink, .columns = columns};
    if (sink->label != NULL)
        snprintf(im->label, sizeof im->label, "%s", sink->label);
    else
        import_label(im->label, sizeof im->label, in->name, 0);
    const char *bytes;
    size_t len = source_peek(in, &bytes);
    im->importer = importer != NULL ? importer : recognise(bytes, len);
    if (im->importer == NULL) {
        const char *what = "no format that import knows";
        if (len > 1 && memcmp(bytes, "\x1f\x8b", 2) == 0)
            return err_set(err, STATUS_INPUT,
                           "%s: gzip data: unpack it first (zcat FILE | updraft import -)",
                           im->path);
        if (trace_sniff(bytes, len))
            return err_set(err, STATUS_INPUT,
                           "%s: is a trace already: every command takes it as it is", im->path);
        if (len > 0 && memchr(bytes, '\0', len) != NULL)
            what = "binary data of no known format";
        return err_set(err, STATUS_INPUT, "%s: %s (updraft help import lists the formats)",
                       im->path, what);
    }
    enum status status = im->importer->parse(im, err);
    if (status == STATUS_OK)
        status = source_status(in, err);
    if (status == STATUS_OK && im->stopped)
        return err_set(err, STATUS_FAILED, "%s: the import was stopped", im->path);
    return status;
}

enum status import_file(struct import *im, const char *path, const struct importer *importer,
                        const struct columns *columns, struct import_sink *sink, struct err *err)
{
    struct source in;
    *im = (struct import){.path = path};
    enum status status = source_open(&in, path, err);
    if (status != STATUS_OK)
        return status;
    status = import_source(im, &in, importer, columns, sink, err);
    source_close(&in);
    im->in = NULL;
    return status;
}

int import_record(struct import *im, struct record *r)
{
    if (im->stopped)
        return -1;
    im->records++;
    if (im->sink->record(im->sink, r) != 0)
        im->stopped = 1;
    return im->stopped ? -1 : 0;
}

void import_reject(struct import *im, int64_t line, const char *fmt, ...)
{
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    im->rejected++;
    im->sink->reject(im->sink, line, text);
}

void import_warn(struct import *im, int64_t line, const char *fmt, ...)
{
    char text[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    im->sink->warn(im->sink, line, text);
}

void import_saw(struct import *im, const char *collective, int ranks)
{
    if (im->ranks == 0 && im->records == 0)
        im->ranks = ranks;
    else if (im->ranks != ranks)
        im->ranks = 0;
    size_t n = strlen(collective), used = strlen(im->collective);
    for (const char *p = im->collective; *p != '\0'; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, collective, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return;
    if (used + n + 2 <= sizeof im->collective)
        snprintf(im->collective + used, sizeof im->collective - used, "%s%s", used ? "," : "",
                 collective);
}
