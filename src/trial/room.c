#include "trial/room.h"

#include <stdio.h>
#include <unistd.h>

/* Found out at the first trial: the groups of a lab that runs none are left as they are. */
void bl_room_prepare(bl_launcher *launcher)
{
    if (!launcher->groups_tried) {
        const pid_t pids[] = {getpid(), launcher->pid};
        launcher->groups_tried = true;
        bl_groups_open(launcher->root ? launcher->root : "", pids, launcher->pid > 0 ? 2 : 1, &launcher->groups);
    }
}

void bl_room_begin(bl_launcher *launcher, uint64_t limit_b, bl_room *room)
{
    *room = (bl_room){.limit_b = limit_b};
    bl_room_prepare(launcher);
    const bl_groups *groups = &launcher->groups;
    char name[64];
    snprintf(name, sizeof name, "batchlab-trial-%ld", (long)(launcher->pid > 0 ? launcher->pid : getpid()));
    room->reason = groups->reason;
    if (groups->usable && bl_group_make(groups, name, limit_b, &room->group, NULL) != BL_OK)
        room->reason = "no control group could be made for this trial";
}

void bl_room_end(bl_room *room, bl_group_memory *counted)
{
    bl_group_read(&room->group, counted);
    bl_group_remove(&room->group);
}

uint64_t bl_room_held_by_launcher_b(const bl_room *room)
{
    return room->group.path[0] ? 0 : room->limit_b;
}
