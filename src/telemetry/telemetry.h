/* What the machine says of itself and of a process tree while a trial runs. A handful of sources, one file each and one
 * row in the table of sources.c; each gives series of values. What is not there is a reason, never 0. */
#ifndef BL_TELEMETRY_TELEMETRY_H
#define BL_TELEMETRY_TELEMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

typedef enum bl_metric {
    BL_METRIC_PROCESSES,         /* count */
    BL_METRIC_CPU_TIME,          /* s, counter */
    BL_METRIC_STOLEN_TIME,       /* s, counter: wanted by this virtual machine and given to another */
    BL_METRIC_MEMORY,            /* B, resident or charged */
    BL_METRIC_MEMORY_AVAILABLE,  /* B */
    BL_METRIC_MEMORY_TOTAL,      /* B */
    BL_METRIC_THROTTLED_TIME,    /* s, counter: held back by a quota */
    BL_METRIC_CPU_STALL,         /* s, counter: something waited for a processor */
    BL_METRIC_MEMORY_STALL,      /* s, counter: something waited for memory */
    BL_METRIC_IO_STALL,          /* s, counter */
    BL_METRIC_FREQUENCY,         /* Hz */
    BL_METRIC_TEMPERATURE,       /* degrees Celsius, the hottest */
    BL_METRIC_THROTTLE_EVENTS,   /* count, counter: of heat */
    BL_METRIC_ENERGY,            /* J, counter */
    BL_METRIC_ENERGY_INTEGRATED, /* J, counter: the trapezoids under a power */
    BL_METRIC_POWER,             /* W, of the instant */
    BL_METRIC_POWER_AVERAGE,     /* W, as the driver averages, often over a second */
    BL_METRIC_BUSY,              /* share of the time in which some kernel ran: not how much of the device it used */
    BL_METRIC_MEMORY_BUSY,       /* share of the time in which its memory was read or written */
    BL_METRIC_PROCESS_MEMORY,    /* B of a device, by this tree's processes */
    BL_METRIC_DEVICE_CLOCK,      /* Hz, of the multiprocessors */
    BL_METRIC_MEMORY_CLOCK,      /* Hz */
    BL_METRIC_THROTTLE_REASONS,  /* bits of this instant, as the driver defines them */
    BL_METRICS
} bl_metric;

typedef struct bl_metric_info {
    const char *name, *unit; /* "cpu_time", "s" */
    bool counter;            /* only differences mean something */
} bl_metric_info;

const bl_metric_info *bl_metric_get(bl_metric metric);

/* One row of values over time. */
typedef struct bl_series {
    bl_metric metric;
    const char *source; /* static: "RAPL" */
    char scope[80];     /* what it is of: "tree", "machine", "package-0", a device's UUID */
    double value;       /* of the last look; NaN where it gave none */
    char reason[200];   /* why it is missing, or how it is inexact; "" for neither */
} bl_series;

typedef struct bl_source_state {
    const char *name;
    bool available;
    char found[200];  /* what of it is here: "2 devices, driver 550.54" */
    char reason[240]; /* why it is not */
    char remedy[240]; /* how to get it; "" where nothing sensible can be said */
} bl_source_state;

typedef struct bl_telemetry_spec {
    const char *root;            /* stands before /proc and /sys: "" for the machine's own */
    const char *nvml;            /* the library of NVIDIA's driver; NULL: libnvidia-ml.so.1 */
    const char *visible_devices; /* CUDA_VISIBLE_DEVICES of the trials; NULL: all */
    const char *device_order;    /* CUDA_DEVICE_ORDER; NULL: the fastest first */
    pid_t tree_root;             /* its descendants are the tree; 0: there is none */
} bl_telemetry_spec;

typedef struct bl_telemetry bl_telemetry;

/* Opens every source. What is absent is no error. Texts are copied. BL_ERR_NOMEM. */
int bl_telemetry_new(const bl_telemetry_spec *spec, bl_telemetry **out, bl_error *err);
void bl_telemetry_free(bl_telemetry *telemetry); /* NULL is fine */
/* One look at all sources that are due at now_ns (monotonic): fills the series' values; NaN for what was not due. */
void bl_telemetry_look(bl_telemetry *telemetry, int64_t now_ns);
/* Makes every source due, and lets the tree and its control group be found anew: a trial begins. */
void bl_telemetry_begin(bl_telemetry *telemetry);

/* Borrowed. Series never move or vanish once there; looks may add some at the end. */
const bl_series *bl_telemetry_series(const bl_telemetry *telemetry, size_t index);
size_t bl_telemetry_n_series(const bl_telemetry *telemetry);
const bl_source_state *bl_telemetry_source(const bl_telemetry *telemetry, size_t index);
size_t bl_telemetry_n_sources(const bl_telemetry *telemetry);

/* The names of a device's bits in BL_METRIC_THROTTLE_REASONS that mean less speed: "power cap, heat". */
void bl_throttle_names(uint64_t bits, char *out, size_t size);

#endif
