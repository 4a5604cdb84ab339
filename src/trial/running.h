/* A trial while it runs, served by its caller: one alone, or two that take turns. Of use inside this room. */
#ifndef BL_TRIAL_RUNNING_H
#define BL_TRIAL_RUNNING_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "trial/marker_socket.h"
#include "trial/metric_lines.h"
#include "trial/room.h"
#include "trial/trial.h"
#include "trial/wire.h"

/* What was printed before this many steps ended cannot be why the program ended: it went on. More than one, since
 * several processes of one program do not stop at the same moment. */
#define BL_COPED_STEPS     3
#define BL_RUNNING_FDS     (3 + BL_MARKER_SOCKET_POLLS)
#define BL_RUNNING_POLL_MS 100

/* Why the lab ends a trial. */
typedef enum bl_end_cause {
    BL_END_NONE,
    BL_END_STEPS,
    BL_END_TIME,
    BL_END_SETUP,
    BL_END_SILENCE,
    BL_END_INTERRUPT,
    BL_END_ENOUGH
} bl_end_cause;

typedef struct bl_running {
    bl_launcher *launcher;
    const bl_trial_spec *spec;
    bl_trial_result *result;
    int markers, output;     /* read ends; -1 once at their end */
    bl_marker_socket socket; /* markers of processes that did not inherit the other end */
    bl_str tail;             /* up to twice BL_OUTPUT_TAIL_B, cut back now and then */
    bl_end_cause cause;
    int64_t kill_ns; /* when SIGTERM's grace ends, 0 before it was sent */
    bool killed;
    bl_metric_lines metrics;
    int64_t progress_ns;              /* next call of on_progress */
    int64_t before_b[BL_COPED_STEPS]; /* bytes printed before each of the last steps, the newest first */
    int64_t turn_b;                   /* bytes printed before the last turn */
    int64_t heard_ns;                 /* when something was last printed or marked */
    int64_t held_from_ns;             /* since when its processes are stopped; 0: they run */
    int64_t held_ns;                  /* how long they were, before that */
    bl_oom_events oom_before;
    bl_room room;
    bl_sampler *sampler;
    bool ended;
    bl_wire_ended end;
} bl_running;

/* The result is initialised here. To be finished in any case. */
int bl_running_begin(bl_running *r, bl_launcher *launcher, const bl_trial_spec *spec, bl_trial_result *result,
                     bl_error *err);
/* What to poll for. */
void bl_running_fds(const bl_running *r, struct pollfd fds[BL_RUNNING_FDS]);
/* Takes what the poll found, and holds the trial to its budgets; these count no time in which it was stopped. */
int bl_running_serve(bl_running *r, const struct pollfd fds[BL_RUNNING_FDS], bl_error *err);
/* Ends it as a budget does. */
void bl_running_stop_for(bl_running *r, bl_end_cause cause);
void bl_running_kill(bl_running *r);
/* Stops all its processes (SIGSTOP), and takes what they had marked by then. Nothing where it ends meanwhile: look at
 * `ended`. *awake: processes that could not be stopped. */
int bl_running_hold(bl_running *r, uint32_t *awake, bl_error *err);
/* Lets them go on. *awake: processes that were found at work before that. */
int bl_running_release(bl_running *r, uint32_t *awake, bl_error *err);
/* Takes what lies in its pipes. */
void bl_running_take_rest(bl_running *r);
/* Takes the last line that tells a metric, where no more output will come. */
void bl_running_end_metrics(bl_running *r);
/* Fills the result where `code` is BL_OK; returns it. */
int bl_running_finish(bl_running *r, int code);

#endif
