/* Makes a trial's process. Of use inside this room. */
#ifndef BL_TRIAL_SPAWN_H
#define BL_TRIAL_SPAWN_H

#include <stdint.h>
#include <sys/types.h>

#include "trial/wire.h"

typedef struct bl_spawn {
    char **argv; /* NULL-terminated */
    char **env;  /* NULL-terminated, the whole environment */
    const char *cwd;
    const char *group;     /* folder of the control group to enter; "": none */
    uint64_t data_limit_b; /* RLIMIT_DATA; 0: none */
    int marker_fd, output_fd;
} bl_spawn;

/* The descriptor that the child finds its markers on: one digit, as more are no descriptor to dash; neither 3, which
 * scripts take first, nor 9, which is their favourite for locks. */
#define BL_SPAWN_MARKER_FD 7

/* Forks and executes; returns the pid once the new program runs, or -1 with *failure filled. The child leads a
 * session and process group of its own, reads nothing from stdin, and is killed should the caller die. Signal
 * dispositions and mask are the defaults. */
pid_t bl_spawn_start(const bl_spawn *spawn, bl_start_failure *failure);

#endif
