/* Throughput against draft length. */
#include "plots/scenario_input.h"

enum { SHOWN_DRAFTS = 8, MAX_DRAFTS = 16 };

static void write_row(FILE *program, int k, const struct simulation *sim, int extrapolated)
{
    plot_cell(program, k);
    plot_cell(program, sim->mean.speculative_tokens_per_s);
    plot_cell(program, sim->low.speculative_tokens_per_s);
    plot_cell(program, sim->high.speculative_tokens_per_s);
    plot_cell(program, !extrapolated);
    plot_cell(program, sim->mean.tokens_per_cycle);
    plot_row_end(program);
}

/* The draft length with the highest predicted throughput of those within [0, n). */
static int best_of(const struct simulation *sims, int n)
{
    int best = 0;
    for (int k = 1; k < n; k++)
        if (sims[k].mean.speculative_tokens_per_s > sims[best].mean.speculative_tokens_per_s)
            best = k;
    return best;
}

static void write_data(FILE *program, const struct scenario *s, const struct simulation *sims,
                       int n)
{
    const int today = s->draft.num_steps, best = best_of(sims, n);
    char figure[3][32];
    double top = 0, floor_y = sims[0].low.baseline_tokens_per_s;
    int any = 0;
    plot_text(program, "title", "Throughput against draft length");
    plot_table(program, "curve");
    for (int k = 0; k < n; k++) {
        int beyond = (sims[k].mean.flags & OUTCOME_ACCEPT_EXTRAPOLATED) != 0;
        /* Where the acceptance list ends, the last measured point also begins the dashed line. */
        if (beyond && !any && k > 0)
            write_row(program, k - 1, &sims[k - 1], 1);
        any |= beyond;
        write_row(program, k, &sims[k], beyond);
        if (sims[k].high.speculative_tokens_per_s > top)
            top = sims[k].high.speculative_tokens_per_s;
        if (sims[k].low.speculative_tokens_per_s < floor_y)
            floor_y = sims[k].low.speculative_tokens_per_s;
    }
    plot_table_end(program);
    const struct qty *measured = &s->measured.speculative_tokens_per_s;
    plot_table(program, "measured");
    if (measured->set) {
        plot_cell(program, today);
        plot_cell(program, measured->value);
        plot_cell(program, measured->low);
        plot_cell(program, measured->high);
        plot_row_end(program);
        if (measured->high > top)
            top = measured->high;
        if (measured->low < floor_y)
            floor_y = measured->low;
    }
    plot_table_end(program);
    plot_integer(program, "has_measured", measured->set);
    plot_text(program, "measured_name",
              measured->assumed ? "reported (assumed figure)" : "measured");
    plot_integer(program, "k_min", 0);
    plot_integer(program, "k_max", n - 1);
    plot_number(program, "y_max", top * 1.15);
    plot_number(program, "y_floor", floor_y * 0.9);
    plot_integer(program, "has_extrapolated", any);
    const struct simulation *b = &sims[best];
    plot_integer(program, "best_k", best);
    plot_number(program, "best_y", b->mean.speculative_tokens_per_s);
    plot_number(program, "best_high", b->high.speculative_tokens_per_s);
    plot_figure(figure[0], sizeof figure[0], b->mean.speculative_tokens_per_s);
    plot_figure(figure[1], sizeof figure[1], b->low.speculative_tokens_per_s);
    plot_figure(figure[2], sizeof figure[2], b->high.speculative_tokens_per_s);
    if (best == 0)
        plot_textf(program, "best_text", "best: no speculation, %s tokens/s [%s, %s]", figure[0],
                   figure[1], figure[2]);
    else
        plot_textf(program, "best_text", "best: %d draft%s, %s tokens/s [%s, %s]", best,
                   best == 1 ? "" : "s", figure[0], figure[1], figure[2]);
    plot_integer(program, "today_k", today);
    plot_number(program, "today_low", sims[today].low.speculative_tokens_per_s);
    plot_text(program, "today_text", today == best ? "" : "today");
    plot_baseline(program, s, &sims[0]);
}

static enum status write_plot(const struct plot_request *request, FILE *program,
                              struct plot_size *size, struct err *err)
{
    (void)size;
    struct scenario_file f = {0};
    static const struct simulation none;
    struct simulation sims[MAX_DRAFTS + 1] = {none};
    uint64_t seed;
    enum status status = plot_open_scenario(&f, request, &seed, err);
    if (status != STATUS_OK)
        goto out;
    int n = 1 + (f.s.draft.num_steps + 2 > SHOWN_DRAFTS ? f.s.draft.num_steps + 2 : SHOWN_DRAFTS);
    if (f.s.draft.num_steps > MAX_DRAFTS - 2) {
        status = err_set(err, STATUS_UNSUPPORTED, "plot draft shows up to %d drafts, not %d",
                         MAX_DRAFTS - 2, f.s.draft.num_steps);
        goto out;
    }
    if (f.s.draft.accept_rate.n == 0) {
        status = err_set(err, STATUS_UNSUPPORTED,
                         "%s has no draft.accept_rate, so no draft length can be judged; add "
                         "--set draft.accept_rate=0.8,0.6 with what your server reports",
                         request->input);
        goto out;
    }
    struct scenario one = f.s;
    one.draft.num_steps = 1;
    if (!scenario_speculates(&one)) {
        status = err_set(err, STATUS_UNSUPPORTED,
                         "%s does not speculate: draft.method is none; --set draft.method=eagle3 "
                         "asks what if it did",
                         request->input);
        goto out;
    }
    for (int k = 0; k < n && status == STATUS_OK; k++)
        status = plot_simulate_with(&f.s, "draft.num_steps", k, seed, &sims[k], err);
    if (status == STATUS_OK)
        write_data(program, &f.s, sims, n);
out:
    scenario_file_release(&f);
    return status;
}

const struct plot_kind plot_draft = {
    .name = "draft",
    .summary = "throughput against draft length",
    .input = "SCENARIO",
    .size = {900, 560, 34},
    .write = write_plot,
};
