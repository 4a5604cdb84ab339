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
/* A file's bytes, into the scratch (BL_SCRATCH_FILE). */
int bl_files_read(const char *path, bl_scratch *scratch, const uint8_t **data, size_t *len, bl_error *err);

#endif
