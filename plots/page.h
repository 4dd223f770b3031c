/* Writing the report's HTML: escaped text, numbers as readers want them, pictures inline. */
#ifndef UPDRAFT_PLOTS_PAGE_H
#define UPDRAFT_PLOTS_PAGE_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "plots/plot.h"

/* Everything up to <body>, and from </body> on. The page carries its own style and loads nothing.
 */
void page_begin(FILE *out, const char *title);
void page_end(FILE *out);

/* Text with &, <, > and quotes escaped. */
void page_text(FILE *out, const char *text);
/* Formatted as printf would, then escaped. */
void page_textf(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "133 [111, 147]", with 3 significant digits; factor scales all three. Without an interval (NaN)
 * the value alone, without a value a dash. */
void page_estimate(FILE *out, double value, double low, double high, double factor);
/* "+14.2 % [+6.0, +22.1]" of fractions. */
void page_gain(FILE *out, double gain, double low, double high);

/* A figure with the plot inline and its caption. Errors as plot_render's. */
enum status page_plot(FILE *out, const char *kind, const struct plot_request *request,
                      const char *caption, struct err *err);

#endif
