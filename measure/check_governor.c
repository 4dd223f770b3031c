/* Do the host's cores sleep? */
#include <string.h>

#include "measure/check.h"

static void run(const struct machine *m, struct findings *found)
{
    if (strcmp(m->governor, "powersave") == 0 || strcmp(m->governor, "conservative") == 0)
        find(found, LEVEL_NOTICE, "", "cpupower frequency-set -g performance",
             "the cores' frequency governor is %s", m->governor);
}

const struct check check_governor = {
    .id = "governor",
    .title = "CPU frequency governor",
    .why = "Launches and host synchronisation slow down while cores wake up.",
    .run = run,
};
