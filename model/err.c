#include "model/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum status err_set(struct err *err, enum status status, const char *fmt, ...)
{
    if (err == NULL)
        return status;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    err->status = status;
    return status;
}

enum status err_prefix(struct err *err, const char *fmt, ...)
{
    if (err == NULL)
        return STATUS_FAILED;
    char context[512];
    char old[sizeof err->msg];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(context, sizeof context, fmt, ap);
    va_end(ap);
    memcpy(old, err->msg, sizeof old);
    old[sizeof old - 1] = '\0';
    size_t n = strnlen(context, sizeof context);
    memcpy(err->msg, context, n);
    int room = (int)(sizeof err->msg - n);
    snprintf(err->msg + n, (size_t)room, ": %.*s", room > 3 ? room - 3 : 0, old);
    return err->status;
}
