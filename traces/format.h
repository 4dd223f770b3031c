/* Numbers into text, fast, for long tables. */
#ifndef UPDRAFT_TRACES_FORMAT_H
#define UPDRAFT_TRACES_FORMAT_H

/* Writes x with 7 significant digits, trailing zeros cut, as a decimal or with an exponent; "nan"
 * and "inf" never: they come out empty. Returns the end; at most 24 bytes, no terminating zero. */
char *format_double(char *p, double x);
/* Writes a whole number. Returns the end; at most 20 bytes. */
char *format_int(char *p, long long x);

#endif
