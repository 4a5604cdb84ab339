/* One web page about experiments: a file that needs no other and no network. Its pictures are static; where the build
 * found uPlot, a script, which the page's policy knows by its hash, lays interactive ones over them. */
#ifndef BL_REPORT_PAGE_H
#define BL_REPORT_PAGE_H

#include "base/error.h"
#include "base/str.h"
#include "report/analysis.h"

/* refresh_s above 0: a browser loads the page anew so often. */
int bl_report_page(const bl_analysis *const *analyses, size_t n, int refresh_s, bl_str *out, bl_error *err);

#endif
