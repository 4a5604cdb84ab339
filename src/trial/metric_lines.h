/* Reads metrics from what a program prints, by patterns of the user: bytes in, values out. Pure: no descriptor, no
 * clock. */
#ifndef BL_TRIAL_METRIC_LINES_H
#define BL_TRIAL_METRIC_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

#define BL_METRIC_LINE_MAX_B 65536 /* longer lines are passed over */

/* Each named group of a pattern is a metric of that name: "val: (?<top1>[0-9.]+)". The group `step` is none: it is the
 * number of steps done, as the program prints it. */
typedef struct bl_metric_patterns bl_metric_patterns;

/* BL_ERR_USAGE: no expression, or no named group beside `step`. *out is NULL where there are no patterns. */
int bl_metric_patterns_new(const bl_strv *regexes, bl_metric_patterns **out, bl_error *err);
void bl_metric_patterns_free(bl_metric_patterns *patterns); /* NULL is fine */

/* step: -1 where the line does not say. */
typedef void (*bl_metric_sink)(void *context, const char *name, double value, int64_t step);

typedef struct bl_metric_lines {
    const bl_metric_patterns *patterns; /* borrowed */
    bl_str line;                        /* an unfinished one */
    bool skipping;                      /* the rest of a line that was too long */
    int64_t n_values;
    int64_t n_gave_up; /* searches that were broken off at their bound */
} bl_metric_lines;

void bl_metric_lines_init(bl_metric_lines *lines, const bl_metric_patterns *patterns);
void bl_metric_lines_clear(bl_metric_lines *lines);
/* Takes the next n bytes, in pieces of any size. Lines end with a newline or a carriage return; the first match of each
 * pattern in a line counts, and groups that are no finite number do not. */
void bl_metric_lines_feed(bl_metric_lines *lines, const char *bytes, size_t n, bl_metric_sink sink, void *context);
/* The stream ended: a last line without an end counts. */
void bl_metric_lines_end(bl_metric_lines *lines, bl_metric_sink sink, void *context);

#endif
