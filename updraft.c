/* main: finds the command, opens its output, runs it, reports its error, returns its status. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "traces/command.h"

#ifndef UPDRAFT_VERSION
#define UPDRAFT_VERSION "0.1.0"
#endif

static enum status run(const struct command *command, int argc, char **argv, struct err *err)
{
    struct invocation inv;
    struct atomic_file file = {0};
    enum status status = invocation_parse(&inv, command, argc, argv, err);
    if (status != STATUS_OK)
        return status;
    if (invocation_has(&inv, "help")) {
        command_help(stdout, command);
        goto out;
    }
    int to_file = inv.out_path != NULL && !(command->flags & COMMAND_OUTPUT_PATH) &&
                  strcmp(inv.out_path, "-") != 0;
    if (to_file) {
        status = atomic_open(&file, inv.out_path, err);
        if (status != STATUS_OK)
            goto out;
        inv.out = file.f;
    }
    status = command->run(&inv, err);
    if (to_file && (status == STATUS_OK || inv.whole)) {
        enum status committed = atomic_commit(&file, status == STATUS_OK ? err : NULL);
        status = status == STATUS_OK ? committed : status;
    }
out:
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == STATUS_OK && errno != EPIPE)
        status = err_set(err, STATUS_FAILED, "standard output: %s", strerror(errno));
    atomic_abandon(&file);
    invocation_release(&inv);
    return status;
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C");
    signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error of write(), not an end */
    struct err err = {STATUS_OK, ""};
    if (argc < 2) {
        commands_help(stderr);
        return STATUS_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0) {
        puts("updraft " UPDRAFT_VERSION);
        return STATUS_OK;
    }
    const struct command *command = NULL;
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        if (argc < 3) {
            commands_help(stdout);
            return STATUS_OK;
        }
        command = command_find(argv[2]);
        if (command != NULL) {
            command_help(stdout, command);
            return STATUS_OK;
        }
        name = argv[2];
    } else {
        command = command_find(name);
    }
    if (command == NULL) {
        fprintf(stderr, "updraft: no command \"%s\" (updraft help lists them)\n", name);
        return STATUS_USAGE;
    }
    enum status status = run(command, argc - 2, argv + 2, &err);
    if (status != STATUS_OK)
        fprintf(stderr, "updraft: %s\n", err.msg);
    return (int)status;
}
