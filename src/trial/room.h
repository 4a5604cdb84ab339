/* The memory that a trial may use, and how that is held. Of use inside this room. */
#ifndef BL_TRIAL_ROOM_H
#define BL_TRIAL_ROOM_H

#include <stdint.h>

#include "telemetry/control_group.h"
#include "trial/launcher.h"

typedef struct bl_room {
    uint64_t limit_b;   /* 0: none was asked for */
    bl_group group;     /* its own control group; path "" where none can be made */
    const char *reason; /* why there is none; borrowed from the launcher */
} bl_room;

/* Finds out whether control groups can be made, unless that is known. */
void bl_room_prepare(bl_launcher *launcher);
/* Makes the trial's control group, with the limit in it, where groups can be made. Never fails: without a group the
 * limit is held by the launcher (RLIMIT_DATA, and looks at the tree). */
void bl_room_begin(bl_launcher *launcher, uint64_t limit_b, bl_room *room);
/* What the group has counted; then removes it. */
void bl_room_end(bl_room *room, bl_group_memory *counted);
/* What the launcher is to hold by itself; 0 where there is no limit, or the group holds it. */
uint64_t bl_room_held_by_launcher_b(const bl_room *room);

#endif
