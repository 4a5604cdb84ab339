/* One run of batchlab-train, from the options to the last line: what main.c starts, and the two halves of it share. */
#ifndef BL_TRAIN_SESSION_H
#define BL_TRAIN_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "batchlab_marker.h"
#include "train/keeper.h"
#include "train/noise.h"
#include "train/progress.h"
#include "train/trainer.h"

typedef struct bl_session {
    bl_train_options options;
    bl_trainer trainer;
    batchlab_marker marker;
    bl_progress progress;
    bl_keeper keeper;
    bl_tally tally;
    FILE *log;
    volatile int *stop; /* how many signals asked for the end; borrowed */
    int64_t start_ns;   /* of training, in this process */
    int64_t first_step; /* after a resumed checkpoint's */
    int64_t told_ns;    /* when the ranks' load was last marked */
    bool ending;        /* all ranks know that they are to end */
    int speaker;        /* the rank that tells of an error which all know; -1: it is this rank's own */
} bl_session;

/* Sets up, trains, tests, keeps and clears all but the options and the marker. BL_ERR_INTERRUPTED where `stop` ended
 * it. */
int bl_session_run(bl_session *session, bl_error *err);

/* What is said to people (stdout, stderr, the log) and to the lab (markers): session_say.c. */
void bl_session_say_hello(bl_session *session);
void bl_session_say_set_up(bl_session *session);
int bl_session_open_log(bl_session *session, bl_error *err);
/* One line an epoch, to people and to the log. `test` is NULL where there was none. */
int bl_session_say_epoch(bl_session *session, double samples_per_s, const bl_evaluation *test, bl_error *err);
void bl_session_say_noise(bl_session *session, const bl_noise_report *report, double seconds);
/* Every half second at most: what each rank waits for and holds. */
void bl_session_tell_load(bl_session *session);
void bl_session_print_profile(const bl_session *session);
/* Since training began in this process. */
double bl_session_seconds(const bl_session *session);

#endif
