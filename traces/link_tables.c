#include "traces/link_tables.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/text.h"

enum { MAX_GPUS = 64, MAX_MATRICES = 64, MAX_WORDS = 160 };

/* What a numeric matrix holds, from the line above it. */
enum kind { KIND_NONE, KIND_BANDWIDTH, KIND_LATENCY, KIND_CONNECTIVITY, KIND_NVBANDWIDTH };

struct matrix {
    enum kind kind;
    int p2p;           /* 1 enabled, 0 disabled, -1 the title does not say */
    int bidirectional; /* 1, 0 */
    int box; /* pages may quote several machines: a title that comes again begins another */
    int n;   /* columns */
    double v[MAX_GPUS][MAX_GPUS]; /* NaN: no value */
    int64_t line[MAX_GPUS];
};

struct reader {
    struct import *im;
    struct matrix *matrices[MAX_MATRICES];
    int n_matrices, boxes;
    /* The title in force, and the test case of nvbandwidth. */
    enum kind kind;
    int p2p, bidirectional;
    char testcase[64];
    /* The matrix being read: its columns' GPU numbers; n_columns 0 where none is. */
    int n_columns, columns[MAX_GPUS];
    struct matrix *into; /* numeric */
    int skip;            /* a matrix that is not ours: host latencies */
    int by_host;         /* nvbandwidth: the only row is the host's */
    int topology_rows;
};

int link_rank(const char *name, size_t len)
{
    static const char *const names[] = {"PIX", "PXB", "PHB", "NODE", "SYS", "SOC"};
    static const int ranks[] = {1, 2, 3, 4, 5, 5};
    if (len >= 3 && name[0] == 'N' && name[1] == 'V' && isdigit((unsigned char)name[2]))
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return ranks[i];
    return -1;
}

/* "3", "GPU3", "GPU3:": 3; -1 where it names no GPU. */
static int gpu_of(struct word w)
{
    int64_t n;
    if (w.n > 3 && memcmp(w.p, "GPU", 3) == 0)
        w = (struct word){w.p + 3, w.n - 3};
    if (w.n > 1 && w.p[w.n - 1] == ':')
        w.n--;
    return word_int64(w, &n) && n < MAX_GPUS ? (int)n : -1;
}

static int is_gpu_word(struct word w)
{
    return w.n > 3 && memcmp(w.p, "GPU", 3) == 0 && gpu_of(w) >= 0;
}

static struct record new_record(const struct reader *rd, enum record_what what, int box,
                                int64_t line)
{
    struct record r;
    record_init(&r);
    r.what = what;
    snprintf(r.origin, sizeof r.origin, "%.255s", rd->im->path);
    if (box > 0)
        snprintf(r.label, sizeof r.label, "%.120s #%d", rd->im->label, box + 1);
    else
        snprintf(r.label, sizeof r.label, "%s", rd->im->label);
    r.line = line;
    return r;
}

/* --- Titles and headers ---------------------------------------------------------------------- */

static int has(const char *s, size_t len, const char *word)
{
    return text_find_case(s, len, word) != NULL;
}

/* A line of words that says what the next matrix holds. */
static void read_title(struct reader *rd, const char *s, size_t len)
{
    int bandwidth = has(s, len, "bandwidth"), latency = has(s, len, "latency");
    int matrix = has(s, len, "matrix"),
        units = has(s, len, "(GB/s)") || has(s, len, "(us)") || has(s, len, "(ns)");
    const char *running = text_find(s, len, "Running ");
    if (running != NULL) {
        const char *name = running + strlen("Running ");
        size_t n = 0;
        while (name + n < s + len && (isalnum((unsigned char)name[n]) || name[n] == '_'))
            n++;
        word_copy((struct word){name, n}, rd->testcase, sizeof rd->testcase);
        rd->kind = KIND_NONE;
        return;
    }
    if (has(s, len, "connectivity") && matrix) {
        rd->kind = KIND_CONNECTIVITY;
        rd->p2p = -1;
        rd->bidirectional = 0;
    } else if ((bandwidth || latency) && (matrix || units)) {
        int nvbandwidth = text_find(s, len, "(row)") != NULL && rd->testcase[0] != '\0';
        rd->kind = nvbandwidth             ? KIND_NVBANDWIDTH
                   : latency && !bandwidth ? KIND_LATENCY
                                           : KIND_BANDWIDTH;
        if (latency && bandwidth && has(s, len, "latency matrix"))
            rd->kind = KIND_LATENCY;
        rd->by_host = text_find(s, len, "CPU(row)") != NULL &&
                      strncmp(rd->testcase, "device_to_device", 16) != 0;
        rd->p2p = has(s, len, "P2P=Enabled") ? 1 : has(s, len, "P2P=Disabled") ? 0 : -1;
        rd->bidirectional = has(s, len, "bidirectional");
    } else {
        return;
    }
    rd->n_columns = 0;
    rd->into = NULL;
}

static struct matrix *new_matrix(struct reader *rd)
{
    if (rd->n_matrices == MAX_MATRICES)
        return NULL;
    int again = 0, measured = 0;
    for (int i = 0; i < rd->n_matrices; i++) {
        struct matrix *m = rd->matrices[i];
        if (m->box != rd->boxes)
            continue;
        measured |= m->kind != KIND_CONNECTIVITY;
        again |= m->kind == rd->kind && m->p2p == rd->p2p && m->bidirectional == rd->bidirectional;
        if (m->kind == KIND_CONNECTIVITY && rd->kind == KIND_CONNECTIVITY && !measured)
            return m; /* the sentences and the matrix of one run */
    }
    if (again)
        rd->boxes++;
    struct matrix *m = malloc(sizeof *m);
    if (m == NULL)
        return NULL;
    *m = (struct matrix){
        .kind = rd->kind, .p2p = rd->p2p, .bidirectional = rd->bidirectional, .box = rd->boxes};
    for (int i = 0; i < MAX_GPUS; i++)
        for (int k = 0; k < MAX_GPUS; k++)
            m->v[i][k] = NAN;
    rd->matrices[rd->n_matrices++] = m;
    return m;
}

/* "Device=0 CANNOT Access Peer Device=1" */
static void read_access(struct reader *rd, const char *s, size_t len)
{
    const char *a = text_find(s, len, "Device="), *cannot = text_find(s, len, "CANNOT Access Peer");
    if (a == NULL || (cannot == NULL && text_find(s, len, "CAN Access Peer") == NULL))
        return;
    const char *b = text_find(a + 1, len - (size_t)(a + 1 - s), "Device=");
    if (b == NULL)
        return;
    long from = strtol(a + 7, NULL, 10), to = strtol(b + 7, NULL, 10);
    if (from < 0 || from >= MAX_GPUS || to < 0 || to >= MAX_GPUS)
        return;
    enum kind kind = rd->kind;
    rd->kind = KIND_CONNECTIVITY;
    rd->p2p = -1;
    rd->bidirectional = 0;
    struct matrix *m = new_matrix(rd);
    rd->kind = kind;
    if (m == NULL)
        return;
    m->v[from][to] = cannot == NULL;
}

/* A row of column heads: "GPU0 GPU1 ...", "D\D 0 1 ...", "0 1 2". 1 where the line is one. */
static int read_columns(struct reader *rd, const struct word *w, int n)
{
    int first = 0, count = 0, named = 0;
    if (n > 0 && gpu_of(w[0]) < 0)
        first = 1;
    for (int i = first; i < n && count < MAX_GPUS; i++) {
        int g = gpu_of(w[i]);
        if (g < 0)
            break;
        if (count > 0 && g <= rd->columns[count - 1] && !named)
            return 0;
        named |= is_gpu_word(w[i]);
        rd->columns[count++] = g;
    }
    int corner = first == 1 && n > 1 &&
                 (word_is(w[0], "D\\D") || word_is(w[0], "GPU") || word_is(w[0], "CPU"));
    if (count == 0 || (!named && !corner && (first == 1 || rd->kind == KIND_NONE)) ||
        (!named && rd->columns[0] != 0))
        return 0;
    if (!named && !corner && count != n - first)
        return 0;
    if (named && count < 2 && rd->kind == KIND_NONE)
        return 0;
    rd->n_columns = count;
    rd->skip = first == 1 && word_is(w[0], "CPU");
    rd->into = NULL;
    return 1;
}

/* --- Rows ------------------------------------------------------------------------------------ */

static int is_self(struct word w)
{
    return word_is(w, "X") || word_is(w, "x");
}

static int is_blank_cell(struct word w)
{
    return word_is(w, "-") || word_is(w, "\xe2\x80\x94") || word_is(w, "N/A") || is_self(w);
}

/* A row of nvidia-smi topo: links to each GPU. 1 where the line is one. */
static int topology_row(struct reader *rd, const struct word *w, int n, int64_t line)
{
    int from = is_gpu_word(w[0]) ? gpu_of(w[0]) : -1, links = 0;
    if (from < 0)
        return 0;
    for (int i = 1; i < n && i <= rd->n_columns; i++)
        links += link_rank(w[i].p, w[i].n) >= 0 || is_self(w[i]);
    if (links == 0)
        return 0;
    if (links < rd->n_columns) {
        import_reject(rd->im, line, "the row of GPU%d is cut: %d of %d connections", from, links,
                      rd->n_columns);
        return 1;
    }
    for (int i = 1; i <= rd->n_columns; i++) {
        int rank = link_rank(w[i].p, w[i].n);
        if (rank < 0 || rd->columns[i - 1] == from)
            continue;
        struct record r = new_record(rd, WHAT_topology, rd->boxes, line);
        r.value = rank;
        snprintf(r.method, sizeof r.method, "nvidia-smi topo");
        snprintf(r.placement, sizeof r.placement, "%d>%d", from, rd->columns[i - 1]);
        word_copy(w[i], r.note, sizeof r.note);
        if (import_record(rd->im, &r) != 0)
            return 1;
    }
    rd->im->rows++;
    rd->topology_rows++;
    return 1;
}

static int number_row(struct reader *rd, const struct word *w, int n, int64_t line)
{
    int from = gpu_of(w[0]);
    if (from < 0 || n < 2 || rd->kind == KIND_NONE)
        return 0;
    struct printed x;
    for (int i = 1; i < n && i <= rd->n_columns; i++)
        if (!word_number(w[i], &x) && !is_blank_cell(w[i]))
            return 0;
    if (rd->skip)
        return 1;
    if (n - 1 < rd->n_columns)
        import_reject(rd->im, line, "the row is cut: %d of %d columns", n - 1, rd->n_columns);
    int kept = 0;
    for (int i = 1; i < n && i <= rd->n_columns; i++) {
        int to = rd->columns[i - 1];
        if (is_blank_cell(w[i]) || !word_number(w[i], &x))
            continue;
        if (rd->kind == KIND_NVBANDWIDTH) {
            if (x.value == 0 && from == to)
                continue;
            if (!(x.value > 0) || !isfinite(x.value)) {
                import_reject(rd->im, line, "column %d is %g: a number above 0 was expected", to,
                              x.value);
                continue;
            }
            if (nvbandwidth_cell(rd->im, rd->testcase, rd->by_host ? -1 : from, to, x.value,
                                 line) != 0)
                return 1;
            kept = 1;
            continue;
        }
        if (rd->kind != KIND_CONNECTIVITY && (!(x.value > 0) || !isfinite(x.value))) {
            if (from != to)
                import_reject(rd->im, line, "column %d is %g: a number above 0 was expected", to,
                              x.value);
            continue;
        }
        if (rd->into == NULL)
            rd->into = new_matrix(rd);
        if (rd->into == NULL)
            return 1;
        rd->into->v[from][to] = x.value;
        rd->into->line[from] = line;
        rd->into->n = to >= rd->into->n ? to + 1 : rd->into->n;
        kept = rd->kind != KIND_CONNECTIVITY;
    }
    rd->im->rows += kept;
    return 1;
}

/* --- What the matrices say together ---------------------------------------------------------- */

static const struct matrix *find(const struct reader *rd, int box, enum kind kind, int p2p,
                                 int bidirectional)
{
    for (int i = 0; i < rd->n_matrices; i++) {
        const struct matrix *m = rd->matrices[i];
        if (m->box == box && m->kind == kind && (p2p < 0 || m->p2p == p2p) &&
            (bidirectional < 0 || m->bidirectional == bidirectional))
            return m;
    }
    return NULL;
}

/* Whether a pair of matrices, with and without P2P, differ by more than noise anywhere. -1: there
 * are not both. */
static int differ(const struct matrix *on, const struct matrix *off, double noise)
{
    int pairs = 0, different = 0;
    if (on == NULL || off == NULL)
        return -1;
    for (int i = 0; i < MAX_GPUS; i++)
        for (int k = 0; k < MAX_GPUS; k++) {
            if (i == k || !(on->v[i][k] > 0) || !(off->v[i][k] > 0))
                continue;
            pairs++;
            different += fabs(log(on->v[i][k] / off->v[i][k])) > noise;
        }
    return pairs == 0 ? -1 : different > 0;
}

/* Whether "P2P=Enabled" was P2P for a pair: what the program says of access, else whether switching
 * it on changed anything. */
static int is_p2p(const struct reader *rd, int box, int from, int to)
{
    const struct matrix *access = find(rd, box, KIND_CONNECTIVITY, -1, -1);
    if (access != NULL && !isnan(access->v[from][to]))
        return access->v[from][to] > 0;
    int latency =
        differ(find(rd, box, KIND_LATENCY, 1, -1), find(rd, box, KIND_LATENCY, 0, -1), 0.5);
    if (latency >= 0)
        return latency;
    int uni =
        differ(find(rd, box, KIND_BANDWIDTH, 1, 0), find(rd, box, KIND_BANDWIDTH, 0, 0), 0.06);
    int bi = differ(find(rd, box, KIND_BANDWIDTH, 1, 1), find(rd, box, KIND_BANDWIDTH, 0, 1), 0.06);
    return uni < 0 && bi < 0 ? 1 : uni > 0 || bi > 0;
}

static void emit(struct reader *rd, const struct matrix *m)
{
    int latency = m->kind == KIND_LATENCY, no_p2p = 0;
    for (int i = 0; i < MAX_GPUS; i++)
        for (int k = 0; k < MAX_GPUS; k++) {
            /* A copy within one GPU is a bandwidth of its memory, but no latency of a link. */
            if (!(m->v[i][k] > 0) || (i == k && (latency || m->bidirectional)))
                continue;
            struct record r = new_record(rd, latency ? WHAT_p2p_write_latency : WHAT_bandwidth,
                                         m->box, m->line[i]);
            r.value = m->v[i][k];
            snprintf(r.method, sizeof r.method, "%s%s",
                     m->p2p > 0    ? "p2p-enabled"
                     : m->p2p == 0 ? "p2p-disabled"
                                   : "matrix",
                     latency            ? ""
                     : m->bidirectional ? " bidirectional"
                                        : " unidirectional");
            snprintf(r.placement, sizeof r.placement, "%d>%d", i, k);
            if (i != k && m->p2p == 1 && !is_p2p(rd, m->box, i, k)) {
                snprintf(r.note, sizeof r.note, "no P2P: as without it");
                no_p2p++;
            }
            if (import_record(rd->im, &r) != 0)
                return;
        }
    if (no_p2p > 0)
        import_warn(rd->im, 0, "a matrix says P2P=Enabled, but %d of its pairs have no P2P",
                    no_p2p);
}

static void read_line(struct reader *rd, struct source_line *l)
{
    l->len = text_strip_markup(l->text, l->len);
    /* Block quotes and remarks, as pages have them. */
    while (l->len > 0 && strchr("> #", l->text[0]) != NULL)
        l->text++, l->len--;
    struct word w[MAX_WORDS];
    int n = text_words(l->text, l->len, w, MAX_WORDS);
    if (n == 0)
        return;
    if (rd->n_columns > 0 && (topology_row(rd, w, n, l->number) || number_row(rd, w, n, l->number)))
        return;
    if (read_columns(rd, w, n))
        return;
    read_access(rd, l->text, l->len);
    read_title(rd, l->text, l->len);
}

enum status link_tables_parse(struct import *im, struct err *err)
{
    struct reader *rd = calloc(1, sizeof *rd);
    if (rd == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    rd->im = im;
    struct source_line l;
    while (!im->stopped && source_next(im->in, &l))
        if (l.cut)
            import_reject(im, l.number, "the line is longer than %d bytes", SOURCE_MAX_LINE);
        else
            read_line(rd, &l);
    for (int i = 0; i < rd->n_matrices && !im->stopped; i++)
        if (rd->matrices[i]->kind != KIND_CONNECTIVITY)
            emit(rd, rd->matrices[i]);
    enum status status = STATUS_OK;
    if (im->records == 0 && !im->stopped)
        status = err_set(err, STATUS_INPUT,
                         "%s:%lld: no measurement: no matrix of links, bandwidths or latencies",
                         im->path, (long long)(im->in->line > 0 ? im->in->line : 1));
    for (int i = 0; i < rd->n_matrices; i++)
        free(rd->matrices[i]);
    free(rd);
    return status;
}

/* --- nvbandwidth ----------------------------------------------------------------------------- */

/* The direction is the test case's, from the tool's source: the arrows in its titles point the
 * other way. A read copies from the column's GPU to the row's, a write from the row's to the
 * column's. */
int nvbandwidth_cell(struct import *im, const char *testcase, int row, int column, double value,
                     int64_t line)
{
    struct record r;
    record_init(&r);
    const char *engine = strstr(testcase, "_sm") != NULL ? "sm" : "ce";
    int both = strstr(testcase, "bidirectional") != NULL, read = strstr(testcase, "_read") != NULL;
    int write = strstr(testcase, "_write") != NULL;
    char end[16];
    snprintf(r.origin, sizeof r.origin, "%.255s", im->path);
    snprintf(r.label, sizeof r.label, "%s", im->label);
    r.line = line;
    r.value = value;
    snprintf(end, sizeof end, "%d", column);
    snprintf(r.method, sizeof r.method, "nvb%s%s %s%s", read ? " read" : "", write ? " write" : "",
             engine, both ? " bidirectional" : "");
    if (strstr(testcase, "latency") != NULL) {
        r.what = WHAT_p2p_read_latency;
        r.value = value / 1000; /* nanoseconds */
        if (row < 0 || strncmp(testcase, "host", 4) == 0)
            snprintf(r.placement, sizeof r.placement, "%d>host", column);
        else
            snprintf(r.placement, sizeof r.placement, "%d>%d", row, column);
        return import_record(im, &r);
    }
    r.what = WHAT_bandwidth;
    static const struct {
        const char *testcase, *placement;
    } crowds[] = {
        {"all_to_host", "every>host:"},
        {"host_to_all", "host>every:"},
        {"all_to_one", "every>"},
        {"one_to_all", ""},
    };
    for (size_t i = 0; i < sizeof crowds / sizeof crowds[0]; i++)
        if (strncmp(testcase, crowds[i].testcase, strlen(crowds[i].testcase)) == 0) {
            r.what = WHAT_contention;
            snprintf(r.placement, sizeof r.placement, "%s%d%s", crowds[i].placement, column,
                     crowds[i].placement[0] == '\0' ? ">every" : "");
            return import_record(im, &r);
        }
    if (strncmp(testcase, "host_to_device", 14) == 0)
        snprintf(r.placement, sizeof r.placement, "host>%d", column);
    else if (strncmp(testcase, "device_to_host", 14) == 0)
        snprintf(r.placement, sizeof r.placement, "%d>host", column);
    else if (strncmp(testcase, "device_local", 12) == 0)
        snprintf(r.placement, sizeof r.placement, "%d>%d", column, column);
    else if (read)
        snprintf(r.placement, sizeof r.placement, "%d>%d", column, row);
    else
        snprintf(r.placement, sizeof r.placement, "%d>%d", row, column);
    return import_record(im, &r);
}
