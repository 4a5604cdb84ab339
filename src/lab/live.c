#include "lab/live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"

void bl_live_init(bl_live *live, bool quiet)
{
    const char *term = getenv("TERM");
    *live = (bl_live){.quiet = quiet};
    live->terminal = !quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void bl_live_duration(double seconds, char *out, size_t size)
{
    if (!isfinite(seconds) || seconds < 0 || seconds > 1e9) {
        snprintf(out, size, "-");
        return;
    }
    long s = lround(seconds);
    if (s >= 3600)
        snprintf(out, size, "%ld h %02ld min", s / 3600, s / 60 % 60);
    else if (s >= 60)
        snprintf(out, size, "%ld min %02ld s", s / 60, s % 60);
    else
        snprintf(out, size, "%ld s", s);
}

static size_t terminal_width(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10 ? size.ws_col : 80;
}

static void append_rate(bl_str *line, double samples_per_s)
{
    if (isfinite(samples_per_s))
        bl_str_printf(line, "  %.*f samples/s", samples_per_s < 100 ? 1 : 0, samples_per_s);
}

/* Parts in the order in which they matter: what does not fit is cut at the right. */
static void compose(const bl_live_state *s, bl_str *line)
{
    char duration[32];
    if (s->heading)
        bl_str_printf(line, "%s  %s  %s", s->heading, s->label, s->phase);
    else
        bl_str_printf(line, "block %zu/%zu  trial %zu/%zu  %s  %s", s->block, s->n_blocks, s->trial, s->n_trials,
                      s->label, s->phase);
    if (s->step > 0 && s->max_steps > 0)
        bl_str_printf(line, " step %lld/%lld", (long long)s->step, (long long)s->max_steps);
    else if (s->step > 0)
        bl_str_printf(line, " step %lld", (long long)s->step);
    append_rate(line, s->samples_per_s);
    bl_live_duration(s->elapsed_s, duration, sizeof duration);
    bl_str_printf(line, "  %s", duration);
    bl_live_duration(s->eta_s, duration, sizeof duration);
    if (isfinite(s->eta_s))
        bl_str_printf(line, "  ETA %s", duration);
}

static size_t cut_columns(const char *text, size_t columns)
{
    size_t n = 0, used = 0;
    for (; text[n]; n++)
        if (((unsigned char)text[n] & 0xC0) != 0x80 && used++ == columns)
            break;
    return n;
}

void bl_live_draw(bl_live *live, const bl_live_state *state)
{
    if (!live->terminal)
        return;
    bl_str line;
    bl_str_init(&line);
    compose(state, &line);
    /* One write: carriage return, text, and the rest of the old line cleared, so that nothing flickers. */
    fprintf(stderr, "\r%.*s\x1b[K", (int)cut_columns(bl_str_text(&line), terminal_width() - 1), bl_str_text(&line));
    fflush(stderr);
    live->drawn = true;
    bl_str_clear(&line);
}

void bl_live_erase(bl_live *live)
{
    if (!live->drawn)
        return;
    fputs("\r\x1b[K", stderr);
    fflush(stderr);
    live->drawn = false;
}

void bl_live_say(bl_live *live, const char *line)
{
    if (live->quiet)
        return;
    bl_live_erase(live);
    fprintf(stderr, "%s\n", line);
}
