/* Numbers, durations and sizes from text, whatever the locale. The whole text must be the number: no
 * blanks, no trailing characters, no overflow. Each returns 0 or BL_ERR_USAGE with `what` in the message. */
#ifndef BL_BASE_PARSE_H
#define BL_BASE_PARSE_H

#include <stdint.h>

#include "base/error.h"

int bl_parse_i64(const char *text, const char *what, int64_t min, int64_t max, int64_t *out, bl_error *err);
int bl_parse_f64(const char *text, const char *what, double *out, bl_error *err);
/* "90", "90s", "1.5m", "2h", "250ms" -> seconds. */
int bl_parse_duration(const char *text, const char *what, double *out_s, bl_error *err);
/* "512", "64K", "1.5G", "8GiB" (powers of 1024) -> bytes. */
int bl_parse_size(const char *text, const char *what, uint64_t *out_b, bl_error *err);

#endif
