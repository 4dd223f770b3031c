/* Catalogue JSON: any bytes give a catalogue that can be ranked, or an error. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/rank.h"
#include "traces/catalogue_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void rank_it(struct catalogue *c)
{
    struct scenario s;
    struct err err;
    scenario_init(&s);
    s.ranks = 8;
    s.model.layers = 61;
    s.model.hidden = 7168;
    s.model.vocab = 1000;
    strcpy(s.draft.method, "eagle3");
    s.draft.num_steps = 2;
    s.draft.accept_rate = (struct qty_list){.n = 2, .v = {0.8, 0.5}};
    s.allreduce.latency_us = (struct qty){24, 22, 27, 1, 0};
    s.baseline.tokens_per_s = (struct qty){100, 95, 105, 1, 0};
    if (scenario_bind(&s, NULL, &err) != STATUS_OK)
        return;
    scenario_anchor(&s);
    struct ranking *r = malloc(sizeof *r);
    struct rank_params p = {.mean = &s, .catalogue = c, .seed = 1, .draws = 8, .threads = 1};
    if (r != NULL && c->n <= 8 && rank_options(r, &p, &err) == STATUS_OK)
        for (int k = 0; k < r->n; k++)
            if (r->v[k].status != RANK_BLOCKED && !isfinite(r->v[k].gain.mean))
                __builtin_trap();
    free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_doc doc;
    struct catalogue c = {0};
    struct err err;
    if (json_doc_parse(&doc, "fuzz", (const char *)data, size, &err) != STATUS_OK) {
        json_doc_release(&doc);
        return 0;
    }
    if (catalogue_parse(&c, &doc, &err) == STATUS_OK)
        rank_it(&c);
    catalogue_release(&c);
    json_doc_release(&doc);
    return 0;
}
