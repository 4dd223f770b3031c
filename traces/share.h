/* Files that ship with the program: scenarios, recordings, the catalogue, plot scripts. */
#ifndef UPDRAFT_TRACES_SHARE_H
#define UPDRAFT_TRACES_SHARE_H

#include "model/err.h"

/* The path of a shipped file by its name in the source tree, "traces/catalogue.json"; the caller
 * frees it. The first that exists of: $UPDRAFT_DATA/NAME; ../share/updraft/NAME beside the running
 * binary's folder; NAME in the source tree that it was built in; DATADIR/NAME, where an installed
 * one keeps it. NULL where there is none or memory ran out: *err (STATUS_MISSING) says where it was
 * looked for. */
char *share_path(const char *name, struct err *err);

#endif
