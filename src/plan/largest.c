#include "plan/largest.h"

#include <math.h>
#include <string.h>

#include "base/attributes.h"
#include "stats/fit.h"

/* A memory line is followed so many times as far as it was measured, unless it ends far below the budget. */
#define REACH            16
#define SURE_SHARE       0.5
#define START_FACTOR     8
#define BLIND_FACTOR     4 /* where the budget is not known */
#define START_SHARE      0.9
#define FAR_BELOW        0.85 /* of the budget: a failure there is strange */
#define SMALL_FACTOR     16   /* of the smallest size: odd kernels and algorithms are met among such */
#define FIRST_ATTEMPTS   3
#define DOUBT_SHARE      0.75
#define LOCAL_SHARE      0.8
#define NEAR_NUMERATOR   3
#define NEAR_DENOMINATOR 5

/* One size that was tried. */
typedef struct size {
    int64_t at; /* batch / multiple */
    bl_size_verdict verdict;
    size_t runs, longer_runs;
    double memory_b, longer_b; /* NaN where not known */
} size;

typedef struct search {
    const bl_largest_limits *limits;
    const bl_probe *probes;
    size_t n_probes;
    size sizes[BL_PROBES_MAX]; /* ascending */
    size_t n;
    int64_t min, max;      /* in multiples */
    const size *top;       /* the largest that does; NULL: none */
    const size *bad;       /* the smallest above `top` that does not; NULL: none */
    size_t n_above;        /* that do not, above `top` */
    int64_t failed_longer; /* the smallest size that failed when it ran longer; 0: none */
    double slope_b;        /* of memory over multiples; NaN, or not above 0, where nothing can be predicted */
    double intercept_b;
} search;

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

/* ---- what is known ---- */

static void add_size(search *s, const bl_probe *p)
{
    int64_t at = p->batch / s->limits->multiple;
    size_t i = 0;
    while (i < s->n && s->sizes[i].at < at)
        i++;
    if (i == s->n || s->sizes[i].at != at) {
        memmove(&s->sizes[i + 1], &s->sizes[i], (s->n - i) * sizeof s->sizes[0]);
        s->sizes[i] = (size){.at = at, .memory_b = NAN, .longer_b = NAN};
        s->sizes[i].verdict = bl_largest_verdict(s->limits, s->probes, s->n_probes, p->batch);
        s->n++;
    }
    size *z = &s->sizes[i];
    z->runs++;
    z->longer_runs += p->longer;
    if (p->longer && p->verdict != BL_SIZE_FITS && (s->failed_longer == 0 || at < s->failed_longer))
        s->failed_longer = at;
    double *memory_b = p->longer ? &z->longer_b : &z->memory_b;
    if (p->verdict == BL_SIZE_FITS && !(p->memory_b <= *memory_b))
        *memory_b = p->memory_b;
}

static double memory_of(const size *z)
{
    return isnan(z->memory_b) ? z->longer_b : z->memory_b;
}

/* A size that only runs slowly, or too near the budget, still tells how memory grows; but what spilled does not. */
static int fit_line(search *s, bl_memory_line *line, bl_error *err)
{
    double x[BL_PROBES_MAX], y[BL_PROBES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const size *z = &s->sizes[i];
        if ((z->verdict != BL_SIZE_FITS && z->verdict != BL_SIZE_HEADROOM) || !isfinite(memory_of(z)))
            continue;
        x[n] = (double)z->at;
        y[n++] = memory_of(z);
    }
    *line = (bl_memory_line){.known = false};
    s->slope_b = NAN;
    if (n < 2)
        return BL_OK;
    bl_line fit;
    int code = bl_fit_theil_sen(x, y, n, &fit, err);
    if (code != BL_OK)
        return code;
    s->slope_b = fit.slope;
    s->intercept_b = fit.intercept;
    double multiple = (double)s->limits->multiple;
    line->known = true;
    line->fixed_b = fit.intercept;
    line->per_sample_b = fit.slope / multiple;
    for (size_t i = 0; i < n; i++) {
        double off = y[i] - fit.intercept - fit.slope * x[i];
        if (i == 0 || fabs(off) > fabs(line->worst_b)) {
            line->worst_b = off;
            line->worst_at = (int64_t)(x[i] * multiple);
            line->worst_share = y[i] > 0 ? off / y[i] : 0;
        }
    }
    return BL_OK;
}

/* It ran, but not for long, near a size at which that was not enough. */
static bool is_doubtful(const search *s, const size *z)
{
    return s->failed_longer > 0 && z->longer_runs == 0 && (double)z->at > DOUBT_SHARE * (double)s->failed_longer;
}

static void find_edges(search *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->sizes[i].verdict == BL_SIZE_FITS && !is_doubtful(s, &s->sizes[i]))
            s->top = &s->sizes[i];
    for (size_t i = 0; i < s->n && (!s->top || s->top->at == s->sizes[i].at); i++)
        if (s->sizes[i].verdict == BL_SIZE_FITS) /* better a doubtful one than none */
            s->top = &s->sizes[i];
    for (size_t i = s->n; i-- > 0;)
        if ((!s->top || s->sizes[i].at > s->top->at) && s->sizes[i].verdict != BL_SIZE_FITS) {
            s->bad = &s->sizes[i];
            s->n_above++;
        }
}

static double free_budget_b(const search *s)
{
    return s->limits->budget_b * (1 - s->limits->headroom);
}

/* How memory grows near the top: where it is bent, the line through all is too flat there. */
static void steepen(search *s)
{
    const size *lower = NULL;
    for (size_t i = 0; i < s->n && s->top; i++) {
        const size *z = &s->sizes[i];
        if (z->verdict == BL_SIZE_FITS && isfinite(memory_of(z)) && (double)z->at <= LOCAL_SHARE * (double)s->top->at)
            lower = z;
    }
    if (lower && isfinite(memory_of(s->top)))
        s->slope_b = fmax(s->slope_b, (memory_of(s->top) - memory_of(lower)) / (double)(s->top->at - lower->at));
}

static bool predicts(const search *s)
{
    return s->slope_b > 0 && isfinite(s->limits->budget_b) && s->top && isfinite(memory_of(s->top));
}

/* From the largest measurement, not from the line's own height there: memory may well be a staircase. */
static double predicted_b(const search *s, int64_t at)
{
    return memory_of(s->top) + s->slope_b * (double)(at - s->top->at);
}

static int64_t predicted_largest(const search *s)
{
    double more = floor((free_budget_b(s) - memory_of(s->top)) / s->slope_b);
    if (more > (double)(s->max - s->top->at))
        return s->max;
    return more < 0 ? s->top->at : s->top->at + (int64_t)more;
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
static bool next_first(const search *s, int64_t *at)
{
    if (s->n == 0) {
        *at = s->min;
        return true;
    }
    const size *last = &s->sizes[s->n - 1];
    if (s->n >= FIRST_ATTEMPTS || last->at >= s->max ||
        (last->verdict != BL_SIZE_LIMIT && last->verdict != BL_SIZE_FAILED))
        return false;
    *at = s->n == 1 ? last->at + 1 : smaller(last->at * 4, s->max);
    return true;
}

/* How many sizes at or above the one predicted to be the last have run: the prediction was too low, and ever wider
 * steps go beyond it. */
static int64_t steps_beyond(const search *s, int64_t predicted)
{
    int64_t step = 1;
    size_t beyond = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->sizes[i].verdict == BL_SIZE_FITS && s->sizes[i].at >= predicted && ++beyond > 1)
            step = smaller(step * 2, s->max);
    return step;
}

static int64_t next_upwards(const search *s)
{
    int64_t top = s->top->at;
    if (predicts(s)) {
        int64_t predicted = predicted_largest(s);
        if (predicted >= s->max && predicted_b(s, s->max) <= SURE_SHARE * free_budget_b(s))
            return s->max;
        if (predicted <= top)
            return smaller(top + steps_beyond(s, predicted), s->max);
        return smaller(predicted, top * REACH);
    }
    bool known = isfinite(s->limits->budget_b);
    double factor = known ? START_FACTOR : BLIND_FACTOR;
    /* Even if all of its memory were the samples', so many would fit. */
    if (known && s->n == 1 && memory_of(s->top) > 0)
        factor = fmin(factor, START_SHARE * free_budget_b(s) / memory_of(s->top));
    return smaller(larger((int64_t)((double)top * factor), top + 1), s->max);
}

/* A failure that memory does not explain, and no larger size was tried: it may be a hole. */
static bool may_be_hole(const search *s)
{
    if (s->n_above != 1 || s->bad->at >= s->max || s->bad->verdict != BL_SIZE_MEMORY)
        return false;
    if (isfinite(s->limits->budget_b) && isfinite(memory_of(s->top))) {
        double there_b =
            s->slope_b > 0 ? predicted_b(s, s->bad->at) : memory_of(s->top) / (double)s->top->at * (double)s->bad->at;
        return there_b < FAR_BELOW * free_budget_b(s);
    }
    return s->bad->at <= SMALL_FACTOR * s->min;
}

static int64_t beyond_hole(const search *s)
{
    int64_t at = s->bad->at * (isfinite(s->limits->budget_b) ? 2 : 4);
    if (predicts(s) && predicted_largest(s) > s->bad->at)
        at = smaller(predicted_largest(s), s->bad->at * REACH);
    return smaller(at, s->max);
}

static int64_t next_between(const search *s)
{
    int64_t top = s->top->at, bad = s->bad->at, gap = bad - top;
    /* A failure costs more than a run that does, so the step is less than half; the less is known, the less. */
    int64_t part = gap <= 3 ? 2 : isfinite(s->limits->budget_b) ? 3 : 4, at = top + larger(gap / part, 1);
    if (gap > 3 && s->failed_longer == 0 && predicts(s) && s->bad->verdict != BL_SIZE_LIMIT &&
        s->bad->verdict != BL_SIZE_FAILED) {
        int64_t predicted = predicted_largest(s), back = larger(gap / 7, 1);
        if (predicted >= bad && s->n_above == 1)
            at = bad - back; /* a little less memory than thought */
        else if (predicted <= top)
            at = top + smaller(larger(steps_beyond(s, predicted), back / 4), gap / 2);
        else if (predicted < bad)
            at = top + larger((predicted - top) * NEAR_NUMERATOR / NEAR_DENOMINATOR, 1); /* one was too high already */
    }
    return smaller(larger(at, top + 1), bad - 1);
}

static void answer(const search *s, bl_largest_step *out)
{
    const size *top = s->top;
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

static void decide(const search *s, bl_largest_step *out)
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
    if (!s->bad)
        at = next_upwards(s);
    else
        at = may_be_hole(s) ? beyond_hole(s) : next_between(s);
    out->batch = at * multiple;
    out->longer = s->failed_longer > 0;
    if (predicts(s))
        out->predicted_b = predicted_b(s, at);
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
    search s = {.limits = limits,
                .probes = probes,
                .n_probes = n,
                .min = bl_largest_first(limits) / limits->multiple,
                .max = limits->max / limits->multiple};
    for (size_t i = 0; i < n; i++)
        add_size(&s, &probes[i]);
    int code = fit_line(&s, &out->line, err);
    if (code != BL_OK)
        return code;
    find_edges(&s);
    steepen(&s);
    out->failed_longer = s.failed_longer * limits->multiple;
    decide(&s, out);
    return BL_OK;
}
