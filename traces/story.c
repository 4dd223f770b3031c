#include "traces/story.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void story_points_release(struct story_points *s)
{
    free(s->v);
    *s = (struct story_points){0};
}

struct story_point *story_points_add(struct story_points *s)
{
    struct story_point *v = realloc(s->v, (s->n + 1) * sizeof *v);
    if (v == NULL)
        return NULL;
    s->v = v;
    s->v[s->n] = (struct story_point){0};
    return &s->v[s->n++];
}

struct story_choice *story_choice_add(struct story_point *p)
{
    if (p->n == STORY_MAX_CHOICES)
        return NULL;
    p->choice[p->n] = (struct story_choice){0};
    return &p->choice[p->n++];
}

double story_noise(double concurrency)
{
    return 0.035 * pow(concurrency > 1 ? concurrency : 1, -0.3);
}

struct tally {
    int pairs, score, points, right;
    double regret;
};

static void judge(const struct story_point *p, struct tally *t)
{
    int best = 0, top = 0;
    for (int i = 0; i < p->n; i++) {
        if (p->choice[i].measured > p->choice[best].measured)
            best = i;
        if (p->choice[i].predicted > p->choice[top].predicted)
            top = i;
        for (int j = 0; j < i; j++) {
            double measured = log(p->choice[i].measured / p->choice[j].measured);
            double predicted = log(p->choice[i].predicted / p->choice[j].predicted);
            if (fabs(measured) <= p->noise)
                continue;
            t->pairs++;
            if (fabs(predicted) > 1e-9)
                t->score += (predicted > 0) == (measured > 0) ? 1 : -1;
        }
    }
    const struct story_choice *a = &p->choice[top], *b = &p->choice[best];
    double gap = log(a->predicted / b->predicted), spread = hypot(a->sigma, b->sigma);
    t->points++;
    t->right += gap <= spread || log(b->measured / a->measured) <= p->noise;
    t->regret += 1 - a->measured / b->measured;
}

static int add_cases(struct backtest_result *r, const struct story_point *p)
{
    for (int i = p->absolute ? 0 : 1; i < p->n; i++) {
        const struct story_choice *c = &p->choice[i], *base = &p->choice[0];
        double predicted =
            p->absolute ? c->predicted : base->measured * c->predicted / base->predicted;
        struct backtest_case one = {.measured = c->measured,
                                    .predicted = predicted,
                                    .low = predicted * exp(-1.96 * hypot(c->sigma, p->noise)),
                                    .high = predicted * exp(1.96 * hypot(c->sigma, p->noise)),
                                    .error = fabs(predicted / c->measured - 1)};
        one.naive_error = p->absolute ? (double)NAN : fabs(base->measured / c->measured - 1);
        snprintf(one.name, sizeof one.name, "%s: %s", p->name, c->name);
        if (backtest_add_case(r, &one) != 0)
            return -1;
    }
    return 0;
}

enum status story_report(struct backtest_results *rs, const struct story_points *s,
                         const char *table, const char *target, const char *fitted_on,
                         struct err *err)
{
    struct tally t = {0};
    struct backtest_result *r = backtest_add(rs);
    int bad = r == NULL;
    for (size_t i = 0; i < s->n && !bad; i++) {
        if (s->v[i].n < 2)
            continue;
        judge(&s->v[i], &t);
        bad = add_cases(r, &s->v[i]) != 0;
    }
    if (!bad) {
        snprintf(r->table, sizeof r->table, "%s", table);
        snprintf(r->target, sizeof r->target, "%s", target);
        snprintf(r->fitted_on, sizeof r->fitted_on, "%s", fitted_on);
        if (s->n > 0 && !s->v[0].absolute) {
            r->n_naive = 1;
            snprintf(r->naive[0].formula, sizeof r->naive[0].formula, "nothing changes");
        }
        bad = backtest_summarise_cases(r) != 0;
    }
    if (bad)
        return err_set(err, STATUS_FAILED, "out of memory");
    if (t.points > 0) {
        r->errors.argmax_accuracy = (double)t.right / t.points;
        r->errors.mean_regret = t.regret / t.points;
    }
    if (t.pairs > 0)
        r->errors.kendall_tau = (double)t.score / t.pairs;
    return STATUS_OK;
}
