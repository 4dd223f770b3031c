#include "measure/variant_nccl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int quick;
} variants[] = {
#define VARIANT(name, quick) {name, quick},
#include "measure/variants.def"
#undef VARIANT
};

static const struct {
    const char *key, *variable, *second;
} keys[] = {
#define NCCL_KEY(key, variable, second) {key, variable, second},
#include "measure/nccl_keys.def"
#undef NCCL_KEY
};

static const struct {
    const char *name, *value;
} algorithms[] = {{"auto", NULL}, {"ring", "Ring"}, {"tree", "Tree"}, {"nvls", "NVLS"}},
  protocols[] = {{"ll", "LL"}, {"ll128", "LL128"}, {"simple", "Simple"}};

const char *nccl_variant_name(int index, int *quick)
{
    if (index < 0 || (size_t)index >= sizeof variants / sizeof variants[0])
        return NULL;
    *quick = variants[index].quick;
    return variants[index].name;
}

static int add(struct nccl_variant *v, const char *name, const char *value, size_t len)
{
    if (v->n_env == NCCL_MAX_ENV || len == 0 || len >= sizeof v->env[0].value)
        return -1;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)value[i]))
            return -1;
    v->env[v->n_env].name = name;
    memcpy(v->env[v->n_env].value, value, len);
    v->env[v->n_env++].value[len] = '\0';
    return 0;
}

static int is(const char *text, size_t len, const char *name)
{
    return strlen(name) == len && strncmp(text, name, len) == 0;
}

static int parse_algorithm(const char **text, struct nccl_variant *out)
{
    size_t len = strcspn(*text, "/:"), n = sizeof algorithms / sizeof algorithms[0], i = 0;
    while (i < n && !is(*text, len, algorithms[i].name))
        i++;
    if (i == n)
        return -1;
    out->nvls = strcmp(algorithms[i].name, "nvls") == 0;
    *text += len;
    return algorithms[i].value == NULL
               ? 0
               : add(out, "NCCL_ALGO", algorithms[i].value, strlen(algorithms[i].value));
}

static int parse_protocol(const char **text, struct nccl_variant *out)
{
    if (**text != '/')
        return 0;
    (*text)++;
    size_t len = strcspn(*text, ":"), n = sizeof protocols / sizeof protocols[0], i = 0;
    while (i < n && !is(*text, len, protocols[i].name))
        i++;
    if (i == n)
        return -1;
    *text += len;
    return add(out, "NCCL_PROTO", protocols[i].value, strlen(protocols[i].value));
}

static int parse_setting(const char *text, size_t len, struct nccl_variant *out)
{
    const char *eq = memchr(text, '=', len);
    size_t n = sizeof keys / sizeof keys[0], i = 0;
    if (eq == NULL)
        return -1;
    while (i < n && !is(text, (size_t)(eq - text), keys[i].key))
        i++;
    const char *value = eq + 1;
    size_t value_len = len - (size_t)(value - text);
    if (i == n)
        return -1;
    if (keys[i].variable == NULL) {
        out->registered = is(value, value_len, "1");
        return out->registered || is(value, value_len, "0") ? 0 : -1;
    }
    if (add(out, keys[i].variable, value, value_len) != 0)
        return -1;
    return keys[i].second == NULL ? 0 : add(out, keys[i].second, value, value_len);
}

int nccl_variant_parse(const char *impl, struct nccl_variant *out, char *why, size_t room)
{
    *out = (struct nccl_variant){0};
    const char *p = impl;
    if (strncmp(p, "nccl/", 5) != 0) {
        snprintf(why, room, "%s does not begin with nccl/", impl);
        return -1;
    }
    p += 5;
    if (parse_algorithm(&p, out) != 0) {
        snprintf(why, room, "%s: auto, ring, tree or nvls was expected behind nccl/", impl);
        return -1;
    }
    if (parse_protocol(&p, out) != 0) {
        snprintf(why, room, "%s: the protocol is ll, ll128 or simple", impl);
        return -1;
    }
    if (*p == '\0')
        return 0;
    do {
        p++; /* the ':' or ',' */
        size_t len = strcspn(p, ",");
        if (parse_setting(p, len, out) != 0) {
            snprintf(why, room, "%s: no such setting: %.*s", impl, (int)len, p);
            return -1;
        }
        p += len;
    } while (*p == ',');
    return 0;
}
