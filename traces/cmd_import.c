/* updraft import: other tools' output into a trace. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "traces/columns.h"
#include "traces/command.h"
#include "traces/import.h"
#include "traces/trace.h"
#include "traces/trace_writer.h"

enum { MAX_LISTED = 1000, MAX_SAID = 20 };

/* Where records, rejections and remarks of one file go. */
struct output {
    struct import_sink sink;
    struct trace_writer *writer; /* NULL: records are only counted (--json) */
    FILE *log;                   /* NULL: rejections go to the document only */
    const char *path;
    cJSON *rejected, *warnings; /* arrays of the file's object; NULL without --json */
    int said, unsaid, failed;
};

static int take_record(struct import_sink *sink, const struct record *r)
{
    struct output *o = (struct output *)sink;
    if (o->writer != NULL && trace_writer_add(o->writer, r) != 0)
        o->failed = errno != 0 ? errno : EIO;
    return o->failed ? -1 : 0;
}

static void say(struct output *o, int64_t line, const char *what, const char *text)
{
    if (o->said == MAX_SAID) {
        o->unsaid++;
        return;
    }
    o->said++;
    fprintf(o->log, "updraft: warning: %s", o->path);
    if (line > 0)
        fprintf(o->log, ":%lld", (long long)line);
    fprintf(o->log, ": %s%s\n", what, text);
}

static void list(cJSON *array, int64_t line, const char *text)
{
    if (array == NULL || cJSON_GetArraySize(array) >= MAX_LISTED)
        return;
    cJSON *item = cJSON_CreateObject();
    if (item == NULL)
        return;
    cJSON_AddNumberToObject(item, "line", (double)line);
    cJSON_AddStringToObject(item, "reason", text);
    cJSON_AddItemToArray(array, item);
}

static void take_reject(struct import_sink *sink, int64_t line, const char *reason)
{
    struct output *o = (struct output *)sink;
    say(o, line, "rejected: ", reason);
    list(o->rejected, line, reason);
}

static void take_warn(struct import_sink *sink, int64_t line, const char *text)
{
    struct output *o = (struct output *)sink;
    say(o, line, "", text);
    list(o->warnings, line, text);
}

/* Imports one file; its summary is appended to `files` (NULL: none is wanted). */
/* Whether another argument is a file of the same name in another folder: labels then need the
 * folder, or the files' curves would be taken for one. */
static int name_is_shared(const struct invocation *inv, const char *path)
{
    char mine[128], other[128];
    import_label(mine, sizeof mine, path, 0);
    for (int i = 0; i < inv->n_args; i++) {
        import_label(other, sizeof other, inv->args[i], 0);
        if (strcmp(mine, other) == 0 && strcmp(path, inv->args[i]) != 0)
            return 1;
    }
    return 0;
}

static enum status import_one(const char *path, const struct importer *importer,
                              const struct columns *columns, int with_folder, struct output *o,
                              cJSON *files, struct err *err)
{
    struct import im;
    cJSON *object = NULL;
    if (files != NULL) {
        object = cJSON_CreateObject();
        o->rejected = cJSON_CreateArray();
        o->warnings = cJSON_CreateArray();
    }
    o->path = strcmp(path, "-") == 0 ? "standard input" : path;
    char label[128];
    import_label(label, sizeof label, o->path, with_folder);
    o->sink.label = label;
    o->said = o->unsaid = 0;
    enum status status = import_file(&im, path, importer, columns, &o->sink, err);
    if (o->failed)
        status = err_set(err, STATUS_FAILED, "cannot write the trace: %s", strerror(o->failed));
    if (o->unsaid > 0)
        fprintf(o->log, "updraft: warning: %s: %d more such lines\n", o->path, o->unsaid);
    if (object != NULL) {
        cJSON_AddStringToObject(object, "path", path);
        if (im.importer != NULL)
            cJSON_AddStringToObject(object, "format", im.importer->name);
        else
            cJSON_AddNullToObject(object, "format");
        if (im.collective[0] != '\0')
            cJSON_AddStringToObject(object, "collective", im.collective);
        else
            cJSON_AddNullToObject(object, "collective");
        if (im.ranks > 0)
            cJSON_AddNumberToObject(object, "ranks", im.ranks);
        else
            cJSON_AddNullToObject(object, "ranks");
        cJSON_AddNumberToObject(object, "rows", (double)im.rows);
        cJSON_AddNumberToObject(object, "rows_wrong", (double)im.rows_wrong);
        cJSON_AddNumberToObject(object, "records", (double)im.records);
        cJSON_AddNumberToObject(object, "rows_rejected", (double)im.rejected);
        cJSON_AddItemToObject(object, "rejected", o->rejected);
        cJSON_AddItemToObject(object, "warnings", o->warnings);
        if (status != STATUS_OK)
            cJSON_AddStringToObject(object, "error", err->msg);
        cJSON_AddItemToArray(files, object);
    }
    return status;
}

/* Whether two files hold the same bytes. */
static int same_bytes(const char *a, const char *b)
{
    FILE *fa = fopen(a, "rb"), *fb = fopen(b, "rb");
    int same = fa != NULL && fb != NULL;
    while (same) {
        char x[4096], y[sizeof x];
        size_t n = fread(x, 1, sizeof x, fa), m = fread(y, 1, sizeof y, fb);
        same = n == m && memcmp(x, y, n) == 0;
        if (n < sizeof x)
            break;
    }
    if (fa != NULL)
        fclose(fa);
    if (fb != NULL)
        fclose(fb);
    return same;
}

/* Copies among the files would count twice in a fit. */
static void warn_of_copies(const struct invocation *inv)
{
    off_t *size = calloc((size_t)inv->n_args, sizeof *size);
    if (size == NULL)
        return;
    for (int i = 0; i < inv->n_args; i++) {
        struct stat st;
        if (strcmp(inv->args[i], "-") == 0 || stat(inv->args[i], &st) != 0 || !S_ISREG(st.st_mode))
            continue;
        size[i] = st.st_size;
        for (int k = 0; k < i; k++)
            if (size[i] > 0 && size[k] == size[i] && same_bytes(inv->args[i], inv->args[k])) {
                fprintf(inv->log,
                        "updraft: warning: %s: the same bytes as %s: its rows will count twice\n",
                        inv->args[i], inv->args[k]);
                break;
            }
    }
    free(size);
}

static enum status run(struct invocation *inv, struct err *err)
{
    const struct importer *importer = NULL;
    const char *format = invocation_value(inv, "format");
    if (format != NULL && (importer = importer_find(format)) == NULL)
        return err_set(err, STATUS_USAGE,
                       "--format %s: no such format (updraft help import lists them)", format);
    struct columns *columns = NULL;
    const char *map = invocation_value(inv, "columns");
    if (map != NULL && columns_load(&columns, map, err) != STATUS_OK)
        return err->status;
    warn_of_copies(inv);
    struct trace_writer writer;
    trace_writer_init(&writer, inv->out);
    struct output o = {.sink = {take_record, take_reject, take_warn, NULL}, .log = inv->log};
    cJSON *document = NULL, *files = NULL;
    if (inv->json) {
        document = cJSON_CreateObject();
        files = cJSON_AddArrayToObject(document, "files");
    } else {
        o.writer = &writer;
    }
    enum status status = STATUS_OK;
    int bad = 0;
    for (int i = 0; i < inv->n_args; i++) {
        struct err one = {STATUS_OK, ""};
        enum status s = import_one(inv->args[i], importer, columns,
                                   name_is_shared(inv, inv->args[i]), &o, files, &one);
        if (s == STATUS_OK)
            continue;
        bad++;
        if (status == STATUS_OK) {
            status = s;
            *err = one;
        } else {
            fprintf(inv->log, "updraft: %s\n", one.msg);
        }
        if (s != STATUS_INPUT)
            break;
    }
    if (document != NULL) {
        struct err print = {STATUS_OK, ""};
        if (print_json(inv->out, document, &print) != STATUS_OK && status == STATUS_OK) {
            *err = print;
            status = print.status;
        }
    }
    columns_free(columns);
    return status;
}

static void list_formats(FILE *out)
{
    fprintf(out, "\nformats:\n");
    for (int i = 0; importers[i] != NULL; i++)
        fprintf(out, "  %-24s %s\n", importers[i]->name, importers[i]->summary);
}

static const struct command_option options[] = {
    {"columns", "FILE", 0, "a column map for CSV tables, in front of the one that ships"},
    {"format", "F", 0, "the files' format; otherwise it is recognised from content"},
    {0},
};

const struct command cmd_import = {
    .name = "import",
    .synopsis = "[--format F] [--columns FILE] FILE...",
    .summary = "turn other tools' output into a trace",
    .details =
        "Writes a trace (JSON Lines) to standard output or -o FILE; with --json a summary of the\n"
        "files instead. - is standard input. What cannot be believed is rejected by line, with\n"
        "the reason, and the rest is kept; a file without any measurement is an error.",
    .more_help = list_formats,
    .min_args = 1,
    .max_args = -1,
    .options = options,
    .run = run,
};
