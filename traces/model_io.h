#ifndef UPDRAFT_TRACES_MODEL_IO_H
#define UPDRAFT_TRACES_MODEL_IO_H
#include <stdio.h>
#include "model/cost.h"
#include "model/err.h"
enum status costs_load(struct costs *cs, const char *path, FILE *log, struct err *err);
#endif
