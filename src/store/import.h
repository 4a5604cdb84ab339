/* Experiments from files: batchlab's own JSON and CSV, hyperfine's JSON, CSV logs of training programs. What comes out
 * is ready for bl_store_put. Errors: BL_ERR_FORMAT (what and where in the file), BL_ERR_USAGE (what must be told
 * besides), BL_ERR_NOMEM. All memory is the arena's. Nothing is made up: what a file does not tell is missing in the
 * experiment, and what its blocks and order are not is said in its environment, as item "imported". */
#ifndef BL_STORE_IMPORT_H
#define BL_STORE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "store/experiment.h"

#define BL_IMPORT_CASES_MAX  4096
#define BL_IMPORT_BLOCKS_MAX 1000000
#define BL_IMPORT_TRIALS_MAX 10000000

typedef struct bl_import_file {
    const char *name; /* for messages */
    const char *text; /* NUL-terminated */
    int64_t batch;    /* of a log; 0: not told */
} bl_import_file;

typedef struct bl_import_options {
    int64_t now_ns;         /* since 1970: where a file tells no time */
    int64_t warmup;         /* steps dropped in any case, where the file does not tell */
    const char *batch_name; /* hyperfine's parameter that is the batch size; NULL: the usual names */
    double row_samples;     /* of a log: samples that each line stands for; NaN: as the log tells */
} bl_import_options;

typedef enum bl_import_kind {
    BL_IMPORT_NONE,
    BL_IMPORT_JSON,      /* batchlab export --format json */
    BL_IMPORT_HYPERFINE, /* hyperfine --export-json */
    BL_IMPORT_TRIALS,    /* batchlab export: a line a trial; its steps in another file */
    BL_IMPORT_LOG        /* any other CSV with a header line */
} bl_import_kind;

/* By how it begins. */
bl_import_kind bl_import_recognize(const char *text);

int bl_import_json(const bl_import_file *file, bl_arena *arena, bl_experiment *out, bl_error *err);
/* A case a command, a block a run. BL_ERR_USAGE where the batch size is not among its parameters. */
int bl_import_hyperfine(const bl_import_file *file, const bl_import_options *options, bl_arena *arena,
                        bl_experiment *out, bl_error *err);
/* steps: the file of batchlab export --steps, or NULL where no trial has any. */
int bl_import_trials(const bl_import_file *file, const bl_import_file *steps, const bl_import_options *options,
                     bl_arena *arena, bl_experiment *out, bl_error *err);
/* Each file is a trial, each of its lines a step. Files of one batch size are its blocks, in the order given. */
int bl_import_logs(const bl_import_file *files, size_t n, const bl_import_options *options, bl_arena *arena,
                   bl_experiment *out, bl_error *err);

#endif
