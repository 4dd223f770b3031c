#include "measure/backend.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "measure/probe.h"
#include "traces/command.h"

#define BACKEND(id) extern const struct backend backend_##id;
#include "measure/backends.def"
#undef BACKEND

const struct backend *const backends[] = {
#define BACKEND(id) &backend_##id,
#include "measure/backends.def"
#undef BACKEND
    NULL,
};

#define PROBE(id) extern const struct probe probe_##id;
#include "measure/probes.def"
#undef PROBE

const struct probe *const probes[] = {
#define PROBE(id) &probe_##id,
#include "measure/probes.def"
#undef PROBE
    NULL,
};

static const struct {
    const char *name;
    int bytes;
} dtypes[] = {
#define DTYPE(id, bytes) {#id, bytes},
#include "measure/dtypes.def"
#undef DTYPE
};

static const char *const methods[] = {
#define METHOD(id, doc) #id,
#include "measure/methods.def"
#undef METHOD
};

void result_init(struct result *r, double *samples, int cap)
{
    *r = (struct result){
        .cap = cap, .samples = samples, .memory_bytes = -1, .predicted_us = NAN, .compute_us = NAN};
}

const struct backend *backend_find(const char *id)
{
    for (int i = 0; backends[i] != NULL; i++)
        if (strcmp(backends[i]->id, id) == 0)
            return backends[i];
    return NULL;
}

const struct probe *probe_find(const char *id)
{
    for (int i = 0; probes[i] != NULL; i++)
        if (strcmp(probes[i]->id, id) == 0)
            return probes[i];
    return NULL;
}

const char *dtype_name(enum dtype d)
{
    return dtypes[d].name;
}

int dtype_bytes(enum dtype d)
{
    return dtypes[d].bytes;
}

enum dtype dtype_find(const char *name)
{
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return (enum dtype)i;
    return DTYPE_COUNT;
}

const char *method_name(enum method m)
{
    return methods[m];
}

enum method method_find(const char *name)
{
    for (int i = 0; i < METHOD_COUNT; i++)
        if (strcmp(methods[i], name) == 0)
            return (enum method)i;
    return METHOD_COUNT;
}

const char *backend_option(int n, const struct backend_option *options, const char *key)
{
    for (int i = n - 1; i >= 0; i--)
        if (strcmp(options[i].key, key) == 0)
            return options[i].value;
    return NULL;
}

enum status backend_options_known(int n, const struct backend_option *options,
                                  const char *const *keys, const char *backend, struct err *err)
{
    for (int i = 0; i < n; i++) {
        int known = 0;
        for (int k = 0; keys[k] != NULL; k++)
            known = known || strcmp(keys[k], options[i].key) == 0;
        if (!known)
            return err_set(err, STATUS_USAGE,
                           "--option %s: backend %s has no such option (updraft help measure lists "
                           "them)",
                           options[i].key, backend);
    }
    return STATUS_OK;
}

enum status backend_option_number(int n, const struct backend_option *options, const char *key,
                                  double min, double max, double *value, struct err *err)
{
    const char *text = backend_option(n, options, key);
    double x;
    if (text == NULL)
        return STATUS_OK;
    if (parse_double(text, &x) != 0 || x < min || x > max)
        return err_set(err, STATUS_USAGE, "--option %s=%s: a number from %g to %g was expected",
                       key, text, min, max);
    *value = x;
    return STATUS_OK;
}
