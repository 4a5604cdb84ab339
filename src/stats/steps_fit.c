#include "stats/steps_fit.h"

#include <math.h>

#include "stats/dist.h"

#define GRID    400  /* places of ln Bc that are looked at first */
#define BEYOND  1000 /* factor beyond the sizes */
#define HALVING 200  /* golden sections and bisections, more than doubles can tell */
#define EXACT   1e-20

typedef struct points {
    const double *batch, *steps;
    size_t n;
    double from, to; /* of ln Bc */
} points;

static double shape_at(double critical, double batch)
{
    return isinf(critical) ? -log(batch) : log1p(critical / batch);
}

double bl_steps_at(const bl_steps_curve *curve, double batch)
{
    return exp(curve->scale + shape_at(curve->critical, batch));
}

static bl_steps_curve best_scale(const points *p, double critical)
{
    bl_steps_curve curve = {0, critical};
    for (size_t i = 0; i < p->n; i++)
        curve.scale += (log(p->steps[i]) - shape_at(critical, p->batch[i])) / (double)p->n;
    return curve;
}

static double squares(const points *p, double critical)
{
    bl_steps_curve curve = best_scale(p, critical);
    double sum = 0;
    for (size_t i = 0; i < p->n; i++) {
        double off = log(p->steps[i]) - curve.scale - shape_at(critical, p->batch[i]);
        sum += off * off;
    }
    return sum;
}

static double grid_place(const points *p, int i)
{
    return p->from + (p->to - p->from) * i / GRID;
}

/* The lowest place of the grid, then golden sections between its neighbours; an end of the grid is its limit. */
static double least(const points *p)
{
    int best = 0;
    for (int i = 1; i <= GRID; i++)
        if (squares(p, exp(grid_place(p, i))) < squares(p, exp(grid_place(p, best))))
            best = i;
    if (best == 0 || best == GRID)
        return best == 0 ? 0 : INFINITY;
    const double golden = (sqrt(5) - 1) / 2;
    double low = grid_place(p, best - 1), high = grid_place(p, best + 1);
    for (int k = 0; k < HALVING && high - low > 1e-13; k++) {
        double left = high - golden * (high - low), right = low + golden * (high - low);
        if (squares(p, exp(left)) < squares(p, exp(right)))
            high = right;
        else
            low = left;
    }
    return exp((low + high) / 2);
}

/* Where the profile, going from inside, where it is below `bound`, to outside, passes it. */
static double crossing(const points *p, double inside, double outside, double bound)
{
    for (int k = 0; k < HALVING; k++) {
        double middle = (inside + outside) / 2;
        if (squares(p, exp(middle)) <= bound)
            inside = middle;
        else
            outside = middle;
    }
    return exp((inside + outside) / 2);
}

/* Outermost places of the grid below `bound`, so that the interval holds all that is plausible. */
static void find_ends(const points *p, double bound, bl_steps_fit *out)
{
    double centre = log(out->curve.critical), first = fmin(centre, p->to), last = fmax(centre, p->from);
    for (int i = GRID; i >= 0; i--)
        if (squares(p, exp(grid_place(p, i))) <= bound)
            first = fmin(first, grid_place(p, i));
    for (int i = 0; i <= GRID; i++)
        if (squares(p, exp(grid_place(p, i))) <= bound)
            last = fmax(last, grid_place(p, i));
    double step = (p->to - p->from) / GRID;
    double low = first <= p->from ? 0 : crossing(p, first, first - step, bound);
    double high = last >= p->to ? INFINITY : crossing(p, last, last + step, bound);
    out->low = best_scale(p, low);
    out->high = best_scale(p, high);
    out->has_interval = true;
}

/* The sum of squares at a scale beside the best one of its Bc is larger by n times the distance's square. */
static void find_band(const points *p, double bound, bl_steps_fit *out)
{
    double low = fmax(log(out->low.critical), p->from), high = fmin(log(out->high.critical), p->to);
    for (int i = 0; i < BL_STEPS_BAND; i++) {
        double critical = exp(low + (high - low) * i / (BL_STEPS_BAND - 2));
        if (i == 0)
            critical = out->low.critical;
        else if (i == BL_STEPS_BAND - 2)
            critical = out->high.critical;
        else if (i == BL_STEPS_BAND - 1)
            critical = out->curve.critical; /* where the scale is the least certain */
        double room = fmax(0, bound - squares(p, critical));
        out->band[i] = (bl_steps_band){best_scale(p, critical), sqrt(room / (double)p->n)};
    }
}

void bl_steps_interval(const bl_steps_fit *fit, double batch, double *low, double *high)
{
    *low = fit->has_interval ? INFINITY : NAN;
    *high = fit->has_interval ? 0 : NAN;
    for (int i = 0; fit->has_interval && i < BL_STEPS_BAND; i++) {
        double steps = bl_steps_at(&fit->band[i].curve, batch), factor = exp(fit->band[i].half);
        *low = fmin(*low, steps / factor);
        *high = fmax(*high, steps * factor);
    }
}

static void add_interval(const points *p, double sd, bl_steps_fit *out)
{
    double sum = squares(p, out->curve.critical);
    bool known = isfinite(sd) && sd > 0;
    if (!known && (p->n < 3 || sum < EXACT))
        return;
    out->sd = known ? sd : sqrt(sum / (double)(p->n - 2));
    double t = bl_t_quantile((1 + out->level) / 2, known ? INFINITY : (double)(p->n - 2));
    double bound = sum + t * t * out->sd * out->sd;
    find_ends(p, bound, out);
    find_band(p, bound, out);
}

static int check(const double *batch, const double *steps, size_t n, double level, bl_error *err)
{
    if (n > BL_STEPS_MAX_N)
        return BL_FAIL(err, BL_ERR_USAGE, "%zu runs are more than the %d that can be fitted", n, BL_STEPS_MAX_N);
    if (!(level > 0 && level < 1))
        return BL_FAIL(err, BL_ERR_USAGE, "a level of %g does not lie between 0 and 1", level);
    for (size_t i = 0; i < n; i++)
        if (!(batch[i] > 0 && steps[i] > 0 && isfinite(batch[i]) && isfinite(steps[i])))
            return BL_FAIL(err, BL_ERR_USAGE, "run %zu: %g steps at batch size %g cannot be", i, steps[i], batch[i]);
    return BL_OK;
}

int bl_fit_steps(const double *batch, const double *steps, size_t n, double sd, double level, bl_steps_fit *out,
                 bl_error *err)
{
    const bl_steps_curve none = {NAN, NAN};
    *out = (bl_steps_fit){.curve = none,
                          .min_steps = NAN,
                          .shape = BL_STEPS_NO_FIT,
                          .worst_relative = NAN,
                          .sd = NAN,
                          .low = none,
                          .high = none,
                          .level = level,
                          .n = n};
    int code = check(batch, steps, n, level, err);
    if (code != BL_OK || n == 0)
        return code;
    double smallest = batch[0], largest = batch[0];
    for (size_t i = 1; i < n; i++) {
        smallest = fmin(smallest, batch[i]);
        largest = fmax(largest, batch[i]);
    }
    if (smallest == largest)
        return BL_OK;
    points p = {batch, steps, n, log(smallest / BEYOND), log(largest * BEYOND)};
    out->curve = best_scale(&p, least(&p));
    double critical = out->curve.critical;
    out->shape = critical == 0 ? BL_STEPS_FLAT : isinf(critical) ? BL_STEPS_PROPORTIONAL : BL_STEPS_BENT;
    out->min_steps = isinf(critical) ? 0 : exp(out->curve.scale);
    out->worst_relative = 0;
    for (size_t i = 0; i < n; i++)
        out->worst_relative = fmax(out->worst_relative, fabs(steps[i] / bl_steps_at(&out->curve, batch[i]) - 1));
    add_interval(&p, sd, out);
    return BL_OK;
}
