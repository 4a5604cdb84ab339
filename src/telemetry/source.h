/* What a source of telemetry is, for the files of this room: one file and one row in sources.c each. */
#ifndef BL_TELEMETRY_SOURCE_H
#define BL_TELEMETRY_SOURCE_H

#include "base/attributes.h"
#include "telemetry/sysfile.h"
#include "telemetry/telemetry.h"

#define BL_SOURCE_VERSION 1

struct bl_tree_watch;
typedef struct bl_source bl_source;

typedef struct bl_source_kind {
    int version; /* BL_SOURCE_VERSION */
    const char *name;
    int64_t period_ns; /* it is looked at no oftener; 0: at every look */
    /* Finds out what is there: adds series, or says why it is absent. BL_ERR_NOMEM only. Required. */
    int (*open)(bl_source *source);
    /* A trial begins. May be NULL. */
    void (*begin)(bl_source *source);
    /* Sets the series' values. Only where it is available. Required. */
    void (*look)(bl_source *source, int64_t now_ns);
    /* Also after an open that failed or found nothing. May be NULL. */
    void (*close)(bl_source *source);
} bl_source_kind;

struct bl_source {
    const bl_source_kind *kind;
    bl_telemetry *telemetry;
    const bl_telemetry_spec *spec;
    bl_source_state state;
    void *data; /* the source's own */
    int64_t due_ns;
};

extern const bl_source_kind bl_source_tree, bl_source_machine, bl_source_cgroup, bl_source_pressure, bl_source_cpu,
    bl_source_rapl, bl_source_nvml, bl_source_amdgpu;
extern const bl_source_kind *const bl_source_kinds[];
extern const size_t bl_n_source_kinds;

/* A new series; its index, or -1 where memory is out. */
int bl_source_add(bl_source *source, bl_metric metric, const char *scope);
void bl_source_set(bl_source *source, int series, double value);
/* How it is inexact: stays until the next one; shown while there are values too. */
void bl_source_note(bl_source *source, int series, const char *note);
/* No value this time, and why. */
void bl_source_miss(bl_source *source, int series, const char *format, ...) BL_PRINTF(3, 4);
/* It is not here, why, and how to get it ("" where nothing can be said). */
void bl_source_absent(bl_source *source, const char *remedy, const char *format, ...) BL_PRINTF(3, 4);
/* What of it is here. */
void bl_source_found(bl_source *source, const char *format, ...) BL_PRINTF(2, 3);
/* The tree that the trial's processes are; NULL where none is watched. */
struct bl_tree_watch *bl_source_tree_watch(const bl_source *source);
void bl_source_share_tree(bl_source *source, struct bl_tree_watch *watch);

#endif
