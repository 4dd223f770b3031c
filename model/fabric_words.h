/* A fabric from a few words about a box, as tables of measurements carry them: "8xRTX PRO 6000
 * PCIe", "A800_2x4_PCIe", "4 GPUs behind one PLX". What the words do not say is assumed, and told.
 */
#ifndef UPDRAFT_MODEL_FABRIC_WORDS_H
#define UPDRAFT_MODEL_FABRIC_WORDS_H

#include "model/fabric.h"

struct fabric_guess {
    char known[160];   /* what the words said */
    char assumed[240]; /* what had to be assumed */
};

/* STATUS_UNSUPPORTED where the words name no GPU that is known, or several boxes (a network between
 * them is no fabric). `gpus`: how many there are, at least 2. *g is filled on STATUS_OK. */
enum status fabric_from_words(struct fabric *f, const char *text, int gpus, struct fabric_guess *g,
                              struct err *err);

/* Applies what is known of a switch by its model's id. 0, or -1: no such model. */
int fabric_switch_model(struct fabric *f, const char *id);
/* All ids, ", " between them. */
const char *fabric_switch_models(void);

#endif
