/* Pictures. What is drawn and how are apart: a kind gathers its data and writes them as gnuplot
 * tables and variables; its script draws whatever it is given; the renderer puts both together for
 * a terminal, runs gnuplot, or hands the program out as it is. One row of plots.def is one kind.
 */
#ifndef UPDRAFT_PLOTS_PLOT_H
#define UPDRAFT_PLOTS_PLOT_H

#include <stdio.h>

#include "model/err.h"
#include "traces/command.h"

struct plot_request {
    const char *input;            /* path, or "-" for standard input */
    const struct invocation *inv; /* the options given: --set, --impl, ... */
};

struct plot_size {
    int width, height; /* pixels, 1/96 inch in a PDF */
    int rows;          /* lines of text in a terminal */
};

struct plot_kind {
    const char *name;    /* "latency" */
    const char *summary; /* one line, no full stop */
    const char *input;   /* what INPUT may be: "TRACE|MODEL|SCENARIO" */
    struct plot_size size;
    /* Writes the data as gnuplot assignments and named tables, with the functions below. *size is
     * the kind's; a picture that grows with its data may change it. */
    enum status (*write)(const struct plot_request *request, FILE *program, struct plot_size *size,
                         struct err *err);
};

/* All kinds, in the order of plots.def, ended by NULL. */
extern const struct plot_kind *const plot_kinds[];
const struct plot_kind *plot_find(const char *name); /* or NULL */

/* Assignments. Text is quoted; control characters become spaces. */
void plot_text(FILE *program, const char *name, const char *text);
void plot_textf(FILE *program, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Text cut to `most` characters at a word, with an ellipsis; UTF-8 sequences stay whole. */
void plot_cut_text(FILE *program, const char *name, const char *text, size_t most);
void plot_number(FILE *program, const char *name, double value);
void plot_integer(FILE *program, const char *name, int value);
/* An array of n >= 1 elements, numbered from 1; its elements are then assigned as "name[1]". */
void plot_array(FILE *program, const char *name, int n);
/* A table: begin, cells, one row end per row, end. An empty table gets a row of NaN, since gnuplot
 * stops at a table without points. plot_gap breaks a line that is drawn through the rows. */
void plot_table(FILE *program, const char *name);
void plot_cell(FILE *program, double value);
void plot_cell_text(FILE *program, const char *text);
void plot_row_end(FILE *program);
void plot_gap(FILE *program);
void plot_index(FILE *program); /* what follows is the table's next index */
void plot_table_end(FILE *program);

/* "64 KiB", "43,008 B"; and 3 significant digits, "0.61", "24.5", "1,230". `size` of buf >= 32. */
char *plot_bytes(char *buf, size_t size, double bytes);
char *plot_figure(char *buf, size_t size, double value);

enum plot_format { PLOT_PNG, PLOT_SVG, PLOT_PDF, PLOT_PROGRAM, PLOT_TERMINAL };

/* The format that a path asks for by its ending; "-" is PLOT_TERMINAL. STATUS_USAGE otherwise. */
enum status plot_format_of(const char *path, enum plot_format *format, struct err *err);

struct plot_target {
    enum plot_format format;
    FILE *out;          /* where the picture goes */
    int columns, color; /* PLOT_TERMINAL: width in characters, and whether colours are understood */
    const char *svg_id; /* PLOT_SVG: prefix of its ids, unique in a page; NULL: none */
    double scale;       /* of width and height; 0: 1 */
};

/* Draws one picture to target->out. STATUS_MISSING where gnuplot is not installed. */
enum status plot_render(const struct plot_kind *kind, const struct plot_request *request,
                        const struct plot_target *target, struct err *err);

#endif
