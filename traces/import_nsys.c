/* Nsight Systems exports (nsys export --type sqlite), and nvprof's older database: GPU kernels,
 * gathered by name.
 */
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "traces/import.h"
#include "traces/kernel_stats.h"

enum { MAX_IN_MEMORY = 512 << 20 };

/* The layouts of the kernel table: a query each, tried in turn. Columns: name, grid, block, ns. */
static const struct {
    const char *needs_table, *needs_column, *query;
} layouts[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "demangledName",
     "SELECT s.value, k.gridX, k.blockX, k.\"end\" - k.start FROM CUPTI_ACTIVITY_KIND_KERNEL k "
     "JOIN StringIds s ON s.id = k.demangledName"},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "shortName",
     "SELECT s.value, k.gridX, k.blockX, k.\"end\" - k.start FROM CUPTI_ACTIVITY_KIND_KERNEL k "
     "JOIN StringIds s ON s.id = k.shortName"},
    {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "name",
     "SELECT s.value, k.gridX, k.blockX, k.\"end\" - k.start FROM "
     "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL k "
     "JOIN StringTable s ON s._id_ = k.name"},
};

/* Opens the database: in place where the source is a file, else from memory. */
static enum status open_db(struct import *im, sqlite3 **db, char **memory, struct err *err)
{
    if (im->in->fd >= 0 && strcmp(im->path, "standard input") != 0) {
        if (sqlite3_open_v2(im->path, db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
            return err_set(err, STATUS_INPUT, "%s: %s", im->path, sqlite3_errmsg(*db));
        return STATUS_OK;
    }
    size_t cap = 1 << 20, n = 0;
    char *bytes = malloc(cap);
    while (bytes != NULL) {
        size_t got = source_read(im->in, bytes + n, cap - n);
        n += got;
        if (got == 0 || n > MAX_IN_MEMORY)
            break;
        if (n == cap) {
            char *more = realloc(bytes, cap *= 2);
            if (more == NULL)
                free(bytes);
            bytes = more;
        }
    }
    *memory = bytes;
    if (bytes == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    if (n > MAX_IN_MEMORY)
        return err_set(err, STATUS_INPUT,
                       "%s: a database of more than %d MiB: name the file instead", im->path,
                       MAX_IN_MEMORY >> 20);
    if (sqlite3_open(":memory:", db) != SQLITE_OK ||
        sqlite3_deserialize(*db, "main", (unsigned char *)bytes, (sqlite3_int64)n,
                            (sqlite3_int64)cap, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
        return err_set(err, STATUS_INPUT, "%s: %s", im->path, sqlite3_errmsg(*db));
    return STATUS_OK;
}

static int has_column(sqlite3 *db, const char *table, const char *column)
{
    sqlite3_stmt *s = NULL;
    int found = 0;
    if (sqlite3_prepare_v2(db, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2", -1, &s,
                           NULL) == SQLITE_OK) {
        sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
        sqlite3_bind_text(s, 2, column, -1, SQLITE_STATIC);
        found = sqlite3_step(s) == SQLITE_ROW;
    }
    sqlite3_finalize(s);
    return found;
}

static enum status read_kernels(struct import *im, sqlite3 *db, struct kernel_stats *stats,
                                struct err *err)
{
    size_t k = 0, n = sizeof layouts / sizeof layouts[0];
    while (k < n && !has_column(db, layouts[k].needs_table, layouts[k].needs_column))
        k++;
    if (k == n)
        return err_set(err, STATUS_INPUT,
                       "%s: no measurement: no table of GPU kernels (was CUDA traced? nsys profile "
                       "-t cuda)",
                       im->path);
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(db, layouts[k].query, -1, &s, NULL), too_many = 0;
    int64_t kernels = 0, row = 0;
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(s);
        if (rc != SQLITE_ROW)
            break;
        row++;
        const char *name = (const char *)sqlite3_column_text(s, 0);
        double ns = sqlite3_column_double(s, 3);
        if (name == NULL || !(ns > 0)) {
            import_reject(im, row, "a kernel without %s",
                          name == NULL ? "a name" : "a duration above 0");
            continue;
        }
        struct kernel_launch l = {
            .name = name, .dtype = "", .size_bytes = -1, .us = ns / 1000, .line = 0};
        l.blocks = sqlite3_column_int(s, 1);
        l.threads = sqlite3_column_int(s, 2);
        too_many |= kernel_stats_add(stats, &l) != 0;
        kernels++;
    }
    enum status status = STATUS_OK;
    if (rc != SQLITE_DONE)
        status = err_set(err, STATUS_INPUT, "%s: %s", im->path, sqlite3_errmsg(db));
    else if (kernels == 0)
        status = err_set(err, STATUS_INPUT, "%s: no measurement: the table of GPU kernels is empty",
                         im->path);
    sqlite3_finalize(s);
    if (too_many)
        import_warn(im, 0, "too many different kernels: some were left out");
    return status;
}

static enum status parse(struct import *im, struct err *err)
{
    sqlite3 *db = NULL;
    char *memory = NULL;
    struct kernel_stats *stats = kernel_stats_new();
    enum status status = stats == NULL ? err_set(err, STATUS_FAILED, "out of memory")
                                       : open_db(im, &db, &memory, err);
    if (status == STATUS_OK)
        status = read_kernels(im, db, stats, err);
    if (status == STATUS_OK)
        kernel_stats_flush(stats, im, "nsys");
    sqlite3_close(db);
    free(memory);
    kernel_stats_free(stats);
    return status;
}

static int sniff(const char *bytes, size_t len)
{
    static const char magic[] = "SQLite format 3";
    return len >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0 ? 90 : 0;
}

const struct importer import_nsys = {
    .name = "nsys-sqlite",
    .summary = "GPU kernels of an Nsight Systems export (nsys export --type sqlite)",
    .sniff = sniff,
    .parse = parse,
};
