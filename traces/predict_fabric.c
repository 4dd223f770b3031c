#include "traces/predict_fabric.h"

#include <math.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "model/synth.h"
#include "traces/fabric_io.h"

/* Parameters in the order of their microseconds, those of under 1 % left out. Returns how many. */
static int order(const struct synth_estimate *e, int *by_share)
{
    int n = 0;
    for (int p = 0; p < FABRIC_PARAM_COUNT; p++) {
        if (e->share_us[p] < 0.01 * e->us && e->variance[p] < 0.01 * e->sigma * e->sigma)
            continue;
        int i = n++;
        for (; i > 0 && e->share_us[by_share[i - 1]] < e->share_us[p]; i--)
            by_share[i] = by_share[i - 1];
        by_share[i] = p;
    }
    return n;
}

static enum status print(struct invocation *inv, const struct fabric *f, const char *impl,
                         int ranks, int64_t bytes, const struct synth_estimate *e, struct err *err)
{
    int by_share[FABRIC_PARAM_COUNT], n = order(e, by_share);
    double total = e->sigma * e->sigma;
    if (inv->json) {
        cJSON *o = cJSON_CreateObject(), *terms;
        const double ci[] = {e->low_us, e->high_us};
        cJSON_AddStringToObject(o, "impl", impl);
        cJSON_AddNumberToObject(o, "ranks", ranks);
        cJSON_AddNumberToObject(o, "bytes", (double)bytes);
        cJSON_AddNumberToObject(o, "latency_us", e->us);
        cJSON_AddItemToObject(o, "ci95", cJSON_CreateDoubleArray(ci, 2));
        cJSON_AddStringToObject(o, "source", cost_source_name(COST_SYNTHESIZED));
        cJSON_AddStringToObject(o, "collective", "allreduce");
        cJSON_AddStringToObject(o, "label", f->name);
        cJSON_AddStringToObject(o, "priced", e->priced);
        cJSON_AddNumberToObject(o, "fixed_us", e->fixed_us);
        cJSON_AddNumberToObject(o, "transfer_us", e->transfer_us);
        cJSON_AddNumberToObject(o, "rounds", e->rounds);
        cJSON_AddNumberToObject(o, "wire_out_bytes", e->wire_out_bytes);
        cJSON_AddNumberToObject(o, "wire_in_bytes", e->wire_in_bytes);
        cJSON_AddItemToObject(o, "terms", terms = cJSON_CreateArray());
        for (int i = 0; i < n; i++) {
            int p = by_share[i];
            cJSON *t = cJSON_CreateObject();
            cJSON_AddItemToArray(terms, t);
            cJSON_AddStringToObject(t, "parameter", fabric_param_name((enum fabric_param)p));
            cJSON_AddNumberToObject(t, "value", f->param[p].value);
            cJSON_AddStringToObject(t, "from",
                                    f->param[p].from == FABRIC_MEASURED ? "measured" : "assumed");
            cJSON_AddNumberToObject(t, "us", e->share_us[p]);
            cJSON_AddNumberToObject(t, "variance_share", e->variance[p] / total);
        }
        return print_json(inv->out, o, err);
    }
    fprintf(inv->out,
            "%.4g us [%.4g, %.4g]  allreduce of %lld bytes, %s, %d ranks on %s; synthesized\n",
            e->us, e->low_us, e->high_us, (long long)bytes, impl, ranks, f->name);
    fprintf(inv->out, "priced as %s: %.4g us of latencies, %.4g us of transfer", e->priced,
            e->fixed_us, e->transfer_us);
    if (e->rounds > 0)
        fprintf(inv->out, "; %d round%s, %.0f bytes out of a rank, %.0f in", e->rounds,
                e->rounds == 1 ? "" : "s", e->wire_out_bytes, e->wire_in_bytes);
    fprintf(inv->out, "\n");
    if (n > 0)
        fprintf(inv->out, "%10s %8s  %-26s %10s\n", "us", "of doubt", "parameter", "value");
    for (int i = 0; i < n; i++) {
        int p = by_share[i];
        fprintf(inv->out, "%10.3g %7.0f%%  %-26s %10.4g %s\n", e->share_us[p],
                100 * e->variance[p] / total, fabric_param_name((enum fabric_param)p),
                f->param[p].value, f->param[p].from == FABRIC_MEASURED ? "measured" : "assumed");
    }
    return STATUS_OK;
}

enum status predict_on_fabric(struct invocation *inv, const char *impl, int ranks, int64_t bytes,
                              struct err *err)
{
    int placement[FABRIC_MAX_GPUS], placed = 0;
    struct fabric *f = malloc(sizeof *f);
    if (f == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    enum status status = fabric_load(f, invocation_value(inv, "fabric"), inv->log, err);
    const char *text = invocation_value(inv, "placement");
    if (status == STATUS_OK && text != NULL)
        status = fabric_placement(f, text, placement, &placed, err);
    if (status == STATUS_OK && placed && ranks && placed != ranks)
        status = err_set(err, STATUS_USAGE, "--ranks %d, but --placement has %d", ranks, placed);
    if (status == STATUS_OK) {
        struct synth_query q = {impl,
                                placed  ? placed
                                : ranks ? ranks
                                        : f->n_gpus,
                                (double)bytes, placed ? placement : NULL};
        struct synth_estimate e;
        status = synth_price(NULL, f, &q, &e, err);
        if (status == STATUS_OK && !placed && q.ranks > f->n_gpus)
            fprintf(inv->log, "updraft: note: %d ranks on %d GPUs: some share one\n", q.ranks,
                    f->n_gpus);
        if (status == STATUS_OK)
            status = print(inv, f, impl, q.ranks, bytes, &e, err);
    }
    free(f);
    return status;
}
