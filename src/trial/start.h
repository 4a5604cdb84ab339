/* Asks the launcher for a trial's process. Of use inside this room. */
#ifndef BL_TRIAL_START_H
#define BL_TRIAL_START_H

#include <stdint.h>
#include <sys/types.h>

#include "trial/marker_socket.h"
#include "trial/room.h"
#include "trial/trial.h"

typedef struct bl_started {
    int markers, output; /* read ends, non-blocking; the caller closes them, after a failure too; -1: none */
    int64_t started_ns, started_wall_ns;
} bl_started;

/* `socket` is open. BL_ERR_ENV where the command cannot be run, with the reason in words. */
int bl_start_trial(const bl_launcher *launcher, const bl_trial_spec *spec, const bl_room *room,
                   const bl_marker_socket *socket, bl_started *out, bl_error *err);
/* The launcher's next packet. 0 where it has gone. */
ssize_t bl_start_receive(const bl_launcher *launcher, void *packet, size_t size);
/* Sets the error that says so. */
int bl_start_lost_launcher(bl_error *err);
void bl_start_close_fd(int *fd);

#endif
