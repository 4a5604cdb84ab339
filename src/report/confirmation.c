#include "report/confirmation.h"

#include "base/alloc.h"

bl_confirmation bl_confirmation_of(const bl_analysis *a)
{
    size_t n_slower = 0, n_open = 0;
    for (size_t p = 0; p < a->n_pairs; p++) {
        const bl_verdict *v = &a->pairs[p].verdict;
        if (v->kind == BL_VERDICT_DIFFERENT && v->contrast.log_ratio.estimate < 0)
            return BL_CONFIRMATION_REFUTED;
        n_slower += v->kind == BL_VERDICT_DIFFERENT;
        n_open += v->kind == BL_VERDICT_INCONCLUSIVE;
    }
    return n_open > 0 ? BL_CONFIRMATION_OPEN : n_slower == a->n_pairs ? BL_CONFIRMATION_BEST : BL_CONFIRMATION_AMONG;
}

const char *bl_confirmation_name(bl_confirmation confirmation)
{
    static const char *const names[] = {"open", "best", "among_the_best", "refuted"};
    return (size_t)confirmation < BL_ARRAY_LEN(names) ? names[confirmation] : "open";
}

/* The contenders with this verdict; faster ones among the different. */
static void append_cases(const bl_analysis *a, bl_verdict_kind kind, bl_str *out)
{
    size_t n = 0;
    for (size_t p = 0; p < a->n_pairs; p++) {
        const bl_verdict *v = &a->pairs[p].verdict;
        if (v->kind != kind || (kind == BL_VERDICT_DIFFERENT && v->contrast.log_ratio.estimate > 0))
            continue;
        bl_str_printf(out, "%s%s", n++ ? ", " : "", a->pairs[p].b);
    }
}

void bl_confirmation_sentence(const bl_analysis *a, bl_str *out)
{
    if (a->n_pairs == 0)
        return;
    const char *best = a->pairs[0].a;
    switch (bl_confirmation_of(a)) {
    case BL_CONFIRMATION_BEST:
        bl_str_printf(out, "Confirmed: on fresh blocks %s is faster than all that came near it", best);
        break;
    case BL_CONFIRMATION_AMONG:
        bl_str_printf(out,
                      "Confirmed as one of the best: on fresh blocks none is faster than %s by more than %g %%, and ",
                      best, 100 * a->rule.margin);
        append_cases(a, BL_VERDICT_NO_PRACTICAL_DIFFERENCE, out);
        bl_str_append(out, " practically as fast");
        break;
    case BL_CONFIRMATION_REFUTED:
        bl_str_printf(out, "Not confirmed: on fresh blocks %s is slower than ", best);
        append_cases(a, BL_VERDICT_DIFFERENT, out);
        break;
    default:
        bl_str_printf(out, "Not settled whether %s is the best: inconclusive against ", best);
        append_cases(a, BL_VERDICT_INCONCLUSIVE, out);
        break;
    }
    bl_str_append_c(out, '.');
}
