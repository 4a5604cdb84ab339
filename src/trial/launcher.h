/* The launcher: a tiny process forked before the lab grows. It starts every trial, keeps all of the trial's
 * descendants (it is a child sub-reaper), measures them, and kills them when the trial ends or the lab dies, by
 * whatever signal: the lab's end of their socket then closes. The trial itself gets SIGKILL if the launcher dies. */
#ifndef BL_TRIAL_LAUNCHER_H
#define BL_TRIAL_LAUNCHER_H

#include <sys/types.h>

#include "base/error.h"
#include "telemetry/control_group.h"

typedef struct bl_launcher {
    int socket;           /* the lab's end, -1 while closed */
    pid_t pid;            /* 0 while none runs */
    const char *root;     /* of /proc and /sys: NULL, or a fixture's folder in tests; borrowed */
    bool groups_tried;    /* `groups` is filled: by the first trial */
    bl_groups groups;     /* where trials get their control groups */
    bool groups_borrowed; /* from another launcher, which closes them */
} bl_launcher;

/* Forks the launcher. To be called first in main: before threads exist and before memory grows, since a child
 * starts with its parent's resident size as its own peak. BL_ERR_ENV where the system refuses. */
int bl_launcher_start(bl_launcher *launcher, bl_error *err);
/* Kills what still runs, ends the launcher and waits for it. */
void bl_launcher_stop(bl_launcher *launcher);

#endif
