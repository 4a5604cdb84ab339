/* What a careful reader would want to know before believing the figures. */
#ifndef BL_REPORT_WARNINGS_H
#define BL_REPORT_WARNINGS_H

#include "base/str.h"
#include "report/analysis.h"

/* Appends one sentence a warning to `out`:
 *   drift            the blocks' level moves by at least the margin from first to last (Theil-Sen's line), and Mann &
 *                    Kendall's test (Kendall, Rank Correlation Methods) finds a trend at 1 %; from 6 blocks on;
 *   autocorrelation  Ljung & Box's test on the differences inside blocks, at 1 % after Holm over the pairs (or the
 * cases against the best); from 12 blocks on; predecessor      trials that follow one case are slower or faster than
 * those that follow others: t test on the residuals of case and block, at 1 % after Holm, and at least a quarter of the
 * margin; loader-bound     a case waits for data for a tenth of its time or more. BL_ERR_NOMEM is the only error. */
int bl_warnings_collect(const bl_analysis *analysis, bl_strv *out, bl_error *err);

#endif
