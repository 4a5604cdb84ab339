/* Labelled images: where they come from, and how one of them becomes the network's input. */
#ifndef BL_DATA_DATASET_H
#define BL_DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

typedef enum bl_split { BL_SPLIT_TRAIN, BL_SPLIT_TEST } bl_split;

/* How images are made from one another: for training only. */
typedef enum bl_augment {
    BL_AUGMENT_NONE, /* as for testing */
    BL_AUGMENT_FLIP, /* mirrored half the time, shifted by up to an eighth of the side (zeros move in) */
    BL_AUGMENT_CROP, /* a random part of 8 to 100 % of the area, sides 3:4 to 4:3 (Szegedy et al. 2015), and mirrored */
    BL_AUGMENT_MOSAIC /* several images at random scales, blended, recoloured, mirrored (data/scene.h); boxes only */
} bl_augment;

bool bl_augment_from_name(const char *name, bl_augment *out); /* "none", "flip", "crop", "mosaic" */

/* What one image is made for. `draw` decides all that is random: the same number gives the same image. */
typedef struct bl_view {
    int size; /* side of the result, pixels */
    bl_augment augment;
    uint64_t draw;
    struct bl_scratch *scratch; /* memory of the calling thread (data/scratch.h); NULL: taken anew for this image */
} bl_view;

typedef struct bl_dataset {
    const struct bl_dataset_kind *kind;
    int64_t count[2]; /* images by bl_split */
    int n_classes;
    const char *description; /* "folder cifar10: 50000 + 10000 images, 10 classes"; owned */
    struct bl_cache *cache;  /* images read before (data/cache.h); NULL: none. Owned */
    bl_strv left_out;        /* "PATH: why" of what was found and cannot be used (docs/trainer.md); owned */
    bl_strv remarks;         /* "PATH: what" of what is used although something about it is odd; owned */
} bl_dataset;

/* An object of class `label` on an image. In fractions of the image's width and height: the middle and the sides. */
typedef struct bl_object {
    int32_t label;
    float x, y, width, height;
} bl_object;

typedef struct bl_objects {
    bl_object *items;
    size_t len, cap;
} bl_objects;

int bl_objects_push(bl_objects *boxes, const bl_object *box, bl_error *err);
void bl_objects_clear(bl_objects *boxes); /* frees; empty and usable again */

/* A reader of one kind of data: it has one of the two ways to read. */
typedef struct bl_dataset_kind {
    const char *name;
    /* Image `index` of the split into out (3, size, size), normalised with ImageNet's mean and deviation, and its
     * label. Called from several threads at a time. */
    int (*read)(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                int32_t *label, bl_error *err);
    /* For detection: the image, in [0, 1] and neither cut nor squeezed but with grey beside it, and its boxes,
     * appended. frame: where on `out` the picture lies (left, top, right, bottom in pixels); all of it where several
     * were joined.
     */
    int (*read_boxes)(const bl_dataset *dataset, bl_split split, int64_t index, const bl_view *view, float *out,
                      bl_objects *boxes, float frame[4], bl_error *err);
    /* Where each image is a file of its own, else NULL: its path into out, cut off where `room` bytes do not hold it;
     */
    void (*path)(const bl_dataset *dataset, bl_split split, int64_t index, char *out, size_t room);
    /* and what its sides are at least where it is decoded smaller for such views (bl_image_decode's least). */
    int (*least)(const bl_view *view);
    void (*free)(bl_dataset *dataset);
} bl_dataset_kind;

/* PATH/train/CLASS/ *.jpg, *.jpeg, *.png and PATH/test (or val)/CLASS/...: classes are numbered by the sorted names of
 * train's folders. BL_ERR_ENV: no such folder, no images; BL_ERR_FORMAT: a class of which nothing can be used, a class
 * in test that train lacks. What a look at a file shows to be no whole image is left out (data/scan.h). Files are read
 * when their image is wanted: one that cannot be decoded is BL_ERR_FORMAT then, with its name. */
int bl_folder_open(const char *path, bl_dataset **out, bl_error *err);
/* Drawn images, one pattern a class (stripes of their own direction, width and colours, at random places, in noise):
 * learnable, and endless, since each index is drawn from its number and the seed. n_classes in [2, 1000]. */
int bl_synthetic_open(int n_classes, int64_t n_train, int64_t n_test, uint64_t seed, bl_dataset **out, bl_error *err);
/* Images with boxes, as YOLO's data sets have them: PATH is a data.yaml (data/data_yaml.h), or a folder with one, or
 *   PATH/images/train/ *.jpg, *.jpeg, *.png and PATH/labels/train/ *.txt, or PATH/train/images and PATH/train/labels;
 *   val (or test) likewise, and may be absent. A folder may go by a longer name, such as train2017, where only one
 * does. An image's labels are in the file that its path leads to where its last folder "images" becomes "labels" and
 * its ending "txt": a line "class x y width height" each (data/yolo_labels.h); without a file it shows nothing. What
 * reaches beyond the image is cut off. PATH/classes.txt, where there is one, names the classes, one a line. n_classes:
 * at least as many as there are; 0: as data.yaml says, or classes.txt has lines, else the largest number + 1. Images
 * are left out as by bl_folder_open, and of two that would share a label file the second. BL_ERR_ENV: no such folder,
 * no images; BL_ERR_FORMAT: labels that are none, with file and line. All labels are read here. */
int bl_yolo_open(const char *path, int n_classes, bl_dataset **out, bl_error *err);
/* Drawn images with 1 to 8 striped rectangles each, as bl_synthetic_open's: a class is a pattern. */
int bl_synthetic_boxes_open(int n_classes, int64_t n_train, int64_t n_test, uint64_t seed, bl_dataset **out,
                            bl_error *err);
void bl_dataset_free(bl_dataset *dataset); /* NULL is fine */

/* Larger images are refused before memory is asked for. */
#define BL_IMAGE_SIDE_MAX   32768
#define BL_IMAGE_PIXELS_MAX (1 << 27)
#define BL_VIEW_SIZE_MAX    2048
#define BL_CLASSES_MAX      10000 /* of a detector: a larger number in a label is a slip of the pen */

#endif
