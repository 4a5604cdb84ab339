/* Charts as scripts for gnuplot, for the formats that batchlab does not write itself. */
#ifndef BL_REPORT_GNUPLOT_H
#define BL_REPORT_GNUPLOT_H

#include "base/str.h"
#include "report/chart.h"

/* pdf: a PDF, else a PNG, in both cases on gnuplot's standard output, on white. Texts are quoted so that gnuplot runs
 * and expands nothing in them. */
void bl_gnuplot_chart(const bl_chart *chart, bool pdf, bl_str *out);

#endif
