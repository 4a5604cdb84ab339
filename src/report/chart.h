/* Pictures of experiments as plain data: what is drawn, not how. svg.h draws them. */
#ifndef BL_REPORT_CHART_H
#define BL_REPORT_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"
#include "report/analysis.h"

typedef struct bl_chart_series {
    const char *name; /* for the legend; "" where there is nothing to tell apart */
    size_t n;
    double *x, *y;      /* finite */
    double *low, *high; /* intervals, of y, or of x in a chart with rows; NULL: none; a NaN: none for this point */
    bool *special;      /* powers of two, or failures; NULL: none */
    const char **notes; /* what stands beside the pointer over a point; NULL: none */
    bool line;          /* the points are joined, and not drawn */
    size_t color;       /* series of one thing (points and their fit) share it */
} bl_chart_series;

typedef struct bl_chart {
    const char *id; /* "throughput" */
    const char *title, *x_label, *y_label;
    const char *caption; /* what is seen and what it is not; a paragraph */
    const char *special; /* what a special point is */
    bool batch_axis;     /* x is a batch size: powers of two are ruled, and a wide range is logarithmic */
    bool log_log;        /* both axes logarithmic; all x and y are positive */
    bool from_zero;      /* y begins at 0 */
    double band;         /* shaded from -band to band, of y, or of x in a chart with rows; NaN: none */
    double limit;        /* a line across, of y; NaN: none */
    const char *limit_label;
    double shade_to;   /* shaded from the left up to this x; 0: nothing */
    const char **rows; /* names of rows, drawn from the top; y is then their number. NULL: y is a quantity */
    size_t n_rows;
    bl_chart_series *series;
    size_t n_series;
} bl_chart;

#define BL_CHARTS_MAX 32

/* Throughput, step time with its fit, the fit's residuals, memory, waiting for data, utilisation, energy, noise scales,
 * steps and time to a target, a comparison's verdicts, differences from the best, the order of trials, their
 * temperature, the steps of some, the telemetry of one; those of which the experiments have no data are
 * left out. Several experiments overlay, but for what is only of use inside one. All memory is the arena's; the
 * analyses must live as long. charts[BL_CHARTS_MAX]. */
int bl_charts_make(const bl_analysis *const *analyses, size_t n, bl_arena *arena, bl_chart *charts, size_t *n_charts,
                   bl_error *err);

#endif
