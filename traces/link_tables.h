/* Matrices over a machine's GPUs as tools print them: nvidia-smi topo -m, p2pBandwidthLatencyTest,
 * nvbandwidth, and pages that quote several of them. One reader takes them all; the importers
 * differ only in what they recognise.
 */
#ifndef UPDRAFT_TRACES_LINK_TABLES_H
#define UPDRAFT_TRACES_LINK_TABLES_H

#include "traces/import.h"

/* Reads every matrix of the text; topology, bandwidth, contention and latency records. */
enum status link_tables_parse(struct import *im, struct err *err);

/* What nvidia-smi's name of a connection is on our scale: 0 NVLink, 1 PIX, 2 PXB, 3 PHB, 4 NODE,
 * 5 SYS; -1 where it is no such name. */
int link_rank(const char *name, size_t len);

/* One cell of nvbandwidth's matrix of a test case; value in the test case's own unit (GB/s or ns).
 * row -1: the host. -1: the sink stops. */
int nvbandwidth_cell(struct import *im, const char *testcase, int row, int column, double value,
                     int64_t line);

#endif
