/* Why an option stands where it stands, in one line. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/rank_work.h"

static void say(struct ranked *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct ranked *v, const char *fmt, ...)
{
    size_t n = strlen(v->reason);
    if (n + 4 >= sizeof v->reason)
        return;
    if (n > 0)
        n += (size_t)snprintf(v->reason + n, sizeof v->reason - n, "; ");
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->reason + n, sizeof v->reason - n, fmt, ap);
    va_end(ap);
}

/* The part of the cycle that changes most. */
static void say_term(const struct rank_work *w, struct ranked *v)
{
    struct scenario s = *w->p->mean;
    struct outcome o;
    rank_apply(w->p->catalogue, v->with, &s);
    evaluate_cycle(&s, &o);
    const struct {
        const char *name;
        double before, after;
    } terms[] = {
        {"draft", w->now.draft_us, o.draft_us},
        {"verify compute", w->now.verify_compute_us, o.verify_compute_us},
        {"verify allreduce", w->now.verify_allreduce_us, o.verify_allreduce_us},
        {"draft allreduce", w->now.draft_allreduce_us, o.draft_allreduce_us},
        {"host", w->now.host_us, o.host_us},
    };
    size_t most = 0;
    for (size_t i = 1; i < sizeof terms / sizeof terms[0]; i++)
        if (fabs(terms[i].after - terms[i].before) > fabs(terms[most].after - terms[most].before))
            most = i;
    if (fabs(o.tokens_per_cycle - w->now.tokens_per_cycle) > 1e-9)
        say(v, "tokens a cycle %.3g -> %.3g", w->now.tokens_per_cycle, o.tokens_per_cycle);
    if (fabs(terms[most].after - terms[most].before) > 0.05)
        say(v, "%s %.0f -> %.0f us of a cycle of %.0f", terms[most].name, terms[most].before,
            terms[most].after, w->now.cycle_us);
}

void rank_reason(const struct rank_work *w, struct ranked *v)
{
    if (v->status == RANK_BLOCKED)
        return;
    const struct option *o = &w->p->catalogue->v[v->option];
    char text[400];
    o->effects[0].type->explain(&o->effects[0], w->p->mean, text, sizeof text);
    say(v, "%s", text);
    say_term(w, v);
    for (int i = 0; i < w->p->catalogue->n; i++)
        if (i != v->option && (v->with >> i & 1))
            say(v, "with %s, which it needs", w->p->catalogue->v[i].id);
    if (v->coin_flip)
        say(v, "a coin flip: it gains in %.0f %% of the worlds", 100 * v->p_gain);
    if (!isnan(v->crossover_bytes))
        say(v, "its allreduce and today's cross at %.0f bytes, the message has %.0f",
            v->crossover_bytes, w->now.message_bytes);
    if (v->gain.low <= 0 && v->gain.high >= 0 && v->undecidable)
        say(v, "undecidable: the gain is within the benchmark's noise of %.2g %%",
            100 * w->r->noise);
    else if (v->undecidable)
        say(v, "too small for the benchmark's noise of %.2g %% to show", 100 * w->r->noise);
    if (v->reaccept && w->r->speculates)
        say(v, "another order of summation: measure the accept length again");
    if (!isnan(v->last_in) && v->gain.mean > 0 && v->last_in < 0.4 * v->gain.mean)
        say(v, "worth %.1f %% on top of the others instead of %.1f %% alone", 100 * v->last_in,
            100 * v->gain.mean);
}
