#include "measure/settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/sysfs.h"

enum { ENVIRON = 1 << 17, CONF = 1 << 16 };

/* NCCL_VERSION is what images note about their package; NCCL does not read it. */
static int interesting(const char *text)
{
    if (strncmp(text, "NCCL_VERSION=", 13) == 0)
        return 0;
    return strncmp(text, "NCCL_", 5) == 0 || strncmp(text, "CUDA_VISIBLE_DEVICES=", 21) == 0 ||
           strncmp(text, "CUDA_LAUNCH_BLOCKING=", 21) == 0;
}

static void add(struct machine *m, const char *text, const char *where)
{
    const char *eq = strchr(text, '=');
    if (eq == NULL || m->n_settings == MAX_SETTINGS)
        return;
    struct machine_setting *s = &m->settings[m->n_settings++];
    snprintf(s->name, sizeof s->name, "%.*s", (int)(eq - text), text);
    snprintf(s->value, sizeof s->value, "%s", eq + 1);
    snprintf(s->where, sizeof s->where, "%s", where);
}

static void read_conf(struct machine *m, const char *root, const char *path)
{
    char *text = malloc(CONF), *save = NULL;
    if (text != NULL && sysfs_read(root, text, CONF, "%s", path) > 0)
        for (char *line = strtok_r(text, "\n", &save); line != NULL;
             line = strtok_r(NULL, "\n", &save))
            if (line[0] != '#' && interesting(line))
                add(m, line, path);
    free(text);
}

void settings_read(struct machine *m, const char *root)
{
    char home[PATH_MAX - 16] = "", conf[PATH_MAX] = "";
    char *environment = malloc(ENVIRON);
    ssize_t n =
        environment == NULL ? -1 : sysfs_read(root, environment, ENVIRON, "proc/self/environ");
    for (ssize_t i = 0; i < n; i += (ssize_t)strlen(environment + i) + 1) {
        const char *text = environment + i;
        if (strncmp(text, "HOME=", 5) == 0)
            snprintf(home, sizeof home, "%s", text + 5);
        if (strncmp(text, "NCCL_CONF_FILE=", 15) == 0)
            snprintf(conf, sizeof conf, "%s", text + 15);
        if (interesting(text))
            add(m, text, "environment");
    }
    free(environment);
    if (conf[0] == '\0' && home[0] != '\0')
        snprintf(conf, sizeof conf, "%s/.nccl.conf", home);
    if (conf[0] != '\0')
        read_conf(m, root, conf);
    read_conf(m, root, "/etc/nccl.conf");
}
