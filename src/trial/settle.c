#include "trial/settle.h"

/* The first run's decisive words, after the second's own. */
static void keep_first(const bl_decision *first, bl_evidence *evidence)
{
    bl_evidence_add(evidence, "first run", false, "%s: %.200s", bl_outcome_name(first->outcome),
                    bl_str_text(&first->reason));
    for (size_t i = 0; i < first->evidence.n; i++)
        bl_evidence_add(evidence, "first run", false, "%s: %.270s", first->evidence.items[i].source,
                        first->evidence.items[i].text);
}

int bl_trial_settle(bl_launcher *launcher, const bl_trial_spec *spec, bl_trial_result *result, bl_error *err)
{
    int code = bl_trial_run(launcher, spec, result, err);
    if (code != BL_OK || result->decision.outcome != BL_OUTCOME_AMBIGUOUS)
        return code;
    bl_trial_result first = *result;
    code = bl_trial_run(launcher, spec, result, err);
    if (code == BL_OK && result->decision.outcome != BL_OUTCOME_INTERRUPTED)
        keep_first(&first.decision, &result->decision.evidence);
    bl_trial_result_clear(&first);
    return code;
}
