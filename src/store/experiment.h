/* An experiment as it is stored: plain data. Pointers that are read from a store belong to the arena given there;
 * for writing they are borrowed. A text that is not there is NULL, a number that is not there NaN: missing is not 0. */
#ifndef BL_STORE_EXPERIMENT_H
#define BL_STORE_EXPERIMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/gradient_noise.h"

typedef enum bl_experiment_state {
    BL_EXPERIMENT_RUNNING, /* or left by a process that died */
    BL_EXPERIMENT_FINISHED,
    BL_EXPERIMENT_INTERRUPTED
} bl_experiment_state;

const char *bl_experiment_state_name(bl_experiment_state state); /* "running", "finished", "interrupted" */

typedef struct bl_stored_step {
    int64_t samples;
    int64_t end_ns;  /* monotonic */
    int64_t time_ns; /* 0 where not known */
    int64_t wait_ns; /* -1 where not said */
    double loss;
} bl_stored_step;

typedef struct bl_named_value {
    const char *name;
    double value;
    int64_t t_ns; /* monotonic, 0 where not said */
} bl_named_value;

/* A metric's value at one moment of a training. */
typedef struct bl_stored_point {
    const char *name;
    int64_t after_steps;
    double value;
    int64_t t_ns; /* monotonic, 0 where not said */
} bl_stored_point;

/* Squared norms of gradients at the weights that a trial had after so many steps. */
typedef struct bl_stored_noise {
    int64_t after_steps;
    bl_gradient_norms norms;
    bool scaled;  /* by what the optimizer scales gradients with */
    int64_t t_ns; /* monotonic, 0 where not said */
} bl_stored_noise;

/* What an outcome rests on. */
typedef struct bl_stored_evidence {
    const char *source; /* "lab", "markers", "kernel", "exit", "output", "progress", "first run" */
    const char *text;
    bool decided; /* the outcome was decided by this one */
} bl_stored_evidence;

/* Values over time of one thing; a look that gave none is NaN. */
typedef struct bl_stored_series {
    const char *metric, *unit; /* NULL: the whole source is absent */
    const char *source, *scope;
    const char *reason; /* why values are missing, or how they are inexact; NULL */
    bool counter;       /* only differences mean something */
    double *values;     /* one a look; NULL where there is none at all */
} bl_stored_series;

typedef struct bl_stored_telemetry {
    int64_t *t_ns; /* of the looks, monotonic */
    size_t n;
    bl_stored_series *series;
    size_t n_series;
    double pace_hz, cost_s; /* looks a second, and the processor time they took */
    double gate_s;          /* waited before the trial until it was cool; NaN: nothing to go by */
    const char *gate_note;  /* on that, or NULL */
} bl_stored_telemetry;

typedef struct bl_trial_record {
    int64_t id;
    size_t case_index;
    size_t block, position;  /* from 0 */
    int64_t predecessor;     /* case that ran just before in this sitting; -1 for the first */
    const char *outcome;     /* DESIGN's names: "ok", "out_of_memory", ... */
    const char *reason;      /* NULL where there is none */
    int64_t started_ns;      /* since 1970 */
    double wall_s;           /* of the command itself */
    double user_s, system_s; /* of its whole process tree */
    const char *cpu_note;    /* how these may be inexact, or NULL */
    double peak_memory_b;    /* host memory of the tree */
    const char *memory_note; /* where it comes from, or why it is missing */
    int exit_status;         /* -1 where a signal ended it */
    int exit_signal;         /* 0 where it exited */
    bool ended_by_budget;
    const char *step_source; /* "markers", "progress", or "none": timed whole */
    const char *step_note;   /* more on that, or NULL */
    const char *memory_kind; /* of out_of_memory: "device", "host", "shared"; NULL where not known */
    const char *phase;       /* the last one known; NULL */
    double run_samples;      /* samples that a run trains, as the user declared for a program timed whole */
    const char *program, *program_version, *precision; /* as it said itself */
    int64_t ranks;                                     /* 0 where not said */
    const char *output_tail;
    const char *node;      /* where it ran; NULL: on the lab's own machine */
    const char *job_step;  /* there, as Slurm names it: "12.3"; or NULL */
    bl_stored_step *steps; /* in training; NULL unless loaded */
    size_t n_steps;
    bl_named_value *memory; /* kinds the program knows, in bytes */
    size_t n_memory;
    bl_named_value *metrics;
    size_t n_metrics;
    bl_stored_point *points; /* all values of the metrics, in the order of time */
    size_t n_points;
    bl_stored_noise *noise;
    size_t n_noise;
    bl_stored_evidence *evidence; /* the most trusted first */
    size_t n_evidence;
    bl_stored_telemetry *telemetry; /* NULL: none, or steps were not loaded */
} bl_trial_record;

typedef struct bl_stored_factor {
    const char *name;
    const char **values;
    size_t n_values;
} bl_stored_factor;

/* One thing known of the machine, or known to be unknown. */
typedef struct bl_environment_item {
    const char *name;
    const char *value;  /* NULL: not available */
    const char *source; /* "/proc/cpuinfo", ... */
    const char *reason; /* why it is not available; NULL where it is */
    int64_t sitting;    /* from 0; filled by the store */
} bl_environment_item;

typedef struct bl_environment {
    bl_environment_item *items;
    size_t len;
} bl_environment;

typedef struct bl_stored_pair {
    size_t a, b; /* cases: b is judged against a */
} bl_stored_pair;

/* What an experiment is known by in every database; created_ns 0: none. */
typedef struct bl_experiment_key {
    int64_t created_ns, seed;
} bl_experiment_key;

/* What a comparison judges; n_pairs = 0: the experiment is none. */
typedef struct bl_comparison {
    double confidence; /* 0.95, over all looks and pairs */
    double budget_s;   /* of measuring; NaN where there is none */
    bl_stored_pair *pairs;
    size_t n_pairs;
    int64_t confirms;               /* the sweep whose best case each pair sets another against; 0: none */
    bl_experiment_key confirms_key; /* the same one; read, and used where a whole experiment is copied */
} bl_comparison;

typedef struct bl_experiment {
    int64_t id;
    const char *name;     /* NULL: none was given */
    const char *workload; /* for people: the model, or the command line */
    bl_experiment_state state;
    bool held;           /* a living process runs it */
    int64_t created_ns;  /* since 1970 */
    const char *version; /* of batchlab */
    char **command;      /* the template, NULL-terminated */
    size_t n_command;
    const char *cwd;
    const char *git_revision; /* of cwd; NULL where it is none */
    bool shell, batch_from_env;
    const char *samples; /* --samples, or NULL */
    int64_t blocks, steps, warmup;
    int64_t seed;
    double time_s, setup_s, margin;
    const char *driving;       /* how programs are run and read (lab/driving.h), a JSON object; NULL: by the defaults */
    bl_stored_factor *factors; /* the first is "batch"; cases are their product, the first varying slowest */
    size_t n_factors;
    bl_comparison comparison;
    bl_experiment_key confirmed_by; /* the newest comparison that confirms this sweep; as confirms_key */
    bl_environment environment;
    bl_trial_record *trials; /* in the order they ran, interrupted ones included */
    size_t n_trials;
} bl_experiment;

typedef struct bl_experiment_summary {
    int64_t id;
    const char *name, *workload;
    bl_experiment_state state;
    bool held;
    int64_t created_ns;
    int64_t n_cases, blocks;
    int64_t n_done; /* trials that count (not the interrupted ones) */
    int64_t n_ok;
} bl_experiment_summary;

size_t bl_experiment_n_cases(const bl_experiment *experiment);
/* The value of factor f in case c. */
const char *bl_experiment_value(const bl_experiment *experiment, size_t c, size_t f);

#endif
