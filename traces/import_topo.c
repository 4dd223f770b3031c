/* nvidia-smi topo -m. */
#include <string.h>

#include "traces/link_tables.h"
#include "traces/text.h"

static int sniff(const char *bytes, size_t len)
{
    /* A row: "GPU0 X NV12 SYS ...". */
    if (memchr(bytes, '\0', len) != NULL)
        return 0;
    for (const char *p = bytes, *end = bytes + len;
         (p = text_find(p, (size_t)(end - p), "GPU0")) != NULL; p++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        struct word w[6];
        int n = text_words(p, (size_t)((stop != NULL ? stop : end) - p), w, 6), links = 0;
        for (int i = 1; i < n; i++)
            links += link_rank(w[i].p, w[i].n) >= 0 || word_is(w[i], "X");
        if (links >= 2)
            return 70;
    }
    return 0;
}

const struct importer import_topo = {
    .name = "nvidia-smi-topo",
    .summary = "how the GPUs are connected, from nvidia-smi topo -m",
    .sniff = sniff,
    .parse = link_tables_parse,
};
