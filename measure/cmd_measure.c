/* updraft measure: runs a measuring campaign on this machine and journals a trace. */
#include <cjson/cJSON.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "measure/busy.h"
#include "measure/campaign.h"
#include "measure/check.h"
#include "measure/machine.h"
#include "measure/monitor.h"
#include "measure/summary.h"
#include "traces/command.h"
#include "traces/rank_run.h"

enum { MAX_BACKENDS = 8, MAX_LIST = MAX_OPTIONS };

/* Everything one run of the command holds. */
struct run {
    struct invocation *inv;
    struct plan_options options;
    int n_given;
    struct backend_option given[MAX_LIST]; /* of --option */
    char *option_text[MAX_LIST];           /* owned: what their keys and values point into */
    int64_t ranks[MAX_RANKS], sizes[MAX_LIST];
    enum method methods[METHOD_COUNT];
    const char *impls[MAX_LIST];
    const struct backend *wanted[MAX_BACKENDS];
    int n_wanted, default_backends;
    struct present present[MAX_BACKENDS];
    int n_present;
    double timeout_s;
    int is_decisive; /* --plan decisive:SCENARIO */
    struct decisive decisive;
    struct machine machine;
    struct plan plan;
    struct trace before;
    struct journal journal;
    struct interrupts interrupts;
    struct campaign campaign;
    cJSON *warnings;
};

static void warn(struct run *r, const char *text)
{
    fprintf(r->inv->log, "updraft: warning: %s\n", text);
    cJSON *item = cJSON_CreateString(text);
    if (item != NULL && !cJSON_AddItemToArray(r->warnings, item))
        cJSON_Delete(item);
}

/* Calls take(r, item) for every item of a comma-separated list. */
static enum status each(struct run *r, const char *option,
                        enum status (*take)(struct run *r, const char *item, struct err *err),
                        struct err *err)
{
    const char *text = invocation_value(r->inv, option);
    if (text == NULL)
        return STATUS_OK;
    char *copy = strdup(text), *save = NULL;
    enum status status = copy == NULL ? err_set(err, STATUS_FAILED, "out of memory") : STATUS_OK;
    int n = 0;
    for (char *item = copy == NULL ? NULL : strtok_r(copy, ",", &save);
         item != NULL && status == STATUS_OK; item = strtok_r(NULL, ",", &save), n++)
        status = take(r, item, err);
    if (status == STATUS_OK && n == 0)
        status = err_set(err, STATUS_USAGE, "--%s: the list is empty", option);
    free(copy);
    return status;
}

static enum status take_rank(struct run *r, const char *item, struct err *err)
{
    int64_t x;
    if (parse_int64(item, &x) != 0 || x < 2 || x > MAX_RANKS || r->options.n_ranks == MAX_RANKS)
        return err_set(err, STATUS_USAGE, "--ranks %s: whole numbers from 2 to %d were expected",
                       item, MAX_RANKS);
    r->ranks[r->options.n_ranks++] = x;
    return STATUS_OK;
}

static enum status take_size(struct run *r, const char *item, struct err *err)
{
    int64_t x;
    if (parse_bytes(item, &x) != 0 || x < 1 || x > (int64_t)1 << 34)
        return err_set(err, STATUS_USAGE,
                       "--sizes %s: sizes in bytes were expected, as 8,1K,43008 (at most 16G)",
                       item);
    if (r->options.n_sizes == MAX_LIST)
        return err_set(err, STATUS_USAGE, "--sizes: at most %d sizes", MAX_LIST);
    r->sizes[r->options.n_sizes++] = x;
    return STATUS_OK;
}

static enum status take_method(struct run *r, const char *item, struct err *err)
{
    enum method m = method_find(item);
    if (m == METHOD_COUNT || r->options.n_methods == METHOD_COUNT)
        return err_set(err, STATUS_USAGE,
                       "--method %s: back_to_back, graph, dependent, skewed or loaded was expected",
                       item);
    r->methods[r->options.n_methods++] = m;
    return STATUS_OK;
}

static enum status take_backend(struct run *r, const char *item, struct err *err)
{
    const struct backend *b = backend_find(item);
    if (b == NULL || r->n_wanted == MAX_BACKENDS) {
        char all[200] = "";
        for (int i = 0; backends[i] != NULL; i++) {
            size_t at = strlen(all);
            snprintf(all + at, sizeof all - at, "%s%s", at > 0 ? ", " : "", backends[i]->id);
        }
        return err_set(err, STATUS_USAGE, "--backend %s: no such backend; there are %s", item, all);
    }
    for (int i = 0; i < r->n_wanted; i++)
        if (r->wanted[i] == b)
            return STATUS_OK;
    r->wanted[r->n_wanted++] = b;
    return STATUS_OK;
}

/* --impl and --option may be given several times. */
static enum status take_given(struct run *r, struct err *err)
{
    const struct invocation *inv = r->inv;
    for (int i = 0; i < inv->n_given; i++) {
        const char *name = inv->given[i].name, *value = inv->given[i].value;
        if (strcmp(name, "impl") == 0) {
            if (r->options.n_impls == MAX_LIST)
                return err_set(err, STATUS_USAGE, "--impl: at most %d", MAX_LIST);
            r->impls[r->options.n_impls++] = value;
        }
        if (strcmp(name, "option") != 0)
            continue;
        char *text = r->n_given == MAX_LIST ? NULL : strdup(value);
        char *eq = text == NULL ? NULL : strchr(text, '=');
        if (eq == NULL || eq == text) {
            free(text);
            return err_set(err, STATUS_USAGE, "--option %s: KEY=VALUE was expected", value);
        }
        *eq = '\0';
        r->option_text[r->n_given] = text;
        r->given[r->n_given++] = (struct backend_option){text, eq + 1};
    }
    return STATUS_OK;
}

static enum status take_numbers(struct run *r, struct err *err)
{
    const struct invocation *inv = r->inv;
    int64_t iterations = 0, blocks = 0, threads = 0, seed = -1;
    enum status status =
        invocation_integer(inv, "iterations", 3, MAX_SAMPLES / 2, &iterations, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "blocks", 1, 1024, &blocks, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "threads", 32, 1024, &threads, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "seed", 0, INT64_MAX, &seed, err);
    r->timeout_s = 60;
    if (status == STATUS_OK)
        status = invocation_number(inv, "timeout", 0.01, 86400, &r->timeout_s, err);
    r->options.iterations = (int)iterations;
    r->options.blocks = (int)blocks;
    r->options.threads = (int)threads;
    r->options.seed = (uint64_t)seed;
    if (seed < 0 && getrandom(&r->options.seed, sizeof r->options.seed, 0) < 0)
        r->options.seed = (uint64_t)time(NULL);
    return status;
}

static enum status parse(struct run *r, struct err *err)
{
    struct plan_options *o = &r->options;
    const char *plan = invocation_value(r->inv, "plan"), *dtype = invocation_value(r->inv, "dtype");
    static const char prefix[] = "decisive:";
    if (plan != NULL && strncmp(plan, prefix, strlen(prefix)) == 0) {
        enum status found = decisive_find(&r->decisive, plan + strlen(prefix), r->inv->log, err);
        if (found != STATUS_OK)
            return found;
        r->is_decisive = 1;
        plan = "quick";
    }
    o->kind = plan_kind_find(plan == NULL ? "quick" : plan);
    if (o->kind == NULL)
        return err_set(err, STATUS_USAGE,
                       "--plan %s: quick, full or decisive:SCENARIO was expected", plan);
    o->dtype = dtype_find(dtype == NULL ? "bf16" : dtype);
    if (o->dtype == DTYPE_COUNT)
        return err_set(err, STATUS_USAGE, "--dtype %s: bf16, fp16 or fp32 was expected", dtype);
    o->label = invocation_value(r->inv, "label");
    if (o->label != NULL && strlen(o->label) >= 96)
        return err_set(err, STATUS_USAGE, "--label: at most 95 bytes");
    o->in_place = invocation_has(r->inv, "in-place");
    o->no_probes = invocation_has(r->inv, "no-probes");
    enum status status = each(r, "ranks", take_rank, err);
    if (status == STATUS_OK)
        status = each(r, "sizes", take_size, err);
    if (status == STATUS_OK)
        status = each(r, "method", take_method, err);
    if (status == STATUS_OK)
        status = each(r, "backend", take_backend, err);
    if (status == STATUS_OK)
        status = take_given(r, err);
    if (status == STATUS_OK)
        status = take_numbers(r, err);
    r->default_backends = r->n_wanted == 0;
    for (int i = 0; r->n_wanted == 0 || (r->default_backends && i < 2); i++) {
        static const char *const defaults[] = {"cuda", "nccl"};
        const struct backend *b = i < 2 ? backend_find(defaults[i]) : NULL;
        if (b == NULL)
            break;
        r->wanted[r->n_wanted++] = b;
    }
    o->ranks = r->ranks;
    o->sizes = r->sizes;
    o->methods = r->methods;
    o->impls = r->impls;
    return status;
}

/* The options for one backend: those without a backend's name in front, and its own. */
static void choose_options(struct run *r, struct present *p)
{
    size_t len = strlen(p->backend->id);
    for (int i = 0; i < r->n_given; i++) {
        struct backend_option o = r->given[i];
        if (strchr(o.key, '.') != NULL) {
            if (strncmp(o.key, p->backend->id, len) != 0 || o.key[len] != '.')
                continue;
            o.key += len + 1;
        }
        p->options[p->n_options++] = o;
    }
}

/* Which of the wanted backends are here. Of the default ones only the first must be. */
static enum status look(struct run *r, struct err *err)
{
    for (int i = 0; i < r->n_wanted; i++) {
        struct present *p = &r->present[r->n_present];
        memset(p, 0, sizeof *p);
        p->backend = r->wanted[i];
        choose_options(r, p);
        struct err why = {STATUS_OK, ""};
        enum status status =
            scout_backend(p->backend, p->n_options, p->options, (int)(r->timeout_s * 1e3),
                          &r->interrupts, &p->host, &why);
        if (status == STATUS_OK) {
            r->n_present++;
            continue;
        }
        if (!r->default_backends || i == 0 || status != STATUS_MISSING)
            return err_set(err, status, "%s", why.msg);
        warn(r, why.msg);
    }
    return STATUS_OK;
}

/* The decisive measurement, as far as this machine's backends can make it: what the user did not
 * give comes from the ranking. */
static enum status take_decisive(struct run *r, struct err *err)
{
    const struct decisive *d = &r->decisive;
    struct plan_options *o = &r->options;
    const int chosen = o->n_impls > 0;
    fprintf(r->inv->log, "decisive: %s; the expected regret falls from %.3g to %.3g tokens/s\n",
            d->what, d->regret_before, d->regret_after);
    for (int i = 0; i < d->n_impls && !chosen && o->n_impls < MAX_LIST; i++) {
        if (plan_knows(d->impls[i], r->present, r->n_present))
            r->impls[o->n_impls++] = d->impls[i];
        else
            fprintf(r->inv->log, "decisive: %s cannot be timed here\n", d->impls[i]);
    }
    if (o->n_impls == 0)
        return err_set(err, STATUS_UNSUPPORTED,
                       "no backend here has an allreduce that the decision is about");
    for (int i = 0; i < d->n_sizes && (o->n_sizes == i || o->n_sizes == 0); i++)
        r->sizes[o->n_sizes++] = d->sizes[i];
    if (o->n_ranks == 0 && d->ranks >= 2 && d->ranks <= r->present[0].host.max_ranks)
        r->ranks[o->n_ranks++] = d->ranks;
    o->no_probes = o->no_probes || !d->probes;
    return STATUS_OK;
}

/* Reads the machine, with the GPUs busy where a backend can keep them so. */
static enum status read_machine(struct run *r, struct err *err)
{
    const struct backend *loader = NULL;
    for (int i = 0; i < r->n_present; i++)
        if (r->present[i].backend->load != NULL)
            loader = r->present[i].backend;
    return machine_read_busy(&r->machine, loader, &r->interrupts, err);
}

/* What doctor calls a fault spoils a run on GPUs. */
static void warn_of_faults(struct run *r)
{
    int gpus = 0;
    for (int i = 0; i < r->n_present; i++)
        gpus += r->present[i].host.n_gpus;
    for (int i = 0; gpus > 0 && checks[i] != NULL; i++) {
        struct findings found = {0};
        checks[i]->run(&r->machine, &found);
        for (int k = 0; k < found.n; k++) {
            const struct finding *f = &found.v[k];
            char text[400];
            snprintf(text, sizeof text, "%s%s%s: %s (updraft doctor says what to do)",
                     checks[i]->title, f->subject[0] != '\0' ? ", " : "", f->subject, f->what);
            if (f->level == LEVEL_FAULT)
                warn(r, text);
        }
    }
}

static cJSON *host_facts(const struct run *r)
{
    cJSON *host = machine_json(&r->machine);
    cJSON *versions = host == NULL ? NULL : cJSON_AddObjectToObject(host, "backends");
    char date[32];
    time_t now = time(NULL);
    struct tm tm;
    int ok = versions != NULL && gmtime_r(&now, &tm) != NULL &&
             strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0 &&
             cJSON_AddStringToObject(host, "date", date) != NULL &&
             cJSON_AddStringToObject(host, "plan", r->options.kind->name) != NULL;
    for (int i = 0; i < r->n_present && ok; i++)
        ok = cJSON_AddStringToObject(versions, r->present[i].backend->id,
                                     r->present[i].host.version) != NULL;
    if (!ok) {
        cJSON_Delete(host);
        return NULL;
    }
    return host;
}

/* A journal of another machine must not be gone on with. */
static enum status same_machine(struct run *r, const cJSON *host, struct err *err)
{
    static const char *const keys[] = {"cpu", "driver"};
    const cJSON *old = r->before.host;
    if (old == NULL)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const cJSON *a = cJSON_GetObjectItemCaseSensitive(old, keys[i]);
        const cJSON *b = cJSON_GetObjectItemCaseSensitive(host, keys[i]);
        if (cJSON_IsString(a) && cJSON_IsString(b) && strcmp(a->valuestring, b->valuestring) != 0)
            return err_set(err, STATUS_UNSUPPORTED,
                           "%s was measured with another %s (%s, here %s): begin a new trace",
                           r->inv->out_path, keys[i], a->valuestring, b->valuestring);
    }
    const cJSON *a = cJSON_GetObjectItemCaseSensitive(old, "gpus");
    const cJSON *b = cJSON_GetObjectItemCaseSensitive(host, "gpus");
    if (cJSON_GetArraySize(a) != cJSON_GetArraySize(b))
        return err_set(err, STATUS_UNSUPPORTED,
                       "%s was measured on %d GPUs, here are %d: begin a new trace",
                       r->inv->out_path, cJSON_GetArraySize(a), cJSON_GetArraySize(b));
    return STATUS_OK;
}

static void list(const struct run *r)
{
    FILE *out = r->inv->out;
    for (int i = 0; i < r->n_present; i++) {
        const struct present *p = &r->present[i];
        struct backend_impl impl;
        fprintf(out, "%s: %s\n  %s; up to %d ranks\n", p->backend->id, p->host.label,
                p->host.version, p->host.max_ranks);
        for (int k = 0; memset(&impl, 0, sizeof impl), p->backend->impl(k, &p->host, &impl); k++) {
            fprintf(out, "  %-40s %2d-%d ranks %s", impl.name, impl.min_ranks, impl.max_ranks,
                    impl.quick ? "quick:" : "full: ");
            for (int m = 0; m < METHOD_COUNT; m++)
                if (impl.methods & 1u << m)
                    fprintf(out, " %s", method_name((enum method)m));
            fprintf(out, "\n");
        }
        for (int k = 0; probes[k] != NULL; k++)
            if (strcmp(probes[k]->backend, p->backend->id) == 0)
                fprintf(out, "  probe %-34s %s\n", probes[k]->id, probes[k]->summary);
    }
}

/* Closes the trace with what is known only now, and tells the user. */
static enum status tell(struct run *r, int had, struct err *err)
{
    struct campaign *c = &r->campaign;
    struct invocation *inv = r->inv;
    double noise = floor_of(c->records, NULL);
    int left = plan_left(&r->plan);
    double elapsed_s = round((clock_us() - c->started_us) / 1e5) / 10;
    cJSON *json = cJSON_CreateObject(), *spoiled = cJSON_CreateArray(), *item;
    int ok = json != NULL && spoiled != NULL;
    if (ok) {
        monitor_warnings(c->monitor, spoiled);
        cJSON_ArrayForEach(item, spoiled) warn(r, item->valuestring);
    }
    cJSON_Delete(spoiled);
    ok = ok && cJSON_AddNumberToObject(json, "measured", c->measured) != NULL &&
         cJSON_AddNumberToObject(json, "wrong", c->wrong) != NULL &&
         cJSON_AddNumberToObject(json, "failed", c->failed) != NULL &&
         cJSON_AddNumberToObject(json, "skipped", c->skipped) != NULL &&
         cJSON_AddNumberToObject(json, "left", left) != NULL &&
         cJSON_AddNumberToObject(json, "elapsed_s", elapsed_s) != NULL &&
         (isnan(noise) || cJSON_AddNumberToObject(json, "noise_floor", noise) != NULL);
    cJSON *warnings = ok ? cJSON_Duplicate(r->warnings, 1) : NULL;
    if (warnings == NULL || !cJSON_AddItemToObject(json, "warnings", warnings)) {
        cJSON_Delete(warnings);
        cJSON_Delete(json);
        return err_set(err, STATUS_FAILED, "out of memory");
    }
    enum status status = journal_remark(&r->journal, "campaign", json, err);
    char floor[48] = "";
    if (!isnan(noise))
        snprintf(floor, sizeof floor, "; noise floor %.2g %%", noise * 100);
    fprintf(inv->log, "updraft: %d measured, %d wrong, %d failed, %d skipped, %d left", c->measured,
            c->wrong, c->failed, c->skipped, left);
    if (had > 0)
        fprintf(inv->log, ", %d were there", had);
    fprintf(inv->log, "%s\n", floor);
    int to_stdout = r->journal.is_file;
    if (status == STATUS_OK && inv->json) {
        if (summary_json(json, c->records) != 0)
            status = err_set(err, STATUS_FAILED, "out of memory");
        else
            return print_json(inv->out, json, err);
    } else if (status == STATUS_OK && to_stdout) {
        summary_print(inv->out, c->records);
    }
    cJSON_Delete(json);
    return status;
}

static enum status verdict(const struct run *r, struct err *err)
{
    const struct campaign *c = &r->campaign;
    if (c->interrupted)
        return err_set(err, STATUS_FAILED, "interrupted; the trace is valid%s",
                       r->journal.is_file ? ", --resume goes on with it" : "");
    if (c->wrong > 0)
        return err_set(err, STATUS_FAILED,
                       "%d wrong result%s: the trace says which (\"verified\":false)", c->wrong,
                       c->wrong == 1 ? "" : "s");
    if (c->measured == 0 && c->failed > 0)
        return err_set(err, STATUS_FAILED,
                       "nothing could be measured: the trace says why (\"note\")");
    return STATUS_OK;
}

static enum status campaign(struct run *r, struct err *err)
{
    struct invocation *inv = r->inv;
    const char *path = inv->out_path == NULL ? "-" : inv->out_path;
    cJSON *host = NULL;
    enum status status = plan_make(&r->plan, &r->options, r->present, r->n_present, err);
    if (status == STATUS_OK)
        status = read_machine(r, err);
    if (status != STATUS_OK)
        return status;
    host = host_facts(r);
    if (host == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    status = journal_open(&r->journal, path, invocation_has(inv, "resume"), host, &r->before, err);
    if (status == STATUS_OK)
        status = same_machine(r, host, err);
    cJSON_Delete(host);
    if (status != STATUS_OK)
        return status;
    if (r->journal.torn)
        warn(r, "the last line of the trace was cut; it is dropped and measured again");
    struct campaign *c = &r->campaign;
    *c = (struct campaign){.plan = &r->plan,
                           .journal = &r->journal,
                           .interrupts = &r->interrupts,
                           .monitor = monitor_open(),
                           .timeout_ms = (int)(r->timeout_s * 1e3),
                           .log = inv->log,
                           .is_terminal = isatty(fileno(inv->log)),
                           .records = &r->before.records};
    monitor_others(c->monitor);
    warn_of_faults(r);
    int had = plan_mark_done(&r->plan, &r->before.records);
    status = campaign_run(c, err);
    if (status == STATUS_OK)
        status = tell(r, had, err);
    if (status == STATUS_OK)
        status = verdict(r, err);
    return status;
}

static enum status run(struct invocation *inv, struct err *err)
{
    struct run *r = calloc(1, sizeof *r);
    if (r == NULL)
        return err_set(err, STATUS_FAILED, "out of memory");
    r->inv = inv;
    r->journal.fd = r->interrupts.fd = -1;
    r->warnings = cJSON_CreateArray();
    enum status status = parse(r, err);
    int to_stdout = inv->out_path == NULL || strcmp(inv->out_path, "-") == 0;
    if (status == STATUS_OK && to_stdout && (inv->json || invocation_has(inv, "resume")) &&
        !invocation_has(inv, "list"))
        status = err_set(err, STATUS_USAGE,
                         "--json and --resume need -o FILE: the trace itself goes "
                         "to standard output otherwise");
    if (status == STATUS_OK)
        status = interrupts_begin(&r->interrupts, err);
    if (status == STATUS_OK)
        status = look(r, err);
    if (status == STATUS_OK && r->is_decisive)
        status = take_decisive(r, err);
    if (status == STATUS_OK && invocation_has(inv, "list"))
        list(r);
    else if (status == STATUS_OK)
        status = campaign(r, err);
    enum status closed = journal_close(&r->journal, status == STATUS_OK ? err : NULL);
    if (status == STATUS_OK)
        status = closed;
    interrupts_end(&r->interrupts);
    monitor_close(r->campaign.monitor);
    plan_release(&r->plan);
    trace_release(&r->before);
    cJSON_Delete(r->warnings);
    for (int i = 0; i < r->n_given; i++)
        free(r->option_text[i]);
    free(r);
    return status;
}

static const struct command_option options[] = {
    {"backend", "LIST", 0,
     "cuda, nccl, cpu, synthetic (default: cuda, and nccl where it is there)"},
    {"plan", "PLAN", 0,
     "quick, full, or decisive:SCENARIO for what would most change its ranking (default: quick)"},
    {"ranks", "LIST", 0, "numbers of ranks, as 2,8 (default: the plan's)"},
    {"sizes", "LIST", 0, "bytes per rank, as 8,1K,43008 (default: the plan's)"},
    {"impl", "NAME", 1, "only implementations of this name or shell pattern"},
    {"method", "LIST", 0, "back_to_back, graph, dependent, skewed, loaded (default: the plan's)"},
    {"dtype", "TYPE", 0, "bf16, fp16 or fp32 (default: bf16)"},
    {"in-place", NULL, 0, "the result replaces the input"},
    {"iterations", "N", 0, "samples a pass, of which there are two (default: the plan's)"},
    {"blocks", "N", 0, "thread blocks, instead of a search"},
    {"threads", "N", 0, "threads a block, instead of a search"},
    {"no-probes", NULL, 0, "only allreduces"},
    {"option", "KEY=VALUE", 1, "a setting of the backend, or BACKEND.KEY=VALUE: see below"},
    {"label", "TEXT", 0, "what the records call this box"},
    {"seed", "N", 0, "of the random data and delays (default: random)"},
    {"timeout", "SECONDS", 0, "patience with one call before it is killed (default: 60)"},
    {"resume", NULL, 0, "go on with the trace that -o names"},
    {"list", NULL, 0, "only list what can be measured here"},
    {0},
};

const struct command cmd_measure = {
    .name = "measure",
    .synopsis = "[--backend B] [--plan P] [--ranks LIST] [--sizes LIST] [--impl NAME] [--resume] "
                "[-o FILE]",
    .summary = "runs a measuring campaign on this machine and journals a trace",
    .details =
        "Every result is verified before it is timed, variants take turns (A B B A), and "
        "what hangs\n"
        "or crashes is recorded and left behind. -o FILE is written line by line as results "
        "come, so\n"
        "it is a valid trace at any moment, also after kill -9; --resume goes on with it. "
        "Without -o\n"
        "the trace goes to standard output; with it a comparison does.\n"
        "\n"
        "Settings (--option): nccl.lib=/PATH/libnccl.so.2; of the synthetic backend alpha_us=10,\n"
        "beta_us_per_byte=1e-4, noise=0.02, seed=N, sleep_ms=N, fault=KIND@BYTES|open.",
    .max_args = 0,
    .options = options,
    .flags = COMMAND_OUTPUT_PATH,
    .run = run,
};
