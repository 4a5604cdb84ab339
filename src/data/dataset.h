/* Labelled images: where they come from, and how one of them becomes the network's input. */
#ifndef BL_DATA_DATASET_H
#define BL_DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum bl_split { BL_SPLIT_TRAIN, BL_SPLIT_TEST } bl_split;

/* How images are made from one another: for training only. */
typedef enum bl_augment {
    BL_AUGMENT_NONE, /* as for testing */
    BL_AUGMENT_FLIP, /* mirrored half the time, shifted by up to an eighth of the side (zeros move in) */
    BL_AUGMENT_CROP  /* a random part of 8 to 100 % of the area, sides 3:4 to 4:3 (Szegedy et al. 2015), and mirrored */
} bl_augment;

bool bl_augment_from_name(const char *name, bl_augment *out); /* "none", "flip", "crop" */

/* What one image is made for. `draw` decides all that is random: the same number gives the same image. */
typedef struct bl_view {
    int size; /* side of the result, pixels */
    bl_augment augment;
    uint64_t draw;
} bl_view;

typedef struct bl_dataset {
    const struct bl_dataset_kind *kind;
    int64_t count[2]; /* images by bl_split */
    int n_classes;
    const char *description; /* "folder cifar10: 50000 + 10000 images, 10 classes"; owned */
} bl_dataset;

/* A reader of one kind of data. */
typedef struct bl_dataset_kind {
    const char *name;
    /* Image `index` of the split into out (3, size, size), normalised with ImageNet's mean and deviation, and its
     * label. Called from several threads at a time. */
    int (*read)(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                int32_t *label, bl_error *err);
    void (*free)(bl_dataset *dataset);
} bl_dataset_kind;

/* PATH/train/CLASS/ *.jpg, *.jpeg, *.png and PATH/test (or val)/CLASS/...: classes are numbered by the sorted names of
 * train's folders. BL_ERR_ENV: no such folder, no images; BL_ERR_FORMAT: an empty class, a class in test that train
 * lacks. Files are read when their image is wanted: a broken one is BL_ERR_FORMAT then, with its name. */
int bl_folder_open(const char *path, bl_dataset **out, bl_error *err);
/* Drawn images, one pattern a class (stripes of their own direction, width and colours, at random places, in noise):
 * learnable, and endless, since each index is drawn from its number and the seed. n_classes in [2, 1000]. */
int bl_synthetic_open(int n_classes, int64_t n_train, int64_t n_test, uint64_t seed, bl_dataset **out, bl_error *err);
void bl_dataset_free(bl_dataset *dataset); /* NULL is fine */

#define BL_IMAGE_SIDE_MAX 32768 /* larger files are refused before memory is asked for */
#define BL_VIEW_SIZE_MAX  2048

#endif
