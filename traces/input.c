#include "traces/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "traces/command.h"

const char *input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* The descriptor that a path stands for, or -1 where it is a file's name. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    int64_t n;
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0)
        return STDIN_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        size_t len = strlen(folders[i]);
        if (strncmp(path, folders[i], len) == 0 && parse_int64(path + len, &n) == 0 && n >= 0 &&
            n < 1 << 20)
            return (int)n;
    }
    return -1;
}

/* Puts an unnamed file with all that the pipe still brings in the pipe's place. -1 with errno. */
static int keep_pipe(int pipe)
{
    FILE *kept = tmpfile();
    if (kept == NULL)
        return -1;
    char block[1 << 16];
    ssize_t got;
    while ((got = read(pipe, block, sizeof block)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || fwrite(block, 1, (size_t)got, kept) != (size_t)got)
            break;
    }
    int code = got != 0 ? errno : 0;
    if (code == 0 && (fflush(kept) != 0 || lseek(fileno(kept), 0, SEEK_SET) != 0 ||
                      dup2(fileno(kept), pipe) < 0))
        code = errno;
    if (code != 0)
        close(pipe); /* a part of it must not pass for the whole */
    fclose(kept);
    errno = code;
    return code == 0 ? 0 : -1;
}

int input_open(const char *path)
{
    int n = descriptor_of(path);
    if (n < 0)
        return open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fstat(n, &st) != 0 ||
        ((S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(n)) && keep_pipe(n) != 0))
        return -1;
    char again[32];
    snprintf(again, sizeof again, "/proc/self/fd/%d", n);
    int fd = open(again, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return dup(n);
    off_t at = lseek(n, 0, SEEK_CUR); /* what the shell read before stays read */
    if (at > 0)
        (void)!lseek(fd, at, SEEK_SET);
    return fd;
}

FILE *input_stream(const char *path)
{
    int fd = input_open(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");
    if (f == NULL && fd >= 0)
        close(fd);
    return f;
}
