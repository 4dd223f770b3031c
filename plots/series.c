#include "plots/series.h"

#include <math.h>
#include <string.h>

enum { SAMPLES_PER_OCTAVE = 12 };

void series_widen(struct series_range *r, double x)
{
    if (!(x > 0) || !isfinite(x))
        return;
    r->low = fmin(r->low, x);
    r->high = fmax(r->high, x);
}

const struct curve *series_curve_of(const struct fits *fs, const struct cost *c)
{
    for (size_t i = 0; i < fs->curves.n; i++) {
        const struct record *k = fs->curves.v[i].key;
        if (strcmp(k->impl, c->impl) == 0 && strcmp(k->label, c->label) == 0 &&
            strcmp(k->dtype, c->dtype) == 0 && strcmp(k->method, c->method) == 0 &&
            k->ranks == c->ranks && k->in_place == c->in_place &&
            strcmp(record_what_name(k->what), c->collective) == 0)
            return &fs->curves.v[i];
    }
    return NULL;
}

static int is_outlier(const struct fit *f, double bytes)
{
    for (int i = 0; f != NULL && i < f->n_outliers; i++)
        if (fabs(f->outliers[i].bytes - bytes) < 0.5)
            return 1;
    return 0;
}

void series_write_points(FILE *program, const struct series *s, int n, struct series_range *y)
{
    plot_table(program, "points");
    for (int i = 0; i < n; i++) {
        const struct curve *curve = s[i].curve;
        if (i > 0)
            plot_index(program);
        for (size_t p = 0; curve != NULL && p < curve->n_points; p++) {
            const struct point *m = &curve->points[p];
            double spread = isfinite(m->spread) ? exp(1.96 * m->spread) : 1;
            plot_cell(program, m->bytes);
            plot_cell(program, m->us);
            plot_cell(program, m->us / spread);
            plot_cell(program, m->us * spread);
            plot_cell(program, is_outlier(s[i].fit, m->bytes));
            plot_row_end(program);
            series_widen(y, m->us);
        }
        if (curve == NULL || curve->n_points == 0)
            fputs("NaN\tNaN\tNaN\tNaN\tNaN\n", program);
    }
    plot_table_end(program);
}

static void write_sample(FILE *program, const struct cost *c, double bytes, int measured,
                         struct series_range *y)
{
    double low, high, us = cost_latency_us(c, bytes);
    cost_ci95(c, bytes, &low, &high);
    plot_cell(program, bytes);
    plot_cell(program, us);
    plot_cell(program, low);
    plot_cell(program, high);
    plot_cell(program, measured);
    plot_row_end(program);
    series_widen(y, us);
    if (measured) {
        series_widen(y, low);
        series_widen(y, high);
    }
}

static void write_curve(FILE *program, const struct cost *c, const struct series_range *x,
                        struct series_range *y)
{
    const double factor = exp2(1.0 / SAMPLES_PER_OCTAVE);
    double bytes = x->low, next;
    for (;; bytes = next) {
        int inside = bytes >= c->min_bytes && bytes <= c->max_bytes;
        write_sample(program, c, bytes, inside, y);
        if (bytes >= x->high)
            break;
        next = fmin(bytes * factor, x->high);
        /* The ends of the measured range are points of both the dashed and the solid line. */
        const double ends[] = {c->min_bytes, c->max_bytes};
        for (int e = 0; e < 2; e++)
            if (bytes <= ends[e] && ends[e] < next) {
                write_sample(program, c, ends[e], e == 0 ? 0 : 1, y);
                write_sample(program, c, ends[e], e == 0 ? 1 : 0, y);
            }
        /* A step is drawn as one: both its sides. */
        for (int g = 1; c->form == COST_SEGMENTS && g < c->n_segments; g++) {
            double at = c->segments[g].from_bytes;
            if (bytes < at && at < next) {
                write_sample(program, c, at * (1 - 1e-6), inside, y);
                write_sample(program, c, at, inside, y);
            }
        }
    }
}

void series_write_curves(FILE *program, const struct series *s, int n, const struct series_range *x,
                         struct series_range *y)
{
    plot_table(program, "curve");
    for (int i = 0; i < n; i++) {
        if (i > 0)
            plot_index(program);
        write_curve(program, s[i].cost, x, y);
    }
    plot_table_end(program);
}

static void series_name(const struct series *s, int n, int which, char *buf, size_t size)
{
    const struct cost *c = s[which].cost;
    int ranks = 0, label = 0, dtype = 0, method = 0;
    for (int i = 0; i < n; i++) {
        const struct cost *o = s[i].cost;
        ranks |= o->ranks != c->ranks;
        label |= strcmp(o->label, c->label) != 0;
        dtype |= strcmp(o->dtype, c->dtype) != 0;
        method |= strcmp(o->method, c->method) != 0;
    }
    size_t len = (size_t)snprintf(buf, size, "%s", c->impl[0] != '\0' ? c->impl : "unnamed");
    if (ranks && len < size)
        len += (size_t)snprintf(buf + len, size - len, ", %d ranks", c->ranks);
    if (label && len < size)
        len += (size_t)snprintf(buf + len, size - len, ", %.40s", c->label);
    if (dtype && len < size)
        len += (size_t)snprintf(buf + len, size - len, ", %s", c->dtype);
    if (method && len < size)
        snprintf(buf + len, size - len, ", %s", c->method);
}

void series_write_names(FILE *program, const struct series *s, int n)
{
    char text[240], name[40];
    plot_integer(program, "n_series", n);
    plot_array(program, "series_name", n);
    for (int i = 0; i < n; i++) {
        series_name(s, n, i, text, sizeof text);
        snprintf(name, sizeof name, "series_name[%d]", i + 1);
        plot_text(program, name, text);
    }
}

void series_write_axis(FILE *program, const struct series_range *x)
{
    plot_number(program, "x_min", x->low);
    plot_number(program, "x_max", x->high);
    /* At most eleven labels. */
    plot_integer(program, "x_step", (int)fmax(2, 2 * ceil(log2(x->high / x->low) / 22)));
}
