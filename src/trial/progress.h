/* Reads a program's progress output: bytes in, training steps out (docs/PROGRESS.md). Steps come from the program's
 * counter and the caller's clock; printed rates are only compared with them. Pure: no descriptor, no clock. */
#ifndef BL_TRIAL_PROGRESS_H
#define BL_TRIAL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "trial/markers.h"
#include "trial/progress_formats.h"
#include "trial/terminal.h"

#define BL_PROGRESS_TRACKS      12
#define BL_PROGRESS_RECORDS_MAX 1000000 /* over all tracks; further ones are counted as lost */
/* Fewer timed steps than this tell nothing of speed. */
#define BL_PROGRESS_TIMED_MIN 3

/* One counter: lines of one format, total and kind. */
typedef struct bl_progress_track {
    bl_progress_line first; /* the first line of it */
    int64_t done, samples;  /* of the last line */
    int64_t start_ns;       /* of the first line */
    int64_t last_ns;        /* of the last one that moved the counter */
    bool broken;            /* an evaluation came in between: the next step's time holds more than training */
    int64_t steps;          /* the counter's advances, over all epochs */
    int64_t timed_steps;    /* of these, in records */
    int64_t granule;        /* the coarsest rounding of the counter that was seen */
    bl_step *records;       /* advances with their time; one may hold several steps */
    size_t n_records, cap_records;
    int64_t record_samples;    /* over the records */
    int64_t moments;           /* different times at which the counter moved */
    double printed_s, clock_s; /* time of steps as printed and as measured, where both are known */
    size_t n_compared;
} bl_progress_track;

typedef struct bl_progress {
    const bl_progress_formats *formats; /* borrowed; NULL: nothing is read */
    int64_t batch;                      /* samples a step */
    bl_terminal terminal;
    bl_progress_track tracks[BL_PROGRESS_TRACKS];
    size_t n_tracks;
    size_t n_records;
    int64_t n_lines;            /* recognised */
    int64_t n_lost;             /* advances that were not kept */
    double summary_steps_per_s; /* as printed at the end; NaN */
    const char *phase;          /* "train", "eval", "set-up" by the last recognised line; "" before the first; static */
} bl_progress;

/* batch: what a step trains, 0 counts as 1. */
void bl_progress_init(bl_progress *progress, const bl_progress_formats *formats, int64_t batch);
void bl_progress_clear(bl_progress *progress);
/* Takes the next n bytes, in pieces of any size, that came at now_ns, which never falls. */
void bl_progress_feed(bl_progress *progress, const char *bytes, size_t n, int64_t now_ns);
void bl_progress_end(bl_progress *progress);

/* The counter that training moves: NULL where no line was recognised that can be one. */
const bl_progress_track *bl_progress_training(const bl_progress *progress);
/* Whether the track's steps can be timed: there are enough, at enough different moments. */
bool bl_progress_usable(const bl_progress_track *track);
/* Whether the program surely reports its training's progress, but its counter never moved. */
bool bl_progress_idle(const bl_progress *progress);
/* For people: what the steps were read from, what to mind, or why they cannot serve. Nothing where no line was
 * recognised. */
void bl_progress_note(const bl_progress *progress, bl_str *out);

#endif
