#include "traces/engine_flags.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traces/text.h"

static const struct {
    const char *name; /* with '-'; '_' in the text is the same */
    size_t offset;
} flags[] = {
#define F(name, member)                                                                            \
    {                                                                                              \
        name, offsetof(struct engine_flags, member)                                                \
    }
    F("speculative-num-steps", num_steps),
    F("num-speculative-tokens", num_steps),
    F("speculative-eagle-topk", topk),
    F("speculative-num-draft-tokens", num_draft_tokens),
    F("tensor-parallel-size", ranks),
    F("tp-size", ranks),
    F("world-size", ranks),
#undef F
};

void engine_flags_init(struct engine_flags *f)
{
    *f = (struct engine_flags){-1, -1, -1, -1};
}

static int same_name(const char *s, size_t len, const char *name)
{
    size_t n = strlen(name);
    if (len < n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (s[i] != name[i] && !(name[i] == '-' && s[i] == '_'))
            return 0;
    return 1;
}

int engine_flags_read(struct engine_flags *f, const char *s, size_t len)
{
    int said = 0;
    for (size_t i = 0; i < len; i++) {
        if ((s[i] != 's' && s[i] != 'n' && s[i] != 't' && s[i] != 'w') ||
            (i > 0 && (isalnum((unsigned char)s[i - 1]) || s[i - 1] == '_')))
            continue;
        for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++) {
            if (!same_name(s + i, len - i, flags[k].name))
                continue;
            size_t p = i + strlen(flags[k].name);
            while (p < len && strchr("'\"=: ", s[p]) != NULL)
                p++;
            struct printed x;
            size_t n = 0;
            while (p + n < len && isdigit((unsigned char)s[p + n]))
                n++;
            if (n > 0 && n < 6 && word_number((struct word){s + p, n}, &x)) {
                memcpy((char *)f + flags[k].offset, &x.value, sizeof x.value);
                said = 1;
            }
        }
    }
    return said;
}

void engine_flags_apply(const struct engine_flags *f, struct record *r)
{
    if (f->num_steps >= 0)
        r->field[FIELD_num_steps] = f->num_steps;
    if (f->topk >= 0)
        r->field[FIELD_topk] = f->topk;
    if (f->num_draft_tokens >= 0)
        r->field[FIELD_num_draft_tokens] = f->num_draft_tokens;
    if (f->ranks > 0 && f->ranks < 1e6)
        r->ranks = (int)f->ranks;
}

double number_after_key(const char *s, size_t len, const char *key)
{
    const char *end = s + len, *p = s;
    size_t n = strlen(key);
    while ((p = text_find(p, (size_t)(end - p), key)) != NULL) {
        const char *v = p + n;
        int inside = p > s && (isalnum((unsigned char)p[-1]) || p[-1] == '_' || p[-1] == '-');
        p = v;
        if (inside || v == end || *v != ':')
            continue;
        v++;
        while (v < end && (*v == ' ' || *v == '\t'))
            v++;
        size_t digits = 0;
        while (v + digits < end &&
               (isdigit((unsigned char)v[digits]) || strchr(".eE+-", v[digits]) != NULL))
            digits++;
        /* A full stop or a hyphen that ends the number is not its own. */
        while (digits > 0 && !isdigit((unsigned char)v[digits - 1]))
            digits--;
        struct printed x;
        if (digits > 0 && word_number((struct word){v, digits}, &x))
            return x.value;
    }
    return NAN;
}
