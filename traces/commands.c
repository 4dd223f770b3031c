/* The command table: every row of commands.def. */
#include <stddef.h>

#include "traces/command.h"

#define COMMAND(id) extern const struct command cmd_##id;
#include "commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(id) &cmd_##id,
#include "commands.def"
#undef COMMAND
    NULL,
};
