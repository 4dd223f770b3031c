#include "model/fabric_words.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum gpu_form { PCIE_ONLY, NVSWITCH_UNLESS_PCIE, PCIE_UNLESS_NVLINK };

static const struct {
    const char *name;
    int compute_capability, pcie_generation;
    enum gpu_form form;
} gpus_known[] = {
#define GPU_MODEL(name, cc, generation, form) {name, cc, generation, (enum gpu_form)form},
#include "model/gpus.def"
#undef GPU_MODEL
};

static const struct {
    const char *id, *words;
    double sources, gb, low, high, read_gb, duplex;
} switches[] = {
#define SWITCH_MODEL(id, words, sources, gb, low, high, read_gb, duplex, source)                   \
    {id, words, sources, gb, low, high, read_gb, duplex},
#include "model/switches.def"
#undef SWITCH_MODEL
};
enum {
    GPUS = sizeof gpus_known / sizeof *gpus_known,
    SWITCHES = sizeof switches / sizeof *switches
};

const char *fabric_switch_models(void)
{
    static const char list[] = ""
#define SWITCH_MODEL(id, words, sources, gb, low, high, read_gb, duplex, source) ", " id
#include "model/switches.def"
#undef SWITCH_MODEL
        ;
    return list + 2;
}

static void apply_switch(struct fabric *f, int i)
{
    fabric_assumed(f, FABRIC_collapse_sources, switches[i].sources, switches[i].sources,
                   switches[i].sources);
    fabric_assumed(f, FABRIC_collapse_gb_per_s, switches[i].gb, switches[i].low, switches[i].high);
    double r = switches[i].read_gb, d = switches[i].duplex;
    fabric_assumed(f, FABRIC_collapse_read_gb_per_s, r, r / 2, r * 1.3);
    fabric_assumed(f, FABRIC_duplex_ratio, d, d * 0.95, d * 1.05);
}

int fabric_switch_model(struct fabric *f, const char *id)
{
    for (int i = 0; i < SWITCHES; i++)
        if (strcmp(switches[i].id, id) == 0) {
            apply_switch(f, i);
            return 0;
        }
    return -1;
}

/* The text in lower case with letters and digits only. */
static void squeeze(const char *text, char *to, size_t cap)
{
    size_t n = 0;
    for (; *text != '\0' && n + 1 < cap; text++)
        if (isalnum((unsigned char)*text))
            to[n++] = (char)tolower((unsigned char)*text);
    to[n] = '\0';
}

/* Whether one of the words "a|b|c" is in the squeezed text. */
static int has(const char *squeezed, const char *words)
{
    char word[32];
    while (*words != '\0') {
        size_t n = strcspn(words, "|");
        if (n < sizeof word) {
            memcpy(word, words, n);
            word[n] = '\0';
            if (strstr(squeezed, word) != NULL)
                return 1;
        }
        words += n + (words[n] == '|');
    }
    return 0;
}

static void say(char *text, size_t cap, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void say(char *text, size_t cap, const char *fmt, ...)
{
    size_t n = strlen(text);
    va_list ap;
    if (n > 0 && n + 2 < cap) {
        memcpy(text + n, ", ", 3);
        n += 2;
    }
    va_start(ap, fmt);
    vsnprintf(text + n, cap - n, fmt, ap);
    va_end(ap);
}

/* The number right before a word ("3switch", "4 switches"), or 0. */
static int count_before(const char *squeezed, const char *word)
{
    const char *at = strstr(squeezed, word);
    if (at == NULL)
        return 0;
    const char *p = at;
    while (p > squeezed && isdigit((unsigned char)p[-1]) && at - p < 2)
        p--;
    return p < at ? (int)strtol(p, NULL, 10) : 0;
}

/* "2x4" (islands by GPUs), or 0. "8xRTX" is none. */
static int islands(const char *text, int gpus)
{
    for (const char *p = text; *p != '\0'; p++)
        if (isdigit((unsigned char)p[0]) && (p[1] == 'x' || p[1] == '+') &&
            isdigit((unsigned char)p[2]) && !isdigit((unsigned char)p[3]) &&
            (p == text || !isalnum((unsigned char)p[-1]))) {
            int a = p[0] - '0', b = p[2] - '0';
            if (p[1] == '+' && a == b && a + b == gpus)
                return 2;
            if (p[1] == 'x' && a * b == gpus)
                return a;
        }
    return 0;
}

enum status fabric_from_words(struct fabric *f, const char *text, int gpus, struct fabric_guess *g,
                              struct err *err)
{
    char words[512];
    int gpu = 0, model = 0;
    struct fabric_shape s = {.gpus = gpus};
    memset(g, 0, sizeof *g);
    squeeze(text, words, sizeof words);
    while (gpu < GPUS && strstr(words, gpus_known[gpu].name) == NULL)
        gpu++;
    if (gpu == GPUS && !has(words, "pcie|nvlink|rtx"))
        return err_set(err, STATUS_UNSUPPORTED, "\"%.80s\" names no GPU that is known", text);
    if (has(words, "roce|infiniband|spark|ethernet|nodes|2node|rack|mi300|mi325|mi355"))
        return err_set(err, STATUS_UNSUPPORTED, "\"%.80s\" is more than one box of known GPUs",
                       text);
    if (gpu < GPUS) {
        s.compute_capability = gpus_known[gpu].compute_capability;
        s.pcie_generation = gpus_known[gpu].pcie_generation;
        say(g->known, sizeof g->known, "%s", gpus_known[gpu].name);
    } else {
        say(g->assumed, sizeof g->assumed, "PCIe generation 5");
    }
    enum gpu_form form = gpu < GPUS ? gpus_known[gpu].form : PCIE_ONLY;
    int nvlink = has(words, "nvlink|sxm|nvswitch|dgx|hgx"), pcie = has(words, "pcie|pci|plx");
    s.nvswitch = nvlink || (form == NVSWITCH_UNLESS_PCIE && !pcie);
    s.multicast = s.nvswitch && s.compute_capability >= 90;
    if (nvlink || pcie)
        say(g->known, sizeof g->known, "%s", s.nvswitch ? "NVLink" : "PCIe");
    else if (form != PCIE_ONLY)
        say(g->assumed, sizeof g->assumed, "%s", s.nvswitch ? "NVSwitch" : "PCIe");

    int cut = islands(text, gpus);
    if (has(words, "samenuma|onenuma|onesocket|singlesocket|singlecpu|onecpu"))
        s.sockets = 1;
    else if (has(words, "twonuma|dual|twosocket|2socket") || cut == 2)
        s.sockets = 2;
    if (s.sockets)
        say(g->known, sizeof g->known, "%d socket%s", s.sockets, s.sockets > 1 ? "s" : "");
    while (model < SWITCHES && !has(words, switches[model].words))
        model++;
    int counted = count_before(words, "switch");
    if (model < SWITCHES || has(words, "switch")) {
        /* Boxes seen: Microchip's, 2 GPUs behind one and 8 behind three; else 4 behind one. */
        int microchip = model < SWITCHES && strcmp(switches[model].id, "pm50100") == 0;
        s.switches = counted > 0 && counted <= gpus ? counted
                     : microchip                    ? (3 * gpus + 7) / 8
                                                    : (gpus + 3) / 4;
        say(g->known, sizeof g->known, "%s switches",
            model < SWITCHES ? switches[model].id : "some");
        if (counted)
            say(g->known, sizeof g->known, "%d of them", counted);
        else
            say(g->assumed, sizeof g->assumed, "%d switch%s", s.switches,
                s.switches > 1 ? "es" : "");
        if (model < SWITCHES && strcmp(switches[model].id, "pex890xx") == 0 &&
            gpus >= 2 * s.switches)
            s.virtual_switches = 2;
    } else if (gpus > 8 && !s.nvswitch) {
        s.switches = (gpus + 3) / 4;
        say(g->assumed, sizeof g->assumed, "%d switches", s.switches);
    } else if (!s.nvswitch) {
        say(g->assumed, sizeof g->assumed, "a root port a GPU");
    }
    if (s.sockets == 0) {
        /* Cards of one switch maker's kits stand in one socket; else more than four need two. */
        s.sockets = gpus <= 4 || (counted && !s.nvswitch) ? 1 : 2;
        say(g->assumed, sizeof g->assumed, "%d socket%s", s.sockets, s.sockets > 1 ? "s" : "");
    }
    enum status status = fabric_build(f, text, &s, err);
    if (status != STATUS_OK)
        return status;
    if (model < SWITCHES)
        apply_switch(f, model);
    /* NCCL's topology search knows no bandwidth between the root ports of AMD's sockets. */
    if (has(words, "xml") && !has(words, "noxml")) {
        fabric_assumed(f, FABRIC_nccl_search_gb_per_s, 24, 20, 30);
        say(g->known, sizeof g->known, "NCCL with a graph");
    } else if (!s.nvswitch && (s.sockets > 1 || has(words, "noxml"))) {
        fabric_assumed(f, FABRIC_nccl_search_gb_per_s, 0.1, 0.1, has(words, "noxml") ? 0.1 : 24);
        say(has(words, "noxml") ? g->known : g->assumed,
            has(words, "noxml") ? sizeof g->known : sizeof g->assumed,
            "NCCL's search fails across sockets");
    } else if (!s.nvswitch) {
        say(g->assumed, sizeof g->assumed, "NCCL over P2P, its search right");
    }
    fabric_assumed(f, FABRIC_model_sigma, 0.4, 0.4, 0.4);
    return STATUS_OK;
}
