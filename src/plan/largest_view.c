#include "plan/largest_view.h"

#include <math.h>
#include <string.h>

#include "stats/fit.h"

#define DOUBT_SHARE 0.75
#define LOCAL_SHARE 0.8

static void add_size(bl_largest_view *s, const bl_probe *p)
{
    int64_t at = p->batch / s->limits->multiple;
    size_t i = 0;
    while (i < s->n && s->sizes[i].at < at)
        i++;
    if (i == s->n || s->sizes[i].at != at) {
        memmove(&s->sizes[i + 1], &s->sizes[i], (s->n - i) * sizeof s->sizes[0]);
        s->sizes[i] = (bl_size){.at = at, .memory_b = NAN, .longer_b = NAN};
        s->sizes[i].verdict = bl_largest_verdict(s->limits, s->probes, s->n_probes, p->batch);
        s->n++;
    }
    bl_size *z = &s->sizes[i];
    z->runs++;
    z->longer_runs += p->longer;
    if (p->longer && p->verdict != BL_SIZE_FITS && (s->failed_longer == 0 || at < s->failed_longer))
        s->failed_longer = at;
    double *memory_b = p->longer ? &z->longer_b : &z->memory_b;
    if (p->verdict == BL_SIZE_FITS && !(p->memory_b <= *memory_b))
        *memory_b = p->memory_b;
}

double bl_size_memory(const bl_size *z)
{
    return isnan(z->memory_b) ? z->longer_b : z->memory_b;
}

/* A size that only runs slowly, or too near the budget, still tells how memory grows; but what spilled does not. */
static int fit_line(bl_largest_view *s, bl_memory_line *line, bl_error *err)
{
    double x[BL_PROBES_MAX], y[BL_PROBES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const bl_size *z = &s->sizes[i];
        if ((z->verdict != BL_SIZE_FITS && z->verdict != BL_SIZE_HEADROOM) || !isfinite(bl_size_memory(z)))
            continue;
        x[n] = (double)z->at;
        y[n++] = bl_size_memory(z);
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
        if (y[i] > 0)
            s->margin = fmax(s->margin, fabs(off / y[i]));
    }
    return BL_OK;
}

/* It ran, but not for long, near a size at which that was not enough. */
static bool is_doubtful(const bl_largest_view *s, const bl_size *z)
{
    return s->failed_longer > 0 && z->longer_runs == 0 && (double)z->at > DOUBT_SHARE * (double)s->failed_longer;
}

static void find_edges(bl_largest_view *s)
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

double bl_largest_free_b(const bl_largest_view *s)
{
    return s->limits->budget_b * (1 - s->limits->headroom);
}

/* The largest that fits at or below `at`, and whose memory is known; NULL: none. */
static const bl_size *known_below(const bl_largest_view *s, double at)
{
    const bl_size *below = NULL;
    for (size_t i = 0; i < s->n && (double)s->sizes[i].at <= at; i++)
        if (s->sizes[i].verdict == BL_SIZE_FITS && isfinite(bl_size_memory(&s->sizes[i])))
            below = &s->sizes[i];
    return below;
}

static double secant_b(const bl_size *lower, const bl_size *upper)
{
    return (bl_size_memory(upper) - bl_size_memory(lower)) / (double)(upper->at - lower->at);
}

/* How memory grows near the top: where it is bent, the line through all is too flat there, and the secant beyond. Only
 * bends upwards are followed: a parabola bent downwards would promise too much. */
static void steepen(bl_largest_view *s)
{
    if (!s->top || !isfinite(bl_size_memory(s->top)))
        return;
    const bl_size *lower = known_below(s, LOCAL_SHARE * (double)s->top->at);
    const bl_size *lowest = lower ? known_below(s, LOCAL_SHARE * (double)lower->at) : NULL;
    if (!lower || secant_b(lower, s->top) < s->slope_b)
        return;
    s->slope_b = secant_b(lower, s->top);
    if (lowest && secant_b(lowest, lower) < s->slope_b) {
        s->bend_b = (s->slope_b - secant_b(lowest, lower)) / (double)(s->top->at - lowest->at);
        s->bent_from = lower->at;
    }
}

bool bl_largest_predicts(const bl_largest_view *s)
{
    return s->slope_b > 0 && isfinite(s->limits->budget_b) && s->top && isfinite(bl_size_memory(s->top));
}

/* From the largest measurement, not from the line's own height there: memory may well be a staircase. */
double bl_largest_predicted_b(const bl_largest_view *s, int64_t at)
{
    double more = (double)(at - s->top->at);
    return bl_size_memory(s->top) + s->slope_b * more + s->bend_b * more * (double)(at - s->bent_from);
}

/* The largest whose predicted memory, and this share of it, is within the budget. */
int64_t bl_largest_predicted(const bl_largest_view *s, double margin)
{
    double left_b = bl_largest_free_b(s) / (1 + margin) - bl_size_memory(s->top), more = floor(left_b / s->slope_b);
    if (s->bend_b > 0 && left_b > 0) {
        double b = s->slope_b + s->bend_b * (double)(s->top->at - s->bent_from);
        more = floor((sqrt(b * b + 4 * s->bend_b * left_b) - b) / (2 * s->bend_b));
    }
    if (more > (double)(s->max - s->top->at))
        return s->max;
    return more < 0 ? s->top->at : s->top->at + (int64_t)more;
}

int bl_largest_look(const bl_largest_limits *limits, const bl_probe *probes, size_t n, bl_largest_view *view,
                    bl_memory_line *line, bl_error *err)
{
    *view = (bl_largest_view){.limits = limits,
                              .probes = probes,
                              .n_probes = n,
                              .min = bl_largest_first(limits) / limits->multiple,
                              .max = limits->max / limits->multiple};
    for (size_t i = 0; i < n; i++)
        add_size(view, &probes[i]);
    int code = fit_line(view, line, err);
    if (code != BL_OK)
        return code;
    find_edges(view);
    steepen(view);
    return BL_OK;
}
