/* The names of NCCL's variants, and the environment that each means. */
#ifndef UPDRAFT_MEASURE_VARIANT_NCCL_H
#define UPDRAFT_MEASURE_VARIANT_NCCL_H

#include <stddef.h>

enum { NCCL_MAX_ENV = 16 };

struct nccl_variant {
    int registered; /* user buffers are registered with the communicator */
    int nvls;       /* asks for NVLink SHARP */
    int n_env;
    struct {
        const char *name;
        char value[40];
    } env[NCCL_MAX_ENV];
};

/* Parses "nccl/ALGO[/PROTO][:KEY=VALUE,...]". 0, or -1 with the reason in `why`. */
int nccl_variant_parse(const char *impl, struct nccl_variant *out, char *why, size_t room);

/* Variant number `index` of variants.def, NULL past the last. */
const char *nccl_variant_name(int index, int *quick);

#endif
