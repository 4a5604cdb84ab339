/* A look at each image file before training: what cannot be used is left out and listed. Of use inside this room. */
#ifndef BL_DATA_SCAN_H
#define BL_DATA_SCAN_H

#include "data/probe.h"
#include "data/reader.h"

typedef struct bl_scan bl_scan;

int bl_scan_new(const bl_data_options *options, bl_scan **out, bl_error *err);
void bl_scan_free(bl_scan *scan);                 /* NULL is fine */
void bl_scan_expect(bl_scan *scan, int64_t more); /* so many more images will be asked for: for the progress alone */
/* *good: it may be used. Else it is listed, with the reason, which *why gets too where it is not NULL (borrowed until
 * the next call). Errors are of this machine, not of the file. */
int bl_scan_image(bl_scan *scan, const char *path, bool *good, const char **why, bl_error *err);
/* Lists something that is left out for another reason. */
int bl_scan_leave_out(bl_scan *scan, const char *path, const char *why, bl_error *err);
/* Lists something that is used all the same. */
int bl_scan_remark(bl_scan *scan, const char *path, const char *what, bl_error *err);
/* At the end: gives the lists to the data set, whose own are empty, and keeps what was found where that was asked for.
 * Where it cannot be kept, the next scan takes longer, and that is all. */
int bl_scan_end(bl_scan *scan, bl_dataset *dataset, bl_error *err);

#endif
