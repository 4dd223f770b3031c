#include "traces/command.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *invocation_value(const struct invocation *inv, const char *name)
{
    for (int i = inv->n_given - 1; i >= 0; i--)
        if (strcmp(inv->given[i].name, name) == 0)
            return inv->given[i].value;
    return NULL;
}

int invocation_has(const struct invocation *inv, const char *name)
{
    for (int i = 0; i < inv->n_given; i++)
        if (strcmp(inv->given[i].name, name) == 0)
            return 1;
    return 0;
}

int parse_double(const char *text, double *value)
{
    char *end;
    errno = 0;
    double x = strtod(text, &end);
    if (end == text || *end != '\0' || errno == ERANGE || !isfinite(x))
        return -1;
    *value = x;
    return 0;
}

int parse_int64(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno == ERANGE)
        return -1;
    *value = x;
    return 0;
}

int parse_bytes(const char *text, int64_t *value)
{
    static const struct {
        const char *suffix;
        int shift;
    } units[] = {{"", 0},    {"B", 0},    {"K", 10}, {"KB", 10}, {"KiB", 10}, {"M", 20},
                 {"MB", 20}, {"MiB", 20}, {"G", 30}, {"GB", 30}, {"GiB", 30}};
    char *end;
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (end == text || errno == ERANGE || x < 0)
        return -1;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(end, units[i].suffix) == 0) {
            if (x > (INT64_MAX >> units[i].shift))
                return -1;
            *value = (int64_t)((uint64_t)x << units[i].shift);
            return 0;
        }
    return -1;
}

enum status invocation_number(const struct invocation *inv, const char *name, double min,
                              double max, double *value, struct err *err)
{
    const char *text = invocation_value(inv, name);
    double x;
    if (text == NULL)
        return STATUS_OK;
    if (parse_double(text, &x) != 0 || x < min || x > max)
        return err_set(err, STATUS_USAGE, "--%s %s: a number from %g to %g was expected", name,
                       text, min, max);
    *value = x;
    return STATUS_OK;
}

enum status invocation_integer(const struct invocation *inv, const char *name, int64_t min,
                               int64_t max, int64_t *value, struct err *err)
{
    const char *text = invocation_value(inv, name);
    int64_t x;
    if (text == NULL)
        return STATUS_OK;
    if (parse_int64(text, &x) != 0 || x < min || x > max)
        return err_set(err, STATUS_USAGE, "--%s %s: a whole number from %lld to %lld was expected",
                       name, text, (long long)min, (long long)max);
    *value = x;
    return STATUS_OK;
}

enum status invocation_bytes(const struct invocation *inv, const char *name, int64_t *value,
                             struct err *err)
{
    const char *text = invocation_value(inv, name);
    if (text == NULL)
        return STATUS_OK;
    if (parse_bytes(text, value) != 0)
        return err_set(err, STATUS_USAGE, "--%s %s: a size in bytes was expected, as 43008 or 64K",
                       name, text);
    return STATUS_OK;
}

const struct command *command_find(const char *name)
{
    for (int i = 0; commands[i] != NULL; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static const struct command_option common[] = {
    {"json", NULL, 0, "print one JSON document on standard output"},
    {"output", "FILE", 0, "write to FILE through a temporary file and a rename (also -o)"},
    {"help", NULL, 0, "show this help"},
    {0},
};

static const struct command_option *find_option(const struct command_option *table,
                                                const char *name, size_t len)
{
    for (; table != NULL && table->name != NULL; table++)
        if (strlen(table->name) == len && strncmp(table->name, name, len) == 0)
            return table;
    return NULL;
}

enum status invocation_parse(struct invocation *inv, const struct command *command, int argc,
                             char **argv, struct err *err)
{
    *inv = (struct invocation){.command = command, .out = stdout, .log = stderr};
    size_t room = (size_t)argc + 1;
    inv->args = calloc(room, sizeof *inv->args);
    inv->given = calloc(room, sizeof *inv->given);
    enum status status = STATUS_OK;
    if (inv->args == NULL || inv->given == NULL) {
        status = err_set(err, STATUS_FAILED, "out of memory");
        goto out;
    }
    int only_args = 0;
    for (int i = 0; i < argc; i++) {
        const char *a = argv[i];
        if (only_args || a[0] != '-' || a[1] == '\0') {
            inv->args[inv->n_args++] = argv[i];
            continue;
        }
        if (strcmp(a, "--") == 0) {
            only_args = 1;
            continue;
        }
        const char *name = a + 2;
        if (strcmp(a, "-o") == 0)
            name = "output";
        else if (strcmp(a, "-h") == 0)
            name = "help";
        else if (a[1] != '-') {
            status = err_set(err, STATUS_USAGE, "%s: unknown option %s (see updraft help %s)",
                             command->name, a, command->name);
            goto out;
        }
        size_t len = strcspn(name, "=");
        const struct command_option *o = find_option(command->options, name, len);
        if (o == NULL)
            o = find_option(common, name, len);
        if (o == NULL) {
            status = err_set(err, STATUS_USAGE, "%s: unknown option %s (see updraft help %s)",
                             command->name, a, command->name);
            goto out;
        }
        struct given g = {o->name, NULL};
        if (o->arg == NULL) {
            if (name[len] == '=') {
                status = err_set(err, STATUS_USAGE, "--%s takes no value", o->name);
                goto out;
            }
        } else if (name[len] == '=') {
            g.value = name + len + 1;
        } else if (i + 1 < argc) {
            g.value = argv[++i];
        } else {
            status = err_set(err, STATUS_USAGE, "--%s needs %s", o->name, o->arg);
            goto out;
        }
        if (!o->many && invocation_has(inv, o->name)) {
            status = err_set(err, STATUS_USAGE, "--%s was given twice", o->name);
            goto out;
        }
        inv->given[inv->n_given++] = g;
    }
    inv->json = invocation_has(inv, "json");
    inv->out_path = invocation_value(inv, "output");
    if (invocation_has(inv, "help"))
        goto out;
    if (inv->n_args < command->min_args ||
        (command->max_args >= 0 && inv->n_args > command->max_args))
        status =
            err_set(err, STATUS_USAGE, "usage: updraft %s %s", command->name, command->synopsis);
out:
    if (status != STATUS_OK)
        invocation_release(inv);
    return status;
}

void invocation_release(struct invocation *inv)
{
    free(inv->args);
    free(inv->given);
    inv->args = NULL;
    inv->given = NULL;
    inv->n_args = inv->n_given = 0;
}

static void help_options(FILE *out, const struct command_option *o)
{
    for (; o != NULL && o->name != NULL; o++) {
        char left[80];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        fprintf(out, "  %-26s %s%s\n", left, o->help, o->many ? " (repeatable)" : "");
    }
}

void command_help(FILE *out, const struct command *command)
{
    fprintf(out, "updraft %s: %s\n\nusage: updraft %s %s\n", command->name, command->summary,
            command->name, command->synopsis);
    if (command->details != NULL)
        fprintf(out, "\n%s\n", command->details);
    fprintf(out, "\noptions:\n");
    help_options(out, command->options);
    help_options(out, common);
    if (command->more_help != NULL)
        command->more_help(out);
}

void commands_help(FILE *out)
{
    fprintf(out,
            "updraft: what an optimization of multi-GPU inference will be worth, before it is "
            "written\n\nusage: updraft COMMAND [ARGUMENTS]   (updraft help COMMAND says more)\n\n");
    for (int i = 0; commands[i] != NULL; i++)
        fprintf(out, "  %-11s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out,
            "\nexit status: 0 done, 1 the work failed, 2 the command line is wrong, 3 an input "
            "is unreadable\nor malformed, 4 the inputs cannot support the result, 5 hardware or "
            "a library is missing\n");
}

enum status atomic_open(struct atomic_file *a, const char *path, struct err *err)
{
    *a = (struct atomic_file){0};
    struct stat st;
    int exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return err_set(err, STATUS_FAILED, "cannot write %s: %s", path, strerror(EISDIR));
    a->path = exists ? realpath(path, NULL) : strdup(path); /* of a link, what it leads to */
    if (exists && !S_ISREG(st.st_mode)) {
        free(a->path);
        a->path = strdup(path);
        a->f = fopen(path, "w");
        if (a->path != NULL && a->f != NULL)
            return STATUS_OK;
        atomic_abandon(a);
        return err_set(err, STATUS_FAILED, "cannot write %s: %s", path, strerror(errno));
    }
    size_t n = a->path == NULL ? 0 : strlen(a->path) + sizeof ".tmp.XXXXXX";
    a->tmp = n == 0 ? NULL : malloc(n);
    if (a->tmp == NULL) {
        atomic_abandon(a);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    snprintf(a->tmp, n, "%s.tmp.XXXXXX", a->path);
    int fd = mkstemp(a->tmp);
    if (fd < 0) {
        enum status status =
            err_set(err, STATUS_FAILED, "cannot write beside %s: %s", path, strerror(errno));
        free(a->tmp);
        a->tmp = NULL;
        atomic_abandon(a);
        return status;
    }
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, exists ? st.st_mode & 0777 : 0666 & ~mask) != 0 ||
        (a->f = fdopen(fd, "w")) == NULL) {
        enum status status = err_set(err, STATUS_FAILED, "%s: %s", a->tmp, strerror(errno));
        close(fd);
        atomic_abandon(a);
        return status;
    }
    return STATUS_OK;
}

enum status atomic_commit(struct atomic_file *a, struct err *err)
{
    int bad = fflush(a->f) != 0 || ferror(a->f) || (a->tmp != NULL && fsync(fileno(a->f)) != 0);
    int code = errno;
    if (fclose(a->f) != 0 && !bad) {
        bad = 1;
        code = errno;
    }
    a->f = NULL;
    if (!bad && a->tmp != NULL && rename(a->tmp, a->path) != 0) {
        bad = 1;
        code = errno;
    }
    if (bad) {
        enum status status =
            err_set(err, STATUS_FAILED, "cannot write %s: %s", a->path, strerror(code));
        atomic_abandon(a);
        return status;
    }
    free(a->tmp);
    free(a->path);
    *a = (struct atomic_file){0};
    return STATUS_OK;
}

void atomic_abandon(struct atomic_file *a)
{
    if (a->f != NULL)
        fclose(a->f);
    if (a->tmp != NULL)
        unlink(a->tmp);
    free(a->tmp);
    free(a->path);
    *a = (struct atomic_file){0};
}

enum status print_json(FILE *out, cJSON *json, struct err *err)
{
    char *text = json == NULL ? NULL : cJSON_Print(json);
    cJSON_Delete(json);
    if (text == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    fprintf(out, "%s\n", text);
    free(text);
    return STATUS_OK;
}
