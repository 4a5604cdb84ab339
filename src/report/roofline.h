/* The roofline of measured rates: operations a second over operations a byte, both axes logarithmic, under what the
 * machine can do at each intensity: the lesser of its peak and bandwidth times intensity (Williams, Waterman and
 * Patterson, "Roofline", CACM 2009). */
#ifndef BL_REPORT_ROOFLINE_H
#define BL_REPORT_ROOFLINE_H

#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"
#include "report/chart.h"
#include "report/report.h"

typedef struct bl_roofline_point {
    double intensity;         /* operations a byte */
    double gflops, low, high; /* low and high NaN: no interval. Points without gflops are left out */
    const char *name;         /* borrowed by the chart */
    size_t series;            /* index into names */
} bl_roofline_point;

#define BL_ROOFLINE_SERIES_MAX 3

typedef struct bl_roofline {
    const char *title;
    double peak_gflops, bandwidth_gb_s;        /* NaN: that roof is not drawn */
    const char *names[BL_ROOFLINE_SERIES_MAX]; /* of what there are several kinds; "" where one alone */
    char marks[BL_ROOFLINE_SERIES_MAX];        /* their letters in the text */
    size_t n_series;
    const bl_roofline_point *points;
    size_t n_points;
} bl_roofline;

/* For bl_svg_chart; all memory is the arena's. */
int bl_roofline_chart(const bl_roofline *roofline, bl_arena *arena, bl_chart *out, bl_error *err);
/* The same in letters; nothing where there is no point. */
void bl_roofline_text(const bl_roofline *roofline, const bl_report_style *style, bl_str *out);

#endif
