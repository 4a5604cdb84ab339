/* What is known of the machine, each thing with its source; what cannot be known here says why. */
#ifndef BL_STORE_ENVIRONMENT_H
#define BL_STORE_ENVIRONMENT_H

#include "store/experiment.h"

#include "base/alloc.h"
#include "base/error.h"

/* `root` stands before /proc and /sys ("" for the real ones, a folder with fixtures in tests). All memory is the
 * arena's. */
int bl_environment_capture(const char *root, bl_arena *arena, bl_environment *out, bl_error *err);

/* The commit that the folder's repository stands at, with "+changes" where tracked files differ from it; NULL
 * where it is no repository or there is no git. The arena's memory. */
const char *bl_environment_git_revision(const char *folder, bl_arena *arena);

#endif
