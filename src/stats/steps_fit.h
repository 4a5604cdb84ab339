/* How many steps a training takes to its target, over the batch size: S(B) = S_min (1 + Bc / B), the hyperbola of
 * McCandlish et al. (arXiv:1812.06162, eq. 2.11) in steps. S_min is what the largest batches need, and Bc, the
 * critical batch size, is where twice as many are needed; samples are S B = S_min (B + Bc), twice their least at Bc.
 * Every S must be that of a learning rate tuned for its B, or the curve means nothing. */
#ifndef BL_STATS_STEPS_FIT_H
#define BL_STATS_STEPS_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* A curve of this family: ln S(B) = scale + ln(1 + critical / B); where critical is INFINITY, scale - ln B. */
typedef struct bl_steps_curve {
    double scale, critical;
} bl_steps_curve;

double bl_steps_at(const bl_steps_curve *curve, double batch);

/* Curves, and how far each may be shifted, that together hold all that is plausible. */
#define BL_STEPS_BAND 33
typedef struct bl_steps_band {
    bl_steps_curve curve;
    double half; /* of ln S */
} bl_steps_band;

typedef enum bl_steps_shape {
    BL_STEPS_BENT,         /* the knee is seen */
    BL_STEPS_FLAT,         /* steps do not fall with the batch size: critical is 0 */
    BL_STEPS_PROPORTIONAL, /* they fall as 1 / B, all the way: critical is INFINITY */
    BL_STEPS_NO_FIT        /* fewer than two different sizes: the curve is NaN */
} bl_steps_shape;

typedef struct bl_steps_fit {
    bl_steps_curve curve;
    double min_steps; /* S_min; 0 where proportional */
    bl_steps_shape shape;
    double worst_relative;    /* largest |S - fitted| / fitted */
    double sd;                /* of ln S around the curve: as given, or from the residuals; NaN where neither */
    bl_steps_curve low, high; /* at the ends of critical's interval, each with its own best scale; 0 and INFINITY are
                               * possible ends. NaN where there is no interval */
    bl_steps_band band[BL_STEPS_BAND];
    double level; /* as asked for */
    bool has_interval;
    size_t n;
} bl_steps_fit;

/* Least squares on ln S, by the profile over ln Bc between a thousandth of the smallest size and a thousand times the
 * largest; where its minimum lies at an end, it is the end's limit. Several runs of one size are several points. The
 * interval is the profile's (Bates & Watts, Nonlinear Regression Analysis, 6.1.2): all Bc whose sum of squares is below
 * the least by t^2 sd^2, where t is Student's with n - 2 degrees of freedom; with `sd` given (of ln S between repeated
 * runs; NaN: unknown) the normal's. Two or more points that fit exactly, or n = 2, have no interval without `sd`.
 * All values positive and finite, n at most BL_STEPS_MAX_N. */
#define BL_STEPS_MAX_N 10000
int bl_fit_steps(const double *batch, const double *steps, size_t n, double sd, double level, bl_steps_fit *out,
                 bl_error *err);

/* The profile's interval of S at one batch size, of the curve, not of a single run; NaN where there is none. */
void bl_steps_interval(const bl_steps_fit *fit, double batch, double *low, double *high);

#endif
