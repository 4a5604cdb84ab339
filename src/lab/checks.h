/* What of a machine makes measurements doubtful, and how to change that: for `batchlab doctor`. */
#ifndef BL_LAB_CHECKS_H
#define BL_LAB_CHECKS_H

#include <stddef.h>

#define BL_CHECKS_MAX 24

typedef enum bl_check_state {
    BL_CHECK_GOOD,
    BL_CHECK_DOUBTFUL,
    BL_CHECK_UNKNOWN /* not shown here */
} bl_check_state;

const char *bl_check_state_name(bl_check_state state); /* "good", "doubtful", "unknown" */

typedef struct bl_check {
    const char *name;
    bl_check_state state;
    char value[160];
    const char *why;    /* why it matters, or why it is not known */
    const char *remedy; /* NULL where there is nothing to do */
} bl_check;

typedef struct bl_checks {
    bl_check items[BL_CHECKS_MAX];
    size_t n;
} bl_checks;

/* root stands before /proc and /sys: "" for this machine's own. Limits and compilers are always this machine's. */
void bl_checks_run(const char *root, bl_checks *out);

#endif
