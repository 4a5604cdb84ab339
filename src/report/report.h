/* An experiment's result in the forms people and programs read. Each appends to `out`; a failed allocation shows as
 * out->failed. */
#ifndef BL_REPORT_REPORT_H
#define BL_REPORT_REPORT_H

#include <stdbool.h>

#include "base/str.h"
#include "report/analysis.h"

typedef struct bl_report_style {
    bool utf8;  /* the terminal shows more than ASCII */
    bool color; /* and colours */
    int width;  /* columns; 0 = 80 */
} bl_report_style;

/* What is said to people: the table, the plot, the sentences on powers of two and the knee, what the figures are. */
void bl_report_text(const bl_analysis *analysis, const bl_report_style *style, bl_str *out);
void bl_report_table(const bl_analysis *analysis, const bl_report_style *style, bl_str *out);
/* Throughput over batch size, a line a case, with its interval. Nothing where no case has a figure. */
void bl_report_plot(const bl_analysis *analysis, const bl_report_style *style, bl_str *out);
void bl_report_notes(const bl_analysis *analysis, const bl_report_style *style, bl_str *out);
/* A paragraph for each of warnings.h's. */
void bl_report_warnings(const bl_analysis *analysis, const bl_report_style *style, bl_str *out);
/* The noise scales that trials measured, with their intervals; nothing where there are none. */
void bl_report_noise(const bl_analysis *analysis, const bl_report_style *style, bl_str *out);
/* Speed over ranks (scaling.h): tables of strong and weak scaling; nothing where there are none. */
void bl_report_scaling(const bl_analysis *analysis, const bl_report_style *style, bl_str *out);
/* Settings, environment and every trial, for people. */
void bl_report_details(const bl_analysis *analysis, const bl_report_style *style, bl_str *out);

#define BL_REPORT_JSON_VERSION 2

/* docs/schema/experiment.json describes it. One object: settings, environment, cases with figures, the powers of two,
 * trials, and their raw steps where `with_steps`. Missing values are null. Ends with a newline. */
int bl_report_json(const bl_analysis *analysis, bool with_steps, bl_str *out, bl_error *err);
/* What the machine did in each case's warm steps; nothing where no trial has telemetry. */
void bl_report_telemetry(const bl_analysis *analysis, const bl_report_style *style, bl_str *out);
/* A line a value, and one for what is absent. */
void bl_report_csv_telemetry(const bl_analysis *analysis, bl_str *out);
/* RFC 4180, a header line, a line a trial; missing values are empty. */
void bl_report_csv_trials(const bl_analysis *analysis, bl_str *out);
/* The same, a line a step. */
void bl_report_csv_steps(const bl_analysis *analysis, bl_str *out);

/* For an issue, a wiki, a README: the table of cases, what is said under it, what was run. Every text is escaped. */
void bl_report_markdown(const bl_analysis *analysis, bl_str *out);
void bl_report_markdown_table(const bl_analysis *analysis, bl_str *out);
void bl_report_markdown_scaling(const bl_analysis *analysis, bl_str *out);

#endif
