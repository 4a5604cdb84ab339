/* One trial: a process run under the launcher, within its budgets; its markers, its output and what it cost. */
#ifndef BL_TRIAL_TRIAL_H
#define BL_TRIAL_TRIAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "telemetry/recording.h"
#include "trial/launcher.h"
#include "trial/markers.h"
#include "trial/metric_lines.h"
#include "trial/outcome.h"
#include "trial/progress.h"
#include "trial/rules.h"

typedef struct bl_trial_progress {
    int64_t n_steps;      /* in a train phase */
    int64_t samples;      /* of these steps */
    double samples_per_s; /* over the last steps; NaN before the second */
    double elapsed_s;     /* since the start of the process */
    const char *phase;    /* "set-up", "train", "eval", ... or "running" while no markers came; borrowed */
} bl_trial_progress;

typedef struct bl_trial_result bl_trial_result;

typedef struct bl_trial_spec {
    char *const *argv; /* NULL-terminated; argv[0] is searched on PATH; executed as it is, by no shell */
    const char *cwd;   /* NULL: the lab's */
    char *const *env;  /* "NAME=VALUE"..., NULL-terminated, on top of the lab's environment; may be NULL */
    int64_t batch;     /* BATCHLAB_BATCH, and what the program must say in `hello` if it says any; 0: not known */
    int64_t trial;     /* BATCHLAB_TRIAL */
    int64_t max_steps; /* 0: no step budget */
    double time_s;     /* seconds after `ready` (or the first step) until the trial is ended; 0: no such budget */
    double setup_s;    /* seconds for a program that has marked no step; 0: no limit */
    double silence_s;  /* the trial is ended once it has neither printed nor marked anything for so long; 0: never */
    double grace_s;    /* between SIGTERM and SIGKILL; 0: 5 s */
    uint64_t memory_limit_b; /* most host memory that its processes may hold together; 0: no limit */
    int log_fd;              /* the whole output is copied there; -1: nowhere */
    const bl_rules *rules;   /* for what a failing program printed; NULL: its words tell nothing */
    /* Polled several times a second. 0 go on, 1 end the trial (SIGTERM), 2 and above kill it. May be NULL. */
    const volatile sig_atomic_t *interrupt;
    int interrupts_before; /* so many do not count: they came before */
    /* Called after each batch of markers and about five times a second. May be NULL. */
    void (*on_progress)(void *context, const bl_trial_progress *progress);
    void *context;
    /* Called where new steps or metrics have come: true ends the trial as a budget does. May be NULL. */
    bool (*enough)(void *context, const bl_trial_result *result);
    void *enough_context;
    const bl_progress_formats *formats; /* of progress lines; NULL: they are not read */
    const bl_metric_patterns *metrics;  /* of lines that tell metrics; NULL: none do */
    bool pty;                           /* the program's output is a terminal */
    bl_telemetry *telemetry; /* looked at while the trial runs, telemetry_hz times a second; NULL: nothing is */
    double telemetry_hz;
} bl_trial_spec;

/* The more trusted ones first. */
typedef enum bl_step_source {
    BL_STEPS_MARKERS,
    BL_STEPS_PROGRESS, /* lines of output */
    BL_STEPS_NONE      /* only the wall time is known */
} bl_step_source;

/* "markers", "progress", "none": the names in the database. */
const char *bl_step_source_name(bl_step_source source);

/* A measured quantity that may be missing; missing is not 0. */
typedef struct bl_measured {
    bool known;
    double value;
    const char *source; /* static: "wait4", "process tree" */
    const char *reason; /* static: why it is missing, or how it may be inexact; NULL for neither */
} bl_measured;

struct bl_trial_result {
    bl_decision decision;       /* what became of it, why, and what that rests on */
    int exit_status;            /* of the command; -1 where a signal ended it */
    int exit_signal;            /* 0 where it exited */
    bool ended_by_budget;       /* the lab ended it: step or time budget, or enough */
    bl_step_source step_source; /* what steps, n_steps and samples are from */
    const bl_step *steps;       /* in training; borrowed from the markers or the progress */
    size_t n_steps;
    int64_t samples;              /* over these steps */
    int64_t steps_done;           /* an element of `steps` may stand for several */
    char phase[32];               /* the last one known; "" where none is */
    int64_t started_ns;           /* monotonic, just before the process was made */
    int64_t started_wall_ns;      /* since 1970 */
    double wall_s;                /* from then to the end of the command itself; time in which it was stopped is none */
    bl_measured user_s, system_s; /* CPU time of the whole tree */
    bl_measured peak_memory_b;    /* host memory of the whole tree */
    bl_markers markers;           /* all that the program said, with its raw steps */
    bl_progress progress;         /* all that was read of its output, where it said nothing */
    bl_str step_note;             /* on steps read from progress lines, or why they cannot serve; mostly empty */
    bl_str output_tail;           /* the last BL_OUTPUT_TAIL_B bytes of stdout and stderr together */
    int64_t output_b;             /* bytes written in all */
    bl_recording telemetry;       /* empty where none was wanted, or no thread could be had for it */
};

#define BL_OUTPUT_TAIL_B 65536

/* Runs one trial to its end and fills the result (initialised here, also on an error; always to be cleared).
 * Whatever the program does is an outcome, not an error. Errors: BL_ERR_ENV where the command cannot be started
 * (not found, no right, no such folder), BL_ERR_IO or BL_ERR_INTERNAL where the launcher fails. */
int bl_trial_run(bl_launcher *launcher, const bl_trial_spec *spec, bl_trial_result *result, bl_error *err);
/* Empty, and fit to be cleared. */
void bl_trial_result_init(bl_trial_result *result);
void bl_trial_result_clear(bl_trial_result *result);

#endif
