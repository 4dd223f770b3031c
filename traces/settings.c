#include "traces/settings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/command.h"

static const char begin_mark[] = "# updraft begin: changes between these marks are Updraft's";
static const char end_mark[] = "# updraft end";

enum setting_type { COUNT, FLAG, WORDS, PATH };

static const struct {
    const char *name;
    enum setting_type type;
    int64_t min, max;
    const char *doc;
} known[] = {
#define NCCL_SETTING(name, type, min, max, doc) {name, type, min, max, doc},
#include "traces/nccl_settings.def"
#undef NCCL_SETTING
};
enum { N_KNOWN = sizeof known / sizeof known[0] };

const char *settings_get(const struct settings *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].name, name) == 0)
            return s->v[i].value;
    return NULL;
}

int settings_put(struct settings *s, const struct setting *one)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->v[i].name, one->name) == 0) {
            s->v[i] = *one;
            return 0;
        }
    if (s->n == SETTINGS_MAX)
        return -1;
    s->v[s->n++] = *one;
    return 0;
}

const char *setting_doc(const char *name)
{
    for (int i = 0; i < N_KNOWN; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].doc;
    return NULL;
}

static int is_name(const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(isupper((unsigned char)name[i]) || name[i] == '_' ||
              (i > 0 && isdigit((unsigned char)name[i]))))
            return 0;
    return n > 0;
}

static int value_fits(int k, const char *value)
{
    int64_t x;
    switch (known[k].type) {
    case COUNT:
    case FLAG:
        if (parse_int64(value, &x) != 0 || x < known[k].min || x > known[k].max)
            return 0;
        return strstr(known[k].name, "NTHREADS") == NULL || x % 32 == 0;
    case WORDS:
        return value[strspn(
                   value,
                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789,^:;_-")] == '\0';
    case PATH:
        return strpbrk(value, "\"'\n") == NULL;
    }
    return 0;
}

enum status setting_parse(struct setting *s, const char *text, int unknown_ok, struct err *err)
{
    const char *eq = strchr(text, '=');
    size_t n = eq == NULL ? 0 : (size_t)(eq - text);
    if (eq == NULL || !is_name(text, n) || n >= sizeof s->name || eq[1] == '\0' ||
        strlen(eq + 1) >= sizeof s->value)
        return err_set(err, STATUS_USAGE, "%.100s: NCCL_NAME=value was expected, without spaces",
                       text);
    memcpy(s->name, text, n);
    s->name[n] = '\0';
    strcpy(s->value, eq + 1);
    for (int k = 0; k < N_KNOWN; k++) {
        if (strcmp(known[k].name, s->name) != 0)
            continue;
        if (!value_fits(k, s->value))
            return err_set(err, STATUS_USAGE, "%s=%.100s cannot be right: %s%s", s->name, s->value,
                           known[k].doc, known[k].type == COUNT ? " (check its range)" : "");
        return STATUS_OK;
    }
    if (!unknown_ok || strpbrk(s->value, "\"'\n \t") != NULL)
        return err_set(err, STATUS_USAGE,
                       "%s is no setting that Updraft knows; --unknown-ok writes it all the same",
                       s->name);
    return STATUS_OK;
}

/* --- Forms ----------------------------------------------------------------------------------- */

/* NAME=value as NCCL reads its own file: nothing is trimmed, # counts in the first column only. */
static int parse_conf(const char *line, struct setting *s)
{
    const char *eq = strchr(line, '=');
    size_t n = eq == NULL ? 0 : (size_t)(eq - line);
    if (line[0] == '#' || n == 0 || n >= sizeof s->name || strlen(eq + 1) >= sizeof s->value)
        return 0;
    memcpy(s->name, line, n);
    s->name[n] = '\0';
    strcpy(s->value, eq + 1);
    return 1;
}

static void format_conf(char *buf, size_t room, const struct setting *s)
{
    snprintf(buf, room, "%s=%s", s->name, s->value);
}

/* export NAME=value, as a shell or systemd's EnvironmentFile reads it. */
static int parse_env(const char *line, struct setting *s)
{
    while (*line == ' ' || *line == '\t')
        line++;
    if (strncmp(line, "export ", 7) == 0)
        line += 7;
    if (!parse_conf(line, s) || !is_name(s->name, strlen(s->name)))
        return 0;
    size_t n = strlen(s->value);
    if (n >= 2 && (s->value[0] == '"' || s->value[0] == '\'') && s->value[n - 1] == s->value[0]) {
        memmove(s->value, s->value + 1, n - 2);
        s->value[n - 2] = '\0';
    } else {
        s->value[strcspn(s->value, " \t")] = '\0';
    }
    return 1;
}

/* No "export": systemd's EnvironmentFile and docker's --env-file do not take it. */
static void format_env(char *buf, size_t room, const struct setting *s)
{
    snprintf(buf, room, "%s=%s", s->name, s->value);
}

/* os.environ["NAME"] = "value", in a start-up hook such as sitecustomize.py. */
static int parse_python(const char *line, struct setting *s)
{
    char quote[2], close[2];
    if (sscanf(line, " os.environ[%1[\"']%63[A-Z0-9_]%1[\"']] = \"%255[^\"]\"", quote, s->name,
               close, s->value) != 4)
        return 0;
    return 1;
}

static void format_python(char *buf, size_t room, const struct setting *s)
{
    snprintf(buf, room, "os.environ[\"%s\"] = \"%s\"", s->name, s->value);
}

static const struct settings_form form_conf = {
    .name = "conf",
    .summary = "nccl.conf, read by NCCL itself; the environment wins over it",
    .first_wins = 1,
    .format = format_conf,
    .parse = parse_conf,
};
static const struct settings_form form_env = {
    .name = "env",
    .summary = "an environment file, read by a shell, systemd or a container",
    .format = format_env,
    .parse = parse_env,
};
static const struct settings_form form_python = {
    .name = "python",
    .summary = "a Python start-up hook (sitecustomize.py), before the engine loads NCCL",
    .preamble = "import os",
    .format = format_python,
    .parse = parse_python,
};
const struct settings_form *const settings_forms[] = {&form_conf, &form_env, &form_python, NULL};

const struct settings_form *settings_form_find(const char *name)
{
    for (int i = 0; settings_forms[i] != NULL; i++)
        if (strcmp(settings_forms[i]->name, name) == 0)
            return settings_forms[i];
    return NULL;
}

/* Calls fn for each line of text with whether it lies in Updraft's block (marks included). */
static void each_line(const char *text,
                      void (*fn)(void *ctx, const char *line, size_t n, int inside), void *ctx)
{
    int inside = 0;
    while (*text != '\0') {
        size_t n = strcspn(text, "\n");
        int begins = n == sizeof begin_mark - 1 && memcmp(text, begin_mark, n) == 0;
        int ends = n == sizeof end_mark - 1 && memcmp(text, end_mark, n) == 0;
        inside |= begins;
        fn(ctx, text, n, inside);
        if (ends)
            inside = 0;
        text += n + (text[n] == '\n');
    }
}

struct collect {
    const struct settings_form *form;
    struct settings *out;
    int block_only;
};

static void collect_line(void *ctx, const char *line, size_t n, int inside)
{
    struct collect *c = ctx;
    char copy[1024];
    struct setting s;
    if (n >= sizeof copy || (c->block_only && !inside))
        return;
    memcpy(copy, line, n);
    copy[n] = '\0';
    if (!c->form->parse(copy, &s))
        return;
    if (c->form->first_wins && settings_get(c->out, s.name) != NULL)
        return;
    settings_put(c->out, &s);
}

void settings_effective(const struct settings_form *form, const char *text, struct settings *out)
{
    struct collect c = {form, out, 0};
    out->n = 0;
    each_line(text, collect_line, &c);
}

void settings_block(const struct settings_form *form, const char *text, struct settings *out)
{
    struct collect c = {form, out, 1};
    out->n = 0;
    each_line(text, collect_line, &c);
}

struct keep {
    FILE *out;
};

static void keep_line(void *ctx, const char *line, size_t n, int inside)
{
    struct keep *k = ctx;
    if (!inside)
        fprintf(k->out, "%.*s\n", (int)n, line);
}

static void write_block(FILE *out, const struct settings_form *form, const struct settings *block)
{
    char line[512];
    if (block->n == 0)
        return;
    fprintf(out, "%s\n", begin_mark);
    if (form->preamble != NULL)
        fprintf(out, "%s\n", form->preamble);
    for (size_t i = 0; i < block->n; i++) {
        form->format(line, sizeof line, &block->v[i]);
        fprintf(out, "%s\n", line);
    }
    fprintf(out, "%s\n", end_mark);
}

char *settings_rewrite(const struct settings_form *form, const char *text,
                       const struct settings *block)
{
    char *buf = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&buf, &len);
    if (out == NULL)
        return NULL;
    struct keep k = {out};
    /* The block stands where it wins over lines of the user's own. */
    if (form->first_wins)
        write_block(out, form, block);
    each_line(text, keep_line, &k);
    if (!form->first_wins)
        write_block(out, form, block);
    if (fclose(out) != 0) {
        free(buf);
        return NULL;
    }
    return buf;
}
