#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;
    if (clock_gettime(id, &ts) != 0)
        return 0; /* only for an unknown clock id, which these are not */
    return (int64_t)ts.tv_sec * BL_NS_PER_S + ts.tv_nsec;
}

int64_t bl_clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t bl_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void bl_clock_format_utc(int64_t wall_ns, char *out, size_t out_size)
{
    time_t seconds = (time_t)(wall_ns / BL_NS_PER_S);
    struct tm tm;
    if (!out_size)
        return;
    if (!gmtime_r(&seconds, &tm) || strftime(out, out_size, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        out[0] = '\0';
}
