/* The web page about stored experiments, or one picture of it, as a file. */
#ifndef BL_LAB_PAGE_FILE_H
#define BL_LAB_PAGE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/target.h"
#include "store/store.h"

#define BL_PAGE_REFRESH_S 5
/* The ids of report/chart.h's charts, for help and errors. */
#define BL_PICTURES                                                                                                    \
    "throughput, step_time, residuals, memory, wait, utilisation, energy, verdicts, differences, timeline, "           \
    "temperature, steps, noise_scale, steps_to_target, time_to_target, trial_cpu, trial_memory, trial_busy, "          \
    "trial_clock, trial_temperature or trial_power"

/* target: for the pictures of steps and time to it; NULL: what --until was, if anything.
 * Replaces the file as a whole. refresh_s above 0: a browser loads it anew so often. */
int bl_page_file_write(bl_store *store, const int64_t *ids, size_t n, int refresh_s, const bl_target *target,
                       const char *path, bl_error *err);
/* The chart of that id (report/chart.h) as SVG, or by gnuplot where `path` ends in .png or .pdf (BL_ERR_ENV without
 * it). BL_ERR_USAGE where there is none, or no data for it. */
int bl_picture_file_write(bl_store *store, const int64_t *ids, size_t n, const char *picture, const bl_target *target,
                          const char *path, bl_error *err);

#endif
