#include "measure/check.h"

#include <stdarg.h>
#include <stdio.h>

#define CHECK(id) extern const struct check check_##id;
#include "measure/checks.def"
#undef CHECK

const struct check *const checks[] = {
#define CHECK(id) &check_##id,
#include "measure/checks.def"
#undef CHECK
    NULL,
};

void find(struct findings *found, enum level level, const char *subject, const char *todo,
          const char *fmt, ...)
{
    if (found->n == MAX_FINDINGS)
        return;
    struct finding *f = &found->v[found->n++];
    f->level = level;
    snprintf(f->subject, sizeof f->subject, "%s", subject);
    snprintf(f->todo, sizeof f->todo, "%s", todo);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->what, sizeof f->what, fmt, ap);
    va_end(ap);
}

enum level findings_level(const struct findings *found)
{
    enum level worst = LEVEL_OK;
    for (int i = 0; i < found->n; i++)
        if (found->v[i].level > worst)
            worst = found->v[i].level;
    return worst;
}

const char *level_name(enum level l)
{
    static const char *const names[] = {"ok", "unknown", "notice", "fault"};
    return names[l];
}
