#include "traces/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What separates words. */
static const unsigned char is_gap[256] = {[' '] = 1, ['\t'] = 1, ['|'] = 1, ['\r'] = 1};

int text_words(const char *s, size_t len, struct word *words, int cap)
{
    int n = 0;
    const char *end = s + len;
    while (n < cap) {
        while (s < end && is_gap[(unsigned char)*s])
            s++;
        if (s == end)
            break;
        const char *p = s;
        while (s < end && !is_gap[(unsigned char)*s])
            s++;
        words[n++] = (struct word){p, (size_t)(s - p)};
    }
    return n;
}

int word_is(struct word w, const char *text)
{
    return strlen(text) == w.n && memcmp(w.p, text, w.n) == 0;
}

void word_copy(struct word w, char *to, size_t cap)
{
    size_t n = w.n < cap ? w.n : cap - 1;
    memcpy(to, w.p, n);
    to[n] = '\0';
}

int word_is_digits(struct word w)
{
    for (size_t i = 0; i < w.n; i++)
        if (w.p[i] < '0' || w.p[i] > '9')
            return 0;
    return w.n > 0;
}

static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

/* Words that the fast path does not take: signs, exponents, nan, many digits. */
static int slow_number(struct word w, struct printed *x)
{
    char text[64];
    if (w.n >= sizeof text)
        return 0;
    word_copy(w, text, sizeof text);
    char *end;
    x->value = strtod(text, &end);
    if (*end != '\0' || end == text || strpbrk(text, "xXpP") != NULL)
        return 0;
    const char *e = strpbrk(text, "eE");
    const char *dot = strchr(text, '.');
    int decimals = dot == NULL ? 0 : (int)strspn(dot + 1, "0123456789");
    double exponent = e == NULL ? 0 : strtod(e + 1, NULL);
    x->half = 0.5 * pow(10, exponent - decimals);
    return 1;
}

int word_number(struct word w, struct printed *x)
{
    uint64_t mantissa = 0;
    size_t decimals = 0, digits = 0, i = 0;
    int dot = 0;
    if (w.n == 0)
        return 0;
    if (w.n > 15)
        return slow_number(w, x);
    for (; i < w.n; i++) {
        char c = w.p[i];
        if (c >= '0' && c <= '9') {
            mantissa = mantissa * 10 + (uint64_t)(c - '0');
            digits++;
            decimals += (size_t)dot;
        } else if (c == '.' && !dot) {
            dot = 1;
        } else {
            return slow_number(w, x);
        }
    }
    if (digits == 0)
        return 0;
    x->value = (double)mantissa / powers[decimals];
    x->half = 0.5 / powers[decimals];
    return 1;
}

int word_int64(struct word w, int64_t *x)
{
    if (!word_is_digits(w) || w.n > 18)
        return 0;
    int64_t v = 0;
    for (size_t i = 0; i < w.n; i++)
        v = v * 10 + (w.p[i] - '0');
    *x = v;
    return 1;
}

const char *text_find(const char *s, size_t len, const char *needle)
{
    return memmem(s, len, needle, strlen(needle));
}

const char *text_find_case(const char *s, size_t len, const char *needle)
{
    size_t n = strlen(needle);
    if (n == 0)
        return s;
    char lower = (char)tolower((unsigned char)needle[0]);
    for (size_t i = 0; i + n <= len; i++)
        if ((s[i] | 0x20) == lower && strncasecmp(s + i, needle, n) == 0)
            return s + i;
    return NULL;
}

size_t text_strip_markup(char *s, size_t len)
{
    size_t to = 0;
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '\033' && i + 1 < len && s[i + 1] == '[') {
            i += 2;
            while (i < len && !isalpha((unsigned char)s[i]))
                i++;
            s[to++] = ' ';
        } else if (s[i] == '<' && i + 1 < len &&
                   (isalpha((unsigned char)s[i + 1]) || s[i + 1] == '/') &&
                   memchr(s + i, '>', len - i) != NULL) {
            while (s[i] != '>')
                i++;
            s[to++] = ' ';
        } else {
            s[to++] = s[i];
        }
    }
    if (to < len)
        s[to] = '\0';
    return to;
}

const char *text_dtype(struct word w, int *bytes)
{
#define T(word, name, bytes)                                                                       \
    {                                                                                              \
        word, name, sizeof word - 1, bytes                                                         \
    }
    static const struct {
        const char *word, *name;
        size_t n;
        int bytes;
    } types[] = {
        T("float", "fp32", 4),
        T("half", "fp16", 2),
        T("bfloat16", "bf16", 2),
        T("bf16", "bf16", 2),
        T("fp16", "fp16", 2),
        T("fp32", "fp32", 4),
        T("float32", "fp32", 4),
        T("float16", "fp16", 2),
        T("double", "fp64", 8),
        T("float64", "fp64", 8),
        T("fp64", "fp64", 8),
        T("int8", "int8", 1),
        T("uint8", "uint8", 1),
        T("char", "int8", 1),
        T("int32", "int32", 4),
        T("uint32", "uint32", 4),
        T("int", "int32", 4),
        T("int64", "int64", 8),
        T("uint64", "uint64", 8),
        T("f8e4m3", "fp8_e4m3", 1),
        T("f8e5m2", "fp8_e5m2", 1),
        T("fp8_e4m3", "fp8_e4m3", 1),
        T("fp8_e5m2", "fp8_e5m2", 1),
        T("fp8", "fp8", 1),
        T("float8_e4m3fn", "fp8_e4m3", 1),
        T("float8_e5m2", "fp8_e5m2", 1),
        T("torch.bfloat16", "bf16", 2),
        T("torch.float16", "fp16", 2),
        T("torch.float32", "fp32", 4),
        T("bool", "int8", 1),
    };
#undef T
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].n == w.n && (types[i].word[0] | 0x20) == (w.p[0] | 0x20) &&
            strncasecmp(types[i].word, w.p, w.n) == 0) {
            if (bytes != NULL)
                *bytes = types[i].bytes;
            return types[i].name;
        }
    return NULL;
}
