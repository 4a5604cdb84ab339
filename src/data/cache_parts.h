/* What caches are made of. Of use to cache.c and cache_file.c. */
#ifndef BL_DATA_CACHE_PARTS_H
#define BL_DATA_CACHE_PARTS_H

#include <stdatomic.h>

#include "data/cache.h"
#include "data/picture.h"

typedef struct bl_cache_entry {
    const uint8_t *data; /* NULL: not kept */
    uint64_t len;
    int32_t width, height; /* 0: the file's bytes */
} bl_cache_entry;

/* One split of a data set. */
typedef struct bl_cache_split {
    bl_cache_entry *entries;
    int64_t n;
    /* In a mapped file: */
    void *map;
    size_t map_b;
    const uint64_t *sums;  /* (n) of the pixels, held against them when they are first used */
    atomic_uchar *checked; /* (n) 0 not yet, 1 good, 2 damaged */
} bl_cache_split;

struct bl_cache {
    bl_cache_mode mode;
    bl_cache_split splits[2];
};

/* What one thread does with an image as it is kept: `picture` where wanted decoded, else the bytes. */
typedef struct bl_cache_filling bl_cache_filling;
typedef int (*bl_cache_keep)(bl_cache_filling *filling, int64_t index, const bl_picture *picture, const uint8_t *data,
                             size_t len, bl_error *err);

struct bl_cache_filling {
    const bl_dataset *dataset;
    const bl_cache_options *options;
    bl_split split;
    bool decoded;
    bl_cache_keep keep;
    void *context; /* for keep */
    int n_threads;
    uint64_t limit_b;
    /* Shared by the threads. */
    atomic_llong next, kept;
    atomic_ullong bytes; /* so far; beyond the limit the filling ends */
    atomic_int code;     /* of the first that failed, */
    bl_error *err;       /* which is described here */
};

/* Goes through all images of a split. BL_OK also where the limit was exceeded: bl_cache_exceeded says so. */
int bl_cache_go_through(bl_cache_filling *filling);
bool bl_cache_exceeded(const bl_cache_filling *filling);

uint64_t bl_cache_hash(uint64_t hash, const void *data, size_t len);

/* Decoded images of a split in a file: opens it, or builds and opens it. *fits false, and `why`: there is no room. */
int bl_cache_file_open(bl_cache_filling *filling, bl_cache_split *out, bool *reused, bool *fits,
                       bl_cache_report *report);
void bl_cache_file_close(bl_cache_split *split);

#endif
