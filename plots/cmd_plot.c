/* updraft plot KIND INPUT -o FILE */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "plots/plot.h"

/* The kinds by name, for messages: "latency, draft, ...". */
static void kind_names(char *buf, size_t size)
{
    size_t len = 0;
    buf[0] = '\0';
    for (size_t i = 0; plot_kinds[i] != NULL && len < size; i++)
        len +=
            (size_t)snprintf(buf + len, size - len, "%s%s", i > 0 ? ", " : "", plot_kinds[i]->name);
}

static int terminal_columns(void)
{
    struct winsize w;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        return w.ws_col;
    const char *text = getenv("COLUMNS");
    int64_t n;
    return text != NULL && parse_int64(text, &n) == 0 && n > 0 && n < 10000 ? (int)n : 100;
}

static enum status list_kinds(struct invocation *inv)
{
    for (size_t i = 0; plot_kinds[i] != NULL; i++)
        fprintf(inv->out, "%-10s %-28s %s\n", plot_kinds[i]->name, plot_kinds[i]->input,
                plot_kinds[i]->summary);
    return STATUS_OK;
}

static enum status run_plot(struct invocation *inv, struct err *err)
{
    if (invocation_has(inv, "list"))
        return list_kinds(inv);
    if (inv->n_args != 2)
        return err_set(err, STATUS_USAGE,
                       "usage: updraft plot %s (updraft plot --list shows the kinds)",
                       inv->command->synopsis);
    const struct plot_kind *kind = plot_find(inv->args[0]);
    if (kind == NULL) {
        char names[256];
        kind_names(names, sizeof names);
        return err_set(err, STATUS_USAGE, "no plot is called \"%s\"; there are %s", inv->args[0],
                       names);
    }
    const char *path = inv->out_path != NULL ? inv->out_path : "-";
    struct plot_target target = {.out = inv->out, .columns = terminal_columns()};
    enum status status = plot_format_of(path, &target.format, err);
    if (status != STATUS_OK)
        return status;
    int to_file = target.format != PLOT_TERMINAL;
    if (inv->json && !to_file)
        return err_set(err, STATUS_USAGE,
                       "--json needs -o FILE: the picture takes standard output");
    const char *no_color = getenv("NO_COLOR");
    target.color = isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0');
    status = invocation_number(inv, "scale", 0.25, 8, &target.scale, err);
    if (status != STATUS_OK)
        return status;
    struct plot_request request = {.input = inv->args[1], .inv = inv};
    struct atomic_file file = {0};
    if (to_file) {
        status = atomic_open(&file, path, err);
        if (status != STATUS_OK)
            return status;
        target.out = file.f;
    }
    status = plot_render(kind, &request, &target, err);
    if (status == STATUS_OK && to_file)
        status = atomic_commit(&file, err);
    atomic_abandon(&file);
    if (status == STATUS_OK && inv->json) {
        cJSON *json = cJSON_CreateObject();
        cJSON_AddStringToObject(json, "kind", kind->name);
        cJSON_AddStringToObject(json, "input", inv->args[1]);
        cJSON_AddStringToObject(json, "file", path);
        return print_json(inv->out, json, err);
    }
    return status;
}

static const struct command_option options[] = {
    {"set", "KEY=VALUE", 1, "edit the scenario first, as in simulate"},
    {"costs", "FILE", 1, "a trace or model that prices the collectives, before the scenario's own"},
    {"impl", "I", 1, "only this implementation; fabric: the algorithm whose traffic is shown"},
    {"ranks", "N", 0, "only curves of this many ranks"},
    {"from", "N", 0, "crossover: smallest size"},
    {"to", "N", 0, "crossover: largest size"},
    {"bytes", "N", 0, "fabric: the message (43008)"},
    {"catalogue", "FILE", 0, "rank: options, instead of those that ship"},
    {"budget", "DAYS", 0, "rank: days of work that may be spent"},
    {"top", "N", 0, "rank: options shown (20)"},
    {"seed", "N", 0, "of the draws behind an interval"},
    {"scale", "F", 0, "factor on the picture's size"},
    {"list", NULL, 0, "list the kinds and what each takes"},
    {0},
};

const struct command cmd_plot = {
    .name = "plot",
    .synopsis = "KIND INPUT [-o FILE]",
    .summary = "a picture: .png, .svg, .pdf, or - for the terminal",
    .details = "updraft plot --list names the kinds. Shaded bands and bars are 95 % intervals; "
               "dashed lines lie\noutside what was measured. -o FILE.gp writes gnuplot's program "
               "with the data in it.",
    .min_args = 0,
    .max_args = 2,
    .options = options,
    .flags = COMMAND_OUTPUT_PATH,
    .run = run_plot,
};
