/* Lines of progress output in many wordings, and what they say. */
#ifndef BL_TESTS_TRIAL_PROGRESS_CASES_H
#define BL_TESTS_TRIAL_PROGRESS_CASES_H

#include "trial/progress_formats.h"

typedef struct progress_case {
    const char *name; /* of the format; NULL: no progress line */
    bl_progress_kind kind;
    int64_t done, total;
    double steps_per_s; /* 0: none is printed */
    const char *text;   /* as written, control bytes and all */
} progress_case;

extern const progress_case progress_cases[];
extern const size_t n_progress_cases;

#endif
