#include "model/synth_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void synth_impl_nccl(struct synth_impl *impl, enum nccl_algo a, enum nccl_proto p)
{
    static const char *const names[] = {"chain", "ring", "multicast"};
    static const enum payload payloads[] = {PAYLOAD_ll, PAYLOAD_ll128, PAYLOAD_plain};
    impl->nccl_algo = a;
    impl->proto = p;
    impl->payload = payloads[p];
    impl->algorithm = algorithm_find(names[a], strlen(names[a]));
}

static enum status unknown(const char *name, struct err *err)
{
    char list[512] = "";
    for (int i = 0; algorithms[i] != NULL; i++) {
        size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i ? "|" : "", algorithms[i]->name);
    }
    return err_set(err, STATUS_USAGE,
                   "cannot price \"%s\": expected custom/X or host/X with X one of %s; "
                   "nccl/ring|tree/ll|ll128|simple, nccl/nvls/simple, nccl/auto or nccl/model",
                   name, list);
}

static enum status parse_nccl(struct synth_impl *impl, const char *name, const char *text,
                              size_t len, struct err *err)
{
    impl->family = SYNTH_NCCL;
    if (len == 4 && strncmp(text, "auto", 4) == 0)
        return STATUS_OK;
    if (len == 5 && strncmp(text, "model", 5) == 0) {
        impl->nccl_model = 1;
        return STATUS_OK;
    }
    for (int a = 0; a < NCCL_ALGOS; a++)
        for (int p = 0; p < NCCL_PROTOS; p++) {
            char pair[32];
            snprintf(pair, sizeof pair, "%s/%s", nccl_algo_name((enum nccl_algo)a),
                     nccl_proto_name((enum nccl_proto)p));
            if (strlen(pair) != len || strncmp(pair, text, len) != 0 ||
                (a == NCCL_NVLS && p != NCCL_SIMPLE))
                continue;
            synth_impl_nccl(impl, (enum nccl_algo)a, (enum nccl_proto)p);
            return STATUS_OK;
        }
    return unknown(name, err);
}

static int is(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && strncmp(text, word, len) == 0;
}

static enum status parse_setting(struct synth_impl *impl, const char *name, const char *text,
                                 size_t len, struct err *err)
{
    const char *eq = memchr(text, '=', len);
    size_t key = eq ? (size_t)(eq - text) : len;
    const char *value = eq ? eq + 1 : text + len;
    size_t n = (size_t)(text + len - value);
    if ((is(text, key, "payload") || is(text, key, "wire")) && impl->family != SYNTH_NCCL &&
        impl->algorithm->in_band) {
        impl->payload = payload_find(value, n);
        if (impl->payload != PAYLOAD_COUNT)
            return STATUS_OK;
        return err_set(err, STATUS_USAGE, "\"%s\": payload is sentinel, ll, ll128 or plain", name);
    }
    if (is(text, key, "end") && impl->family != SYNTH_NCCL) {
        impl->end_barrier = is(value, n, "barrier");
        if (impl->end_barrier || is(value, n, "none"))
            return STATUS_OK;
        return err_set(err, STATUS_USAGE, "\"%s\": end is barrier or none", name);
    }
    int islands = is(text, key, "islands") && impl->family != SYNTH_NCCL;
    if (islands || (is(text, key, "channels") && impl->family == SYNTH_NCCL)) {
        char *end;
        long count = strtol(value, &end, 10);
        if (!(n > 0 && end == value + n && count >= 1 && count <= 64))
            return err_set(err, STATUS_USAGE, "\"%s\": %.*s is a number from 1 to 64", name,
                           (int)key, text);
        *(islands ? &impl->islands : &impl->channels) = (int)count;
        return STATUS_OK;
    }
    if (n > 0 && (is(text, key, "blocks") || is(text, key, "threads") || is(text, key, "buffsize")))
        return STATUS_OK;
    return err_set(err, STATUS_USAGE,
                   "cannot price the setting \"%.*s\" of \"%s\": expected payload=, end=, "
                   "islands=, channels=, "
                   "blocks=, threads= or buffsize= where they apply",
                   (int)len, text, name);
}

enum status synth_impl_parse(struct synth_impl *impl, const char *name, struct err *err)
{
    *impl = (struct synth_impl){.end_barrier = -1};
    size_t len = strcspn(name, ":");
    const char *text = name;
    enum status status = STATUS_OK;
    if (strncmp(text, "nccl/", 5) == 0) {
        status = parse_nccl(impl, name, text + 5, len - 5, err);
    } else if (strncmp(text, "custom/", 7) == 0 || strncmp(text, "host/", 5) == 0) {
        impl->family = text[0] == 'c' ? SYNTH_CUSTOM : SYNTH_HOST;
        size_t skip = impl->family == SYNTH_CUSTOM ? 7 : 5;
        impl->algorithm = algorithm_find(text + skip, len - skip);
        impl->payload =
            impl->algorithm && impl->algorithm->in_band ? PAYLOAD_sentinel : PAYLOAD_plain;
        if (impl->algorithm == NULL || (impl->family == SYNTH_HOST && !impl->algorithm->staged))
            status = unknown(name, err);
    } else {
        status = unknown(name, err);
    }
    text += len;
    while (status == STATUS_OK && *text != '\0') {
        text++; /* the colon or comma */
        len = strcspn(text, ",");
        status = parse_setting(impl, name, text, len, err);
        text += len;
    }
    return status;
}
