/* What a terminal would make of a program's output: bytes in, lines out. Carriage returns, backspaces and movements of
 * the cursor begin a line anew, colours vanish. A pure state machine of fixed size; any bytes will do. */
#ifndef BL_TRIAL_TERMINAL_H
#define BL_TRIAL_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BL_TERMINAL_LINE_MAX_B 4096 /* what a line has beyond is left out */

/* A line as it stood before it was ended, moved away from or overwritten. t_ns: when its last visible byte came, which
 * may be long before its end is known. */
typedef void (*bl_terminal_sink)(void *context, const char *line, size_t n, int64_t t_ns);

typedef struct bl_terminal {
    char line[BL_TERMINAL_LINE_MAX_B];
    size_t len, cursor; /* cursor <= len */
    int64_t t_ns;
    bool fresh;    /* something was written since the line was last given out */
    bool skipping; /* the line was too long: what follows up to its end is left out */
    int state;     /* inside a control sequence, see terminal.c */
    unsigned parameter;
    bool has_parameter, second_parameter;
} bl_terminal;

void bl_terminal_init(bl_terminal *terminal);
/* Takes the next n bytes, in pieces of any size, that came at now_ns. */
void bl_terminal_feed(bl_terminal *terminal, const char *bytes, size_t n, int64_t now_ns, bl_terminal_sink sink,
                      void *context);
/* The output ended: what stands in the line is given out. */
void bl_terminal_end(bl_terminal *terminal, bl_terminal_sink sink, void *context);

#endif
