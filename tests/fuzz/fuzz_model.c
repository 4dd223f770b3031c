/* Model files and CSV tables: any bytes give costs that can be evaluated, a table that can be read,
 * or an error. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "traces/csv.h"
#include "traces/model_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const double sizes[] = {0, 1, 43008, 1e12};
    struct costs cs = {0};
    struct csv t;
    struct err err;
    if (model_parse(&cs, "fuzz", (const char *)data, size, &err) == STATUS_OK)
        for (size_t i = 0; i < cs.n; i++)
            for (int k = 0; k < 4; k++)
                if (!(cost_latency_us(&cs.v[i], sizes[k]) > 0) ||
                    isnan(cost_sigma(&cs.v[i], sizes[k])))
                    __builtin_trap();
    costs_release(&cs);
    if (csv_parse(&t, "fuzz", (const char *)data, size, &err) == STATUS_OK)
        for (size_t i = 0; i < t.n_rows; i++)
            for (int k = 0; k < t.n_columns; k++)
                if (csv_text(&t, i, k) == NULL)
                    __builtin_trap();
    csv_release(&t);
    return 0;
}
