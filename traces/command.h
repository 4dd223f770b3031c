/* Commands: one const struct each, at the bottom of its own cmd_X.c; a row of commands.def makes it
 * exist. The dispatcher parses options by the command's table, opens the output, calls run(), and
 * checks and closes the output; so a command only reads its inputs and writes results.
 */
#ifndef UPDRAFT_TRACES_COMMAND_H
#define UPDRAFT_TRACES_COMMAND_H

#include <stdint.h>
#include <stdio.h>

#include "model/err.h"

struct command_option {
    const char *name; /* long name without dashes: "set" */
    const char *arg;  /* what its argument is called in help: "KEY=VALUE"; NULL: a flag */
    int many;         /* 1: may be given any number of times */
    const char *help; /* one line */
};

/* What the command line said. Owned by the dispatcher. */
struct invocation {
    const struct command *command;
    int n_args;
    char **args; /* positional arguments */
    int n_given;
    struct given {
        const char *name, *value;
    } * given;            /* options in the order given; value NULL for a flag */
    FILE *out;            /* results go here: standard output, or the temporary file of -o */
    FILE *log;            /* progress and warnings go here: standard error */
    int json;             /* --json */
    const char *out_path; /* of -o, NULL if none */
    int whole; /* a command sets it where its output is whole though it ends with STATUS_FAILED:
                  a verdict, not an accident; the file of -o is then kept */
};

enum command_flags {
    COMMAND_OUTPUT_PATH = 1, /* -o names a path that the command writes itself (not through out) */
};

struct command {
    const char *name;
    const char *synopsis;                 /* "TRACE... [--form F]" */
    const char *summary;                  /* one line, no full stop */
    const char *details;                  /* paragraphs for `help COMMAND`; may be NULL */
    void (*more_help)(FILE *out);         /* what a table of the command's says; may be NULL */
    int min_args, max_args;               /* positional; max -1: any number */
    const struct command_option *options; /* ends with {0}; --json, -o and --help are everyone's */
    unsigned flags;
    enum status (*run)(struct invocation *inv, struct err *err);
};

/* The last value given for an option, or NULL; and whether a flag was given. */
const char *invocation_value(const struct invocation *inv, const char *name);
int invocation_has(const struct invocation *inv, const char *name);

/* Numbers with checks. Where the option is absent *value keeps what it held.
 * STATUS_USAGE names the option and what was expected. */
enum status invocation_number(const struct invocation *inv, const char *name, double min,
                              double max, double *value, struct err *err);
enum status invocation_integer(const struct invocation *inv, const char *name, int64_t min,
                               int64_t max, int64_t *value, struct err *err);
/* A size: digits with an optional K, M, G (powers of 1024), an optional i and an optional B. */
enum status invocation_bytes(const struct invocation *inv, const char *name, int64_t *value,
                             struct err *err);

/* Strict number parsing of whole strings; 0 or -1. parse_bytes takes "43008", "64K", "1MiB". */
int parse_double(const char *text, double *value);
int parse_int64(const char *text, int64_t *value);
int parse_bytes(const char *text, int64_t *value);

/* All commands, in the order of commands.def, ended by NULL. */
extern const struct command *const commands[];
/* The command of that name, or NULL. */
const struct command *command_find(const char *name);

/* Parses argv after the command's name. On STATUS_OK *inv is filled and must be released. */
enum status invocation_parse(struct invocation *inv, const struct command *command, int argc,
                             char **argv, struct err *err);
void invocation_release(struct invocation *inv);

/* Prints help. */
void command_help(FILE *out, const struct command *command);
void commands_help(FILE *out);

/* Output that is whole or untouched: a temporary file beside path, renamed on commit, with the mode
 * of the file that it replaces. A link stays: what it leads to is replaced. A device or a pipe is
 * written as it is. */
struct atomic_file {
    FILE *f;
    char *path, *tmp; /* tmp NULL: a device or a pipe */
};
enum status atomic_open(struct atomic_file *a, const char *path, struct err *err);
enum status atomic_commit(struct atomic_file *a, struct err *err);
void atomic_abandon(struct atomic_file *a); /* safe on zero-initialised and after commit */

/* Prints a cJSON document with a newline and frees it (NULL: out of memory). */
struct cJSON;
enum status print_json(FILE *out, struct cJSON *json, struct err *err);

#endif
