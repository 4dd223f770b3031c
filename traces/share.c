#include "traces/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef DATADIR
#define DATADIR "/usr/local/share/updraft"
#endif

/* DIR/NAME if that can be read, else NULL. */
static char *joined(const char *dir, const char *name)
{
    size_t n = strlen(dir) + strlen(name) + 2;
    char *path = malloc(n);
    if (path == NULL)
        return NULL;
    snprintf(path, n, "%s/%s", dir, name);
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

/* By where the running binary lies: share/updraft beside the bin/ of an installed one, wherever it
 * was installed or moved to; else the source tree of build/updraft, or of build/tests/unit/test_x,
 * whichever first holds `name`. */
static char *beside_binary(const char *name)
{
    char dir[4096];
    ssize_t n = readlink("/proc/self/exe", dir, sizeof dir - 1);
    if (n <= 0)
        return NULL;
    dir[n] = '\0';
    char *slash = strrchr(dir, '/');
    for (int up = 0; up < 4 && slash != NULL && slash != dir; up++) {
        *slash = '\0';
        char shared[sizeof dir + sizeof "/share/updraft"];
        snprintf(shared, sizeof shared, "%s/share/updraft", dir);
        char *path = up == 1 ? joined(shared, name) : NULL;
        if (path == NULL && up > 0)
            path = joined(dir, name);
        if (path != NULL)
            return path;
        slash = strrchr(dir, '/');
    }
    return NULL;
}

char *share_path(const char *name, struct err *err)
{
    const char *data = getenv("UPDRAFT_DATA");
    char *path = data != NULL && data[0] != '\0' ? joined(data, name) : NULL;
    if (path == NULL)
        path = beside_binary(name);
    if (path == NULL)
        path = joined(DATADIR, name);
    if (path == NULL)
        err_set(err, STATUS_MISSING,
                "%s is not there: looked in $UPDRAFT_DATA, in share/updraft and the source tree "
                "beside the binary and in %s; set UPDRAFT_DATA to the source tree",
                name, DATADIR);
    return path;
}
