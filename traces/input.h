/* Files and standard input alike, readable more than once. */
#ifndef UPDRAFT_TRACES_INPUT_H
#define UPDRAFT_TRACES_INPUT_H

#include <stdio.h>

/* What messages call a path: "standard input" for "-". */
const char *input_name(const char *path);

/* Opens a path to be read, "-" being standard input, and returns its descriptor or -1 with errno.
 * What comes through a pipe (standard input, or /dev/fd/N of a shell's <(...)) is kept in an
 * unnamed file that takes the pipe's place: one reader may look at it, and the next finds it whole.
 */
int input_open(const char *path);
/* The same as a stream, or NULL with errno. */
FILE *input_stream(const char *path);

#endif
