#include "traces/nccl_table.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* How algbw and busbw of a collective relate to its ranks n (nccl-tests, doc/PERFORMANCE.md). */
enum factor { FACTOR_ALLREDUCE, FACTOR_SHARE, FACTOR_ONE };

static const struct {
    const char *word;
    enum record_what what;
    enum factor factor;
} collectives[] = {
    {"all_reduce", WHAT_allreduce, FACTOR_ALLREDUCE},
    {"allreduce", WHAT_allreduce, FACTOR_ALLREDUCE},
    {"all_gather", WHAT_all_gather, FACTOR_SHARE},
    {"allgather", WHAT_all_gather, FACTOR_SHARE},
    {"reduce_scatter", WHAT_reduce_scatter, FACTOR_SHARE},
    {"reducescatter", WHAT_reduce_scatter, FACTOR_SHARE},
    {"alltoall", WHAT_alltoall, FACTOR_SHARE},
    {"all_to_all", WHAT_alltoall, FACTOR_SHARE},
    {"broadcast", WHAT_broadcast, FACTOR_ONE},
    {"reduce", WHAT_reduce, FACTOR_ONE},
    {"sendrecv", WHAT_sendrecv, FACTOR_ONE},
    {"gather", WHAT_gather, FACTOR_SHARE},
    {"scatter", WHAT_scatter, FACTOR_SHARE},
};
enum { N_COLLECTIVES = sizeof collectives / sizeof collectives[0] };

enum record_what nccl_collective(const char *text, size_t len)
{
    const char *perf = text_find(text, len, "_perf");
    size_t end = perf != NULL ? (size_t)(perf - text) : len;
    for (int i = 0; i < N_COLLECTIVES; i++) {
        size_t n = strlen(collectives[i].word);
        if (n > end || memcmp(text + end - n, collectives[i].word, n) != 0)
            continue;
        char before = end > n ? text[end - n - 1] : '/';
        if (isalpha((unsigned char)before) || before == '_')
            continue;
        return collectives[i].what;
    }
    return WHAT_COUNT;
}

static enum factor factor_of(enum record_what what)
{
    for (int i = 0; i < N_COLLECTIVES; i++)
        if (collectives[i].what == what)
            return collectives[i].factor;
    return FACTOR_ONE;
}

static const char *side_check(const struct nccl_row *row, int which, int old, char *buf, size_t cap)
{
    static const char *const names[] = {"out-of-place", "in-place"};
    const struct nccl_side *s = &row->side[which];
    if (!s->present)
        return NULL;
    if (!isfinite(s->us.value) || !isfinite(s->algbw.value) || !isfinite(s->busbw.value)) {
        snprintf(buf, cap, "the %s side holds a number that is not finite", names[which]);
        return buf;
    }
    if (s->us.value <= 0) {
        snprintf(buf, cap, "%s time of %g us: a time is greater than 0", names[which], s->us.value);
        return buf;
    }
    if (s->algbw.value < 0 || s->busbw.value < 0) {
        snprintf(buf, cap, "%s bandwidth of %g GB/s: a bandwidth is not negative", names[which],
                 s->algbw.value < 0 ? s->algbw.value : s->busbw.value);
        return buf;
    }
    /* time = size / algbw, within what rounding of both allows. In the older layouts some
     * collectives count (n - 1)/n of the size, which is half of it at least. */
    double most = s->us.value - 1.05 * s->us.half;
    double fast = most > 0 ? (double)row->size / (most * 1e3) : HUGE_VAL;
    double slow = (double)row->size / ((s->us.value + 1.05 * s->us.half) * 1e3);
    int share = old && row->reduces != 1;
    share |= old && row->reduces == 1 && row->size > row->count * row->dtype_bytes;
    double a = s->algbw.value, slack = 2.1 * s->algbw.half;
    if (a > fast * 1.005 + slack || a < slow * (share ? 0.5 : 1) * 0.995 - slack) {
        double expect = (double)row->size / (s->us.value * 1e3);
        double ratio = a / expect;
        snprintf(buf, cap, "%s time of %g us disagrees with size/algbw = %g us%s", names[which],
                 s->us.value, (double)row->size / (a * 1e3),
                 ratio > 5e-4 && ratio < 2e-3 ? " (milliseconds?)" : "");
        return buf;
    }
    if (s->busbw.value - s->busbw.half > 2 * (a + s->algbw.half) * 1.005) {
        snprintf(buf, cap, "%s busbw of %g GB/s is more than twice algbw", names[which],
                 s->busbw.value);
        return buf;
    }
    return NULL;
}

const char *nccl_row_check(const struct nccl_row *row, int old, char *buf, size_t cap)
{
    if (row->size < 0 || row->count < 0)
        return "a negative size or count";
    int64_t bytes = row->dtype_bytes;
    if (bytes > 0 && row->count > 0 &&
        (row->count > INT64_MAX / bytes || row->size % (row->count * bytes) != 0 ||
         row->size == 0)) {
        snprintf(buf, cap, "size %lld is no multiple of count %lld times %d bytes",
                 (long long)row->size, (long long)row->count, row->dtype_bytes);
        return buf;
    }
    if (!row->side[0].present && !row->side[1].present)
        return "no time on either side";
    const char *why = side_check(row, NCCL_OUT_OF_PLACE, old, buf, cap);
    return why != NULL ? why : side_check(row, NCCL_IN_PLACE, old, buf, cap);
}

/* The collective that the rows themselves show. all_gather and alltoall look alike, but for the
 * in-place result that alltoall cannot check. */
static enum record_what what_of_rows(const struct nccl_table *t)
{
    int reduces = -1, rooted = 0, whole = 1, unchecked = 1, checked = 0;
    for (int i = 0; i < t->n; i++) {
        const struct nccl_row *r = &t->rows[i];
        if (r->size == 0)
            continue;
        reduces = r->reduces;
        rooted |= r->rooted;
        whole &= r->size == r->count * r->dtype_bytes;
        checked |= r->side[0].present && r->side[0].wrong >= 0;
        unchecked &= r->side[1].present && r->side[1].wrong < 0;
    }
    int no_check_in_place = checked && unchecked;
    if (reduces == 1 && !rooted && whole && no_check_in_place)
        return WHAT_sendrecv; /* it prints an operation, though it has none */
    if (reduces == 1)
        return rooted ? WHAT_reduce : whole ? WHAT_allreduce : WHAT_reduce_scatter;
    if (rooted)
        return whole ? WHAT_broadcast : WHAT_scatter;
    if (whole)
        return WHAT_sendrecv;
    return no_check_in_place ? WHAT_alltoall : WHAT_all_gather;
}

/* Whether the rows can be of the collective that the file named. */
static int can_be(const struct nccl_table *t, enum record_what what)
{
    if (what == WHAT_sendrecv)
        return 1;
    int reducing = what == WHAT_allreduce || what == WHAT_reduce || what == WHAT_reduce_scatter;
    for (int i = 0; i < t->n; i++)
        if (t->rows[i].reduces >= 0 && t->rows[i].reduces != reducing)
            return 0;
    return 1;
}

/* The rank counts that bus bandwidth over algorithm bandwidth leaves possible: [*lo, *hi]. 0 where
 * the rows tell nothing, -1 where they contradict one another. */
static int ranks_of_rows(const struct nccl_table *t, enum factor factor, int *lo, int *hi)
{
    double from = 0, to = 2;
    int told = 0;
    for (int i = 0; i < t->n; i++)
        for (int side = 0; side < 2; side++) {
            const struct nccl_row *r = &t->rows[i];
            const struct nccl_side *s = &r->side[side];
            if (!s->present || r->size == 0)
                continue;
            double a = s->algbw.value, b = s->busbw.value, f_lo, f_hi;
            if (t->old && factor == FACTOR_SHARE && fabs(a - b) <= s->algbw.half) {
                /* There algbw is (n - 1)/n of size/time already, and busbw equals it. */
                double t_lo = s->us.value - 1.05 * s->us.half;
                if (a <= 20 * s->algbw.half || t_lo <= 0)
                    continue;
                double whole_lo = (double)r->size / ((s->us.value + 1.05 * s->us.half) * 1e3);
                double whole_hi = (double)r->size / (t_lo * 1e3);
                f_lo = (a - 1.05 * s->algbw.half) / whole_hi;
                f_hi = (a + 1.05 * s->algbw.half) / whole_lo;
            } else {
                if (a <= 4 * s->algbw.half)
                    continue;
                f_lo = (b - 1.05 * s->busbw.half) / (a + 1.05 * s->algbw.half);
                f_hi = (b + 1.05 * s->busbw.half) / (a - 1.05 * s->algbw.half);
            }
            told = 1;
            from = fmax(from, f_lo);
            to = fmin(to, f_hi);
        }
    if (!told || factor == FACTOR_ONE)
        return 0;
    if (from > to)
        return -1;
    double scale = factor == FACTOR_ALLREDUCE ? 2 : 1;
    double n_lo = from >= scale ? HUGE_VAL : scale / (scale - from);
    double n_hi = to >= scale ? HUGE_VAL : scale / (scale - to);
    if (n_lo > 1e6)
        return -1;
    *lo = (int)ceil(n_lo - 1e-9);
    *hi = n_hi > 1e6 ? 1000000 : (int)floor(n_hi + 1e-9);
    return *lo <= *hi ? 1 : -1;
}

/* Ranks from the device list and from the rows. A conflict is reported. The larger is then taken: a
 * list loses lines when it is pasted, and gains none. */
static int ranks_of(struct nccl_table *t, enum record_what what)
{
    int lo = 0, hi = 0;
    int told = ranks_of_rows(t, factor_of(what), &lo, &hi);
    int listed = t->listed_ranks;
    if (told <= 0) {
        if (told < 0 && !t->said_ranks)
            import_warn(t->im, t->line, "busbw/algbw of the rows fits no single number of ranks");
        t->said_ranks |= told < 0;
        return listed;
    }
    if (listed >= lo && listed <= hi)
        return listed;
    int ranks = listed > hi ? listed : lo == hi ? lo : listed;
    if (listed > 0 && !t->said_ranks) {
        t->said_ranks = 1;
        char range[32];
        if (lo == hi)
            snprintf(range, sizeof range, "%d", lo);
        else
            snprintf(range, sizeof range, "%d to %d", lo, hi);
        import_warn(t->im, t->line, "the device list shows %d ranks, busbw/algbw %s: taken as %d",
                    listed, range, ranks);
    }
    return ranks;
}

/* What one GPU can send at most, doubled where the switch can reduce; a table above it was not
 * measured. Source: the vendors' data sheets (one direction of all NVLinks, GB/s). */
static const struct {
    const char *gpu;
    double busbw_gb_per_s;
} limits[] = {
    {"V100", 150}, {"A100", 300}, {"A800", 200},   {"H100", 900},  {"H200", 900},
    {"H800", 400}, {"H20", 900},  {"GB200", 1800}, {"B200", 1800},
};

static void check_plausible(struct nccl_table *t, double busbw, int64_t line)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (strstr(t->device, limits[i].gpu) != NULL && busbw > 1.05 * limits[i].busbw_gb_per_s) {
            import_warn(t->im, line,
                        "busbw of %g GB/s is beyond what an %s can send (%g GB/s): was "
                        "this measured?",
                        busbw, limits[i].gpu, limits[i].busbw_gb_per_s);
            return;
        }
}

/* Tolerance of the older layouts' error column, by element size (nccl-tests, deltaMaxValue). */
static int error_is_wrong(double error, const char *dtype, int bytes)
{
    if (strncmp(dtype, "int", 3) == 0 || strncmp(dtype, "uint", 4) == 0)
        return error > 0;
    return error > (bytes <= 2 ? 1e-2 : bytes == 4 ? 1e-5 : 1e-12);
}

static int is_wrong(const struct nccl_row *row, const struct nccl_side *s)
{
    return s->wrong > 0 ||
           (!isnan(s->error) && error_is_wrong(s->error, row->dtype, row->dtype_bytes));
}

int nccl_table_flush(struct nccl_table *t)
{
    if (t->n == 0)
        return 0;
    struct import *im = t->im;
    enum record_what what = t->what;
    if (what != WHAT_COUNT && !can_be(t, what)) {
        import_warn(im, t->line, "the rows are not of %s, as the file says",
                    record_what_name(what));
        what = WHAT_COUNT;
    }
    if (what == WHAT_COUNT)
        what = what_of_rows(t);
    int ranks = ranks_of(t, what);
    import_saw(im, record_what_name(what), ranks);

    struct record r;
    record_init(&r);
    r.what = what;
    snprintf(r.impl, sizeof r.impl, "%s", t->impl);
    snprintf(r.label, sizeof r.label, "%s", t->label);
    snprintf(r.method, sizeof r.method, "%s", t->method);
    snprintf(r.note, sizeof r.note, "%s", t->note);
    snprintf(r.origin, sizeof r.origin, "%.255s", im->path);
    r.ranks = ranks;
    double top = 0;
    int64_t top_line = 0;
    for (int i = 0; i < t->n && !im->stopped; i++) {
        const struct nccl_row *row = &t->rows[i];
        int wrong = 0;
        r.line = row->line;
        r.size_bytes = row->size;
        if (strcmp(r.dtype, row->dtype) != 0)
            snprintf(r.dtype, sizeof r.dtype, "%s", row->dtype);
        /* Nothing was communicated: a fact about launching, never a point of the curve. */
        int local = ranks == 1 || row->size == 0;
        if (local != (r.state[0] != '\0')) {
            memset(r.state, 0, sizeof r.state);
            if (local)
                memcpy(r.state, "local", sizeof "local");
        }
        for (int side = 0; side < 2; side++) {
            const struct nccl_side *s = &row->side[side];
            if (!s->present)
                continue;
            r.in_place = side == NCCL_IN_PLACE;
            r.value = s->us.value;
            r.min = s->min_us;
            r.max = s->max_us;
            r.p99 = s->p99_us;
            int bad = is_wrong(row, s);
            wrong |= bad;
            r.wrong = bad && s->wrong > 0 ? (int64_t)fmin(s->wrong, 9e15) : 0;
            r.verified = bad                               ? RECORD_WRONG
                         : s->wrong < 0 && isnan(s->error) ? RECORD_UNVERIFIED
                                                           : RECORD_VERIFIED;
            if (s->busbw.value > top && !local) {
                top = s->busbw.value;
                top_line = row->line;
            }
            if (import_record(im, &r) != 0)
                break;
        }
        im->rows++;
        im->rows_wrong += wrong;
    }
    check_plausible(t, top, top_line);
    t->n = 0;
    t->flushed = 1;
    return im->stopped ? -1 : 0;
}

int nccl_table_add(struct nccl_table *t, const struct nccl_row *row)
{
    if (t->n == NCCL_TABLE_ROWS && nccl_table_flush(t) != 0)
        return -1;
    t->rows[t->n++] = *row;
    return 0;
}

int nccl_settings_take(struct nccl_settings *s, struct word name, struct word value)
{
    const struct {
        const char *name;
        char *to;
        size_t cap;
    } known[] = {
        {"NCCL_ALGO", s->algo, sizeof s->algo},
        {"NCCL_PROTO", s->proto, sizeof s->proto},
        {"NCCL_MIN_NCHANNELS", s->channels_min, sizeof s->channels_min},
        {"NCCL_MAX_NCHANNELS", s->channels_max, sizeof s->channels_max},
        {"NCCL_BUFFSIZE", s->buffsize, sizeof s->buffsize},
        {"NCCL_NTHREADS", s->nthreads, sizeof s->nthreads},
    };
    while (value.n > 0 && strchr("\"'", value.p[0]) != NULL)
        value.p++, value.n--;
    while (value.n > 0 && strchr("\"'.;", value.p[value.n - 1]) != NULL)
        value.n--;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (word_is(name, known[i].name)) {
            /* A list or a negation forces nothing: it is no name of an implementation. */
            if (i < 2 && (memchr(value.p, ',', value.n) || memchr(value.p, '^', value.n) ||
                          memchr(value.p, ';', value.n)))
                value.n = 0;
            word_copy(value, known[i].to, known[i].cap);
            for (char *p = known[i].to; *p != '\0'; p++)
                *p = (char)tolower((unsigned char)*p);
            return 1;
        }
    return 0;
}

void nccl_settings_impl(const struct nccl_settings *s, char *impl, size_t cap)
{
    char list[160] = "";
    size_t n = 0;
    const char *base_algo = NULL;
    if (s->algo[0] != '\0' && s->proto[0] != '\0')
        base_algo = s->algo;
    const struct {
        const char *key, *value;
    } all[] = {
        {"algo", base_algo == NULL ? s->algo : ""},
        {"proto", base_algo == NULL ? s->proto : ""},
        {"channels", strcmp(s->channels_min, s->channels_max) == 0 ? s->channels_min : ""},
        {"minchannels", strcmp(s->channels_min, s->channels_max) != 0 ? s->channels_min : ""},
        {"maxchannels", strcmp(s->channels_min, s->channels_max) != 0 ? s->channels_max : ""},
        {"buffsize", s->buffsize},
        {"nthreads", s->nthreads},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].value[0] != '\0' && n < sizeof list)
            n += (size_t)snprintf(list + n, sizeof list - n, "%c%s=%s", n == 0 ? ':' : ',',
                                  all[i].key, all[i].value);
    if (base_algo != NULL)
        snprintf(impl, cap, "nccl/%s/%s%s", base_algo, s->proto, list);
    else
        snprintf(impl, cap, "nccl/auto%s", list);
}
