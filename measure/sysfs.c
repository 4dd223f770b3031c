#include "measure/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int full_path(char *out, size_t room, const char *root, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));
static int full_path(char *out, size_t room, const char *root, const char *fmt, va_list ap)
{
    int n = snprintf(out, room, "%s/", root);
    if (n < 0 || (size_t)n >= room)
        return -1;
    int k = vsnprintf(out + n, room - (size_t)n, fmt, ap);
    return k < 0 || (size_t)k >= room - (size_t)n ? -1 : 0;
}

static ssize_t read_file(const char *path, char *out, size_t room)
{
    /* O_NONBLOCK: a pipe in a tree that is not ours must not stop us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    size_t got = 0;
    while (got + 1 < room) {
        ssize_t n = read(fd, out + got, room - 1 - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            close(fd);
            return -1;
        }
        if (n == 0)
            break;
        got += (size_t)n;
    }
    close(fd);
    while (got > 0 && (out[got - 1] == '\n' || out[got - 1] == ' '))
        got--;
    out[got] = '\0';
    return (ssize_t)got;
}

ssize_t sysfs_read(const char *root, char *out, size_t room, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    int bad = full_path(path, sizeof path, root, fmt, ap);
    va_end(ap);
    out[0] = '\0';
    return bad ? -1 : read_file(path, out, room);
}

int64_t sysfs_number(const char *root, int64_t absent, const char *fmt, ...)
{
    char path[PATH_MAX], text[64], *end;
    va_list ap;
    va_start(ap, fmt);
    int bad = full_path(path, sizeof path, root, fmt, ap);
    va_end(ap);
    if (bad || read_file(path, text, sizeof text) <= 0)
        return absent;
    long long x = strtoll(text, &end, 0);
    return end == text || *end != '\0' ? absent : x;
}

int sysfs_exists(const char *root, const char *fmt, ...)
{
    char path[PATH_MAX];
    va_list ap;
    va_start(ap, fmt);
    int bad = full_path(path, sizeof path, root, fmt, ap);
    va_end(ap);
    return !bad && access(path, F_OK) == 0;
}

/* The next range of a list; 0 at its end. */
static int next_range(const char **list, long *first, long *last)
{
    char *end;
    *first = strtol(*list, &end, 10);
    if (end == *list || *first < 0)
        return 0;
    *last = *first;
    if (*end == '-') {
        *list = end + 1;
        *last = strtol(*list, &end, 10);
        if (end == *list || *last < *first)
            return 0;
    }
    *list = *end == ',' ? end + 1 : end;
    return 1;
}

int list_count(const char *list)
{
    long first, last, n = 0;
    while (next_range(&list, &first, &last) && n < INT_MAX / 2)
        n += last - first + 1;
    return (int)n;
}

int list_common(const char *a, const char *b)
{
    long first, last, n = 0;
    while (next_range(&a, &first, &last)) {
        const char *p = b;
        long f, l;
        while (next_range(&p, &f, &l)) {
            long from = f > first ? f : first, to = l < last ? l : last;
            if (to >= from)
                n += to - from + 1;
        }
    }
    return n > INT_MAX ? INT_MAX : (int)n;
}
