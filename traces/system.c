#include "traces/system.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

static const struct {
    enum system_kind kind;
    const char *pattern;
} systems[] = {
#define SYSTEM(kind, pattern) {SYSTEM_##kind, pattern},
#include "traces/systems.def"
#undef SYSTEM
};

enum system_kind system_of_text(const char *text)
{
    enum system_kind kind = SYSTEM_UNKNOWN;
    for (size_t i = 0; i < sizeof systems / sizeof systems[0] && kind == SYSTEM_UNKNOWN; i++) {
        regex_t re;
        if (regcomp(&re, systems[i].pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB) != 0)
            continue;
        if (regexec(&re, text, 0, NULL, 0) == 0)
            kind = systems[i].kind;
        regfree(&re);
    }
    return kind;
}

enum system_kind system_of(const struct record *r)
{
    for (const char *p = r->label; (p = strstr(p, " of ")) != NULL; p += 4) {
        const char *digits = p;
        while (digits > r->label && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        int n = 0, m = 0;
        if (digits < p && sscanf(digits, "%6d of %6d a node", &n, &m) == 2 &&
            strstr(p, " a node") != NULL && r->ranks > n)
            return SYSTEM_NETWORK;
    }
    enum system_kind kind = system_of_text(r->label);
    const char *slash = strrchr(r->origin, '/');
    return kind != SYSTEM_UNKNOWN ? kind : system_of_text(slash ? slash + 1 : r->origin);
}

const char *system_name(enum system_kind kind)
{
    static const char *const names[] = {"unknown interconnect", "PCIe", "NVLink", "several nodes"};
    return names[kind];
}
