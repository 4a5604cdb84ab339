/* Folders of images: what is in them, and reading one. Of use inside this room. */
#ifndef BL_DATA_FILES_H
#define BL_DATA_FILES_H

#include "base/str.h"
#include "data/image.h"

/* The sorted names in a folder that `wanted` takes, appended; none that begins with a dot. BL_ERR_ENV: no such folder.
 */
int bl_files_list(const char *path, bool (*wanted)(const char *path, const char *name), bl_strv *out, bl_error *err);
bool bl_files_is_image(const char *path, const char *name); /* by its ending */
bool bl_files_is_folder(const char *path, const char *name);
/* $XDG_CACHE_HOME/batchlab, or ~/.cache/batchlab; NULL where neither is known. Nothing is made. To be freed. */
char *bl_files_cache_folder(void);
/* A file's bytes, into the scratch (BL_SCRATCH_FILE); a larger one is BL_ERR_FORMAT. */
#define BL_FILES_MAX_B ((int64_t)256 << 20)
int bl_files_read(const char *path, bl_scratch *scratch, const uint8_t **data, size_t *len, bl_error *err);

#endif
