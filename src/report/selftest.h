/* What running the same case under two labels shows: false alarms, and how small a difference is resolved. */
#ifndef BL_REPORT_SELFTEST_H
#define BL_REPORT_SELFTEST_H

#include <stdbool.h>

#include "report/report.h"
#include "stats/resolution.h"

#define BL_SELFTEST_STRETCH 10   /* blocks of a small experiment inside the large one */
#define BL_SELFTEST_POWER   0.80 /* the chance that "resolves" means */

typedef struct bl_selftest {
    bl_contrast contrast;                   /* B against A over all blocks, at BL_REPORT_LEVEL */
    bool alarm;                             /* its interval excludes 0, or the rule of compare said "different" */
    size_t n_stretches, n_stretch_alarms;   /* stretches of BL_SELFTEST_STRETCH blocks, and how many exclude 0 */
    bl_resolution resolution[BL_LOOKS_MAX]; /* a->rule.n_looks of them */
} bl_selftest;

/* Of an analysed experiment with one judged pair. BL_ERR_USAGE where it has none. */
int bl_selftest_compute(const bl_analysis *analysis, bl_selftest *out, bl_error *err);
void bl_selftest_text(const bl_analysis *analysis, const bl_selftest *selftest, const bl_report_style *style,
                      bl_str *out);
int bl_selftest_json(const bl_analysis *analysis, const bl_selftest *selftest, bl_str *out, bl_error *err);

#endif
