/* Where a YOLO data set has its images and labels. Of use inside this room. */
#ifndef BL_DATA_YOLO_PLACES_H
#define BL_DATA_YOLO_PLACES_H

#include "data/dataset.h"
#include "data/scan.h"

enum { BL_YOLO_PATH_MAX = 4096 };

typedef struct bl_yolo_places {
    bl_strv splits[2]; /* folders, or files that list images, by bl_split; nothing to test on: empty */
    int n_classes;     /* as data.yaml or classes.txt has it; 0: not said */
    char *base;        /* the lists' other folder: where data.yaml says that its paths begin; NULL: none */
} bl_yolo_places;

/* Whether PATH is a data.yaml, or a folder that looks like such a data set. */
bool bl_yolo_recognises(const char *path);
/* As bl_yolo_open has it. To be cleared in any case. */
int bl_yolo_find_places(const char *path, bl_yolo_places *out, bl_error *err);
void bl_yolo_places_clear(bl_yolo_places *places);
/* The paths of the images that such a place holds, appended; a folder within it is not entered, and is left out. */
int bl_yolo_list_images(const bl_yolo_places *places, const char *place, bl_scan *scan, bl_strv *images, bl_error *err);
/* Where an image's labels are: its last folder "images" becomes "labels", where it has one, and its ending ".txt".
 * BL_ERR_FORMAT: longer than BL_YOLO_PATH_MAX. */
int bl_yolo_labels_of(const char *image, char out[BL_YOLO_PATH_MAX], bl_error *err);

#endif
