#include "traces/rank_io.h"

#include <math.h>
#include <string.h>

#include "model/evaluate.h"

static const char *id_of(const struct rank_params *p, int option)
{
    return p->catalogue->v[option].id;
}

/* --- JSON
 * ----------------------------------------------------------------------------------------- */

static void add_number(cJSON *o, const char *key, double x)
{
    if (isfinite(x))
        cJSON_AddNumberToObject(o, key, x);
    else
        cJSON_AddNullToObject(o, key);
}

static void add_interval(cJSON *o, const char *key, const struct estimate *e)
{
    double v[2] = {e->low, e->high};
    cJSON_AddItemToObject(o, key, cJSON_CreateDoubleArray(v, 2));
}

static void add_threshold(cJSON *o, const char *key, const struct threshold *t)
{
    cJSON *j = cJSON_AddObjectToObject(o, key);
    add_number(j, "allreduce_us", t->allreduce_us);
    add_number(j, "accept_length", t->accept_length);
    add_number(j, "allreduce_count", t->allreduce_count);
}

static cJSON *memory_json(const struct memory *m)
{
    cJSON *j = cJSON_CreateObject();
    add_number(j, "weights_bytes", m->weights);
    add_number(j, "draft_weights_bytes", m->draft_weights);
    add_number(j, "kv_cache_bytes", m->kv_cache);
    add_number(j, "communicators_bytes", m->communicators);
    add_number(j, "workspaces_bytes", m->workspaces);
    add_number(j, "runtime_bytes", m->runtime);
    add_number(j, "total_bytes", m->total);
    add_number(j, "limit_bytes", m->limit > 0 ? m->limit : (double)NAN);
    cJSON_AddNumberToObject(j, "nccl_channels", m->nccl_channels);
    add_number(j, "nccl_ring_bytes", m->nccl_ring);
    add_number(j, "nccl_ring_and_tree_bytes", m->nccl_ring_tree);
    cJSON_AddBoolToObject(j, "fits", m->fits);
    return j;
}

static cJSON *option_json(const struct ranking *r, const struct rank_params *p, int k)
{
    const struct ranked *v = &r->v[k];
    const struct option *o = &p->catalogue->v[v->option];
    cJSON *j = cJSON_CreateObject();
    cJSON_AddStringToObject(j, "id", o->id);
    cJSON_AddStringToObject(j, "title", o->title);
    cJSON_AddNumberToObject(j, "rank", k + 1);
    cJSON_AddStringToObject(j, "status", rank_status_name(v->status));
    cJSON_AddStringToObject(j, "reason", v->reason);
    if (v->status == RANK_BLOCKED) {
        static const char *const empty[] = {"tokens_per_s", "gain", "gain_ci95"};
        for (int i = 0; i < 3; i++)
            cJSON_AddNullToObject(j, empty[i]);
        add_number(j, "effort_days", option_mean_effort(o));
        cJSON_AddNullToObject(j, "gain_per_day");
        cJSON_AddNumberToObject(j, "p_best", 0);
        return j;
    }
    cJSON *ci = cJSON_AddObjectToObject(j, "ci95");
    add_number(j, "tokens_per_s", v->tokens_per_s.mean);
    add_interval(ci, "tokens_per_s", &v->tokens_per_s);
    add_number(j, "gain", v->gain.mean);
    add_interval(j, "gain_ci95", &v->gain);
    add_number(j, "gain_error", v->gain.error);
    add_number(j, "p_works", o->p_works);
    add_number(j, "gain_if_it_works", v->gain_works.mean);
    add_interval(ci, "gain_if_it_works", &v->gain_works);
    add_number(j, "effort_days", v->effort_days);
    add_number(j, "gain_per_day", v->gain_per_day);
    add_number(j, "p_best", v->p_best);
    add_number(j, "p_gain", v->p_gain);
    add_number(j, "expected_regret_tokens_per_s", v->regret);
    add_number(j, "last_in_gain", v->last_in);
    add_number(j, "shapley_gain", v->shapley);
    cJSON_AddBoolToObject(j, "undecidable", v->undecidable);
    cJSON_AddBoolToObject(j, "undecidable_from_first",
                          fabs(v->gain.mean - r->v[0].gain.mean) < r->noise);
    cJSON_AddBoolToObject(j, "coin_flip", v->coin_flip);
    cJSON_AddBoolToObject(j, "remeasure_accept_length", v->reaccept && r->speculates);
    add_number(j, "allreduce_us_today", v->ar_us_now);
    add_number(j, "allreduce_us", v->ar_us_then);
    add_number(j, "crossover_bytes", v->crossover_bytes);
    add_threshold(j, "no_loss_if", &v->no_loss);
    add_threshold(j, "wins_if", &v->win);
    add_number(j, "memory_change_bytes", v->memory.total - r->memory.total);
    if (o->risk[0])
        cJSON_AddStringToObject(j, "risk", o->risk);
    cJSON *list = cJSON_AddArrayToObject(j, "excludes");
    for (int i = 0; i < p->catalogue->n; i++)
        if (o->excludes >> i & 1)
            cJSON_AddItemToArray(list, cJSON_CreateString(id_of(p, i)));
    return j;
}

static void add_roadmap(cJSON *root, const struct ranking *r, const struct rank_params *p)
{
    cJSON *list = cJSON_AddArrayToObject(root, "roadmap");
    for (int k = 0; k < r->n_steps; k++) {
        const struct roadmap_step *s = &r->steps[k];
        cJSON *j = cJSON_CreateObject();
        cJSON_AddItemToArray(list, j);
        cJSON_AddStringToObject(j, "id", id_of(p, s->option));
        add_number(j, "tokens_per_s", s->tokens_per_s.mean);
        cJSON *ci = cJSON_AddObjectToObject(j, "ci95");
        add_interval(ci, "tokens_per_s", &s->tokens_per_s);
        add_number(j, "done_days", s->done_days);
        add_number(j, "marginal_gain", s->marginal);
        if (s->fallback >= 0)
            cJSON_AddStringToObject(j, "if_it_fails", id_of(p, s->fallback));
        else
            cJSON_AddNullToObject(j, "if_it_fails");
    }
    add_number(root, "horizon_days", r->horizon_days);
    add_number(root, "roadmap_mean_tokens_per_s", r->roadmap_value);
    list = cJSON_AddArrayToObject(root, "sequential");
    for (int i = 0; i < r->n_policies; i++) {
        const struct policy *s = &r->policies[i];
        cJSON *j = cJSON_CreateObject();
        cJSON_AddItemToArray(list, j);
        cJSON_AddStringToObject(j, "first", id_of(p, s->first));
        cJSON_AddStringToObject(j, "then", id_of(p, s->then));
        cJSON_AddBoolToObject(j, "only_if_it_fails", s->only_if_it_fails);
        add_number(j, "p_first_fails", s->p_first_fails);
        add_number(j, "mean_tokens_per_s", s->value);
        add_number(j, "mean_tokens_per_s_of_one_alone", s->straight);
    }
}

static cJSON *learn_json(const struct learn *l)
{
    cJSON *j = cJSON_CreateObject();
    cJSON_AddStringToObject(j, "id", l->id);
    cJSON_AddStringToObject(j, "what", l->what);
    cJSON_AddStringToObject(j, "resolves", l->resolves);
    add_number(j, "minutes", l->minutes);
    add_number(j, "regret_before_tokens_per_s", l->regret_before);
    add_number(j, "regret_after_tokens_per_s", l->regret_after);
    return j;
}

static void add_learning(cJSON *root, const struct ranking *r, const char *scenario)
{
    if (r->decisive >= 0) {
        cJSON *j = learn_json(&r->learn[r->decisive]);
        char plan[600];
        snprintf(plan, sizeof plan, "updraft measure --plan decisive:%.500s", scenario);
        if (r->learn[r->decisive].option < 0)
            cJSON_AddStringToObject(j, "command", plan);
        cJSON_AddItemToObject(root, "decisive_measurement", j);
    } else {
        cJSON_AddNullToObject(root, "decisive_measurement");
    }
    cJSON *list = cJSON_AddArrayToObject(root, "measurements");
    for (int i = 0; i < r->n_learn; i++)
        cJSON_AddItemToArray(list, learn_json(&r->learn[i]));
}

static void add_tornado(cJSON *root, const struct ranking *r)
{
    cJSON *list = cJSON_AddArrayToObject(root, "tornado");
    for (int i = 0; i < r->n_tornado; i++) {
        const struct tornado_row *t = &r->tornado[i];
        cJSON *j = cJSON_CreateObject();
        double range[2] = {t->low, t->high}, today[2] = {t->today_low, t->today_high};
        double gain[2] = {t->gain_low, t->gain_high};
        cJSON_AddItemToArray(list, j);
        cJSON_AddStringToObject(j, "key", t->key);
        add_number(j, "value", t->value);
        cJSON_AddItemToObject(j, "range", cJSON_CreateDoubleArray(range, 2));
        cJSON_AddItemToObject(j, "today_tokens_per_s", cJSON_CreateDoubleArray(today, 2));
        cJSON_AddItemToObject(j, "leader_gain", cJSON_CreateDoubleArray(gain, 2));
    }
}

cJSON *ranking_json(const struct ranking *r, const struct rank_params *p, const char *scenario)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "title", p->mean->title);
    add_number(root, "today_tokens_per_s", r->today.mean);
    cJSON *ci = cJSON_AddObjectToObject(root, "ci95");
    add_interval(ci, "today_tokens_per_s", &r->today);
    cJSON_AddBoolToObject(root, "speculates", r->speculates);
    if (r->has_measured) {
        add_number(root, "measured_speculative_tokens_per_s",
                   p->mean->measured.speculative_tokens_per_s.value);
        add_number(root, "unexplained_us", r->unexplained_us.mean);
        add_interval(ci, "unexplained_us", &r->unexplained_us);
    }
    add_number(root, "p_today_best", r->p_today_best);
    add_number(root, "noise", r->noise);
    cJSON_AddNumberToObject(root, "draws", (double)r->draws);
    cJSON *list = cJSON_AddArrayToObject(root, "optimizations");
    for (int k = 0; k < r->n; k++)
        cJSON_AddItemToArray(list, option_json(r, p, k));
    add_roadmap(root, r, p);
    add_learning(root, r, scenario);
    cJSON *sets = cJSON_AddObjectToObject(root, "sets");
    cJSON_AddNumberToObject(sets, "searched_options", r->n_searched);
    cJSON_AddNumberToObject(sets, "allowed", (double)r->n_sets);
    list = cJSON_AddArrayToObject(sets, "best");
    for (int i = 0; i < r->n_searched; i++)
        if (r->best_set >> i & 1)
            cJSON_AddItemToArray(list, cJSON_CreateString(id_of(p, r->searched[i])));
    add_number(sets, "best_tokens_per_s", r->best_mean);
    add_number(sets, "expected_regret_tokens_per_s", r->perfect_mean - r->best_mean);
    add_number(sets, "change_between_halves_of_the_draws", r->best_change);
    add_tornado(root, r);
    if (r->speculates)
        add_threshold(root, "speculation_breaks_even_at", &r->speculation);
    cJSON_AddItemToObject(root, "memory", memory_json(&r->memory));
    return root;
}

/* --- Words
 * ---------------------------------------------------------------------------------------- */

/* Wraps text at words to `width` with `indent` spaces before every line but the first. */
static void wrap(FILE *out, const char *text, int indent, int width)
{
    int at = indent;
    while (*text != '\0') {
        int n = (int)strcspn(text, " ");
        if (at > indent && at + 1 + n > width) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        }
        if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", n, text);
        at += n;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_options(FILE *out, const struct ranking *r, const struct rank_params *p)
{
    fprintf(out, "      %-22s %8s %18s %7s %8s %6s  %s\n", "option", "gain", "95 %", "days",
            "per day", "P best", "tokens/s");
    for (int k = 0; k < r->n; k++) {
        const struct ranked *v = &r->v[k];
        const struct option *o = &p->catalogue->v[v->option];
        if (v->status == RANK_BLOCKED) {
            fprintf(out, "  %2d  %-22s %8s\n", k + 1, o->id, "blocked");
        } else {
            char ci[40];
            snprintf(ci, sizeof ci, "[%+.1f, %+.1f]", 100 * v->gain.low, 100 * v->gain.high);
            fprintf(out, "  %2d  %-22s %+7.1f%% %18s %7.2f %+7.2f%% %5.0f%%  %.4g%s\n", k + 1,
                    o->id, 100 * v->gain.mean, ci, v->effort_days, 100 * v->gain_per_day,
                    100 * v->p_best, v->tokens_per_s.mean,
                    v->status == RANK_HARMFUL ? "  harmful" : "");
        }
        fprintf(out, "        ");
        wrap(out, v->reason, 8, 100);
    }
}

static void print_roadmap(FILE *out, const struct ranking *r, const struct rank_params *p)
{
    fprintf(out, "\n  the order in which to do them");
    if (p->budget_days > 0)
        fprintf(out, " in %g days", p->budget_days);
    fprintf(out, ", %.4g tokens/s on average over %g days:\n", r->roadmap_value, r->horizon_days);
    if (r->n_steps == 0)
        fprintf(out, "    nothing: no option is worth its days\n");
    for (int k = 0; k < r->n_steps; k++) {
        const struct roadmap_step *s = &r->steps[k];
        fprintf(out, "    day %6.1f  %-22s -> %6.4g tokens/s [%.4g, %.4g]  (%+.1f %%)%s%s\n",
                s->done_days, id_of(p, s->option), s->tokens_per_s.mean, s->tokens_per_s.low,
                s->tokens_per_s.high, 100 * s->marginal, s->fallback >= 0 ? ", if it fails: " : "",
                s->fallback >= 0 ? id_of(p, s->fallback) : "");
    }
    for (int i = 0; i < r->n_policies && i < 3; i++) {
        const struct policy *s = &r->policies[i];
        fprintf(out,
                "    try %s first, then %s %s: %.4g tokens/s on average, %.4g with one of them "
                "alone\n",
                id_of(p, s->first), id_of(p, s->then),
                s->only_if_it_fails ? "only if it fails" : "anyway", s->value, s->straight);
    }
}

void ranking_print(FILE *out, const struct ranking *r, const struct rank_params *p)
{
    fprintf(out, "%s\n", p->mean->title[0] ? p->mean->title : "scenario");
    fprintf(out, "  today %.4g tokens/s [%.4g, %.4g] %s; %zu worlds drawn\n\n", r->today.mean,
            r->today.low, r->today.high, r->speculates ? "with speculation" : "without speculation",
            r->draws);
    if (r->has_measured && r->unexplained_us.low > 0)
        fprintf(
            out,
            "  note: %.4g tokens/s were measured; no term explains %.0f us [%.0f, %.0f] of a "
            "cycle: find them first\n  (updraft calibrate), until then the gains are too high\n\n",
            p->mean->measured.speculative_tokens_per_s.value, r->unexplained_us.mean,
            r->unexplained_us.low, r->unexplained_us.high);
    print_options(out, r, p);
    print_roadmap(out, r, p);
    fprintf(out,
            "\n  %zu allowed sets of %d options; the best expects %.4g tokens/s and %.3g less "
            "than if every world were known\n",
            r->n_sets, r->n_searched, r->best_mean, r->perfect_mean - r->best_mean);
    if (r->decisive >= 0) {
        const struct learn *l = &r->learn[r->decisive];
        fprintf(out,
                "  measure next: %s (%g minutes): the expected regret falls from %.3g to %.3g "
                "tokens/s\n",
                l->what, l->minutes, l->regret_before, l->regret_after);
    } else {
        fprintf(out, "  measure next: no probe or run would change the choice\n");
    }
    if (r->n_tornado > 0) {
        fprintf(out, "  what moves today's throughput most:");
        for (int i = 0; i < r->n_tornado && i < 3; i++)
            fprintf(out, "%s %s (%.4g to %.4g)", i ? "," : "", r->tornado[i].key,
                    r->tornado[i].today_low, r->tornado[i].today_high);
        fprintf(out, "\n");
    }
    if (r->speculates && isfinite(r->speculation.accept_length))
        fprintf(out, "  speculation breaks even at an accept length of %.2f%s\n",
                r->speculation.accept_length,
                isfinite(r->speculation.allreduce_us) ? "" : ", at any latency of the allreduce");
    char sum[300];
    memory_text(&r->memory, sum, sizeof sum);
    fprintf(out, "  memory of a rank: %s\n", sum);
}

/* --- One option, line by line
 * ---------------------------------------------------------------------- */

static void line(FILE *out, const char *name, double before, double after)
{
    fprintf(out, "    %-34s %12.2f %12.2f %+12.2f\n", name, before, after, after - before);
}

static void explain_cycle(FILE *out, const struct scenario *a, const struct scenario *b)
{
    struct outcome x, y;
    evaluate(a, &x);
    evaluate(b, &y);
    fprintf(out, "    %-34s %12s %12s %12s\n", "at the middle of every quantity", "today",
            "with it", "change");
    line(out, "rows verified", x.verify_rows, y.verify_rows);
    line(out, "bytes of a verify allreduce", x.message_bytes, y.message_bytes);
    line(out, "us of a verify allreduce", x.allreduce_us, y.allreduce_us);
    line(out, "x allreduces of a verify pass", x.allreduce_count, y.allreduce_count);
    line(out, "+ us of the logits exchange", x.logits_gather_us, y.logits_gather_us);
    line(out, "= us of verify allreduce", x.verify_allreduce_us, y.verify_allreduce_us);
    line(out, "+ us of verify compute", x.verify_compute_us, y.verify_compute_us);
    line(out, "+ us of the draft", x.draft_us, y.draft_us);
    line(out, "+ us of the draft's allreduces", x.draft_allreduce_us, y.draft_allreduce_us);
    line(out, "+ us of the host", x.host_us, y.host_us);
    line(out, "= us of a cycle", x.cycle_us, y.cycle_us);
    fprintf(out, "    %-34s %12.5f %12.5f %+12.5f\n", "tokens of a cycle and request",
            x.tokens_per_cycle, y.tokens_per_cycle, y.tokens_per_cycle - x.tokens_per_cycle);
    line(out, "x requests", a->batch, b->batch);
    line(out, "x 10^6 / cycle = tokens/s", x.speculative_tokens_per_s, y.speculative_tokens_per_s);
    fprintf(out, "    gain %.2f / %.2f - 1 = %+.2f %%\n", y.speculative_tokens_per_s,
            x.speculative_tokens_per_s,
            100 * (y.speculative_tokens_per_s / x.speculative_tokens_per_s - 1));
}

static void explain_memory(FILE *out, const struct ranking *r, const struct ranked *v,
                           const struct scenario *s)
{
    char sum[300];
    const struct memory *m = &v->memory;
    fprintf(out, "\n  memory of a rank\n");
    fprintf(
        out,
        "    one NCCL channel: roundup(4096 + 524288 + 4915200 + %.0f, 2 MiB) + 2 MiB = %.0f MiB\n",
        s->nccl.buffsize_bytes > 0 ? s->nccl.buffsize_bytes : 4194304.0,
        m->nccl_per_channel / 1048576);
    fprintf(
        out,
        "    a communicator of %d channels: %.0f MiB with rings, %.0f MiB with rings and trees\n",
        m->nccl_channels, m->nccl_ring / 1048576, m->nccl_ring_tree / 1048576);
    memory_text(&r->memory, sum, sizeof sum);
    fprintf(out, "    today:   %s\n", sum);
    memory_text(m, sum, sizeof sum);
    fprintf(out, "    with it: %s\n", sum);
}

static void explain_threshold(FILE *out, const char *what, const struct threshold *t)
{
    fprintf(out, "    %s:", what);
    int any = 0;
    if (isfinite(t->allreduce_us)) {
        fprintf(out, " an allreduce of %.3g us", t->allreduce_us);
        any = 1;
    }
    if (isfinite(t->accept_length)) {
        fprintf(out, "%s an accept length of %.3g", any ? ", or" : "", t->accept_length);
        any = 1;
    }
    if (isfinite(t->allreduce_count)) {
        fprintf(out, "%s %.0f allreduces a pass", any ? ", or" : "", t->allreduce_count);
        any = 1;
    }
    fprintf(out, "%s\n", any ? "" : " no latency, accept length or count does it alone");
}

static void explain_numbers(FILE *out, const struct ranking *r, const struct ranked *v,
                            const struct option *o)
{
    fprintf(out, "\n  over %zu worlds\n", r->draws);
    fprintf(out,
            "    gain %+.2f %% [%+.2f, %+.2f], standard error %.2f %%; gains in %.0f %% of them\n",
            100 * v->gain.mean, 100 * v->gain.low, 100 * v->gain.high, 100 * v->gain.error,
            100 * v->p_gain);
    if (o->p_works < 1)
        fprintf(out, "    where it works %+.2f %% [%+.2f, %+.2f]\n", 100 * v->gain_works.mean,
                100 * v->gain_works.low, 100 * v->gain_works.high);
    int needs = (v->with & (v->with - 1)) != 0;
    fprintf(out, "    works with probability %.2f; effort %.2f days (%g, %g, %g%s)\n", o->p_works,
            v->effort_days, o->effort_low, o->effort_likely, o->effort_high,
            needs ? ", and that of what it needs" : "");
    fprintf(out, "    gain per day %+.2f %% / %.2f = %+.2f %%\n", 100 * v->gain.mean,
            v->effort_days, 100 * v->gain_per_day);
    fprintf(out, "    best of all alone in %.1f %%; choosing it loses %.2f tokens/s on average\n",
            100 * v->p_best, v->regret);
    if (isfinite(v->last_in))
        fprintf(
            out,
            "    on top of the best others %+.2f %%; its share of the best set's gain %+.2f %%\n",
            100 * v->last_in, 100 * v->shapley);
    explain_threshold(out, "no loss against today with", &v->no_loss);
    explain_threshold(out, "it equals the leader with", &v->win);
    if (isfinite(v->crossover_bytes))
        fprintf(out, "    its allreduce and today's cost the same at %.0f bytes\n",
                v->crossover_bytes);
}

void ranking_explain(FILE *out, const struct ranking *r, const struct rank_params *p, int k)
{
    const struct ranked *v = &r->v[k];
    const struct option *o = &p->catalogue->v[v->option];
    fprintf(out, "%s: %s\n  rank %d of %d, %s: ", o->id, o->title, k + 1, r->n,
            rank_status_name(v->status));
    wrap(out, v->reason, 4, 100);
    struct scenario s = *p->mean;
    fprintf(out, "\n  what it changes\n");
    for (int i = 0; i < p->catalogue->n; i++) {
        if (!(v->with >> i & 1))
            continue;
        const struct option *part = &p->catalogue->v[i];
        for (int e = 0; e < part->n_effects; e++) {
            char text[400];
            part->effects[e].type->explain(&part->effects[e], &s, text, sizeof text);
            fprintf(out, "    %s%s%s: %s\n", i == v->option ? "" : part->id,
                    i == v->option ? "" : ", ", part->effects[e].type->name, text);
        }
        if (v->status != RANK_BLOCKED) {
            struct option_draw d;
            option_mean(part, &d);
            option_apply(part, &d, &s);
        }
    }
    for (int i = 0; i < o->n_requirements; i++) {
        char need[200];
        condition_text(&o->requirements[i].must, need, sizeof need);
        fprintf(out, "    needs %s%s%s\n", need, o->requirements[i].why[0] ? ": " : "",
                o->requirements[i].why);
    }
    if (v->status != RANK_BLOCKED) {
        fprintf(out, "\n  one cycle\n");
        explain_cycle(out, p->mean, &s);
        explain_numbers(out, r, v, o);
        explain_memory(out, r, v, &s);
    }
    if (o->risk[0])
        fprintf(out, "\n  risk: %s\n", o->risk);
    if (o->n_evidence > 0)
        fprintf(out, "\n  evidence\n");
    for (int i = 0; i < o->n_evidence; i++)
        fprintf(out, "    %s: %s\n", o->evidence[i].source, o->evidence[i].says);
}
