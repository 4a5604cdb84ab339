#include "train/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define REDRAW_NS (BL_NS_PER_S / 5)
#define SAY_NS    (10 * BL_NS_PER_S)

void bl_progress_init(bl_progress *p, bool quiet)
{
    const char *term = getenv("TERM");
    *p =
        (bl_progress){.quiet = quiet, .terminal = !quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0};
    bl_progress_start(p);
}

void bl_progress_start(bl_progress *p)
{
    p->start_ns = p->last_ns = bl_clock_ns();
    p->samples = p->steps = 0;
}

double bl_progress_rate(const bl_progress *p)
{
    double seconds = (double)(bl_clock_ns() - p->start_ns) / BL_NS_PER_S;
    return p->steps > 0 && seconds > 0 ? (double)p->samples / seconds : NAN;
}

void bl_progress_step(bl_progress *p, int64_t epoch, int64_t step, int64_t total_steps, int n, double loss)
{
    int64_t now_ns = bl_clock_ns();
    p->samples += n;
    p->steps++;
    if (p->quiet || now_ns - p->last_ns < (p->terminal ? REDRAW_NS : SAY_NS))
        return;
    p->last_ns = now_ns;
    double per_step_s = (double)(now_ns - p->start_ns) / BL_NS_PER_S / (double)p->steps;
    fprintf(stderr, "%sepoch %lld  step %lld", p->terminal ? "\r" : "", (long long)epoch, (long long)step);
    if (total_steps < INT64_MAX)
        fprintf(stderr, "/%lld", (long long)total_steps);
    fprintf(stderr, "  loss %.4f", loss);
    if (p->parts)
        fprintf(stderr, " (box %.4f, objectness %.4f, classes %.4f)", p->parts[0], p->parts[1], p->parts[2]);
    fprintf(stderr, "  %.1f samples/s", bl_progress_rate(p));
    if (total_steps < INT64_MAX)
        fprintf(stderr, "  %.0f s left", per_step_s * (double)(total_steps - step));
    fputs(p->terminal ? "\x1b[K" : "\n", stderr);
    fflush(stderr);
    p->drawn = p->terminal;
}

void bl_progress_scan(bl_progress *p, int64_t done, int64_t total)
{
    static const char full[] = "########################", empty[] = "------------------------";
    enum { WIDTH = sizeof full - 1 };
    int64_t now_ns = bl_clock_ns();
    if (!p->terminal || (p->drawn && now_ns - p->last_ns < REDRAW_NS))
        return;
    p->last_ns = now_ns;
    int bar = total > 0 ? (int)((double)WIDTH * (double)done / (double)total) : 0;
    fprintf(stderr, "\rlooking at images [%.*s%.*s] %lld of %lld\x1b[K", bar, full, WIDTH - bar, empty, (long long)done,
            (long long)total);
    fflush(stderr);
    p->drawn = true;
}

void bl_progress_erase(bl_progress *p)
{
    if (p->drawn)
        fputs("\r\x1b[K", stderr);
    fflush(stderr);
    p->drawn = false;
}
