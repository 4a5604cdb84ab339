/* What a trial's telemetry says of its warm part (of all of it, where it was timed whole). */
#ifndef BL_REPORT_TELEMETRY_FIGURES_H
#define BL_REPORT_TELEMETRY_FIGURES_H

#include <stdbool.h>

#include "report/analysis.h"

/* NaN: not known. */
typedef struct bl_telemetry_figure {
    double cpu_cores;         /* that the trial's processes kept at work, on average */
    double other_cores;       /* that others did */
    double device_busy;       /* share of time, mean over the devices */
    double device_memory_b;   /* the largest sum over the devices */
    double power_w;           /* of all whose energy is known */
    double joules_per_sample; /* likewise; per run where samples are not known: NaN */
    double hottest_c;
    double throttled;    /* share of looks at which a device was held back by heat or power */
    bool doubtful_power; /* two sources of a device's energy differ by over 20 % */
} bl_telemetry_figure;

/* A device's energy wants this many seconds: its power is averaged by the driver. */
#define BL_DEVICE_ENERGY_MIN_S 5.0

void bl_telemetry_figure_compute(const bl_trial_record *trial, const bl_trial_figure *figure, bl_telemetry_figure *out);
/* Means over the case's trials with outcome ok; the largest of memory and temperature. False where none has any. */
bool bl_telemetry_figure_of_case(const bl_analysis *analysis, size_t case_index, bl_telemetry_figure *out);

#endif
