/* What the page's script draws, as JSON that may stand in a page: no text in it can end its element. */
#ifndef BL_REPORT_PAGE_DATA_H
#define BL_REPORT_PAGE_DATA_H

#include "base/str.h"
#include "report/chart.h"

/* {charts, cases, traces}: numbers of six digits (steps: four, thinned where there are many), missing ones null. The
 * last two are of a single experiment, else empty. */
void bl_page_data(const bl_analysis *const *analyses, size_t n, const bl_chart *charts, size_t n_charts, bl_str *out);

#endif
