/* Where the time of a plain step and of a speculative cycle goes. */
#include <math.h>

#include "plots/scenario_input.h"

enum { PARTS = 5, BARS = 2, PANELS = 2 };

struct bar {
    double part_ms[PARTS], total_ms, low_ms, high_ms;
};

/* Bar of a simulation: whole, or per token that a request gets out of it. */
static struct bar bar_of(const struct simulation *sim, int per_token)
{
    const struct outcome *m = &sim->mean;
    const double us[PARTS] = {m->draft_us, m->verify_compute_us, m->verify_allreduce_us,
                              m->draft_allreduce_us, m->host_us};
    double scale = 1e-3 / (per_token ? m->tokens_per_cycle : 1);
    struct bar b = {.total_ms = m->cycle_us * scale,
                    .low_ms = sim->low.cycle_us * scale,
                    .high_ms = sim->high.cycle_us * scale};
    /* Per token the interval is that of the throughput: acceptance varies too. */
    if (per_token) {
        double one = m->cycle_us * m->speculative_tokens_per_s * scale;
        b.low_ms = one / sim->high.speculative_tokens_per_s;
        b.high_ms = one / sim->low.speculative_tokens_per_s;
    }
    for (int p = 0; p < PARTS; p++)
        b.part_ms[p] = us[p] * scale;
    return b;
}

static void write_data(FILE *program, struct bar bars[PANELS][BARS])
{
    char name[32], figure[3][32];
    double longest[PANELS] = {0};
    for (int panel = 0; panel < PANELS; panel++)
        for (int row = 0; row < BARS; row++)
            longest[panel] =
                fmax(longest[panel], fmax(bars[panel][row].total_ms, bars[panel][row].high_ms));
    plot_array(program, "x_max", PANELS);
    for (int panel = 0; panel < PANELS; panel++) {
        snprintf(name, sizeof name, "x_max[%d]", panel + 1);
        plot_number(program, name, longest[panel] * 1.14);
    }
    plot_table(program, "parts");
    for (int panel = 0; panel < PANELS; panel++)
        for (int row = 0; row < BARS; row++) {
            const struct bar *b = &bars[panel][row];
            double at = 0;
            for (int p = 0; p < PARTS; p++) {
                plot_cell(program, at);
                at += b->part_ms[p];
                plot_cell(program, at);
                plot_cell(program, row + 1);
                plot_cell(program, p + 1);
                plot_cell(program, panel + 1);
                plot_figure(figure[0], sizeof figure[0], b->part_ms[p]);
                plot_cell_text(program, b->part_ms[p] > 0.05 * longest[panel] ? figure[0] : "");
                plot_row_end(program);
            }
        }
    plot_table_end(program);
    plot_table(program, "totals");
    for (int panel = 0; panel < PANELS; panel++)
        for (int row = 0; row < BARS; row++) {
            const struct bar *b = &bars[panel][row];
            plot_cell(program, panel + 1);
            plot_cell(program, row + 1);
            plot_cell(program, b->total_ms);
            plot_cell(program, b->low_ms);
            plot_cell(program, b->high_ms);
            snprintf(name, sizeof name, "%s ms",
                     plot_figure(figure[0], sizeof figure[0], b->total_ms));
            plot_cell_text(program, name);
            plot_row_end(program);
        }
    plot_table_end(program);
    plot_array(program, "part_to", PANELS * BARS * PARTS);
    plot_array(program, "total_text", PANELS * BARS);
    for (int panel = 0; panel < PANELS; panel++)
        for (int row = 0; row < BARS; row++) {
            const struct bar *b = &bars[panel][row];
            double at = 0;
            for (int p = 0; p < PARTS; p++) {
                at += b->part_ms[p];
                snprintf(name, sizeof name, "part_to[%d]", 10 * panel + 5 * row + p + 1);
                plot_number(program, name, at);
            }
            snprintf(name, sizeof name, "total_text[%d]", 2 * panel + row + 1);
            plot_textf(program, name, "%s ms [%s, %s]",
                       plot_figure(figure[0], sizeof figure[0], b->total_ms),
                       plot_figure(figure[1], sizeof figure[1], b->low_ms),
                       plot_figure(figure[2], sizeof figure[2], b->high_ms));
        }
}

static enum status write_plot(const struct plot_request *request, FILE *program,
                              struct plot_size *size, struct err *err)
{
    (void)size;
    struct scenario_file f = {0};
    struct simulation plain, cycle;
    uint64_t seed;
    enum status status = plot_open_scenario(&f, request, &seed, err);
    if (status == STATUS_OK)
        status = plot_simulate_with(&f.s, "draft.num_steps", 0, seed, &plain, err);
    if (status == STATUS_OK)
        status = plot_simulate_with(&f.s, NULL, 0, seed, &cycle, err);
    if (status == STATUS_OK) {
        struct bar bars[PANELS][BARS] = {{bar_of(&cycle, 0), bar_of(&plain, 0)},
                                         {bar_of(&cycle, 1), bar_of(&plain, 1)}};
        plot_text(program, "title", "Where the time goes");
        plot_text(program, "subtitle", f.s.title);
        plot_array(program, "row_name", BARS);
        plot_text(program, "row_name[1]",
                  scenario_speculates(&f.s) ? "speculative cycle" : "as set");
        plot_text(program, "row_name[2]", "plain step");
        write_data(program, bars);
    }
    scenario_file_release(&f);
    return status;
}

const struct plot_kind plot_breakdown = {
    .name = "breakdown",
    .summary = "the cycle's breakdown, beside a plain step's",
    .input = "SCENARIO",
    .size = {900, 470, 15},
    .write = write_plot,
};
