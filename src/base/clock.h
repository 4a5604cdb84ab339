/* Time: the monotonic clock for every measurement, wall time only for labels. */
#ifndef BL_BASE_CLOCK_H
#define BL_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define BL_NS_PER_S 1000000000LL

/* CLOCK_MONOTONIC in nanoseconds: the clock of the marker protocol. */
int64_t bl_clock_ns(void);
/* CLOCK_REALTIME in nanoseconds since 1970. */
int64_t bl_clock_wall_ns(void);
/* UTC as "2024-05-17T08:09:10Z" into out (at least 21 bytes). */
void bl_clock_format_utc(int64_t wall_ns, char *out, size_t out_size);

#endif
