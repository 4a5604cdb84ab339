/* Images kept between epochs. Whatever is kept, and how, views are the same to the bit: only JPEGs' and PNGs' bytes are
 * kept, or what they are decoded to. */
#ifndef BL_DATA_CACHE_H
#define BL_DATA_CACHE_H

#include "data/dataset.h"
#include "data/resample.h"

typedef enum bl_cache_mode {
    BL_CACHE_NONE,
    BL_CACHE_RAM,         /* decoded images in memory */
    BL_CACHE_RAM_ENCODED, /* the files' bytes in memory */
    BL_CACHE_DISK         /* decoded images in one file, which is mapped into memory */
} bl_cache_mode;

bool bl_cache_mode_from_name(const char *name, bl_cache_mode *out); /* "none", "ram", "ram-encoded", "disk" */
const char *bl_cache_mode_name(bl_cache_mode mode);

typedef struct bl_cache_options {
    bl_cache_mode mode;
    uint64_t limit_b;         /* 0: half of the memory that is available, or of the file system's free space */
    bool splits[2];           /* which ones */
    bl_view views[2];         /* size and augmentation they will be read with: these decide what JPEGs are decoded to */
    const char *folder;       /* for the file; NULL: $XDG_CACHE_HOME/batchlab, or ~/.cache/batchlab */
    int n_threads;            /* that fill it */
    const volatile int *stop; /* polled; not 0: BL_ERR_INTERRUPTED. May be NULL */
} bl_cache_options;

typedef struct bl_cache_report {
    bl_cache_mode mode; /* what has come of it */
    uint64_t bytes;     /* of images */
    int64_t images;
    bool reused;   /* the file was there and fits the images' names, sizes and times */
    char why[560]; /* why it is not the mode asked for; "" where it is */
} bl_cache_report;

/* Fills a cache and gives it to the data set. Where the images do not fit the limit, `ram` becomes `ram-encoded`, and
 * what does not fit then either, or on the disk, is not kept at all: report.why says so. An image that cannot be read
 * is left out, and met again when its turn comes. BL_ERR_USAGE: data that are not files of images. */
int bl_cache_fill(bl_dataset *dataset, const bl_cache_options *options, bl_cache_report *report, bl_error *err);
void bl_cache_free(struct bl_cache *cache); /* NULL is fine */

/* What is kept of an image: the picture, or the file's bytes, or neither. */
typedef struct bl_kept {
    bl_picture picture; /* pixels NULL: not decoded */
    const uint8_t *data;
    size_t len;
} bl_kept;
bl_kept bl_cache_find(struct bl_cache *cache, bl_split split, int64_t index);

#endif
