/* Batches of a data set, made by worker threads ahead of the step that wants them. What a batch holds depends on the
 * seed, the epoch and its number alone, not on the workers. */
#ifndef BL_DATA_LOADER_H
#define BL_DATA_LOADER_H

#include "data/dataset.h"

typedef struct bl_loader bl_loader;

#define BL_PREFETCH_MAX 64

typedef struct bl_loader_options {
    bl_split split;
    int batch, size;
    bl_augment augment;
    bool shuffle;
    bool drop_last; /* leave out an epoch's last batch where it is not full; else it comes padded with label -1 */
    int n_workers;  /* 0: made by the caller of bl_loader_next, when it asks */
    int prefetch;   /* batches that are made ahead of the one in use, at most BL_PREFETCH_MAX; 0: 1 */
    uint64_t seed;
    int boxes_per_image; /* data with boxes: a batch has room for this many times its size */
    /* Where several processes (ranks) share each batch: the whole has whole_batch samples, cut into consecutive shares
     * (bl_loader_share), this one of at most `batch`; an unfilled batch is shared out alike. All have the same seed. */
    int ranks, rank; /* ranks 0 or 1: alone */
    int whole_batch;
} bl_loader_options;

typedef struct bl_batch {
    float *images;         /* (batch, 3, size, size); zeros past n; the caller may change them */
    const int32_t *labels; /* (batch); -1 past n; NULL for data with boxes */
    /* Data with boxes only, else NULL. A row is image in the batch, label, x, y, width, height (bl_object); rows past
     * n_targets begin with -1. Where there is no room for all boxes, the images that have most lose their last ones. */
    const float *targets; /* (batch * boxes_per_image, 6) */
    const float *frames;  /* (batch, 4): where the picture lies (bl_dataset_kind) */
    int n_targets;
    int n_dropped;   /* boxes without room */
    int n;           /* samples in it; a rank's share may be none */
    int n_whole;     /* in the whole batch: n where there is one rank */
    int64_t wait_ns; /* that bl_loader_next waited for it */
} bl_batch;

/* How many of `total` things are rank's where they are shared out as evenly as may be, the first ranks having one more;
 * *first: the number of its first one. */
int64_t bl_loader_share(int64_t total, int ranks, int rank, int64_t *first);
/* BL_ERR_USAGE where an epoch would hold no batch. */
int bl_loader_new(const bl_dataset *dataset, const bl_loader_options *options, bl_loader **out, bl_error *err);
void bl_loader_free(bl_loader *loader);
int64_t bl_loader_batches(const bl_loader *loader); /* an epoch */
/* From its first batch on; what was prepared for another epoch is dropped. */
void bl_loader_start_epoch(bl_loader *loader, int64_t epoch);
/* From its batch number `first` on, without making the ones before; none is left where that is bl_loader_batches. */
void bl_loader_start_within(bl_loader *loader, int64_t epoch, int64_t first);
/* The next batch, valid until the call after; false at the epoch's end, or with *err set. */
bool bl_loader_next(bl_loader *loader, bl_batch *out, bl_error *err);
/* Of batches and the order; the workers' scratch grows with the images. */
size_t bl_loader_bytes(const bl_loader *loader);
/* How often a worker's scratch had to grow: this stops once the largest images have been seen. Not while it works. */
size_t bl_loader_allocations(const bl_loader *loader);

#endif
