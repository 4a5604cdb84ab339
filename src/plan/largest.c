#include "plan/largest.h"

#include <math.h>

#include "base/attributes.h"
#include "plan/largest_view.h"

/* A memory line is followed so many times as far as it was measured, unless it ends far below the budget. */
#define REACH            16
#define SURE_SHARE       0.5
#define START_FACTOR     8
#define BLIND_FACTOR     4 /* where the budget is not known */
#define START_SHARE      0.9
#define FAR_BELOW        0.85 /* of the budget: a failure there is strange */
#define SMALL_FACTOR     16   /* of the smallest size: odd kernels and algorithms are met among such */
#define FIRST_ATTEMPTS   3
#define NEAR_NUMERATOR   3
#define NEAR_DENOMINATOR 5

const char *bl_size_verdict_words(bl_size_verdict verdict)
{
    static const char *const words[] = {"fits",
                                        "out of memory",
                                        "a size that it cannot take",
                                        "failed",
                                        "runs, but far slower a sample",
                                        "runs, but leaves less memory free than asked for",
                                        "not tried"};
    return (size_t)verdict < BL_ARRAY_LEN(words) ? words[verdict] : "";
}

int64_t bl_largest_first(const bl_largest_limits *l)
{
    if (l->min < 1 || l->multiple < 1)
        return 0;
    int64_t first = (l->min + l->multiple - 1) / l->multiple * l->multiple;
    return first <= l->max ? first : 0;
}

static double best_sample_s(const bl_probe *probes, size_t n, int64_t batch)
{
    double best = INFINITY;
    for (size_t i = 0; i < n; i++)
        if (probes[i].batch < batch && probes[i].verdict == BL_SIZE_FITS && probes[i].sample_s < best)
            best = probes[i].sample_s;
    return best;
}

bl_size_verdict bl_largest_verdict(const bl_largest_limits *l, const bl_probe *probes, size_t n, int64_t batch)
{
    bl_size_verdict verdict = BL_SIZE_UNTRIED;
    double sample_s = NAN;
    for (size_t i = 0; i < n; i++) {
        const bl_probe *p = &probes[i];
        if (p->batch != batch)
            continue;
        if (p->verdict != BL_SIZE_FITS)
            return p->verdict;
        if (l->headroom > 0 && p->memory_b > l->budget_b * (1 - l->headroom))
            return BL_SIZE_HEADROOM;
        verdict = BL_SIZE_FITS;
        if (!(p->sample_s >= sample_s))
            sample_s = p->sample_s;
    }
    /* The fastest of its runs: one alone may have been slowed down by something else. */
    return sample_s > BL_LARGEST_SLOW * best_sample_s(probes, n, batch) ? BL_SIZE_SLOW : verdict;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- what to do next ---- */

/* Nothing does yet. A program may refuse its smallest sizes for other reasons than memory, which larger ones do not
 * share: BatchNorm cannot train on one sample. */
static bool next_first(const bl_largest_view *s, int64_t *at)
{
    if (s->n == 0) {
        *at = s->min;
        return true;
    }
    const bl_size *last = &s->sizes[s->n - 1];
    if (s->n >= FIRST_ATTEMPTS || last->at >= s->max ||
        (last->verdict != BL_SIZE_LIMIT && last->verdict != BL_SIZE_FAILED))
        return false;
    *at = s->n == 1 ? last->at + 1 : smaller(last->at * 4, s->max);
    return true;
}

/* How many sizes at or above the one predicted to be the last have run: the prediction was too low, and ever wider
 * steps go beyond it. */
static int64_t steps_beyond(const bl_largest_view *s, int64_t predicted)
{
    int64_t step = 1;
    size_t beyond = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->sizes[i].verdict == BL_SIZE_FITS && s->sizes[i].at >= predicted && ++beyond > 1)
            step = smaller(step * 2, s->max);
    return step;
}

static int64_t next_upwards(const bl_largest_view *s)
{
    int64_t top = s->top->at;
    if (bl_largest_predicts(s)) {
        int64_t predicted = bl_largest_predicted(s, 0);
        if (predicted >= s->max && bl_largest_predicted_b(s, s->max) <= SURE_SHARE * bl_largest_free_b(s))
            return s->max;
        if (predicted <= top)
            return smaller(top + steps_beyond(s, predicted), s->max);
        /* A line that missed what it has seen may miss what it has not: first go where that does no harm, though half
         * of the way at least. */
        int64_t safe = larger(bl_largest_predicted(s, s->margin), top + (predicted - top + 1) / 2);
        return smaller(safe, top * REACH);
    }
    bool known = isfinite(s->limits->budget_b);
    double factor = known ? START_FACTOR : BLIND_FACTOR;
    /* Even if all of its memory were the samples', so many would fit. */
    if (known && s->n == 1 && bl_size_memory(s->top) > 0)
        factor = fmin(factor, START_SHARE * bl_largest_free_b(s) / bl_size_memory(s->top));
    return smaller(larger((int64_t)((double)top * factor), top + 1), s->max);
}

/* A failure that memory does not explain, and no larger size was tried: it may be a hole. */
static bool may_be_hole(const bl_largest_view *s)
{
    if (s->n_above != 1 || s->bad->at >= s->max || s->bad->verdict != BL_SIZE_MEMORY)
        return false;
    if (isfinite(s->limits->budget_b) && isfinite(bl_size_memory(s->top))) {
        double there_b = s->slope_b > 0 ? bl_largest_predicted_b(s, s->bad->at)
                                        : bl_size_memory(s->top) / (double)s->top->at * (double)s->bad->at;
        return there_b < FAR_BELOW * bl_largest_free_b(s);
    }
    return s->bad->at <= SMALL_FACTOR * s->min;
}

static int64_t beyond_hole(const bl_largest_view *s)
{
    int64_t at = s->bad->at * (isfinite(s->limits->budget_b) ? 2 : 4);
    if (bl_largest_predicts(s) && bl_largest_predicted(s, 0) > s->bad->at)
        at = smaller(bl_largest_predicted(s, 0), s->bad->at * REACH);
    return smaller(at, s->max);
}

static int64_t next_between(const bl_largest_view *s)
{
    int64_t top = s->top->at, bad = s->bad->at, gap = bad - top;
    /* A failure costs more than a run that does, so the step is less than half; the less is known, the less. */
    int64_t part = gap <= 3 ? 2 : isfinite(s->limits->budget_b) ? 3 : 4, at = top + larger(gap / part, 1);
    if (gap > 3 && s->failed_longer == 0 && bl_largest_predicts(s) && s->bad->verdict != BL_SIZE_LIMIT &&
        s->bad->verdict != BL_SIZE_FAILED) {
        int64_t predicted = bl_largest_predicted(s, 0), back = larger(gap / 7, 1);
        if (predicted >= bad && s->n_above == 1)
            at = bad - back; /* a little less memory than thought */
        else if (predicted <= top)
            at = top + smaller(larger(steps_beyond(s, predicted), back / 4), gap / 2);
        else if (predicted < bad)
            at = top + larger((predicted - top) * NEAR_NUMERATOR / NEAR_DENOMINATOR, 1); /* one was too high already */
    }
    return smaller(larger(at, top + 1), bad - 1);
}

static void answer(const bl_largest_view *s, bl_largest_step *out)
{
    const bl_size *top = s->top;
    int64_t multiple = s->limits->multiple;
    out->batch = top->at * multiple;
    out->kind = s->bad ? BL_LARGEST_FOUND : BL_LARGEST_CAP;
    out->longer = true;
    if (top->runs < 2 || top->longer_runs == 0)
        out->kind = BL_LARGEST_CONFIRM;
    if (s->bad) {
        out->above = s->bad->at * multiple;
        out->why_above = s->bad->verdict;
    }
    if (isfinite(top->memory_b) && isfinite(top->longer_b) && top->memory_b > 0)
        out->growth = top->longer_b / top->memory_b - 1;
    for (size_t i = 0; i < s->n; i++)
        if (s->sizes[i].at < top->at && s->sizes[i].verdict != BL_SIZE_FITS)
            out->hole = s->sizes[i].at * multiple;
}

/* The top is the one predicted to be the last: were it to fail when it runs longer, the next one's failure would have
 * been for nothing. */
static bool confirms_first(const bl_largest_view *s)
{
    if (s->bad || s->failed_longer > 0 || s->top->longer_runs > 0 || !bl_largest_predicts(s))
        return false;
    int64_t predicted = bl_largest_predicted(s, 0);
    return predicted <= s->top->at && steps_beyond(s, predicted) == 1;
}

static void decide(const bl_largest_view *s, bl_largest_step *out)
{
    int64_t at = 0, multiple = s->limits->multiple;
    out->kind = BL_LARGEST_PROBE;
    for (size_t i = 0; i < s->n; i++)
        if (s->sizes[i].verdict == BL_SIZE_SLOW && s->sizes[i].runs < 2) { /* not believed at once */
            out->batch = s->sizes[i].at * multiple;
            return;
        }
    if (!s->top) {
        if (next_first(s, &at)) {
            out->batch = at * multiple;
        } else {
            out->kind = BL_LARGEST_NOTHING;
            out->batch = s->sizes[0].at * multiple;
            out->why_above = s->sizes[0].verdict;
        }
        return;
    }
    if (s->bad ? s->bad->at == s->top->at + 1 && !may_be_hole(s) : s->top->at == s->max) {
        answer(s, out);
        return;
    }
    if (confirms_first(s)) {
        out->kind = BL_LARGEST_CONFIRM;
        out->batch = s->top->at * multiple;
        out->longer = true;
        return;
    }
    if (!s->bad)
        at = next_upwards(s);
    else
        at = may_be_hole(s) ? beyond_hole(s) : next_between(s);
    out->batch = at * multiple;
    out->longer = s->failed_longer > 0;
    if (bl_largest_predicts(s))
        out->predicted_b = bl_largest_predicted_b(s, at);
}

int bl_largest_next(const bl_largest_limits *limits, const bl_probe *probes, size_t n, bl_largest_step *out,
                    bl_error *err)
{
    *out = (bl_largest_step){.predicted_b = NAN, .growth = NAN, .why_above = BL_SIZE_UNTRIED};
    if (limits->min < 1 || limits->multiple < 1 || bl_largest_first(limits) == 0)
        return BL_FAIL(err, BL_ERR_USAGE, "there is no multiple of %lld between %lld and %lld",
                       (long long)limits->multiple, (long long)limits->min, (long long)limits->max);
    if (n > BL_PROBES_MAX)
        return BL_FAIL(err, BL_ERR_USAGE, "more than %d probes", BL_PROBES_MAX);
    bl_largest_view view;
    int code = bl_largest_look(limits, probes, n, &view, &out->line, err);
    if (code != BL_OK)
        return code;
    out->failed_longer = view.failed_longer * limits->multiple;
    decide(&view, out);
    return BL_OK;
}
