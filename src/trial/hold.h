/* Stops a process tree and lets it go on. Of use inside this room. */
#ifndef BL_TRIAL_HOLD_H
#define BL_TRIAL_HOLD_H

#include "telemetry/process_tree.h"
#include "trial/wire.h"

/* SIGSTOP to every descendant of `root`, again and again until all of their threads stand still, those too that were
 * forked meanwhile; a second at most. *out: kind and what was found. */
void bl_hold_stop(bl_process_tree *tree, pid_t root, bl_wire_held *out);
/* SIGCONT to each. *out: how many were at work before it: something had let them go on, or they never stood. */
void bl_hold_release(bl_process_tree *tree, pid_t root, bl_wire_held *out);

#endif
