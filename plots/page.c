#include "plots/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    "body{font:16px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;color:#1d1d1f;"
    "background:#fff;max-width:62rem;margin:2rem auto;padding:0 1.2rem}\n"
    "h1{font-size:1.55rem;line-height:1.25;margin:0 0 .3rem}\n"
    "h2{font-size:1.15rem;margin:2.4rem 0 .6rem;border-bottom:1px solid "
    "#ddd;padding-bottom:.2rem}\n"
    ".sub{color:#666;margin:0 0 1.4rem}\n"
    ".answer{background:#eef5fa;border-left:5px solid #0072B2;padding:.9rem 1.2rem;margin:1rem 0}\n"
    ".answer p{margin:.3rem 0}.answer .big{font-size:1.2rem;font-weight:600}\n"
    ".warn{background:#fdf3e7;border-left:5px solid #D55E00;padding:.7rem 1.2rem;margin:1rem 0}\n"
    ".warn p{margin:.3rem 0}\n"
    "table{border-collapse:collapse;width:100%;font-size:.92rem;margin:.6rem 0}\n"
    "th{text-align:left;color:#666;font-weight:500;border-bottom:1px solid #bbb;padding:.3rem "
    ".6rem}\n"
    "td{border-bottom:1px solid #eee;padding:.35rem .6rem;vertical-align:top}\n"
    "td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
    "tr.blocked td{color:#808080}tr.harmful td:first-child{color:#B34E00}\n"
    "td:first-child{min-width:24rem}td code{white-space:nowrap}\n"
    ".why{color:#666;font-size:.86rem}\n"
    ".tag{font-size:.75rem;border-radius:.6rem;padding:.05rem .5rem;background:#ddd;color:#333;"
    "white-space:nowrap}\n"
    ".tag.assumed{background:#F6E3C4}.tag.given{background:#d9ecd9}\n"
    "figure{margin:1.2rem 0}figcaption{color:#555;font-size:.9rem}\n"
    "svg{width:100%;height:auto;max-width:980px}\n"
    "svg text{font-family:'DejaVu Sans',Verdana,system-ui,sans-serif}\n"
    "code{font:.88em ui-monospace,'DejaVu Sans Mono',monospace;background:#f4f4f4;padding:.05rem "
    ".3rem}\n"
    "pre{font:.85rem ui-monospace,'DejaVu Sans Mono',monospace;background:#f4f4f4;padding:.7rem "
    "1rem;"
    "overflow-x:auto}\n"
    "@media print{body{margin:0;max-width:none}figure,tr{break-inside:avoid}}\n";

void page_begin(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    page_text(out, title);
    fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
}

void page_end(FILE *out)
{
    fputs("</body>\n</html>\n", out);
}

void page_text(FILE *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        switch (*c) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        default:
            fputc(*c, out);
        }
}

void page_textf(FILE *out, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    page_text(out, text);
}

void page_estimate(FILE *out, double value, double low, double high, double factor)
{
    char a[32], b[32], c[32];
    if (!isfinite(value)) {
        fputs("–", out);
        return;
    }
    fputs(plot_figure(a, sizeof a, value * factor), out);
    if (isfinite(low) && isfinite(high))
        fprintf(out, " [%s, %s]", plot_figure(b, sizeof b, low * factor),
                plot_figure(c, sizeof c, high * factor));
}

void page_gain(FILE *out, double gain, double low, double high)
{
    if (!isfinite(gain)) {
        fputs("–", out);
        return;
    }
    fprintf(out, "%+.1f %%", 100 * gain);
    if (isfinite(low) && isfinite(high))
        fprintf(out, " [%+.1f, %+.1f]", 100 * low, 100 * high);
}

static int starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Copies an SVG of gnuplot into a page that holds several. Its ids and what refers to them get a
 * prefix; the ids and titles of plot elements (KIND_plot_N), which nothing refers to and which
 * gnuplot gives twice where it draws in layers, are left out. */
static void page_svg(FILE *out, const char *svg, const char *kind)
{
    char element[64];
    snprintf(element, sizeof element, "%s_plot_", kind);
    for (const char *c = svg; *c != '\0';) {
        if (starts(c, " id=\"") || starts(c, " id='")) {
            size_t value = strcspn(c + 5, "\"'");
            if (!starts(c + 5, element))
                fprintf(out, " id=\"%s-%.*s\"", kind, (int)value, c + 5);
            c += 5 + value + (c[5 + value] != '\0');
        } else if (starts(c, "href='#") || starts(c, "href=\"#") || starts(c, "url(#")) {
            size_t upto = strcspn(c, "#") + 1;
            fprintf(out, "%.*s%s-", (int)upto, c, kind);
            c += upto;
        } else if (starts(c, "<title>") && starts(c + 7, element)) {
            const char *end = strstr(c, "</title>");
            c = end != NULL ? end + 8 : c + 7;
        } else {
            fputc(*c++, out);
        }
    }
}

enum status page_plot(FILE *out, const char *kind, const struct plot_request *request,
                      const char *caption, struct err *err)
{
    char *svg = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&svg, &len);
    if (memory == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    struct plot_target target = {.format = PLOT_SVG, .out = memory, .svg_id = kind};
    enum status status = plot_render(plot_find(kind), request, &target, err);
    if (fclose(memory) != 0 && status == STATUS_OK)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK) {
        /* Inside HTML the XML declaration and doctype have no place. */
        const char *start = strstr(svg, "<svg");
        fprintf(out, "<figure id=\"%s\">\n", kind);
        page_svg(out, start != NULL ? start : svg, kind);
        fputs("<figcaption>", out);
        page_text(out, caption);
        fputs("</figcaption>\n</figure>\n", out);
    }
    free(svg);
    return status;
}
