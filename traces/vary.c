#include "traces/vary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/command.h"

void axis_release(struct axis *a)
{
    free(a->numbers);
    free(a->texts);
    free(a->text);
    *a = (struct axis){0};
}

static enum status bad(struct err *err, const char *text)
{
    return err_set(err, STATUS_USAGE,
                   "--vary %.200s: KEY=1,2,3 or KEY=FIRST:LAST or KEY=FIRST:LAST:STEP was expected",
                   text);
}

static enum status parse_range(struct axis *a, char *spec, const char *text, struct err *err)
{
    double first, last, step = 1;
    char *second = strchr(spec, ':'), *third;
    *second++ = '\0';
    third = strchr(second, ':');
    if (third != NULL)
        *third++ = '\0';
    if (parse_double(spec, &first) != 0 || parse_double(second, &last) != 0 ||
        (third != NULL && parse_double(third, &step) != 0) || step <= 0 || last < first)
        return bad(err, text);
    double n = floor((last - first) / step + 1e-9) + 1;
    if (n > VARY_MAX_POINTS)
        return err_set(err, STATUS_USAGE, "--vary %.200s: %.0f values are more than %d", text, n,
                       VARY_MAX_POINTS);
    a->n = (size_t)n;
    a->numbers = malloc(a->n * sizeof *a->numbers);
    if (a->numbers == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    for (size_t i = 0; i < a->n; i++)
        a->numbers[i] = first + (double)i * step;
    return STATUS_OK;
}

static enum status parse_list(struct axis *a, char *spec, const char *text, struct err *err)
{
    a->n = 1;
    for (const char *p = spec; *p != '\0'; p++)
        a->n += *p == ',';
    int words = a->key->type == KEY_TYPE_TEXT;
    if (words)
        a->texts = calloc(a->n, sizeof *a->texts);
    else
        a->numbers = calloc(a->n, sizeof *a->numbers);
    if (a->texts == NULL && a->numbers == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    size_t i = 0;
    for (char *p = spec, *next; p != NULL; p = next) {
        next = strchr(p, ',');
        if (next != NULL)
            *next++ = '\0';
        if (words)
            a->texts[i++] = p;
        else if (strcmp(p, "true") == 0 || strcmp(p, "false") == 0)
            a->numbers[i++] = strcmp(p, "true") == 0;
        else if (parse_double(p, &a->numbers[i++]) != 0)
            return bad(err, text);
    }
    return STATUS_OK;
}

enum status axis_parse(struct axis *a, const char *text, struct err *err)
{
    *a = (struct axis){0};
    char *eq = strchr(text, '=');
    if (eq == NULL || eq[1] == '\0')
        return bad(err, text);
    a->text = strdup(text);
    if (a->text == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    char *spec = a->text + (eq - text);
    *spec++ = '\0';
    a->key = scenario_key_find(a->text);
    enum status status;
    if (a->key == NULL)
        status = err_set(err, STATUS_USAGE,
                         "--vary: no scenario key \"%.80s\" (updraft scenario --keys lists them)",
                         a->text);
    else if (a->key->type == KEY_TYPE_CURVE)
        status = err_set(err, STATUS_USAGE, "--vary: %s is a curve and cannot vary", a->text);
    else if (a->key->type != KEY_TYPE_TEXT && strchr(spec, ':') != NULL)
        status = parse_range(a, spec, text, err);
    else
        status = parse_list(a, spec, text, err);
    if (status != STATUS_OK)
        axis_release(a);
    return status;
}

enum status axis_set(const struct axis *a, size_t i, struct scenario *s, struct err *err)
{
    if (a->texts != NULL)
        return scenario_set(s, a->key->path, a->texts[i], err);
    return scenario_set_number(s, a->key, a->numbers[i], err);
}
