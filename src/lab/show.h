/* Loads an experiment, computes its figures and prints them: what sweep ends with and show does. */
#ifndef BL_LAB_SHOW_H
#define BL_LAB_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "report/report.h"
#include "store/store.h"

typedef enum bl_show_form {
    BL_SHOW_TEXT,
    BL_SHOW_DETAILS,
    BL_SHOW_JSON,
    BL_SHOW_JSON_STEPS,
    BL_SHOW_CSV,
    BL_SHOW_CSV_STEPS,
    BL_SHOW_CSV_TELEMETRY,
    BL_SHOW_MARKDOWN
} bl_show_form;

/* What the file descriptor can show: width, colours (NO_COLOR is heeded), more than ASCII (by the locale). */
bl_report_style bl_show_style(int fd);
/* The text of the experiment in that form. */
int bl_show_make(bl_store *store, int64_t id, bl_show_form form, const bl_report_style *style, bl_str *out,
                 bl_error *err);
/* The same of figures that were computed already. */
int bl_show_print(const bl_analysis *analysis, bl_show_form form, const bl_report_style *style, bl_str *out,
                  bl_error *err);
/* A number, or "latest". */
int bl_show_parse_id(bl_store *store, const char *text, int64_t *id, bl_error *err);

#endif
