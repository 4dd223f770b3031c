#include "measure/nccl.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tries one path; empty: none. */
static void *try_path(const char *path)
{
    return path[0] == '\0' ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_library(const char *path)
{
    char home[256] = "";
    const char *nccl_home = getenv("NCCL_HOME");
    if (path != NULL)
        return try_path(path);
    if (nccl_home != NULL && nccl_home[0] == '/')
        snprintf(home, sizeof home, "%.200s/lib/libnccl.so.2", nccl_home);
    const char *const paths[] = {"libnccl.so.2", home, "/usr/local/cuda/lib64/libnccl.so.2"};
    void *handle = NULL;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] && handle == NULL; i++)
        handle = try_path(paths[i]);
    return handle;
}

enum status nccl_lib_open(struct nccl_lib *lib, const char *path, struct err *err)
{
    struct link_map *map = NULL;
    memset(lib, 0, sizeof *lib);
    if (path != NULL && path[0] != '/')
        return err_set(err, STATUS_USAGE, "--option nccl.lib=%s: a path from / on was expected",
                       path);
    lib->handle = open_library(path);
    if (lib->handle == NULL)
        return err_set(err, STATUS_MISSING,
                       "backend nccl: %s was not found: install NCCL, or name it with --option "
                       "nccl.lib=/PATH/libnccl.so.2",
                       path != NULL ? path : "libnccl.so.2");
    if (dlinfo(lib->handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL && map->l_name != NULL)
        snprintf(lib->path, sizeof lib->path, "%s", map->l_name);
        /* POSIX's way to turn dlsym's object pointer into a function pointer. */
#define NCCL_SYMBOL(member, name, needed, args)                                                    \
    *(void **)&lib->member = dlsym(lib->handle, #name);                                            \
    if (needed && lib->member == NULL)                                                             \
        return err_set(err, STATUS_MISSING, "backend nccl: %s has no %s", lib->path, #name);
    NCCL_SYMBOLS(NCCL_SYMBOL)
#undef NCCL_SYMBOL
    *(void **)&lib->error_string = dlsym(lib->handle, "ncclGetErrorString");
    *(void **)&lib->last_error = dlsym(lib->handle, "ncclGetLastError");
    if (lib->get_version(&lib->version) != 0)
        return err_set(err, STATUS_MISSING, "backend nccl: %s does not tell its version",
                       lib->path);
    return STATUS_OK;
}
