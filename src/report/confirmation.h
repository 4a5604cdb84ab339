/* What fresh blocks say of the best case of a sweep. */
#ifndef BL_REPORT_CONFIRMATION_H
#define BL_REPORT_CONFIRMATION_H

#include "base/str.h"
#include "report/analysis.h"

typedef enum bl_confirmation {
    BL_CONFIRMATION_OPEN,    /* a pair is not decided, and none is against the best */
    BL_CONFIRMATION_BEST,    /* slower, each case set against it */
    BL_CONFIRMATION_AMONG,   /* none is faster, some practically as fast */
    BL_CONFIRMATION_REFUTED, /* one is faster by more than the margin */
} bl_confirmation;

/* From the verdicts of a comparison that confirms a sweep (comparison.confirms): pairs (best, contender). */
bl_confirmation bl_confirmation_of(const bl_analysis *comparison);
const char *bl_confirmation_name(bl_confirmation confirmation); /* "open", "best", "among_the_best", "refuted" */
/* One sentence. */
void bl_confirmation_sentence(const bl_analysis *comparison, bl_str *out);

#endif
