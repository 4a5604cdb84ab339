/* How often the kernel has killed a process for want of memory. Counts only ever rise: two looks, before and after,
 * tell whether it did so in between. */
#ifndef BL_TELEMETRY_OOM_EVENTS_H
#define BL_TELEMETRY_OOM_EVENTS_H

#include <stdint.h>

typedef struct bl_oom_events {
    int64_t group;   /* processes of the control group that this process is in; -1 where not known */
    int64_t machine; /* on the whole machine; -1 where not known */
} bl_oom_events;

/* root: "" for the machine's own /proc and /sys, or the folder of a fixture. Sources: memory.events (version 2) or
 * memory.oom_control (version 1) of the group, /proc/vmstat. */
void bl_oom_events_read(const char *root, bl_oom_events *out);

#endif
