/* What CUDA devices are here, and whether they really reach each other. */
#ifndef UPDRAFT_MEASURE_CUDA_DEVICE_H
#define UPDRAFT_MEASURE_CUDA_DEVICE_H

#include "measure/backend.h"

/* Fills *host. STATUS_MISSING where there is no driver or no device. Peer access is tried by moving
 * data with kernels, both ways, and comparing it. */
enum status cuda_scout(struct backend_host *host, struct err *err);

/* Keeps every GPU's multiprocessors, its link to the host and its copy engines busy for `ms`. */
enum outcome cuda_load(int ms, struct err *err);

#endif
