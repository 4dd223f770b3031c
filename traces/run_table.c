#include "traces/run_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/accept_quantity.h"
#include "traces/command.h"

static const char *const number_names[] = {
#define RUN_NUMBER(id, names, doc) names,
#define RUN_TEXT(id, names, doc)
#include "traces/run_columns.def"
#undef RUN_NUMBER
#undef RUN_TEXT
};

static const char *const text_names[] = {
#define RUN_NUMBER(id, names, doc)
#define RUN_TEXT(id, names, doc) names,
#include "traces/run_columns.def"
#undef RUN_NUMBER
#undef RUN_TEXT
};

static int find(const struct csv *csv, const char *names)
{
    char name[64];
    while (*names != '\0') {
        size_t n = strcspn(names, "|");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        int column = csv_column(csv, name);
        if (column >= 0)
            return column;
        names += n + (names[n] == '|');
    }
    return -1;
}

void run_table_open(struct run_table *t, const struct csv *csv)
{
    t->csv = csv;
    for (int i = 0; i < RUN_NUMBERS; i++)
        t->number[i] = find(csv, number_names[i]);
    for (int i = 0; i < RUN_TEXTS; i++)
        t->text[i] = find(csv, text_names[i]);
}

int run_table_has(const struct run_table *t, enum run_number id)
{
    return t->number[id] >= 0;
}

int run_table_has_text(const struct run_table *t, enum run_text id)
{
    return t->text[id] >= 0;
}

double run_table_number(const struct run_table *t, size_t row, enum run_number id)
{
    const char *text = csv_text(t->csv, row, t->number[id]);
    while (*text == '~' || *text == ' ')
        text++;
    double x = csv_number(t->csv, row, t->number[id]);
    if (!isnan(x))
        return x;
    char digits[32];
    size_t n = strlen(text);
    if (n < 2 || n > sizeof digits || (text[n - 1] != 'k' && text[n - 1] != 'K'))
        return (double)NAN;
    memcpy(digits, text, n - 1);
    digits[n - 1] = '\0';
    return parse_double(digits, &x) == 0 ? 1024 * x : (double)NAN;
}

const char *run_table_text(const struct run_table *t, size_t row, enum run_text id)
{
    return csv_text(t->csv, row, t->text[id]);
}

double run_table_tokens_per_cycle(const struct run_table *t, size_t row)
{
    double k = run_table_number(t, row, RUN_num_steps);
    double length = run_table_number(t, row, RUN_accept_length);
    double rate = run_table_number(t, row, RUN_accept_rate);
    double m = run_table_number(t, row, RUN_verify_tokens), tokens;
    if (!(k >= 1 && k <= 1000))
        return (double)NAN;
    int by_length = !isnan(length);
    struct accept_reading r = {.quantity = by_length ? ACCEPT_tokens_per_cycle
                                                     : ACCEPT_vllm_draft_acceptance_rate,
                               .value = by_length ? &length : &rate,
                               .n_values = 1,
                               .num_steps = (int)k,
                               .num_draft_tokens = m >= 1 && m < 1e6 ? (int)m : 0};
    return accept_tokens_per_cycle(&r, &tokens, NULL) == STATUS_OK ? tokens : (double)NAN;
}

double run_table_tokens_per_s(const struct run_table *t, size_t row)
{
    double batch = run_table_number(t, row, RUN_batch);
    double all = run_table_number(t, row, RUN_tokens_per_s);
    double user = run_table_number(t, row, RUN_user_tokens_per_s);
    double tpot = run_table_number(t, row, RUN_tpot_ms);
    if (!(batch >= 1))
        batch = 1;
    if (all > 0)
        return all;
    if (user > 0)
        return user * batch;
    return tpot > 0 ? batch * 1e3 / tpot : (double)NAN;
}

void run_table_series(const struct run_table *t, size_t row, char *to, size_t cap)
{
    static const enum run_text parts[] = {RUN_engine, RUN_stack,  RUN_hardware, RUN_model,
                                          RUN_draft,  RUN_method, RUN_mode,     RUN_file};
    size_t n = 0;
    to[0] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *text = run_table_text(t, row, parts[i]);
        if (text[0] == '\0' || n + 4 > cap)
            continue;
        snprintf(to + n, cap - n, "%s%.90s", n ? ", " : "", text);
        n += strlen(to + n);
    }
}
