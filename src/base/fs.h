/* Files: whole reads with a limit, atomic replacement, temporary folders. */
#ifndef BL_BASE_FS_H
#define BL_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Reads at most max_b bytes (more is BL_ERR_FORMAT) into a NUL-terminated heap block. `path` may lie in
 * /proc or /sys, where sizes are not known beforehand. */
int bl_fs_read(const char *path, size_t max_b, char **out, size_t *out_len, bl_error *err);
typedef struct bl_fs_piece {
    const void *data;
    size_t len; /* bytes */
} bl_fs_piece;

/* Writes a temporary file beside PATH, syncs it, renames it, syncs the folder: whatever happens, there is the old file
 * or the new one, never half of it. Where the file system has nameless files, a process that is killed leaves nothing
 * behind, but for a moment before the renaming. */
int bl_fs_replace(const char *path, const void *data, size_t len, bl_error *err);
/* The same, of pieces one after another. */
int bl_fs_replace_pieces(const char *path, const bl_fs_piece *pieces, size_t n, bl_error *err);
/* Fails, early, where replacing PATH would: no such folder, no right to write there, a folder or device in its place.
 */
int bl_fs_check_replace(const char *path, bl_error *err);
bool bl_fs_exists(const char *path);
bool bl_fs_is_dir(const char *path);
bool bl_fs_is_file(const char *path); /* an ordinary one, or a link to one */
/* Creates the folder and its parents; an existing one is fine. */
int bl_fs_mkdirs(const char *path, bl_error *err);
/* Removes a folder and all in it; does not follow symbolic links. */
int bl_fs_remove_tree(const char *path, bl_error *err);

#endif
