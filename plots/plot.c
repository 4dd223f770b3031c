/* The table of kinds, and how their data are written for gnuplot. */
#include "plots/plot.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#define PLOT(id) extern const struct plot_kind plot_##id;
#include "plots/plots.def"
#undef PLOT

const struct plot_kind *const plot_kinds[] = {
#define PLOT(id) &plot_##id,
#include "plots/plots.def"
#undef PLOT
    NULL,
};

const struct plot_kind *plot_find(const char *name)
{
    for (size_t i = 0; plot_kinds[i] != NULL; i++)
        if (strcmp(plot_kinds[i]->name, name) == 0)
            return plot_kinds[i];
    return NULL;
}

/* Quoted so that no text from a file is ever read as a command: single quotes end only at a single
 * quote, which is doubled, and nothing else is special between them. */
void plot_text(FILE *program, const char *name, const char *text)
{
    fprintf(program, "%s = '", name);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'')
            fputs("''", program);
        else
            fputc((unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c, program);
    }
    fputs("'\n", program);
}

void plot_textf(FILE *program, const char *name, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    plot_text(program, name, text);
}

void plot_number(FILE *program, const char *name, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", value);
    /* gnuplot divides whole numbers as C does; a point makes them reals. */
    if (!isfinite(value))
        snprintf(text, sizeof text, "NaN");
    else if (strpbrk(text, ".e") == NULL)
        strcat(text, ".0");
    fprintf(program, "%s = %s\n", name, text);
}

void plot_cut_text(FILE *program, const char *name, const char *text, size_t most)
{
    char cut[512];
    size_t len = 0, chars = 0, word = 0;
    for (; text[len] != '\0' && chars < most && len < sizeof cut - 8; len++) {
        if (text[len] == ' ')
            word = len;
        if (((unsigned char)text[len + 1] & 0xC0) != 0x80)
            chars++;
        cut[len] = text[len];
    }
    cut[len] = '\0';
    if (text[len] != '\0')
        strcpy(cut + (word > 0 ? word : len), " …");
    plot_text(program, name, cut);
}

void plot_integer(FILE *program, const char *name, int value)
{
    fprintf(program, "%s = %d\n", name, value);
}

void plot_array(FILE *program, const char *name, int n)
{
    fprintf(program, "array %s[%d]\n", name, n);
}

void plot_table(FILE *program, const char *name)
{
    fprintf(program, "$%s << END_OF_TABLE\n", name);
}

void plot_cell(FILE *program, double value)
{
    if (isfinite(value))
        fprintf(program, "%.9g\t", value);
    else
        fputs("NaN\t", program);
}

/* In quotes, because an empty field and one that begins with # are special without them. */
void plot_cell_text(FILE *program, const char *text)
{
    fputc('"', program);
    for (const char *c = text; *c != '\0'; c++)
        fputc((unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c == '"' ? '\'' : *c, program);
    fputs("\"\t", program);
}

void plot_row_end(FILE *program)
{
    fputc('\n', program);
}

void plot_gap(FILE *program)
{
    fputc('\n', program);
}

void plot_index(FILE *program)
{
    fputs("\n\n", program);
}

void plot_table_end(FILE *program)
{
    fputs("NaN\tNaN\tNaN\tNaN\tNaN\tNaN\tNaN\tNaN\tNaN\tNaN\nEND_OF_TABLE\n", program);
}

/* Groups the digits before the point by thousands, in place. */
static void group_digits(char *buf, size_t size)
{
    size_t len = strlen(buf), whole = strcspn(buf, ".");
    size_t start = buf[0] == '-' ? 1 : 0;
    for (size_t at = whole; at > start + 3 && len + 1 < size; at -= 3) {
        memmove(buf + at - 2, buf + at - 3, len - (at - 3) + 1);
        buf[at - 3] = ',';
        len++;
    }
}

char *plot_bytes(char *buf, size_t size, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int u = 0;
    double x = bytes;
    while (u < 4 && x >= 1024 && fmod(x, 1024) == 0) {
        x /= 1024;
        u++;
    }
    snprintf(buf, size - 6, "%.0f", x);
    group_digits(buf, size - 6);
    size_t len = strlen(buf);
    snprintf(buf + len, size - len, " %s", units[u]);
    return buf;
}

char *plot_figure(char *buf, size_t size, double value)
{
    double a = fabs(value);
    if (!isfinite(value))
        snprintf(buf, size, "?");
    else if (a == 0 || a >= 99.95)
        snprintf(buf, size, "%.0f", value);
    else
        snprintf(buf, size, "%.*f", a >= 9.995 ? 1 : a >= 0.9995 ? 2 : 3, value);
    group_digits(buf, size);
    return buf;
}
