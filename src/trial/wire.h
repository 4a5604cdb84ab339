/* What the lab and its launcher say to each other over their socket: one packet a message. Of use inside this room.
 * Both are the same program, so structures are sent as they lie in memory. */
#ifndef BL_TRIAL_WIRE_H
#define BL_TRIAL_WIRE_H

#include <stdint.h>
#include <sys/types.h>

typedef enum bl_wire_kind {
    /* to the launcher */
    BL_WIRE_START,   /* with BL_WIRE_FDS descriptors */
    BL_WIRE_SIGNAL,  /* to the trial's process group */
    BL_WIRE_KILL,    /* all of the trial's processes, SIGKILL */
    BL_WIRE_HOLD,    /* all of them, SIGSTOP; answered by BL_WIRE_HELD, or by BL_WIRE_ENDED where there is none */
    BL_WIRE_RELEASE, /* all of them, SIGCONT; answered by BL_WIRE_RELEASED, or likewise */
    /* to the lab */
    BL_WIRE_STARTED,
    BL_WIRE_NOT_STARTED,
    BL_WIRE_HELD,
    BL_WIRE_RELEASED,
    BL_WIRE_ENDED
} bl_wire_kind;

/* The order of the descriptors that come with BL_WIRE_START. */
enum { BL_WIRE_FD_SPEC, BL_WIRE_FD_MARKERS, BL_WIRE_FD_OUTPUT, BL_WIRE_FDS };

/* The spec file holds n_argv + n_env + 2 NUL-terminated strings: the arguments, the environment (whole), the working
 * folder, empty for the launcher's own, and the folder of the control group to enter, empty for none. */
typedef struct bl_wire_start {
    bl_wire_kind kind;
    uint64_t spec_b;
    uint32_t n_argv, n_env;
    uint64_t limit_b; /* of memory, to be held without a control group; 0: none */
} bl_wire_start;

typedef struct bl_wire_signal {
    bl_wire_kind kind;
    int signal;
} bl_wire_signal;

typedef struct bl_wire_started {
    bl_wire_kind kind;
    int64_t started_ns, started_wall_ns;
} bl_wire_started;

/* Where starting a process can fail. */
typedef enum bl_start_stage {
    BL_START_NONE,
    BL_START_SPEC,  /* reading what to run */
    BL_START_FORK,  /* making the process */
    BL_START_SETUP, /* its descriptors and session */
    BL_START_CHDIR, /* the working folder */
    BL_START_GROUP, /* its control group */
    BL_START_LIMIT, /* its limit of memory */
    BL_START_EXEC   /* the command itself */
} bl_start_stage;

typedef struct bl_start_failure {
    bl_start_stage stage;
    int error; /* errno */
} bl_start_failure;

typedef struct bl_wire_not_started {
    bl_wire_kind kind;
    bl_start_failure failure;
} bl_wire_not_started;

typedef struct bl_wire_held {
    bl_wire_kind kind;
    uint32_t n_processes;
    uint32_t n_awake; /* that are not stopped: could not be, or not any more */
} bl_wire_held;

typedef struct bl_wire_ended {
    bl_wire_kind kind;
    int wait_status;            /* of the command itself, as wait4 gives it */
    int64_t ended_ns;           /* when it was found ended */
    int64_t user_us, system_us; /* of all processes of the trial, reaped here */
    int64_t sampled_peak_b;     /* the largest sum of resident memory seen */
    int64_t single_peak_b;      /* the largest peak of one process: VmHWM, or wait4's maxrss above our own */
    int64_t data_peak_b;        /* the most memory that one process had reserved (VmData), sampled */
    int64_t over_limit_b;       /* what all held together when they were killed for it; 0: they were not */
    int64_t over_limit_rank;    /* the rank whose peak was the highest of them, and that peak; 0 bytes: none is known */
    int64_t over_limit_rank_b;
    uint32_t n_samples;     /* of memory */
    uint32_t n_left_behind; /* descendants that outlived SIGKILL (stuck in the kernel) */
} bl_wire_ended;

#define BL_WIRE_MAX_B sizeof(bl_wire_ended)

#endif
