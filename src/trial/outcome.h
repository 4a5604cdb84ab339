/* What became of a trial, and how that is decided. Pure functions. */
#ifndef BL_TRIAL_OUTCOME_H
#define BL_TRIAL_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "trial/markers.h"

typedef enum bl_outcome {
    BL_OUTCOME_OK,
    BL_OUTCOME_OUT_OF_MEMORY,
    BL_OUTCOME_CRASHED,
    BL_OUTCOME_TIMED_OUT,
    BL_OUTCOME_INTERRUPTED,
    BL_OUTCOME_INVALID
} bl_outcome;

/* "ok", "out_of_memory", ...: the names in the database and in reports. */
const char *bl_outcome_name(bl_outcome outcome);
/* False for an unknown name. */
bool bl_outcome_from_name(const char *name, bl_outcome *out);

typedef struct bl_ending {
    int exit_status;  /* -1 where a signal ended it */
    int exit_signal;  /* 0 where it exited */
    bool step_budget; /* the lab ended it for its step budget, */
    bool time_budget; /* its time budget, */
    bool setup_limit; /* or because no step came in time */
    bool interrupted; /* the user ended it */
    double limit_s;   /* the limit that was hit, for the reason */
    int64_t batch;    /* asked for */
} bl_ending;

/* `output` is the tail of what the program printed. `reason` (initialised by the caller) gets one line. */
bl_outcome bl_outcome_decide(const bl_ending *ending, const bl_markers *markers, const char *output, bl_str *reason);

typedef enum bl_memory_message {
    BL_MEMORY_NONE,
    BL_MEMORY_DEVICE, /* the accelerator's memory is out */
    BL_MEMORY_HOST,   /* the machine's */
    BL_MEMORY_SHARED  /* /dev/shm is too small */
} bl_memory_message;

/* Looks for what known programs print when memory is out. Means something only where the program failed: some print
 * it as a warning and go on. */
bl_memory_message bl_outcome_find_memory_message(const char *output);

#endif
