/* Reads the marker protocol (docs/PROTOCOL.md): bytes in, facts out. Pure: no descriptor, no clock.
 * Lines that are too long, malformed or of an unknown type are counted and otherwise passed over. */
#ifndef BL_TRIAL_MARKERS_H
#define BL_TRIAL_MARKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/gradient_noise.h"
#include "base/str.h"

#define BL_MARKER_LINE_MAX_B 65536
#define BL_MARKER_STEPS_MAX  10000000 /* steps kept; further ones are counted as ignored */

typedef struct bl_step {
    int64_t samples;
    int64_t end_ns;  /* monotonic */
    int64_t time_ns; /* since the end of the step before, or the start of the train phase; 0 where neither is known */
    int64_t wait_ns; /* of this, waiting for data; -1 where not said */
    double loss;     /* NaN where not said */
} bl_step;

typedef struct bl_marker_memory {
    char kind[32];
    int64_t bytes; /* the largest said */
} bl_marker_memory;

typedef struct bl_marker_metric {
    char name[48];
    double value; /* the last said */
    int64_t t_ns; /* 0 where not said */
} bl_marker_metric;

/* A metric's value at one moment of the training. */
typedef struct bl_marker_point {
    size_t metric;       /* in bl_markers.metrics */
    int64_t after_steps; /* steps in training before it */
    double value;
    int64_t t_ns; /* 0 where not said */
} bl_marker_point;

/* Squared norms of gradients, the weights held. */
typedef struct bl_marker_noise {
    int64_t after_steps; /* steps in training before it */
    bl_gradient_norms norms;
    bool scaled;  /* by what the optimizer scales gradients with */
    int64_t t_ns; /* 0 where not said */
} bl_marker_noise;

#define BL_MARKER_KINDS_MAX  32
#define BL_MARKER_NOISE_MAX  100000 /* kept; further ones are counted as ignored */
#define BL_MARKER_POINTS_MAX 100000 /* likewise */

/* One of the streams that markers come on. */
typedef struct bl_marker_stream {
    bl_str line;   /* an unfinished line */
    bool skipping; /* the rest of a line that was too long */
} bl_marker_stream;

typedef struct bl_markers {
    bool any; /* at least one valid line came */
    bool hello, ready, done, oom;
    int64_t version; /* of hello; 0 where none */
    char program[64], program_version[64], precision[32];
    int64_t ranks, batch; /* 0 where not said */
    int64_t ready_ns;     /* 0 where none */
    int64_t oom_b;        /* bytes asked for, 0 where not said */
    char phase[32];       /* the present one: "" before ready, "train" from then on */
    bl_step *steps;       /* in train phases */
    size_t n_steps, cap_steps;
    int64_t samples; /* over all steps */
    bl_marker_memory memory[BL_MARKER_KINDS_MAX];
    size_t n_memory;
    bl_marker_metric metrics[BL_MARKER_KINDS_MAX];
    size_t n_metrics;
    bl_marker_point *points; /* all values of the metrics; also those that were read from the output */
    size_t n_points, cap_points;
    bl_marker_noise *noise;
    size_t n_noise, cap_noise;
    int64_t n_lines, n_malformed, n_ignored;
    bool failed; /* memory ran out: steps after that are missing */

    int64_t last_ns; /* where the next step's time counts from, 0 unknown */
    bl_marker_stream stream;
} bl_markers;

void bl_markers_init(bl_markers *markers);
void bl_markers_clear(bl_markers *markers);
/* Takes the next n bytes of its stream, in pieces of any size. */
void bl_markers_feed(bl_markers *markers, const char *bytes, size_t n);
/* A metric's next value. Names beyond the room for them, and points beyond theirs, are counted as ignored. */
void bl_markers_metric(bl_markers *markers, const char *name, const bl_marker_point *point);
/* The stream ended: a last line without newline counts. */
void bl_markers_end(bl_markers *markers);

/* The same for a further stream into the same markers: lines of several are taken as each of them ends. */
void bl_marker_stream_init(bl_marker_stream *stream);
void bl_marker_stream_clear(bl_marker_stream *stream);
void bl_marker_stream_feed(bl_marker_stream *stream, bl_markers *markers, const char *bytes, size_t n);
void bl_marker_stream_end(bl_marker_stream *stream, bl_markers *markers);

#endif
