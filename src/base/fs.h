/* Files: whole reads with a limit, atomic replacement, temporary folders. */
#ifndef BL_BASE_FS_H
#define BL_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Reads at most max_b bytes (more is BL_ERR_FORMAT) into a NUL-terminated heap block. `path` may lie in
 * /proc or /sys, where sizes are not known beforehand. */
int bl_fs_read(const char *path, size_t max_b, char **out, size_t *out_len, bl_error *err);
/* Writes PATH.tmpXXXX, syncs, renames: readers see the old file or the new one, never half of it. */
int bl_fs_replace(const char *path, const void *data, size_t len, bl_error *err);
bool bl_fs_exists(const char *path);
bool bl_fs_is_dir(const char *path);
/* Creates the folder and its parents; an existing one is fine. */
int bl_fs_mkdirs(const char *path, bl_error *err);
/* Removes a folder and all in it; does not follow symbolic links. */
int bl_fs_remove_tree(const char *path, bl_error *err);

#endif
