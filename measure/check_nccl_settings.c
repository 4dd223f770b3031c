/* NCCL settings that somebody left: they change what is measured, and what production runs. */
#include <string.h>

#include "measure/check.h"

/* The first of a name is the one that counts. */
static int overridden(const struct machine *m, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(m->settings[k].name, m->settings[i].name) == 0)
            return 1;
    return 0;
}

static void run(const struct machine *m, struct findings *found)
{
    for (int i = 0; i < m->n_settings; i++) {
        const struct machine_setting *s = &m->settings[i];
        size_t len = strlen(s->name);
        if (len > 0 && (s->name[len - 1] == ' ' || s->value[0] == ' '))
            find(found, LEVEL_FAULT, s->name, "write NAME=VALUE without spaces: NCCL trims nothing",
                 "\"%s=%s\" in %s defines another name or value than it seems", s->name, s->value,
                 s->where);
        else if (overridden(m, i))
            find(found, LEVEL_NOTICE, s->name, "remove one of the two",
                 "=%s in %s has no effect: the name is set before it", s->value, s->where);
        else if (strncmp(s->name, "NCCL_DEBUG", 10) == 0 && strcmp(s->value, "TRACE") != 0 &&
                 strcmp(s->value, "INFO") != 0)
            continue;
        else
            find(found, LEVEL_NOTICE, s->name,
                 "unset it for a campaign, unless production runs with it too: variants set what "
                 "they "
                 "name, the rest stays",
                 "=%s in %s", s->value, s->where);
    }
}

const struct check check_nccl_settings = {
    .id = "nccl_settings",
    .title = "NCCL settings lying around",
    .why = "A forgotten variable or /etc/nccl.conf makes \"nccl/auto\" something else than NCCL's "
           "choice.",
    .run = run,
};
