/* Fabric JSON: any bytes give a fabric that can be priced, or an error. */
#include <stdint.h>
#include <stdlib.h>

#include "model/synth.h"
#include "traces/fabric_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const impl[] = {"custom/twoshot", "host/oneshot", "nccl/auto",
                                       "custom/hier"};
    struct fabric *f = malloc(sizeof *f);
    struct err err;
    if (f == NULL)
        return 0;
    if (fabric_parse(f, "fuzz", (const char *)data, size, &err) == STATUS_OK)
        for (int i = 0; i < 4; i++) {
            struct synth_query q = {impl[i], f->n_gpus > 8 ? 8 : 4, 43008, NULL};
            struct synth_estimate e;
            if (synth_price(NULL, f, &q, &e, &err) == STATUS_OK && !(e.us > 0))
                __builtin_trap();
        }
    free(f);
    return 0;
}
