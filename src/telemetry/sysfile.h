/* Small files of /proc and /sys under a root: "" for the machine's own, or the folder of a fixture. */
#ifndef BL_TELEMETRY_SYSFILE_H
#define BL_TELEMETRY_SYSFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/str.h"

#define BL_SYSFILE_PATH_MAX 1024

/* Fills path; false where it is too long. */
bool bl_sysfile_path(char *path, size_t size, const char *root, const char *format, ...) BL_PRINTF(4, 5);
/* At most size - 1 bytes, NUL-terminated. Returns the length, or -1 with errno. */
ssize_t bl_sysfile_read(const char *path, char *out, size_t size);
/* A file of one number. False with errno (EINVAL where it is no number). */
bool bl_sysfile_i64(const char *path, int64_t *out);
/* The first line, blanks at its end cut. False with errno. */
bool bl_sysfile_line(const char *path, char *out, size_t size);
/* The names in a folder that begin with the prefix, sorted, digits as numbers: cpu2 before cpu10. An empty list where
 * there is no such folder. BL_ERR_NOMEM. */
int bl_sysfile_list(const char *folder, const char *prefix, bl_strv *out) BL_MUST_CHECK;

#endif
