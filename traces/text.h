/* Small things that every reader of text needs: blank-separated words, numbers as printed. */
#ifndef UPDRAFT_TRACES_TEXT_H
#define UPDRAFT_TRACES_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct word {
    const char *p;
    size_t n;
};

/* Splits at blanks, tabs and '|'. Returns how many words were found, at most cap (the rest of the
 * line is then not looked at). */
int text_words(const char *s, size_t len, struct word *words, int cap);

int word_is(struct word w, const char *text);
/* Copies, cut at cap - 1. */
void word_copy(struct word w, char *to, size_t cap);
int word_is_digits(struct word w);

/* A number as a program printed it: its value and half the unit of its last digit, which is how
 * far rounding may have moved it ("23.40": 0.005, "1e+06": 5e5). */
struct printed {
    double value, half;
};
/* Whole word to number: 1, or 0 where it is none. "nan" and "inf" are numbers here; the caller
 * decides. */
int word_number(struct word w, struct printed *x);
/* Whole word of digits to a size, 1; 0 where it is none or too large. */
int word_int64(struct word w, int64_t *x);

/* The first place of `needle` in the text, or NULL; and without regard to letter case. */
const char *text_find(const char *s, size_t len, const char *needle);
const char *text_find_case(const char *s, size_t len, const char *needle);

/* Takes terminal escapes ("ESC [ ... m") and HTML tags out, in place; returns the new length.
 * Each leaves one blank behind. */
size_t text_strip_markup(char *s, size_t len);

/* One of our names for an element type ("float" and "FP32" are "fp32"), with its size in bytes;
 * NULL where it is none. */
const char *text_dtype(struct word w, int *bytes);

#endif
