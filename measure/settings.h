/* NCCL settings that lie around: in the environment and in the files NCCL reads. */
#ifndef UPDRAFT_MEASURE_SETTINGS_H
#define UPDRAFT_MEASURE_SETTINGS_H

#include "measure/machine.h"

/* Fills m->settings from ROOT/proc/self/environ, then from the files in the order in which NCCL
 * reads them: the one that NCCL_CONF_FILE names, or else ~/.nccl.conf; then /etc/nccl.conf. A
 * variable that is set already is not overwritten there, so the first of a name is the one that
 * counts. Lines are NAME=VALUE; '#' only in the first column is a comment; nothing is trimmed. */
void settings_read(struct machine *m, const char *root);

#endif
