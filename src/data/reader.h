/* Which kinds of data sets there are, and opening one whose kind is found by a look at its files. */
#ifndef BL_DATA_READER_H
#define BL_DATA_READER_H

#include "data/dataset.h"

typedef struct bl_data_options {
    const char *path;        /* NULL: drawn images */
    bool boxes;              /* for a detector */
    int n_classes;           /* of a detector: as bl_yolo_open takes it; of drawn images */
    int64_t n_train, n_test; /* drawn images */
    uint64_t seed;           /* theirs */
    bool verify;             /* decode each image while scanning, and leave out what cannot be */
    bool remember;           /* keep what the scan found under $XDG_CACHE_HOME/batchlab, for the next time */
    /* Told now and then how far scanning has come; may be NULL. */
    void (*progress)(void *context, int64_t done, int64_t total);
    void *context;
} bl_data_options;

typedef struct bl_reader {
    const char *name;      /* "CIFAR-10" */
    const char *looks_for; /* what makes a folder one, for people: "data_batch_1.bin" */
    bool boxes;
    bool (*recognises)(const char *path);
    int (*open)(const bl_data_options *options, bl_dataset **out, bl_error *err);
} bl_reader;

/* A reader is a file that defines bl_reader_NAME, and NAME here. The first that recognises a path reads it. */
#define BL_READERS(X) X(cifar10) X(cifar100) X(idx) X(yolo) X(folder)

#define BL_READER_DECLARE(name) extern const bl_reader bl_reader_##name;
BL_READERS(BL_READER_DECLARE)

/* BL_ERR_ENV where there is nothing at the path or nobody recognises it (the remedy lists what was looked for);
 * BL_ERR_USAGE where the data have boxes and none are wanted, or the other way round; else as the reader has it. */
int bl_data_open(const bl_data_options *options, bl_dataset **out, bl_error *err);

#endif
