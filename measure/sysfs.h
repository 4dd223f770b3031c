/* Small files below a root. Everything returns "not known" where a file is absent. */
#ifndef UPDRAFT_MEASURE_SYSFS_H
#define UPDRAFT_MEASURE_SYSFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads up to room - 1 bytes of ROOT/path (path is formatted); returns the length or -1. The text
 * is ended by '\0' and loses its trailing white space; bytes after a '\0' in it count. */
ssize_t sysfs_read(const char *root, char *out, size_t room, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A whole number in decimal or 0x hexadecimal; `absent` where there is none. */
int64_t sysfs_number(const char *root, int64_t absent, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether ROOT/path exists. */
int sysfs_exists(const char *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Numbers in a list like "0-3,8,10-11": how many are in it; and whether x is. */
int list_count(const char *list);
int list_common(const char *a, const char *b); /* how many numbers are in both */

#endif
