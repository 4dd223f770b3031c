/* CSV tables of latencies, by the column map (traces/columns.h): elements for bytes, milliseconds
 * for microseconds, rows that are not the kernel, labels that are not the kernel's. Comma,
 * semicolon or tab; comments begin with '#', and so may the header.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cjson/cJSON.h>

#include "traces/columns.h"
#include "traces/command.h"
#include "traces/import.h"
#include "traces/text.h"

enum { MAX_COLUMNS = 256, MAX_LATENCIES = 16, HEADER_WITHIN = 200 };

/* A table whose header is known: the map's words bound to column numbers. */
struct binding {
    const cJSON *table;
    char *head; /* owned copy of the header line, cut into names */
    char *names[MAX_COLUMNS];
    int n;
    int size, dtype, version, min, max; /* -1: no such column */
    int ranks[4], n_ranks;
    int latency[MAX_LATENCIES], n_latency;
    char latency_name[MAX_LATENCIES][64]; /* the column's name without what the pattern fixed */
    double size_unit;                     /* bytes; 0: elements */
    int exponent;                         /* of ten, from the column's unit to microseconds */
    char delimiter;
};

struct reader {
    struct import *im;
    const struct columns *columns;
    struct binding b; /* table NULL: no header yet */
    int64_t dropped;
    const char *dropped_why;
    int checked_version;
    int file_ranks;     /* from the file's name; 0 if it has none */
    int64_t first_line; /* the first line that could be a header */
    char first_names[160];
};

static const char *word_of(const cJSON *table, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(table, key));
}

static double size_in_bytes(const char *unit)
{
    return strcmp(unit, "KiB") == 0     ? 1024
           : strcmp(unit, "MiB") == 0   ? 1048576
           : strcmp(unit, "bytes") == 0 ? 1
                                        : 0;
}

static int exponent_of_us(const char *unit)
{
    return strcmp(unit, "ms") == 0   ? 3
           : strcmp(unit, "s") == 0  ? 6
           : strcmp(unit, "ns") == 0 ? -3
                                     : 0;
}

/* A time in microseconds: 0, or -1 where the cell is no number. The decimal point is moved in the
 * text, so that 0.0093 ms is 9.3 us and not the nearest thing to it. */
static int read_time(const char *cell, int exponent, double *us)
{
    char text[64];
    if (exponent == 0 || strpbrk(cell, "eE") != NULL || strlen(cell) > 40) {
        if (parse_double(cell, us) != 0)
            return -1;
        *us *= exponent == 3 ? 1e3 : exponent == 6 ? 1e6 : exponent == -3 ? 1e-3 : 1;
        return 0;
    }
    snprintf(text, sizeof text, "%se%d", cell, exponent);
    return parse_double(text, us);
}

/* Cuts a line into cells in place: quotes are taken off, blanks around cells too. */
static int split(char *line, char delimiter, char **cells)
{
    int n = 0;
    char *p = line;
    while (n < MAX_COLUMNS) {
        while (*p == ' ')
            p++;
        char *cell = p, *end;
        if (*p == '"') {
            char *to = cell = ++p;
            while (*p != '\0' && !(*p == '"' && p[1] != '"')) {
                if (*p == '"')
                    p++;
                *to++ = *p++;
            }
            end = to;
            if (*p == '"')
                p++;
            while (*p != '\0' && *p != delimiter)
                p++;
        } else {
            while (*p != '\0' && *p != delimiter)
                p++;
            end = p;
            while (end > cell && isspace((unsigned char)end[-1]))
                end--;
        }
        int last = *p == '\0';
        *end = '\0';
        cells[n++] = cell;
        if (last)
            break;
        p++;
    }
    return n;
}

static char delimiter_of(const char *line)
{
    if (strchr(line, '\t') != NULL)
        return '\t';
    int commas = 0, semicolons = 0;
    for (; *line != '\0'; line++) {
        commas += *line == ',';
        semicolons += *line == ';';
    }
    return semicolons > commas ? ';' : ',';
}

/* The part of a column's name that the pattern leaves open: "nccl_us" by "*_us" is "nccl". */
static void open_part(const char *name, char *to, size_t cap)
{
    size_t n = strlen(name);
    static const char *const units[] = {"_us", "_ms", "_ns", "(us)", "(ms)"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t u = strlen(units[i]);
        if (n > u && strcasecmp(name + n - u, units[i]) == 0) {
            n -= u;
            break;
        }
    }
    snprintf(to, cap, "%.*s", (int)n, name);
}

/* Binds a header line to the first table that knows it. 1, or 0 where none does. */
static int bind(struct reader *rd, const char *line)
{
    struct binding b = {.delimiter = delimiter_of(line)};
    b.head = strdup(line);
    if (b.head == NULL)
        return 0;
    b.n = split(b.head, b.delimiter, b.names);
    if (b.n >= 2)
        b.table = columns_match(rd->columns, b.names, b.n);
    if (b.table == NULL) {
        free(b.head);
        return 0;
    }
    const char *none = "";
#define COLUMN(key)                                                                                \
    columns_find(word_of(b.table, key) != NULL ? word_of(b.table, key) : none, b.names, b.n)
    b.size = COLUMN("size");
    b.dtype = COLUMN("dtype");
    b.version = COLUMN("version");
    b.min = COLUMN("min");
    b.max = COLUMN("max");
#undef COLUMN
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(b.table, "ranks"))
    {
        int c = columns_find(item->valuestring, b.names, b.n);
        if (c >= 0 && b.n_ranks < 4)
            b.ranks[b.n_ranks++] = c;
    }
    for (int i = 0; i < b.n && b.n_latency < MAX_LATENCIES; i++)
        if (columns_like(word_of(b.table, "latency"), b.names[i])) {
            open_part(b.names[i], b.latency_name[b.n_latency], sizeof b.latency_name[0]);
            b.latency[b.n_latency++] = i;
        }
    b.size_unit = size_in_bytes(word_of(b.table, "size_unit"));
    b.exponent = exponent_of_us(word_of(b.table, "latency_unit"));
    if (b.size < 0 || b.n_latency == 0) {
        free(b.head);
        return 0;
    }
    free(rd->b.head);
    rd->b = b;
    return 1;
}

/* Fills in a template: "{device} {version}" with cells, {a|b} with the first that there is,
 * {column} with the latency column's name, {file} with the file's. */
static void expand(const struct reader *rd, const char *template, char *const *cells, int n,
                   const char *column, char *to, size_t cap)
{
    size_t used = 0;
    to[0] = '\0';
    while (*template != '\0' && used + 1 < cap) {
        const char *close = *template == '{' ? strchr(template, '}') : NULL;
        if (close == NULL) {
            if (*template != ' ' || (used > 0 && to[used - 1] != ' '))
                to[used++] = *template;
            to[used] = '\0';
            template ++;
            continue;
        }
        char names[128];
        snprintf(names, sizeof names, "%.*s", (int)(close - template - 1), template + 1);
        const char *value = "";
        char *save = NULL;
        for (char *name = strtok_r(names, "|", &save); name != NULL && value[0] == '\0';
             name = strtok_r(NULL, "|", &save)) {
            int c = columns_find(name, rd->b.names, rd->b.n);
            if (strcmp(name, "column") == 0)
                value = column;
            else if (strcmp(name, "file") == 0)
                value = rd->im->label;
            else if (c >= 0 && c < n)
                value = cells[c];
        }
        int wrote = snprintf(to + used, cap - used, "%s", value);
        used = (size_t)wrote < cap - used ? used + (size_t)wrote : cap - 1;
        template = close + 1;
    }
    while (used > 0 && to[used - 1] == ' ')
        to[--used] = '\0';
}

/* "all_reduce" and its like; allreduce where the table does not say. WHAT_COUNT: unknown. */
static enum record_what collective_of(const char *word)
{
    char name[40];
    size_t n = 0;
    for (; *word != '\0' && n + 1 < sizeof name; word++)
        if (isalnum((unsigned char)*word))
            name[n++] = (char)tolower((unsigned char)*word);
    name[n] = '\0';
    if (n == 0)
        return WHAT_allreduce;
    for (int w = 0; w < WHAT_COUNT; w++) {
        char known[40];
        size_t k = 0;
        for (const char *p = record_what_name((enum record_what)w); *p != '\0'; p++)
            if (*p != '_')
                known[k++] = *p;
        known[k] = '\0';
        if (strcmp(name, known) == 0 &&
            strcmp(record_what_key((enum record_what)w), "latency_us") == 0)
            return (enum record_what)w;
    }
    return WHAT_COUNT;
}

/* A rule's outcome for one row and latency column. */
struct verdict {
    const char *drop, *impl, *note, *method;
};

static struct verdict judge(const struct reader *rd, char *const *cells, int n, const char *column)
{
    struct verdict v = {NULL, NULL, NULL, NULL};
    const cJSON *rule, *test;
    cJSON_ArrayForEach(rule, cJSON_GetObjectItemCaseSensitive(rd->b.table, "rules"))
    {
        int all = 1;
        cJSON_ArrayForEach(test, cJSON_GetObjectItemCaseSensitive(rule, "if"))
        {
            int c = columns_find(test->string, rd->b.names, rd->b.n);
            const char *cell = strcmp(test->string, "@column") == 0 ? column
                               : c >= 0 && c < n                    ? cells[c]
                                                                    : "";
            all = all && columns_test(rd->columns, test->valuestring, cell);
        }
        if (!all)
            continue;
        if (v.drop == NULL)
            v.drop = word_of(rule, "drop");
        if (v.impl == NULL)
            v.impl = word_of(rule, "impl");
        if (v.note == NULL)
            v.note = word_of(rule, "note");
        if (v.method == NULL)
            v.method = word_of(rule, "method");
    }
    return v;
}

static int is_empty(const char *cell)
{
    return cell[0] == '\0' || strcmp(cell, "-") == 0 || strcasecmp(cell, "n/a") == 0 ||
           strcasecmp(cell, "null") == 0;
}

/* A version that the rows carry and the path contradicts: such a file is often a copy. */
static void check_version(struct reader *rd, const char *version, int64_t line)
{
    rd->checked_version = 1;
    if (version[0] == '\0' || strstr(rd->im->path, version) != NULL)
        return;
    for (const char *p = rd->im->path; *p != '\0'; p++) {
        if (!isdigit((unsigned char)*p) || (p > rd->im->path && isalnum((unsigned char)p[-1])))
            continue;
        size_t n = strspn(p, "0123456789");
        if (p[n] == '.' && isdigit((unsigned char)p[n + 1])) {
            size_t all = n;
            while (isalnum((unsigned char)p[all]) ||
                   (p[all] == '.' && isalnum((unsigned char)p[all + 1])))
                all++;
            import_warn(rd->im, line,
                        "the rows are of version %s, the path says %.*s: a copy of older "
                        "measurements?",
                        version, (int)all, p);
            return;
        }
        p += n - 1;
    }
}

/* The size of a row in bytes, or -1 with the reason. */
static int64_t size_of(const struct reader *rd, const char *cell, int dtype_bytes, const char **why)
{
    int64_t bytes;
    double x;
    if (is_empty(cell)) {
        *why = "the row has no size";
        return -1;
    }
    if (rd->b.size_unit == 1 && parse_bytes(cell, &bytes) == 0)
        x = (double)bytes;
    else if (parse_double(cell, &x) != 0) {
        *why = "the size is not a number";
        return -1;
    }
    if (rd->b.size_unit == 0 && dtype_bytes == 0) {
        *why = "the size counts elements of an unknown type";
        return -1;
    }
    x *= rd->b.size_unit == 0 ? dtype_bytes : rd->b.size_unit;
    if (!(x > 0) || x > 9e15 || x != floor(x)) {
        *why = x == 0 ? "a size of 0" : "the size is no whole number of bytes above 0";
        return -1;
    }
    return (int64_t)x;
}

static int ranks_of(const struct reader *rd, char *const *cells, int n)
{
    double ranks = rd->b.n_ranks > 0 ? 1 : 0;
    for (int i = 0; i < rd->b.n_ranks; i++) {
        double x;
        if (rd->b.ranks[i] >= n || parse_double(cells[rd->b.ranks[i]], &x) != 0)
            return 0;
        ranks *= x;
    }
    if (rd->b.n_ranks == 0)
        return rd->file_ranks;
    return ranks >= 1 && ranks < 1e6 && ranks == floor(ranks) ? (int)ranks : -1;
}

static void take_row(struct reader *rd, char **cells, int n, int64_t line)
{
    struct import *im = rd->im;
    const struct binding *b = &rd->b;
    struct record r;
    record_init(&r);
    char text[160], rest[64];
    if (n <= b->size || n <= b->latency[0]) {
        import_reject(im, line, "the row is cut: %d of %d columns", n, b->n);
        return;
    }
    expand(rd, word_of(b->table, "collective") != NULL ? word_of(b->table, "collective") : "",
           cells, n, "", text, sizeof text);
    r.what = collective_of(text);
    if (r.what == WHAT_COUNT) {
        import_reject(im, line, "no such collective: \"%.40s\"", text);
        return;
    }
    int dtype_bytes = 0;
    if (b->dtype >= 0 && b->dtype < n) {
        const char *d = cells[b->dtype];
        const char *name = text_dtype((struct word){d, strlen(d)}, &dtype_bytes);
        snprintf(r.dtype, sizeof r.dtype, "%s", name != NULL ? name : "");
    }
    const char *why = NULL;
    r.size_bytes = size_of(rd, cells[b->size], dtype_bytes, &why);
    r.ranks = ranks_of(rd, cells, n);
    if (why == NULL && r.ranks < 0)
        why = "the number of ranks is no whole number above 0";
    if (why != NULL) {
        import_reject(im, line, "%s", why);
        return;
    }
    if (b->version >= 0 && b->version < n && !rd->checked_version)
        check_version(rd, cells[b->version], line);
    const cJSON *count = cJSON_GetObjectItemCaseSensitive(b->table, "count");
    r.count = count != NULL ? (int64_t)count->valuedouble : 0;
    r.line = line;
    snprintf(r.origin, sizeof r.origin, "%.255s", im->path);
    import_saw(im, record_what_name(r.what), r.ranks);

    int kept = 0;
    for (int i = 0; i < b->n_latency; i++) {
        if (b->latency[i] >= n || is_empty(cells[b->latency[i]]))
            continue;
        struct verdict v = judge(rd, cells, n, b->latency_name[i]);
        if (v.drop != NULL) {
            rd->dropped++;
            rd->dropped_why = v.drop;
            continue;
        }
        double x;
        if (read_time(cells[b->latency[i]], b->exponent, &r.value) != 0 || !(r.value > 0)) {
            import_reject(im, line, "%s is \"%.30s\": a time above 0 was expected",
                          b->names[b->latency[i]], cells[b->latency[i]]);
            continue;
        }
        if (b->min >= 0 && b->min < n && read_time(cells[b->min], b->exponent, &x) == 0)
            r.min = x;
        if (b->max >= 0 && b->max < n && read_time(cells[b->max], b->exponent, &x) == 0)
            r.max = x;
        expand(rd, word_of(b->table, "impl"), cells, n, b->latency_name[i], text, sizeof text);
        if (v.impl != NULL && strchr(v.impl, '{') != NULL)
            expand(rd, v.impl, cells, n, b->latency_name[i], text, sizeof text);
        snprintf(r.kernel, sizeof r.kernel, "%.127s", strchr(text, '/') == NULL ? text : "");
        columns_impl(rd->columns, text, r.impl, sizeof r.impl, rest, sizeof rest);
        if (v.impl != NULL && strchr(v.impl, '{') == NULL) {
            snprintf(r.impl, sizeof r.impl, "%s", v.impl);
            rest[0] = '\0';
            /* The kernel is not what the table calls it; the table's word tells the curves apart.
             */
            snprintf(rest, sizeof rest, "%.60s", text);
            r.kernel[0] = '\0';
        }
        snprintf(r.note, sizeof r.note, "%s", v.note != NULL ? v.note : "");
        const char *method = v.method != NULL ? v.method : word_of(b->table, "method");
        snprintf(r.method, sizeof r.method, "%s", method != NULL ? method : "table");
        const char *label = word_of(b->table, "label");
        expand(rd, label != NULL ? label : "{file}", cells, n, b->latency_name[i], r.label,
               sizeof r.label);
        if (rest[0] != '\0') {
            size_t used = strlen(r.label);
            snprintf(r.label + used, sizeof r.label - used, "%s%s", used > 0 ? " " : "", rest);
        }
        if (import_record(im, &r) != 0)
            return;
        kept = 1;
    }
    im->rows += kept;
}

/* "…_4gpu…" or "…tp8…" in a file's name, for tables without ranks. */
static int ranks_of_name(const char *name)
{
    for (const char *p = name; *p != '\0'; p++) {
        long n = 0;
        if (isdigit((unsigned char)*p) && (p == name || !isdigit((unsigned char)p[-1]))) {
            char *end;
            n = strtol(p, &end, 10);
            end += *end == 'x' || *end == '_' || *end == '-';
            if (strncasecmp(end, "gpu", 3) != 0)
                n = 0;
        } else if (strncasecmp(p, "tp", 2) == 0 && isdigit((unsigned char)p[2]) &&
                   (p == name || !isalpha((unsigned char)p[-1]))) {
            n = strtol(p + 2, NULL, 10);
        }
        if (n >= 2 && n <= 4096)
            return (int)n;
    }
    return 0;
}

static void read_line(struct reader *rd, struct source_line *l)
{
    char *text = l->text;
    int comment = 0;
    while (*text == ' ' || *text == '\t')
        text++;
    while (*text == '#') {
        comment = 1;
        text++;
        while (*text == ' ')
            text++;
    }
    if (*text == '\0')
        return;
    if (rd->b.table == NULL || comment) {
        /* A header, or a remark. */
        if (bind(rd, text))
            return;
        if (rd->b.table == NULL && !comment && rd->first_line == 0) {
            rd->first_line = l->number;
            snprintf(rd->first_names, sizeof rd->first_names, "%.150s", text);
        }
        return;
    }
    char *cells[MAX_COLUMNS];
    char *copy = isalpha((unsigned char)text[0]) ? strdup(text) : NULL;
    int n = split(text, rd->b.delimiter, cells);
    double x;
    if (copy != NULL && n > rd->b.size && parse_double(cells[rd->b.size], &x) != 0 &&
        bind(rd, copy)) {
        free(copy); /* another table begins */
        return;
    }
    free(copy);
    take_row(rd, cells, n, l->number);
}

static enum status parse(struct import *im, struct err *err)
{
    struct columns *own = NULL;
    struct reader rd = {.im = im, .columns = im->columns};
    enum status status = STATUS_OK;
    if (rd.columns == NULL) {
        status = columns_load(&own, NULL, err);
        if (status != STATUS_OK)
            return status;
        rd.columns = own;
    }
    rd.file_ranks = ranks_of_name(im->label);
    struct source_line l;
    while (!im->stopped && source_next(im->in, &l)) {
        if (l.cut)
            import_reject(im, l.number, "the line is longer than %d bytes", SOURCE_MAX_LINE);
        else
            read_line(&rd, &l);
        if (rd.b.table == NULL && l.number > HEADER_WITHIN)
            break;
    }
    if (rd.dropped > 0)
        import_warn(im, 0, "%lld rows left out: %s", (long long)rd.dropped, rd.dropped_why);
    if (rd.b.table != NULL && rd.b.n_ranks == 0 && rd.file_ranks > 0 && im->rows > 0)
        import_warn(im, 0, "no column of ranks: %d, from the file's name", rd.file_ranks);
    if (rd.b.table == NULL)
        status =
            err_set(err, STATUS_INPUT,
                    "%s:%lld: no column map knows this header: %s (docs/importing-csv.md says how "
                    "to add one with --columns)",
                    im->path, (long long)rd.first_line, rd.first_names);
    else if (im->rows == 0 && !im->stopped)
        status = err_set(err, STATUS_INPUT, "%s: no measurement: %s", im->path,
                         im->rejected > 0 ? "all rows were rejected" : "the table has no rows");
    free(rd.b.head);
    columns_free(own);
    return status;
}

/* Looks like a table: a line of short names and, after it, one with as many cells, a number among
 * them. */
static int sniff(const char *bytes, size_t len)
{
    if (memchr(bytes, '\0', len) != NULL || (len > 0 && (bytes[0] == '{' || bytes[0] == '[')))
        return 0;
    const char *p = bytes, *end = bytes + len;
    int names = 0;
    for (int i = 0; i < HEADER_WITHIN && p < end; i++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        if (stop == NULL)
            stop = end;
        int cells = 0, numbers = 0, letters = 0, quoted = 0;
        size_t longest = 0;
        for (const char *q = p, *cell = p; q <= stop; q++) {
            if (q < stop && *q == '"')
                quoted = !quoted;
            if (q < stop && (quoted || !strchr(",;\t", *q))) {
                letters |= isalpha((unsigned char)*q) != 0;
                continue;
            }
            struct word w;
            struct printed x;
            cells++;
            longest = (size_t)(q - cell) > longest ? (size_t)(q - cell) : longest;
            numbers += text_words(cell, (size_t)(q - cell), &w, 1) == 1 && word_number(w, &x);
            cell = q + 1;
        }
        if (*p != '#' && cells > 1 && cells == names && numbers > 0)
            return 30;
        if (cells > 1 && letters && longest <= 80)
            names = cells;
        p = stop + 1;
    }
    return 0;
}

const struct importer import_csv = {
    .name = "csv",
    .summary = "CSV tables of latencies, by a column map (--columns adds to it)",
    .sniff = sniff,
    .parse = parse,
};
