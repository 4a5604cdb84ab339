/* How training programs report their progress: a table of formats, and what one line says by them
 * (docs/PROGRESS.md). Pure. */
#ifndef BL_TRIAL_PROGRESS_FORMATS_H
#define BL_TRIAL_PROGRESS_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* One row of the table. The pattern's named groups: done (the counter; required but in a summary), total, label (words
 * before it, which tell training from testing), samples (a counter of samples beside that of steps), rate with unit
 * ("it/s", "s/it", "ms/step"), s and ms (seconds, milliseconds a step). */
typedef struct bl_progress_format {
    const char *name;
    const char *hint; /* must stand in the line: spares most searches */
    const char *pattern;
    bool weak;           /* words that other lines use too: alone it does not show that the program reports progress */
    bool counts_samples; /* done and total count samples, not steps */
} bl_progress_format;

extern const bl_progress_format bl_progress_table[];
extern const size_t bl_n_progress_table;

/* What a line is about, by the words of its label. */
typedef enum bl_progress_kind {
    BL_PROGRESS_UNKNOWN, /* training, where nothing better is there */
    BL_PROGRESS_TRAIN,
    BL_PROGRESS_EVAL,
    BL_PROGRESS_SETUP /* downloads, caches, data sets */
} bl_progress_kind;

typedef struct bl_progress_line {
    size_t format;    /* its place in the formats */
    const char *name; /* of the format */
    bl_progress_kind kind;
    bool weak, counts_samples;
    int64_t done;       /* -1: a summary at the end, with a rate only */
    int64_t total;      /* 0 where not said */
    int64_t granule;    /* of done: 1, or 1000 where it was rounded to "12k" */
    int64_t samples;    /* so far; -1 where not said */
    double steps_per_s; /* as printed; NaN where not said */
} bl_progress_line;

typedef struct bl_progress_formats bl_progress_formats;

/* regexes: patterns of the user, which then are the only ones; NULL or empty for the table. BL_ERR_USAGE where one is
 * no regular expression or has no group `done`. all_samples: counters count samples. */
int bl_progress_formats_new(const bl_strv *regexes, bool all_samples, bl_progress_formats **out, bl_error *err);
void bl_progress_formats_free(bl_progress_formats *formats);
/* Of n bytes without line ends. False where it is no progress line. */
bool bl_progress_parse(const bl_progress_formats *formats, const char *line, size_t n, bl_progress_line *out);

/* A counter or rate as people write it: "1,234", "1.234.567", "12k", "1.20M", "11,97". A counter has no fraction, so
 * that three digits behind each mark are thousands. *granule, where not NULL, gets the unit of the last digit, at least
 * 1. False where it is no number, or beyond 10^15. */
bool bl_progress_number(const char *text, size_t n, bool counter, double *out, int64_t *granule);

#endif
