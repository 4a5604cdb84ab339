/* What settings from options and from the store have in common. */
#ifndef BL_LAB_DRIVING_PARTS_H
#define BL_LAB_DRIVING_PARTS_H

#include "lab/driving.h"

/* Initialises, with the built-in rules. */
int bl_driving_begin(bl_driving *driving, bl_error *err);
/* Compiles the patterns, once all of them are there. */
int bl_driving_make_formats(bl_driving *driving, bl_error *err);
/* text may be NULL, *out then is. */
int bl_driving_copy(const char *text, char **out, bl_error *err);

#endif
