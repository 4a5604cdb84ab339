/* What the files of the JSON export share. Every maker gives a new reference; a failed one gives NULL, which the
 * object then holds as null: bl_report_json finds out by the text that is not there. */
#ifndef BL_REPORT_JSON_PARTS_H
#define BL_REPORT_JSON_PARTS_H

#include <jansson.h>

#include "report/analysis.h"

json_t *bl_json_real(double value); /* what is not finite is null */
json_t *bl_json_text(const char *value);
json_t *bl_json_wall_time(int64_t ns);
json_t *bl_json_interval(const bl_interval *i);
json_t *bl_json_factors_of(const bl_analysis *a, size_t c);
/* Takes the value over; NULL becomes null. */
void bl_json_set(json_t *object, const char *name, json_t *value);

json_t *bl_json_case(const bl_analysis *a, size_t c);
json_t *bl_json_powers_of_two(const bl_analysis *a);
json_t *bl_json_special(const bl_analysis *a);
json_t *bl_json_knees(const bl_analysis *a);
json_t *bl_json_verdicts(const bl_analysis *a);
/* Of a sweep that has been confirmed, and of the comparison that does so; NULL. */
json_t *bl_json_confirmation(const bl_analysis *a);
/* These set members of `o`. */
int bl_json_warnings(const bl_analysis *a, json_t *o, bl_error *err);
int bl_json_noise_scales(const bl_analysis *a, json_t *o, bl_error *err);

json_t *bl_json_trial(const bl_analysis *a, size_t i, bool with_steps);

#endif
