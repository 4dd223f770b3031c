/* Communication settings in the files that engines read, changed as transactions.
 *
 * Updraft owns one marked block of such a file and leaves every other line alone. A write goes
 * through a temporary file and a rename, is read back as the reader of that form would read it, and
 * is remembered in FILE.updraft-history.jsonl so that it can be verified and reverted.
 */
#ifndef UPDRAFT_TRACES_SETTINGS_H
#define UPDRAFT_TRACES_SETTINGS_H

#include <stddef.h>

#include "model/err.h"

enum { SETTINGS_MAX = 64 };

struct setting {
    char name[64], value[256];
};

/* Settings in the order in which they stand; names are unique. */
struct settings {
    size_t n;
    struct setting v[SETTINGS_MAX];
};

/* How a kind of file spells a setting. */
struct settings_form {
    const char *name;     /* "conf", "env", "python" */
    const char *summary;  /* who reads it */
    int first_wins;       /* 1: the first of two lines counts (NCCL's own file); 0: the last */
    const char *preamble; /* a line that the block needs before its settings; NULL: none */
    /* Writes one line without newline into buf. */
    void (*format)(char *buf, size_t room, const struct setting *s);
    /* Whether the line (no newline) sets something as this form's reader sees it. */
    int (*parse)(const char *line, struct setting *s);
};

/* The form of that name, or NULL; all forms, ended by NULL. */
const struct settings_form *settings_form_find(const char *name);
extern const struct settings_form *const settings_forms[];

/* Parses "NCCL_X=value" and checks it against the known variables: STATUS_USAGE where the variable
 * is unknown (unless unknown_ok) or its value cannot be right. */
enum status setting_parse(struct setting *s, const char *text, int unknown_ok, struct err *err);
/* What a variable does, or NULL. */
const char *setting_doc(const char *name);

/* What the text of a file of that form sets, the winner of repeated lines alone. */
void settings_effective(const struct settings_form *form, const char *text, struct settings *out);

/* `text` with Updraft's block replaced by `block` (removed where block->n is 0). The caller frees
 * it; NULL without memory. */
char *settings_rewrite(const struct settings_form *form, const char *text,
                       const struct settings *block);
/* The settings inside Updraft's block. */
void settings_block(const struct settings_form *form, const char *text, struct settings *out);

/* A value by name, or NULL. */
const char *settings_get(const struct settings *s, const char *name);
/* Adds or replaces. Returns -1 where there is no room. */
int settings_put(struct settings *s, const struct setting *one);

#endif
