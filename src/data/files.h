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
/* As bl_image_decode. */
int bl_files_read_image(const char *path, int least, bl_image *out, bl_error *err);

#endif
