/* Runs every case of every probe of GPUs on this machine and prints its median. */
#include <stdio.h>
#include <stdlib.h>

#include "measure/cuda_comm.h"
#include "measure/probe.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    extern const struct probe probe_pingpong, probe_chase, probe_fence, probe_node, probe_bandwidth,
        probe_contention;
    const struct probe *all[] = {&probe_pingpong, &probe_chase,     &probe_fence,
                                 &probe_node,     &probe_bandwidth, &probe_contention};
    struct backend_host host = {.n_gpus = 1, .peer_write = {{1}}, .peer_read = {{1}}};
    struct err err = {STATUS_OK, ""};
    int failed = 0;
    for (int k = 0; k < 6; k++) {
        void *context = NULL;
        if (all[k]->begin(&context, &host, &err) != OUTCOME_OK) {
            printf("%s: %s\n", all[k]->id, err.msg);
            return 1;
        }
        struct probe_case c = {.index = 0};
        for (;; c.index++) {
            double samples[5];
            struct result r = {.cap = 5, .samples = samples};
            record_init(&c.record);
            if (!all[k]->case_at(c.index, &host, &c))
                break;
            if (all[k]->run(context, &c, 5, &r, &err) != OUTCOME_OK) {
                printf("%s %d: %s\n", all[k]->id, c.index, err.msg);
                failed = 1;
                break;
            }
            qsort(samples, (size_t)r.n, sizeof samples[0], by_value);
            printf("%-10s %-36s %-16s %9lld B %3.0fx%-4.0f %9.3f (%.3f to %.3f) %s\n", all[k]->id,
                   c.record.placement, c.record.method, (long long)c.record.size_bytes,
                   c.record.field[FIELD_blocks], c.record.field[FIELD_threads], samples[r.n / 2],
                   samples[0], samples[r.n - 1], r.note);
            fflush(stdout);
        }
        all[k]->end(context);
    }
    return failed;
}
