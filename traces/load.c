#include "traces/load.h"

#include <string.h>

#include "traces/import.h"

struct load_sink {
    struct import_sink sink;
    struct trace *t;
    FILE *log;
    const char *path;
    int out_of_memory;
    int quiet; /* lines that were not printed: there can be many */
    int said;
};

enum { MAX_SAID = 20 };

static int take(struct import_sink *sink, const struct record *r)
{
    struct load_sink *ls = (struct load_sink *)sink;
    ls->out_of_memory = records_add(&ls->t->records, r) != 0;
    return ls->out_of_memory ? -1 : 0;
}

static void say(struct load_sink *ls, int64_t line, const char *what, const char *text)
{
    if (ls->log == NULL)
        return;
    if (ls->said == MAX_SAID) {
        ls->quiet++;
        return;
    }
    ls->said++;
    if (line > 0)
        fprintf(ls->log, "updraft: warning: %s:%lld: %s%s\n", ls->path, (long long)line, what,
                text);
    else
        fprintf(ls->log, "updraft: warning: %s: %s%s\n", ls->path, what, text);
}

static void reject(struct import_sink *sink, int64_t line, const char *reason)
{
    say((struct load_sink *)sink, line, "not taken: ", reason);
}

static void warn(struct import_sink *sink, int64_t line, const char *text)
{
    say((struct load_sink *)sink, line, "", text);
}

static enum status load_trace(struct trace *t, struct source *in, FILE *log, struct err *err)
{
    FILE *f = source_stream(in);
    if (f == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    int torn = t->torn;
    t->torn = 0;
    enum status status = trace_read(t, f, in->name, err);
    fclose(f);
    if (t->torn && log != NULL)
        fprintf(log, "updraft: warning: %s: the last line was cut and has been dropped\n",
                in->name);
    t->torn |= torn;
    return status;
}

/* Whether records of another file have this one's label: a name in another folder. */
static int label_is_taken(const struct trace *t, const char *path)
{
    char label[128];
    import_label(label, sizeof label, path, 0);
    size_t n = strlen(label);
    for (size_t i = 0; i < t->records.n; i++)
        if (strncmp(t->records.v[i].label, label, n) == 0 &&
            strcmp(t->records.v[i].origin, path) != 0)
            return 1;
    return 0;
}

enum status trace_load(struct trace *t, const char *path, FILE *log, struct err *err)
{
    struct source in;
    enum status status = source_open(&in, path, err);
    if (status != STATUS_OK)
        return status;
    const char *bytes;
    size_t len = source_peek(&in, &bytes);
    if (trace_sniff(bytes, len)) {
        status = load_trace(t, &in, log, err);
    } else {
        struct load_sink ls = {{take, reject, warn, NULL}, t, log, in.name, 0, 0, 0};
        char label[128];
        import_label(label, sizeof label, in.name, label_is_taken(t, in.name));
        ls.sink.label = label;
        struct import im;
        status = import_source(&im, &in, NULL, NULL, &ls.sink, err);
        if (ls.out_of_memory)
            status = err_set(err, STATUS_FAILED, "out of memory");
        if (ls.quiet > 0)
            fprintf(log, "updraft: warning: %s: %d more such lines\n", in.name, ls.quiet);
    }
    source_close(&in);
    return status;
}
