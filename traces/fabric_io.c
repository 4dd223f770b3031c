#include "traces/fabric_io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/fabric_words.h"
#include "traces/command.h"
#include "traces/input.h"
#include "traces/json_doc.h"
#include "traces/load.h"

/* A whole number of an object, with limits; *value stays where the key is absent. */
static enum status whole(const struct json_doc *doc, const cJSON *object, const char *key, int min,
                         int max, int *value, struct err *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item == NULL)
        return STATUS_OK;
    if (!cJSON_IsNumber(item) || item->valuedouble != floor(item->valuedouble) ||
        item->valuedouble < min || item->valuedouble > max)
        return json_doc_error(doc, item, err, "%s: a whole number from %d to %d was expected", key,
                              min, max);
    *value = (int)item->valuedouble;
    return STATUS_OK;
}

static enum status truth(const struct json_doc *doc, const cJSON *object, const char *key,
                         int *value, struct err *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item == NULL)
        return STATUS_OK;
    if (!cJSON_IsBool(item))
        return json_doc_error(doc, item, err, "%s: true or false was expected", key);
    *value = cJSON_IsTrue(item);
    return STATUS_OK;
}

static enum status text_of(const struct json_doc *doc, const cJSON *object, const char *key,
                           const char **value, struct err *err)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item == NULL)
        return STATUS_OK;
    if (!cJSON_IsString(item) || strlen(item->valuestring) > 80)
        return json_doc_error(doc, item, err, "%s: a string of at most 80 bytes was expected", key);
    *value = item->valuestring;
    return STATUS_OK;
}

/* Every key of an object must be among `keys` (ended by NULL) or start with x_. */
static enum status known_keys(const struct json_doc *doc, const cJSON *object,
                              const char *const *keys, struct err *err)
{
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        int known = strncmp(item->string, "x_", 2) == 0;
        char list[512] = "";
        for (int i = 0; keys[i] != NULL && !known; i++) {
            size_t len = strlen(list);
            known = strcmp(item->string, keys[i]) == 0;
            snprintf(list + len, sizeof list - len, "%s%s", i ? ", " : "", keys[i]);
        }
        if (!known)
            return json_doc_error(doc, item, err, "unknown key \"%s\": expected one of %s",
                                  item->string, list);
    }
    return STATUS_OK;
}

static enum status read_shape(const struct json_doc *doc, const cJSON *object, struct fabric *f,
                              const char *name, struct err *err)
{
    static const char *const keys[] = {"gpus",
                                       "sockets",
                                       "switches",
                                       "virtual_switches",
                                       "nvswitch",
                                       "nvlink_pairs",
                                       "pcie_generation",
                                       "peer_access",
                                       "multicast",
                                       "compute_capability",
                                       NULL};
    struct fabric_shape s = {0};
    int reach = 1;
    enum status status;
    if (!cJSON_IsObject(object))
        return json_doc_error(doc, object, err, "box: an object was expected");
    if ((status = known_keys(doc, object, keys, err)) != STATUS_OK ||
        (status = whole(doc, object, "gpus", 1, FABRIC_MAX_GPUS, &s.gpus, err)) != STATUS_OK ||
        (status = whole(doc, object, "sockets", 1, FABRIC_MAX_SOCKETS, &s.sockets, err)) != 0 ||
        (status = whole(doc, object, "switches", 0, FABRIC_MAX_GPUS, &s.switches, err)) != 0 ||
        (status = whole(doc, object, "virtual_switches", 1, FABRIC_MAX_GPUS, &s.virtual_switches,
                        err)) != STATUS_OK ||
        (status = whole(doc, object, "pcie_generation", 1, 7, &s.pcie_generation, err)) != 0 ||
        (status = whole(doc, object, "compute_capability", 30, 999, &s.compute_capability, err)) !=
            STATUS_OK ||
        (status = truth(doc, object, "nvswitch", &s.nvswitch, err)) != STATUS_OK ||
        (status = truth(doc, object, "nvlink_pairs", &s.nvlink_pairs, err)) != STATUS_OK ||
        (status = truth(doc, object, "peer_access", &reach, err)) != STATUS_OK ||
        (status = truth(doc, object, "multicast", &s.multicast, err)) != STATUS_OK)
        return status;
    s.no_peer_access = !reach;
    status = fabric_build(f, name, &s, err);
    return status == STATUS_OK ? STATUS_OK : json_doc_error(doc, object, err, "%s", err->msg);
}

static int node_named(const struct fabric *f, const char *name)
{
    for (int i = 0; i < f->n_nodes; i++)
        if (strcmp(f->nodes[i].name, name) == 0)
            return i;
    return -1;
}

static enum status read_nodes(const struct json_doc *doc, const cJSON *list, struct fabric *f,
                              struct err *err)
{
    static const char *const keys[] = {"name", "kind", NULL};
    if (!cJSON_IsArray(list))
        return json_doc_error(doc, list, err, "nodes: an array was expected");
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        const char *name = NULL, *kind = NULL;
        enum status status = STATUS_OK;
        if (!cJSON_IsObject(item))
            return json_doc_error(doc, item, err,
                                  "nodes: an object with name and kind was expected");
        if ((status = known_keys(doc, item, keys, err)) != STATUS_OK ||
            (status = text_of(doc, item, "name", &name, err)) != STATUS_OK ||
            (status = text_of(doc, item, "kind", &kind, err)) != STATUS_OK)
            return status;
        int k = 0;
        while (kind != NULL && k < FABRIC_NODE_KINDS &&
               strcmp(fabric_node_kind_name((enum fabric_node_kind)k), kind) != 0)
            k++;
        if (name == NULL || kind == NULL || k == FABRIC_NODE_KINDS)
            return json_doc_error(doc, item, err,
                                  "a node needs a name, and a kind: gpu, switch, root, socket, "
                                  "memory or nvswitch");
        if (strlen(name) >= sizeof f->nodes[0].name || node_named(f, name) >= 0)
            return json_doc_error(doc, item, err, "node \"%s\": the name is too long or taken",
                                  name);
        if (fabric_add_node(f, (enum fabric_node_kind)k, name) < 0)
            return json_doc_error(doc, item, err, "more than %d nodes, %d GPUs or %d memories",
                                  FABRIC_MAX_NODES, FABRIC_MAX_GPUS, FABRIC_MAX_SOCKETS);
    }
    return STATUS_OK;
}

static enum status read_links(const struct json_doc *doc, const cJSON *list, struct fabric *f,
                              struct err *err)
{
    static const char *const keys[] = {"a", "b", "kind", "gb_per_s", NULL};
    if (!cJSON_IsArray(list))
        return json_doc_error(doc, list, err, "links: an array was expected");
    for (const cJSON *item = list->child; item != NULL; item = item->next) {
        const char *a = "", *b = "", *kind = "";
        enum status status;
        if (!cJSON_IsObject(item))
            return json_doc_error(doc, item, err,
                                  "links: an object with a, b and kind was expected");
        if ((status = known_keys(doc, item, keys, err)) != STATUS_OK ||
            (status = text_of(doc, item, "a", &a, err)) != STATUS_OK ||
            (status = text_of(doc, item, "b", &b, err)) != STATUS_OK ||
            (status = text_of(doc, item, "kind", &kind, err)) != STATUS_OK)
            return status;
        int from = node_named(f, a), to = node_named(f, b);
        enum fabric_link_kind k = fabric_link_find(kind);
        const cJSON *own = cJSON_GetObjectItemCaseSensitive(item, "gb_per_s");
        if (own != NULL &&
            (!cJSON_IsNumber(own) || !(own->valuedouble > 0) || own->valuedouble > 1e6))
            return json_doc_error(doc, own, err, "gb_per_s: a number above 0 was expected");
        if (from < 0 || to < 0)
            return json_doc_error(doc, item, err, "no node \"%s\"", from < 0 ? a : b);
        if (k == FABRIC_LINK_KINDS)
            return json_doc_error(
                doc, item, err,
                "link kind \"%s\": expected pcie, uplink, chip, root, socket, dram, "
                "nvlink or local",
                kind);
        if (fabric_add_link(f, from, to, k, own ? own->valuedouble : 0) < 0)
            return json_doc_error(doc, item, err, "more than %d links", FABRIC_MAX_LINKS);
    }
    return STATUS_OK;
}

static enum status read_params(const struct json_doc *doc, const cJSON *object, struct fabric *f,
                               struct err *err)
{
    static const char *const keys[] = {"value", "ci95", "from", NULL};
    if (!cJSON_IsObject(object))
        return json_doc_error(doc, object, err, "params: an object was expected");
    for (const cJSON *item = object->child; item != NULL; item = item->next) {
        enum fabric_param p = fabric_param_find(item->string);
        const char *from = "assumed";
        enum status status;
        if (strncmp(item->string, "x_", 2) == 0)
            continue;
        if (p == FABRIC_PARAM_COUNT)
            return json_doc_error(doc, item, err,
                                  "no parameter \"%s\" (updraft crossover --params lists them)",
                                  item->string);
        const cJSON *value = item, *ci = NULL;
        if (cJSON_IsObject(item)) {
            if ((status = known_keys(doc, item, keys, err)) != STATUS_OK ||
                (status = text_of(doc, item, "from", &from, err)) != STATUS_OK)
                return status;
            value = cJSON_GetObjectItemCaseSensitive(item, "value");
            ci = cJSON_GetObjectItemCaseSensitive(item, "ci95");
        }
        if (value == NULL || !cJSON_IsNumber(value) || !isfinite(value->valuedouble) ||
            value->valuedouble < 0)
            return json_doc_error(doc, item, err,
                                  "%s: a number, or {\"value\":, \"ci95\": [low, high], \"from\":} "
                                  "was expected",
                                  item->string);
        /* Without an interval of its own it keeps the assumption's relative one. */
        double v = value->valuedouble, old = f->param[p].value;
        double low = old > 0 ? v * f->param[p].low / old : v;
        double high = old > 0 ? v * f->param[p].high / old : v;
        if (ci != NULL) {
            if (!cJSON_IsArray(ci) || cJSON_GetArraySize(ci) != 2 || !cJSON_IsNumber(ci->child) ||
                !cJSON_IsNumber(ci->child->next))
                return json_doc_error(doc, ci, err, "%s: ci95 is [low, high]", item->string);
            low = ci->child->valuedouble;
            high = ci->child->next->valuedouble;
        }
        if (!(low >= 0 && low <= v && high >= v))
            return json_doc_error(doc, item, err, "%s = %g does not lie within [%g, %g]",
                                  item->string, v, low, high);
        int measured = strcmp(from, "measured") == 0;
        if (!measured && strcmp(from, "assumed") != 0)
            return json_doc_error(doc, item, err, "%s: from is measured or assumed", item->string);
        (measured ? fabric_measured : fabric_assumed)(f, p, v, low, high);
    }
    return STATUS_OK;
}

/* What is known of a switch by its model. */
static enum status read_switch(const struct json_doc *doc, const cJSON *root, struct fabric *f,
                               struct err *err)
{
    const char *model = NULL;
    enum status status = text_of(doc, root, "switch_model", &model, err);
    if (status != STATUS_OK || model == NULL || fabric_switch_model(f, model) == 0)
        return status;
    return json_doc_error(doc, cJSON_GetObjectItemCaseSensitive(root, "switch_model"), err,
                          "nothing is known of a switch \"%s\": expected one of %s", model,
                          fabric_switch_models());
}

static enum status read_root(const struct json_doc *doc, struct fabric *f, struct err *err)
{
    static const char *const keys[] = {"updraft_fabric",
                                       "name",
                                       "preset",
                                       "box",
                                       "nodes",
                                       "links",
                                       "switch_model",
                                       "params",
                                       "peer_access",
                                       "multicast",
                                       "compute_capability",
                                       NULL};
    const cJSON *root = doc->root;
    const cJSON *box = cJSON_GetObjectItemCaseSensitive(root, "box");
    const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(root, "nodes");
    const cJSON *links = cJSON_GetObjectItemCaseSensitive(root, "links");
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(root, "params");
    const char *name = "the fabric", *preset = NULL;
    int version = 0;
    enum status status;
    if (!cJSON_IsObject(root))
        return json_doc_error(doc, root, err, "a fabric is an object with \"updraft_fabric\": 1");
    if ((status = known_keys(doc, root, keys, err)) != STATUS_OK ||
        (status = whole(doc, root, "updraft_fabric", 1, 1, &version, err)) != STATUS_OK ||
        (status = text_of(doc, root, "name", &name, err)) != STATUS_OK ||
        (status = text_of(doc, root, "preset", &preset, err)) != STATUS_OK)
        return status;
    if (version != 1)
        return json_doc_error(doc, root, err, "\"updraft_fabric\": 1 is missing");
    if ((box != NULL) + (nodes != NULL) + (preset != NULL) != 1)
        return json_doc_error(doc, root, err,
                              "exactly one of \"box\" (counts), \"nodes\" with \"links\", and "
                              "\"preset\" says what is in it");
    if (preset != NULL) {
        if (fabric_preset(f, preset, 0, err) != STATUS_OK)
            return json_doc_error(doc, cJSON_GetObjectItemCaseSensitive(root, "preset"), err, "%s",
                                  err->msg);
        snprintf(f->name, sizeof f->name, "%s", name);
    } else if (box != NULL) {
        if ((status = read_shape(doc, box, f, name, err)) != STATUS_OK)
            return status;
    } else {
        fabric_init(f, name);
        if ((status = read_nodes(doc, nodes, f, err)) != STATUS_OK)
            return status;
        if (links == NULL)
            return json_doc_error(doc, root, err, "\"links\" is missing");
        if ((status = read_links(doc, links, f, err)) != STATUS_OK)
            return status;
    }
    if ((status = truth(doc, root, "peer_access", &f->peer_access, err)) != STATUS_OK ||
        (status = truth(doc, root, "multicast", &f->multicast, err)) != STATUS_OK ||
        (status = whole(doc, root, "compute_capability", 30, 999, &f->compute_capability, err)) !=
            STATUS_OK ||
        (status = read_switch(doc, root, f, err)) != STATUS_OK)
        return status;
    if (params != NULL && (status = read_params(doc, params, f, err)) != STATUS_OK)
        return status;
    status = fabric_route(f, err);
    return status == STATUS_OK ? STATUS_OK : json_doc_error(doc, root, err, "%s", err->msg);
}

enum status fabric_parse(struct fabric *f, const char *name, const char *text, size_t len,
                         struct err *err)
{
    struct json_doc doc = {0};
    enum status status = json_doc_parse(&doc, name, text, len, err);
    if (status == STATUS_OK)
        status = read_root(&doc, f, err);
    json_doc_release(&doc);
    return status;
}

int fabric_is_file(const char *path)
{
    char head[4096];
    FILE *in = input_stream(path);
    if (in == NULL)
        return 0;
    size_t n = fread(head, 1, sizeof head - 1, in);
    fclose(in);
    head[n] = '\0';
    return memchr(head, '\0', n) == NULL && strstr(head, "\"updraft_fabric\"") != NULL;
}

enum status fabric_load(struct fabric *f, const char *spec, FILE *log, struct err *err)
{
    struct stat st;
    char id[64];
    const char *colon = strchr(spec, ':');
    size_t len = colon ? (size_t)(colon - spec) : strlen(spec);
    int64_t gpus = 0;
    if (strcmp(spec, "-") != 0 && stat(spec, &st) != 0) {
        if (len >= sizeof id ||
            (colon && (parse_int64(colon + 1, &gpus) != 0 || gpus < 1 || gpus > FABRIC_MAX_GPUS)))
            return err_set(err, STATUS_USAGE,
                           "no fabric \"%s\": a file, or a preset with at most %d "
                           "GPUs behind a colon",
                           spec, FABRIC_MAX_GPUS);
        memcpy(id, spec, len);
        id[len] = '\0';
        return fabric_preset(f, id, (int)gpus, err);
    }
    if (fabric_is_file(spec)) {
        struct json_doc doc = {0};
        enum status status = json_doc_read(&doc, spec, err);
        if (status == STATUS_OK)
            status = read_root(&doc, f, err);
        json_doc_release(&doc);
        return status;
    }
    struct trace t = {0};
    enum status status = trace_load(&t, spec, log, err);
    if (status == STATUS_OK)
        status = fabric_from_records(f, &t.records, err);
    if (status == STATUS_UNSUPPORTED)
        err_prefix(err, "%s", input_name(spec));
    trace_release(&t);
    return status;
}

static int put(cJSON *object, const char *key, cJSON *item)
{
    return item != NULL && cJSON_AddItemToObject(object, key, item);
}

cJSON *fabric_json(const struct fabric *f)
{
    cJSON *root = cJSON_CreateObject(), *nodes = cJSON_CreateArray(), *links = cJSON_CreateArray();
    cJSON *params = cJSON_CreateObject();
    int ok = root && nodes && links && params &&
             put(root, "updraft_fabric", cJSON_CreateNumber(1)) &&
             put(root, "name", cJSON_CreateString(f->name)) &&
             put(root, "compute_capability",
                 cJSON_CreateNumber(f->compute_capability ? f->compute_capability : 90)) &&
             put(root, "peer_access", cJSON_CreateBool(f->peer_access)) &&
             put(root, "multicast", cJSON_CreateBool(f->multicast));
    for (int i = 0; ok && i < f->n_nodes; i++) {
        cJSON *node = cJSON_CreateObject();
        ok = node && cJSON_AddItemToArray(nodes, node) &&
             put(node, "name", cJSON_CreateString(f->nodes[i].name)) &&
             put(node, "kind", cJSON_CreateString(fabric_node_kind_name(f->nodes[i].kind)));
    }
    for (int i = 0; ok && i < f->n_links; i++) {
        const struct fabric_link *l = &f->links[i];
        cJSON *link = cJSON_CreateObject();
        ok = link && cJSON_AddItemToArray(links, link) &&
             put(link, "a", cJSON_CreateString(f->nodes[l->a].name)) &&
             put(link, "b", cJSON_CreateString(f->nodes[l->b].name)) &&
             put(link, "kind", cJSON_CreateString(fabric_link_name(l->kind))) &&
             (!(l->gb_per_s > 0) || put(link, "gb_per_s", cJSON_CreateNumber(l->gb_per_s)));
    }
    for (int p = 0; ok && p < FABRIC_PARAM_COUNT; p++) {
        const struct fabric_quantity *q = &f->param[p];
        const double ci[2] = {q->low, q->high};
        cJSON *item = cJSON_CreateObject();
        ok = item && cJSON_AddItemToObject(params, fabric_param_name((enum fabric_param)p), item) &&
             put(item, "value", cJSON_CreateNumber(q->value)) &&
             put(item, "ci95", cJSON_CreateDoubleArray(ci, 2)) &&
             put(item, "from",
                 cJSON_CreateString(q->from == FABRIC_MEASURED ? "measured" : "assumed"));
    }
    if (ok && cJSON_AddItemToObject(root, "nodes", nodes))
        nodes = NULL;
    if (ok && cJSON_AddItemToObject(root, "links", links))
        links = NULL;
    if (ok && cJSON_AddItemToObject(root, "params", params))
        params = NULL;
    ok = ok && !nodes && !links && !params;
    cJSON_Delete(nodes);
    cJSON_Delete(links);
    cJSON_Delete(params);
    if (!ok) {
        cJSON_Delete(root);
        root = NULL;
    }
    return root;
}

enum status fabric_placement(const struct fabric *f, const char *text, int *placement, int *n,
                             struct err *err)
{
    *n = 0;
    for (const char *p = text;; p++) {
        char *end;
        long gpu = strtol(p, &end, 10);
        if (end == p || gpu < 0 || gpu >= f->n_gpus || (*end != ',' && *end != '\0'))
            return err_set(err, STATUS_USAGE,
                           "--placement %s: GPU numbers from 0 to %d, separated by commas, were "
                           "expected",
                           text, f->n_gpus - 1);
        if (*n == FABRIC_MAX_GPUS)
            return err_set(err, STATUS_USAGE, "--placement: more than %d ranks", FABRIC_MAX_GPUS);
        placement[(*n)++] = (int)gpu;
        p = end;
        if (*p == '\0')
            return STATUS_OK;
    }
}
