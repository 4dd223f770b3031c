/* updraft doctor: what on this machine will spoil a measurement or slow the box. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "measure/busy.h"
#include "measure/check.h"
#include "measure/session.h"
#include "traces/command.h"

enum { SCOUT_MS = 60000 };

/* This machine, with its GPUs at work where the CUDA backend is there: links at their speed, and
 * peer access as data showed it, not as a flag says. */
static enum status read_here(struct machine *m, struct err *err)
{
    const struct backend *cuda = backend_find("cuda");
    struct backend_host *host = calloc(1, sizeof *host);
    struct err none;
    int here = host != NULL && cuda != NULL &&
               scout_backend(cuda, 0, NULL, SCOUT_MS, NULL, host, &none) == STATUS_OK;
    enum status status = machine_read_busy(m, here ? cuda : NULL, NULL, err);
    for (int a = 0; here && a < host->n_gpus && a < m->n_gpus; a++)
        for (int b = 0; b < host->n_gpus && b < m->n_gpus; b++) {
            m->p2p_write[a][b] = (signed char)host->peer_write[a][b];
            m->p2p_read[a][b] = (signed char)host->peer_read[a][b];
            if (!host->peer_write[a][b] || !host->peer_read[a][b])
                snprintf(m->p2p_why, sizeof m->p2p_why, "data did not arrive");
        }
    free(host);
    return status;
}

static void print_check(FILE *out, const struct check *c, const struct findings *found)
{
    enum level worst = findings_level(found);
    for (int i = 0; i < found->n; i++) {
        const struct finding *f = &found->v[i];
        fprintf(out, "%-8s%s%s%s: %s\n", level_name(f->level), c->title,
                f->subject[0] != '\0' ? ", " : "", f->subject, f->what);
        /* The remedy once for a run of findings that share it. */
        if (i + 1 == found->n || strcmp(f->todo, found->v[i + 1].todo) != 0)
            fprintf(out, "        to do: %s\n", f->todo);
    }
    if (worst > LEVEL_UNKNOWN)
        fprintf(out, "        why: %s\n", c->why);
    else if (worst == LEVEL_OK)
        fprintf(out, "ok      %s\n", c->title);
}

static cJSON *check_json(const struct check *c, const struct findings *found)
{
    cJSON *o = cJSON_CreateObject();
    int ok = o != NULL && cJSON_AddStringToObject(o, "id", c->id) != NULL &&
             cJSON_AddStringToObject(o, "title", c->title) != NULL &&
             cJSON_AddStringToObject(o, "state", level_name(findings_level(found))) != NULL &&
             cJSON_AddStringToObject(o, "why", c->why) != NULL;
    cJSON *list = ok ? cJSON_AddArrayToObject(o, "findings") : NULL;
    ok = list != NULL;
    for (int i = 0; i < found->n && ok; i++) {
        const struct finding *f = &found->v[i];
        cJSON *item = cJSON_CreateObject();
        ok = item != NULL && cJSON_AddItemToArray(list, item) &&
             cJSON_AddStringToObject(item, "level", level_name(f->level)) != NULL &&
             cJSON_AddStringToObject(item, "subject", f->subject) != NULL &&
             cJSON_AddStringToObject(item, "finding", f->what) != NULL &&
             cJSON_AddStringToObject(item, "to_do", f->todo) != NULL;
    }
    if (!ok) {
        cJSON_Delete(o);
        return NULL;
    }
    return o;
}

static enum status examine(struct invocation *inv, const struct machine *m, struct err *err)
{
    struct findings found;
    int counts[4] = {0};
    cJSON *json = inv->json ? cJSON_CreateObject() : NULL;
    cJSON *list = json == NULL ? NULL : cJSON_AddArrayToObject(json, "checks");
    if (!inv->json)
        fprintf(inv->out, "%d GPU%s%s%s%s%s\n\n", m->n_gpus, m->n_gpus == 1 ? "" : "s",
                m->n_gpus > 0 && m->gpu[0].name[0] != '\0' ? ": " : "",
                m->n_gpus > 0 ? m->gpu[0].name : "", m->driver[0] != '\0' ? ", driver " : "",
                m->driver);
    for (int i = 0; checks[i] != NULL; i++) {
        found.n = 0;
        checks[i]->run(m, &found);
        for (int k = 0; k < found.n; k++)
            counts[found.v[k].level]++;
        if (!inv->json) {
            print_check(inv->out, checks[i], &found);
            continue;
        }
        cJSON *o = list == NULL ? NULL : check_json(checks[i], &found);
        if (o == NULL || !cJSON_AddItemToArray(list, o)) {
            cJSON_Delete(json);
            return err_set(err, STATUS_FAILED, "out of memory");
        }
    }
    if (inv->json) {
        if (cJSON_AddNumberToObject(json, "gpus", m->n_gpus) == NULL ||
            cJSON_AddNumberToObject(json, "faults", counts[LEVEL_FAULT]) == NULL ||
            cJSON_AddNumberToObject(json, "notices", counts[LEVEL_NOTICE]) == NULL) {
            cJSON_Delete(json);
            return err_set(err, STATUS_FAILED, "out of memory");
        }
        if (print_json(inv->out, json, err) != STATUS_OK)
            return STATUS_FAILED;
    }
    inv->whole = 1;
    if (counts[LEVEL_FAULT] > 0)
        return err_set(err, STATUS_FAILED, "%d fault%s found, %d notice%s", counts[LEVEL_FAULT],
                       counts[LEVEL_FAULT] == 1 ? "" : "s", counts[LEVEL_NOTICE],
                       counts[LEVEL_NOTICE] == 1 ? "" : "s");
    return STATUS_OK;
}

static enum status run(struct invocation *inv, struct err *err)
{
    const char *root = invocation_value(inv, "root");
    struct machine *m = malloc(sizeof *m);
    if (m == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    enum status status = root == NULL ? read_here(m, err) : machine_read(m, root, err);
    if (status == STATUS_OK)
        status = examine(inv, m, err);
    free(m);
    return status;
}

static const struct command_option options[] = {
    {"root", "DIR", 0, "examine a recorded machine: a tree with its sys/, proc/, etc/"},
    {0},
};

const struct command cmd_doctor = {
    .name = "doctor",
    .synopsis = "[--root DIR] [--json]",
    .summary = "what on this machine will spoil a measurement or a prediction",
    .details = "Looks at peer access, ACS, IOMMU, PCIe links, memory windows, NUMA placement, "
               "throttling,\n"
               "other processes, shared memory and NCCL settings that lie around. Every finding "
               "says what\n"
               "was found, what to do, and why it matters. Needs no GPU; root sees more. A link "
               "slows down\n"
               "while its GPU is idle: measure records it under load. Exit status 1 where a fault "
               "was found.",
    .options = options,
    .run = run,
};
