/* What kind of system a measurement is from, read off the words that came with it. */
#ifndef UPDRAFT_TRACES_SYSTEM_H
#define UPDRAFT_TRACES_SYSTEM_H

#include "model/record.h"

enum system_kind { SYSTEM_UNKNOWN, SYSTEM_PCIE, SYSTEM_NVLINK, SYSTEM_NETWORK };

/* By the record's label, and where that says nothing its origin's file name, against the patterns
 * of systems.def. A label "N of M a node" with more ranks than N is a network. */
enum system_kind system_of(const struct record *r);
/* By any text. */
enum system_kind system_of_text(const char *text);

const char *system_name(enum system_kind kind);

#endif
