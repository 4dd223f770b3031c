/* simulate: throughput of the baseline and of speculation, with the cycle's breakdown. */
#include <stdio.h>

#include "model/parallel.h"
#include "model/rank.h"
#include "traces/outcome_io.h"
#include "traces/scenario_io.h"
#include "traces/serve_io.h"

static void warn(void *ctx, const char *name, const char *text)
{
    (void)name;
    fprintf(ctx, "  note: %s\n", text);
}

static void row(FILE *out, const char *name, double value, double low, double high,
                const char *unit)
{
    fprintf(out, "  %-24s %9.4g %-9s [%.4g, %.4g]\n", name, value, unit, low, high);
}

static void part(FILE *out, const char *name, const struct outcome *m, double us, double low,
                 double high, const char *what)
{
    fprintf(out, "  %-24s %9.0f us  %5.1f %%   [%.0f, %.0f]  %s\n", name, us,
            100 * us / m->cycle_us, low, high, what);
}

static void print_text(FILE *out, const struct scenario *s, const struct simulation *sim)
{
    const struct outcome *m = &sim->mean, *lo = &sim->low, *hi = &sim->high;
    char what[160];
    fprintf(out, "%s\n", s->title[0] ? s->title : "scenario");
    fprintf(out, "  %d ranks, batch %d, %s; 95 %% intervals in brackets\n\n", s->ranks, s->batch,
            s->allreduce.latency_us.set ? "allreduce latency given" : s->allreduce.impl);
    row(out, "baseline", m->baseline_tokens_per_s, lo->baseline_tokens_per_s,
        hi->baseline_tokens_per_s, "tok/s");
    if (scenario_speculates(s)) {
        row(out, "speculative", m->speculative_tokens_per_s, lo->speculative_tokens_per_s,
            hi->speculative_tokens_per_s, "tok/s");
        row(out, "speedup", m->speedup, lo->speedup, hi->speedup, "x");
        row(out, "tokens per cycle", m->tokens_per_cycle, lo->tokens_per_cycle,
            hi->tokens_per_cycle, "");
        fprintf(out, "  %-24s %8.0f %%\n", "chance that it pays", 100 * sim->p_speedup);
    }
    fprintf(out, "\n  one cycle (%d draft steps, %d tokens verified per request):\n",
            scenario_speculates(s) ? s->draft.num_steps : 0, scenario_verify_tokens(s));
    part(out, "draft", m, m->draft_us, lo->draft_us, hi->draft_us, "");
    part(out, "verify compute", m, m->verify_compute_us, lo->verify_compute_us,
         hi->verify_compute_us, "");
    snprintf(what, sizeof what, "%d x %.1f us of %.0f bytes, logits %.0f us", m->allreduce_count,
             m->allreduce_us, m->message_bytes, m->logits_gather_us);
    part(out, "verify allreduce", m, m->verify_allreduce_us, lo->verify_allreduce_us,
         hi->verify_allreduce_us, what);
    snprintf(what, sizeof what, "%d allreduces, logits %.0f us", m->draft_allreduce_count,
             m->draft_gather_us);
    part(out, "draft allreduce", m, m->draft_allreduce_us, lo->draft_allreduce_us,
         hi->draft_allreduce_us, what);
    part(out, "host", m, m->host_us, lo->host_us, hi->host_us, "");
    part(out, "cycle", m, m->cycle_us, lo->cycle_us, hi->cycle_us, "");
    if (s->measured.speculative_tokens_per_s.set && scenario_speculates(s)) {
        struct residual r = outcome_residual(s, sim);
        struct err why = {0};
        int possible = rank_guard(s, &why) == STATUS_OK;
        fprintf(
            out,
            "\n  measured %.4g tok/s: %.0f us of each cycle [%.0f, %.0f] are explained by no term "
            "above;\n  ",
            r.measured_tokens_per_s, r.unexplained_us, r.low_us, r.high_us);
        if (!possible)
            fprintf(out, "%s\n", why.msg);
        else if (r.tokens_per_cycle >= 1 && r.tokens_per_cycle <= s->draft.num_steps + 1)
            fprintf(out, "an accept length of %.2f instead of %.2f would explain them alone\n",
                    r.tokens_per_cycle, m->tokens_per_cycle);
        else
            fprintf(out, "no accept length explains them alone: it lies between 1 and %d\n",
                    s->draft.num_steps + 1);
    }
    if (m->flags != 0)
        fprintf(out, "\n");
    outcome_warnings(m->flags, warn, out);
}

static enum status run(struct invocation *inv, struct err *err)
{
    int64_t seed = 1, draws = 2000, threads = parallel_default_threads();
    enum status status = invocation_integer(inv, "seed", 0, INT64_MAX, &seed, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "draws", 20, 10000000, &draws, err);
    if (status == STATUS_OK)
        status = invocation_integer(inv, "threads", 1, PARALLEL_MAX_THREADS, &threads, err);
    if (status != STATUS_OK)
        return status;
    struct scenario_file f;
    struct simulation sim;
    status = scenario_file_open(&f, inv, inv->log, err);
    if (status != STATUS_OK)
        return status;
    status = simulate(&f.s, (uint64_t)seed, (int)draws, (int)threads, &sim, err);
    struct serve_report served;
    int serve = serve_wanted(inv);
    if (status == STATUS_OK && serve)
        status = serve_from_options(inv, &f.s, (uint64_t)seed, &served, err);
    if (status == STATUS_OK && inv->json) {
        cJSON *root = simulation_json(&f.s, &sim);
        if (serve)
            cJSON_AddItemToObject(root, "serve", serve_json(&served));
        status = print_json(inv->out, root, err);
    } else if (status == STATUS_OK) {
        print_text(inv->out, &f.s, &sim);
        if (serve)
            serve_print(inv->out, &served);
    }
    scenario_file_release(&f);
    return status;
}

static const struct command_option options[] = {
    {"set", "KEY=VALUE", 1, "edit the scenario: what if?"},
    {"costs", "FILE", 1, "a trace or model that prices collectives, before the scenario's own"},
    {"draws", "N", 0, "worlds drawn for the intervals (2000)"},
    {"seed", "N", 0, "seed of the draws (1)"},
    {"threads", "N", 0, "threads (all processors); the result does not depend on it"},
    SERVE_OPTIONS{0},
};

const struct command cmd_simulate = {
    .name = "simulate",
    .synopsis =
        "SCENARIO [--set KEY=VALUE]... [--costs FILE]... [--draws N] [--seed N] [--serve N]",
    .summary = "throughput of the baseline and of speculation, with the cycle's breakdown",
    .details =
        "An edit by --set asks what would be if it were so: the compute that was derived from\n"
        "the measured baseline stays. updraft scenario --keys lists the keys.\n"
        "\n"
        "--serve simulates requests one by one, by a closed loop of users (the batch), a random\n"
        "rate or recorded arrivals: time to first token, time per token and their tails, with\n"
        "and without speculation. serve.prefill_tokens_per_s says how fast prompts go.",
    .min_args = 1,
    .max_args = 1,
    .options = options,
    .run = run,
};
