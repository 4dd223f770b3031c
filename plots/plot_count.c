/* Throughput against the number of allreduces in a verify pass. */
#include <math.h>

#include "plots/scenario_input.h"

enum { POINTS = 41 };

static void point_table(FILE *program, const char *name, double x, double y)
{
    plot_table(program, name);
    plot_cell(program, x);
    plot_cell(program, y);
    plot_row_end(program);
    plot_table_end(program);
}

static enum status write_plot(const struct plot_request *request, FILE *program,
                              struct plot_size *size, struct err *err)
{
    (void)size;
    struct scenario_file f = {0};
    struct simulation today, sim, free_sim = {0};
    uint64_t seed;
    enum status status = plot_open_scenario(&f, request, &seed, err);
    if (status == STATUS_OK)
        status = plot_simulate_with(&f.s, NULL, 0, seed, &today, err);
    if (status != STATUS_OK)
        goto out;
    const int count = scenario_allreduce_count(&f.s);
    if (count == 0) {
        status = err_set(err, STATUS_UNSUPPORTED,
                         "%s has no allreduces to vary: set ranks, model.layers or allreduce.count",
                         request->input);
        goto out;
    }
    double top = 0, bottom = today.low.baseline_tokens_per_s;
    plot_table(program, "curve");
    for (int i = 0; i < POINTS; i++) {
        int x = (int)lround(2.0 * count * i / (POINTS - 1));
        status = plot_simulate_with(&f.s, "allreduce.count", x, seed, &sim, err);
        if (status != STATUS_OK)
            goto out;
        if (i == 0)
            free_sim = sim;
        plot_cell(program, x);
        plot_cell(program, sim.mean.speculative_tokens_per_s);
        plot_cell(program, sim.low.speculative_tokens_per_s);
        plot_cell(program, sim.high.speculative_tokens_per_s);
        plot_row_end(program);
        top = fmax(top, sim.high.speculative_tokens_per_s);
        bottom = fmin(bottom, sim.low.speculative_tokens_per_s);
    }
    plot_table_end(program);
    const double now = today.mean.speculative_tokens_per_s;
    char figure[32];
    point_table(program, "today", count, now);
    point_table(program, "free", 0, free_sim.mean.speculative_tokens_per_s);
    plot_text(program, "title",
              scenario_speculates(&f.s) ? "Throughput against allreduces per verify pass"
                                        : "Throughput against allreduces per pass");
    plot_number(program, "count_max", 2.0 * count);
    plot_number(program, "y_max", top * 1.08);
    plot_number(program, "y_floor", bottom * 0.9);
    plot_number(program, "today_count", count);
    plot_number(program, "today_y", now);
    plot_number(program, "today_high", today.high.speculative_tokens_per_s);
    plot_textf(program, "today_text", "today: %d of %s µs each", count,
               plot_figure(figure, sizeof figure, today.mean.allreduce_us));
    plot_textf(program, "free_text", "no allreduce at all: %+.0f %%",
               100 * (free_sim.mean.speculative_tokens_per_s / now - 1));
    plot_baseline(program, &f.s, &today);
out:
    scenario_file_release(&f);
    return status;
}

const struct plot_kind plot_count = {
    .name = "count",
    .summary = "throughput against the number of allreduces",
    .input = "SCENARIO",
    .size = {900, 560, 34},
    .write = write_plot,
};
