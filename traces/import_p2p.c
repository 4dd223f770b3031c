/* p2pBandwidthLatencyTest of the CUDA samples. */
#include <string.h>

#include "traces/link_tables.h"
#include "traces/text.h"

static int sniff(const char *bytes, size_t len)
{
    if (memchr(bytes, '\0', len) != NULL)
        return 0;
    if (text_find(bytes, len, "P2P=Enabled") != NULL ||
        text_find(bytes, len, "P2P=Disabled") != NULL ||
        text_find(bytes, len, "P2P Connectivity Matrix") != NULL)
        return 85;
    return 0;
}

const struct importer import_p2p = {
    .name = "p2pBandwidthLatencyTest",
    .summary = "bandwidths and latencies between GPUs, from the CUDA sample",
    .sniff = sniff,
    .parse = link_tables_parse,
};
