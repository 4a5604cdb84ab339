/* What a search for the largest batch has found, for people or as JSON. */
#ifndef BL_LAB_MAX_REPORT_H
#define BL_LAB_MAX_REPORT_H

#include "report/report.h"

/* experiment: a search, loaded with its steps. */
int bl_max_report(const bl_experiment *experiment, bool json, const bl_report_style *style, bl_str *out, bl_error *err);
/* For the exit status: whether an answer was found. */
int bl_max_answered(const bl_experiment *experiment, bool *found, bl_error *err);

#endif
