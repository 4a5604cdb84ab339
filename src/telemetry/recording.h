/* What telemetry gave in the course of a trial, and the thread that takes it. */
#ifndef BL_TELEMETRY_RECORDING_H
#define BL_TELEMETRY_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "telemetry/telemetry.h"

/* Looks kept; beyond, every second one is dropped and the pace halved, so that any length of trial has its course. */
#define BL_RECORDING_LOOKS_MAX 16384

typedef struct bl_recorded_series {
    bl_series about;  /* its value is of the last look; its reason the latest one */
    double *values;   /* one for each look; NaN: none. Counters begin with 0 */
    size_t n_present; /* values that are there */
} bl_recorded_series;

typedef struct bl_recording {
    int64_t *t_ns; /* of the looks, monotonic */
    size_t n;
    bl_recorded_series *series;
    size_t n_series;
    bl_source_state *sources; /* as they stood at its beginning */
    size_t n_sources;
    double pace_hz; /* looks a second at the end; 0: there was no telemetry */
    double cost_s;  /* processor time that the looks took */
} bl_recording;

typedef struct bl_sampler bl_sampler;

/* Begins to look, hz times a second, in a thread of its own; until it is stopped nobody else uses `telemetry`.
 * looks_max: even, mostly BL_RECORDING_LOOKS_MAX. BL_ERR_ENV where no thread can be made, BL_ERR_NOMEM. */
int bl_sampler_start(bl_telemetry *telemetry, double hz, size_t looks_max, bl_sampler **out, bl_error *err);
/* Takes a last look and ends. NULL gives an empty recording. What memory did not suffice for is missing from it. */
void bl_sampler_stop(bl_sampler *sampler, bl_recording *out);
void bl_recording_clear(bl_recording *recording);

#endif
