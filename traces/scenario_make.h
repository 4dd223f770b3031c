/* Scenarios out of what users already have: a model's config.json and an engine's launch command.
 */
#ifndef UPDRAFT_TRACES_SCENARIO_MAKE_H
#define UPDRAFT_TRACES_SCENARIO_MAKE_H

#include "model/scenario.h"
#include "traces/json_doc.h"

/* Sets model.* from a Hugging Face config.json (its "text_config" where it has one): shape,
 * experts, and the weights' bytes counted from the shapes and the quantisation, marked as assumed
 * with an interval of -25 % to +25 %. STATUS_INPUT where layers, hidden size or vocabulary are
 * missing. */
enum status scenario_apply_model_config(struct scenario *s, const struct json_doc *config,
                                        struct err *err);

/* Sets draft.* from the draft model's config.json. Same errors. */
enum status scenario_apply_draft_config(struct scenario *s, const struct json_doc *config,
                                        struct err *err);

/* Sets keys from the flags of a launch command ("python -m sglang.launch_server --tp 8 ...", "vllm
 * serve ..."): the rows of engine_flags.def, and vLLM's --speculative-config JSON. Words that are
 * no known flag are passed over. STATUS_USAGE on a flag without its value or with a wrong one. */
enum status scenario_apply_engine_flags(struct scenario *s, const char *command, struct err *err);

#endif
