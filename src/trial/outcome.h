/* What became of a trial, and how that is decided. Pure functions. The order of trust (docs/OUTCOMES.md): what the lab
 * itself did, what the program says in markers, what the kernel counted, how the process ended, what was printed. */
#ifndef BL_TRIAL_OUTCOME_H
#define BL_TRIAL_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "telemetry/oom_events.h"
#include "trial/evidence.h"
#include "trial/markers.h"
#include "trial/rules.h"

typedef enum bl_outcome {
    BL_OUTCOME_OK,
    BL_OUTCOME_OUT_OF_MEMORY,
    BL_OUTCOME_CRASHED,
    BL_OUTCOME_TIMED_OUT,
    BL_OUTCOME_INTERRUPTED,
    BL_OUTCOME_INVALID,
    BL_OUTCOME_LIMIT,    /* a size that the program cannot take */
    BL_OUTCOME_AMBIGUOUS /* may be memory, may be chance: run once more before it is believed (trial/settle.h) */
} bl_outcome;

#define BL_OUTCOMES 8

/* "ok", "out_of_memory", ...: the names in the database and in reports. */
const char *bl_outcome_name(bl_outcome outcome);
/* False for an unknown name. */
bool bl_outcome_from_name(const char *name, bl_outcome *out);

/* Which memory was out. */
typedef enum bl_memory_kind {
    BL_MEMORY_UNKNOWN, /* or it was not memory */
    BL_MEMORY_DEVICE,
    BL_MEMORY_HOST,
    BL_MEMORY_SHARED /* /dev/shm */
} bl_memory_kind;

/* NULL for BL_MEMORY_UNKNOWN, else "device", "host", "shared". */
const char *bl_memory_kind_name(bl_memory_kind kind);

/* The limit of memory that a trial ran under. */
typedef struct bl_ending_memory {
    uint64_t limit_b;     /* 0: there was none */
    bool grouped;         /* it ran in a control group of its own, which held the limit, */
    const char *no_group; /* or why it did not; NULL or "" where not known */
    int64_t group_kills;  /* out-of-memory kills in that group; -1 where there is none */
    int64_t over_limit_b; /* what its processes held when the lab killed them for it; 0: it did not */
    int64_t over_limit_rank,
        over_limit_rank_b; /* the rank of them whose peak was the highest, and that; 0 bytes: none */
    int64_t data_peak_b;   /* the most memory that one process had reserved, sampled; 0 where not known */
} bl_ending_memory;

typedef struct bl_ending {
    int exit_status;             /* -1 where a signal ended it */
    int exit_signal;             /* 0 where it exited */
    bool step_budget;            /* the lab ended it for its step budget, */
    bool time_budget;            /* its time budget, */
    bool setup_limit;            /* because no step came in time, */
    bool silence;                /* or because nothing was heard of it any more */
    bool interrupted;            /* the user ended it */
    double limit_s;              /* the limit that was hit, for the reason */
    int64_t batch;               /* asked for */
    bl_oom_events before, after; /* around the trial */
    bl_ending_memory memory;
    const char *phase;         /* the last one known: "train", "eval"; "" where none is */
    int64_t n_steps;           /* trained */
    bool progress_idle;        /* it prints its progress, but its counter never moved */
    const char *progress_note; /* on what was read of its progress; NULL or "": nothing was */
} bl_ending;

typedef struct bl_decision {
    bl_outcome outcome;
    bl_memory_kind memory;
    bl_str reason; /* one line for people; empty where it is ok */
    bl_evidence evidence;
} bl_decision;

void bl_decision_init(bl_decision *decision);
void bl_decision_clear(bl_decision *decision);

/* `output` are the n last bytes that the program printed, as far as they can be the cause of its end. `decision` is
 * initialised by the caller. */
void bl_outcome_decide(const bl_ending *ending, const bl_markers *markers, const bl_rules *rules, const char *output,
                       size_t n, bl_decision *decision);

#endif
