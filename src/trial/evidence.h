/* What an outcome rests on: kept beside it, so that a reader can judge anew. */
#ifndef BL_TRIAL_EVIDENCE_H
#define BL_TRIAL_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

#define BL_EVIDENCE_MAX 24

typedef struct bl_evidence_item {
    const char *source; /* static: "lab", "markers", "kernel", "exit", "output", "progress", "first run" */
    bool decided;       /* the outcome was decided by this one */
    char text[300];
} bl_evidence_item;

typedef struct bl_evidence {
    bl_evidence_item items[BL_EVIDENCE_MAX]; /* in the order of trust, the most trusted first */
    size_t n;                                /* further ones are left out */
} bl_evidence;

void bl_evidence_add(bl_evidence *evidence, const char *source, bool decided, const char *format, ...) BL_PRINTF(4, 5);

#endif
