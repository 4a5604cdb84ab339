/* The folder that a trial may fill: {outdir} in its command, BATCHLAB_OUTDIR in its environment. */
#ifndef BL_LAB_OUTDIR_H
#define BL_LAB_OUTDIR_H

#include "base/error.h"
#include "base/str.h"

/* A new and empty folder, its absolute path appended to `path`. keep: the folder that it is made in, named after
 * `title` (with a number where that is taken); NULL: a nameless one under $TMPDIR, or /tmp. */
int bl_outdir_make(const char *keep, const char *title, bl_str *path, bl_error *err);

#endif
