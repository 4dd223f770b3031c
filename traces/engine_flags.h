/* What an engine was started with, as far as its log or a command line in it says. */
#ifndef UPDRAFT_TRACES_ENGINE_FLAGS_H
#define UPDRAFT_TRACES_ENGINE_FLAGS_H

#include <stddef.h>

#include "model/record.h"

/* -1 where nothing was said. */
struct engine_flags {
    double num_steps, topk, num_draft_tokens, ranks;
};

void engine_flags_init(struct engine_flags *f);
/* Takes what a line says: "--speculative-num-steps 3", "speculative_num_steps=3",
 * "'num_speculative_tokens': 3", "tp_size=8", ... Later lines win. 1 where it said anything. */
int engine_flags_read(struct engine_flags *f, const char *s, size_t len);
/* Fills the record's fields and ranks. */
void engine_flags_apply(const struct engine_flags *f, struct record *r);

/* The number that follows `key` in a line of "key: number, key: number"; NaN where it is not there.
 * A key is not found within a longer word. */
double number_after_key(const char *s, size_t len, const char *key);

#endif
