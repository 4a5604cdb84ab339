/* What is shown while a sweep runs: one line that is redrawn on a terminal, plain lines elsewhere; on stderr, since
 * stdout is for the result. */
#ifndef BL_LAB_LIVE_H
#define BL_LAB_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bl_live {
    bool quiet;
    bool terminal; /* redraw one line */
    bool drawn;    /* such a line stands there */
} bl_live;

/* What one trial's line says. Unknown numbers are NaN. */
typedef struct bl_live_state {
    const char *heading;    /* instead of block and trial; NULL: these */
    size_t block, n_blocks; /* from 1 */
    size_t trial, n_trials; /* from 1, over the whole experiment */
    const char *label;      /* "batch=128" */
    const char *phase;
    int64_t step, max_steps; /* max_steps 0: no such budget */
    double samples_per_s, elapsed_s, eta_s;
} bl_live_state;

void bl_live_init(bl_live *live, bool quiet);
void bl_live_draw(bl_live *live, const bl_live_state *state);
/* Removes the line; then other messages may be printed. */
void bl_live_erase(bl_live *live);
/* A line that stays: what a trial gave. Nothing where quiet. */
void bl_live_say(bl_live *live, const char *line);
/* "1 h 02 min", "3 min 05 s", "12 s"; "-" for NaN. */
void bl_live_duration(double seconds, char *out, size_t size);

#endif
