#include "traces/journal.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum status failed(const struct journal *j, const char *what, struct err *err)
{
    return err_set(err, STATUS_FAILED, "%s: cannot %s: %s", j->path, what, strerror(errno));
}

static enum status sync_file(struct journal *j, struct err *err)
{
    clock_gettime(CLOCK_MONOTONIC, &j->synced);
    /* EINVAL, EROFS: the file is a pipe or a special file, which has nothing to sync. */
    if (j->is_file && fdatasync(j->fd) != 0 && errno != EINVAL && errno != EROFS)
        return failed(j, "sync", err);
    return STATUS_OK;
}

/* Writes the whole buffer; where that fails cuts the file to what it was. */
static enum status write_all(struct journal *j, const char *buf, size_t len, struct err *err)
{
    off_t before = j->is_file ? lseek(j->fd, 0, SEEK_END) : -1;
    for (size_t done = 0; done < len;) {
        ssize_t n = write(j->fd, buf + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            enum status status = failed(j, "write", err);
            if (before >= 0 && done > 0 && ftruncate(j->fd, before) != 0)
                err_prefix(err, "the last line is cut and could not be taken back");
            return status;
        }
        done += (size_t)n;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > j->synced.tv_sec + 1 ? sync_file(j, err) : STATUS_OK;
}

/* Lets `print` write to memory, then writes that in one piece. */
struct line {
    char *text;
    size_t len;
    FILE *f;
};

static int line_begin(struct line *l)
{
    *l = (struct line){0};
    l->f = open_memstream(&l->text, &l->len);
    return l->f == NULL ? -1 : 0;
}

static enum status line_end(struct journal *j, struct line *l, int bad, struct err *err)
{
    enum status status = STATUS_OK;
    if (l->f == NULL || fclose(l->f) != 0 || bad)
        status = err_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK)
        status = write_all(j, l->text, l->len, err);
    free(l->text);
    return status;
}

static enum status write_header(struct journal *j, const cJSON *host, struct err *err)
{
    struct line l;
    int bad = line_begin(&l) != 0 || trace_write_header(l.f, host) != 0;
    enum status status = line_end(j, &l, bad, err);
    return status != STATUS_OK ? status : sync_file(j, err);
}

static enum status lock_file(struct journal *j, struct err *err)
{
    /* A record lock: unlike flock() it is not inherited by the children that measure. */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(j->fd, F_SETLK, &lock) == 0)
        return STATUS_OK;
    if (errno != EACCES && errno != EAGAIN)
        return STATUS_OK; /* a file system without locks */
    if (fcntl(j->fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        return err_set(err, STATUS_FAILED,
                       "%s is being written by process %ld: wait for it or write to another file",
                       j->path, (long)lock.l_pid);
    return err_set(err, STATUS_FAILED, "%s is being written by another process", j->path);
}

static void sync_folder(const char *path)
{
    char *copy = strdup(path);
    int fd = copy == NULL ? -1 : open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!fsync(fd); /* some file systems have no such thing; the file itself is synced */
        close(fd);
    }
    free(copy);
}

/* Reads what is there, cuts a torn last line. *empty: nothing complete was there. */
static enum status read_back(struct journal *j, struct trace *before, int *empty, struct err *err)
{
    struct stat st;
    char *buf = NULL;
    enum status status = STATUS_OK;
    *empty = 1;
    if (fstat(j->fd, &st) != 0)
        return failed(j, "read", err);
    if (!S_ISREG(st.st_mode) || st.st_size > (off_t)1 << 30)
        return err_set(err, STATUS_INPUT,
                       "%s: a trace to resume is a regular file of at most 1 GiB", j->path);
    size_t len = (size_t)st.st_size, got = 0;
    if (len == 0)
        return STATUS_OK;
    buf = malloc(len);
    if (buf == NULL)
        return err_set(err, STATUS_FAILED, "%s: out of memory", j->path);
    while (got < len) {
        ssize_t n = pread(j->fd, buf + got, len - got, (off_t)got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    char magic[] = "{\"updraft_trace\"";
    size_t look = got < sizeof magic - 1 ? got : sizeof magic - 1;
    if (got != len) {
        status = failed(j, "read", err);
        goto out;
    }
    if (memcmp(buf, magic, look) != 0) {
        status = err_set(err, STATUS_INPUT, "%s:1: this is no trace; it was left alone", j->path);
        goto out;
    }
    size_t whole = len;
    while (whole > 0 && buf[whole - 1] != '\n')
        whole--;
    *empty = whole == 0;
    if (whole > 0) {
        FILE *f = fmemopen(buf, whole, "r");
        status = f == NULL ? err_set(err, STATUS_FAILED, "%s: out of memory", j->path)
                           : trace_read(before, f, j->path, err);
        if (f != NULL)
            fclose(f);
    }
    if (status == STATUS_OK && whole < len) {
        j->torn = 1;
        if (ftruncate(j->fd, (off_t)whole) != 0)
            status = failed(j, "drop its torn last line", err);
    }
out:
    free(buf);
    return status;
}

enum status journal_open(struct journal *j, const char *path, int resume, const cJSON *host,
                         struct trace *before, struct err *err)
{
    *j = (struct journal){.fd = -1};
    enum status status = STATUS_OK;
    int empty = 1;
    j->path = strdup(strcmp(path, "-") == 0 ? "standard output" : path);
    if (j->path == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    clock_gettime(CLOCK_MONOTONIC, &j->synced);
    if (strcmp(path, "-") == 0) {
        j->fd = dup(STDOUT_FILENO);
        if (j->fd < 0)
            status = failed(j, "open", err);
    } else {
        int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | (resume ? 0 : O_EXCL);
        j->fd = open(path, flags, 0666);
        j->is_file = 1;
        if (j->fd < 0 && errno == EEXIST)
            status =
                err_set(err, STATUS_USAGE,
                        "%s exists: --resume goes on with it, another -o FILE starts anew", path);
        else if (j->fd < 0)
            status = failed(j, "open", err);
        else
            status = lock_file(j, err);
        if (status == STATUS_OK && resume)
            status = read_back(j, before, &empty, err);
    }
    if (status == STATUS_OK && empty) {
        status = write_header(j, host, err);
        if (j->is_file)
            sync_folder(path);
    }
    if (status != STATUS_OK)
        journal_close(j, NULL);
    return status;
}

enum status journal_append(struct journal *j, const struct record *r, struct err *err)
{
    struct line l;
    int bad = line_begin(&l) != 0 || trace_write_record(l.f, r, NULL) != 0;
    return line_end(j, &l, bad, err);
}

enum status journal_remark(struct journal *j, const char *key, const cJSON *value, struct err *err)
{
    char name[64];
    snprintf(name, sizeof name, "x_%s", key);
    cJSON *object = cJSON_CreateObject(), *copy = cJSON_Duplicate(value, 1);
    int bad = object == NULL || copy == NULL ||
              cJSON_AddNumberToObject(object, "updraft_trace", TRACE_VERSION) == NULL;
    if (bad)
        cJSON_Delete(copy);
    else
        cJSON_AddItemToObject(object, name, copy);
    char *text = bad ? NULL : cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    struct line l;
    bad = line_begin(&l) != 0 || text == NULL || fprintf(l.f, "%s\n", text) < 0;
    free(text);
    return line_end(j, &l, bad, err);
}

enum status journal_close(struct journal *j, struct err *err)
{
    enum status status = STATUS_OK;
    if (j->path != NULL && j->fd >= 0) {
        status = sync_file(j, err);
        if (close(j->fd) != 0 && status == STATUS_OK)
            status = failed(j, "close", err);
    }
    free(j->path);
    *j = (struct journal){.fd = -1};
    return status;
}
