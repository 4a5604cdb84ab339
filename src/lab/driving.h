/* How programs that nobody here wrote are run and read: what the options beyond the plan say. Stored with the
 * experiment as JSON, so that a resumed one is driven in the same way. */
#ifndef BL_LAB_DRIVING_H
#define BL_LAB_DRIVING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "plan/largest.h"
#include "plan/target.h"
#include "trial/metric_lines.h"
#include "trial/progress_formats.h"
#include "trial/rules.h"

#define BL_TURN_STEPS_MAX 1000000

/* As given on the command line. */
typedef struct bl_driving_options {
    bl_strv oom_patterns;      /* --oom-pattern */
    const char *rules_file;    /* --rules */
    bl_strv progress_regexes;  /* --progress-regex */
    const char *progress_unit; /* --progress-unit, or NULL */
    bl_strv metric_regexes;    /* --metric-regex */
    bool progress;             /* false: --no-progress */
    bool pty;                  /* --pty */
    double silence_s;          /* --silence-timeout, below 0: not given */
    int64_t turn_steps;        /* --interleave, 0: not given */
    uint64_t memory_limit_b;   /* --memory-limit, 0: not given */
    const char *until;         /* --until, or NULL */
    double losing;             /* --stop-losing, below 0: not given */
    const char *setup;         /* --setup, or NULL; likewise */
    const char *prepare, *cleanup;
} bl_driving_options;

typedef struct bl_driving {
    bl_str rules_text;            /* rules of the user, a line each; empty where none */
    bl_rules *rules;              /* with the built-in ones */
    bool progress;                /* read progress lines, */
    bl_strv progress_regexes;     /* by these patterns, or the built-in ones where there is none, */
    bool progress_samples;        /* their counters taken for samples, not steps */
    bl_progress_formats *formats; /* all that; NULL where progress lines are not read */
    bl_strv metric_regexes;       /* read metrics by these patterns; */
    bl_metric_patterns *metrics;  /* all that; NULL: by none */
    bool pty;
    double silence_s;        /* 0: silence ends no trial */
    uint64_t memory_limit_b; /* 0: none */
    int64_t turn_steps;      /* two cases train in turn, so many steps each (trial/turns.h); 0: one after the other */
    bl_target until;         /* the trial ends once its training reached it; no name: it does not */
    double losing;           /* or once it took so many times the fewest steps (lab/losing.h); 0: it does not */
    char *setup;             /* command templates around the trials; NULL: none */
    char *prepare, *cleanup;
    bl_largest_limits search; /* of a search for the largest batch; max is 0 where it is none */
} bl_driving;

/* The defaults that are not 0; frees nothing. */
void bl_driving_options_init(bl_driving_options *options);
void bl_driving_options_clear(bl_driving_options *options);

/* `driving` is initialised, and to be cleared in any case. */
int bl_driving_from_options(const bl_driving_options *options, bl_driving *driving, bl_error *err);
/* json: NULL or an object; what this version does not know in it is an error, since it would be run otherwise. */
int bl_driving_from_json(const char *json, bl_driving *driving, bl_error *err);
/* Appends the object. */
int bl_driving_to_json(const bl_driving *driving, bl_str *out, bl_error *err);
/* Whether an experiment with these settings is a search for the largest batch (batchlab max). */
bool bl_driving_is_search(const char *json);
void bl_driving_clear(bl_driving *driving);

#endif
