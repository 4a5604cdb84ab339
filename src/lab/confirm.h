/* Confirms the winner of a sweep: the best of many looks better than it is, so it is set against those that came near,
 * by the rule of compare, on blocks that had no part in choosing it. */
#ifndef BL_LAB_CONFIRM_H
#define BL_LAB_CONFIRM_H

#include "base/error.h"
#include "lab/sweep.h"
#include "lab/sweep_options.h"

/* More could not be told apart after ten blocks: five share the error rate of a look. */
#define BL_CONFIRM_PAIRS_MAX 5

typedef struct bl_confirm {
    const bl_sweep_options *options; /* logs and the like; of the settings only margin_text is heeded */
    bl_store *store;
    bl_launcher *launcher;
    bl_live *live;
    int64_t sweep_id;
    double confidence;
    double budget_s; /* below 0: none */
} bl_confirm;

/* A comparison of its own, with the sweep's command and cases, is stored and run; its number into *id, 0 where none was
 * begun. Contenders are the cases that the sweep does not show to be slower than its best by more than the margin, the
 * nearest ones, and one at least. BL_ERR_USAGE where the experiment is a comparison, or has fewer than two cases with
 * figures. */
int bl_confirm_run(const bl_confirm *confirm, int64_t *id, bl_sweep_outcome *outcome, bl_error *err);

#endif
