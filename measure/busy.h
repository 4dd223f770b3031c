/* The machine read while its GPUs work: an idle PCIe link runs at a lower speed. */
#ifndef UPDRAFT_MEASURE_BUSY_H
#define UPDRAFT_MEASURE_BUSY_H

#include "measure/machine.h"
#include "measure/worker.h"

/* As machine_read() of this machine, with `loader` (a backend with load(), or NULL) at work in a
 * child meanwhile; sets m->under_load where links were seen at work. */
enum status machine_read_busy(struct machine *m, const struct backend *loader,
                              struct interrupts *interrupts, struct err *err);

#endif
