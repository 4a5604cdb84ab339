/* The sentence that says a verdict. */
#include <math.h>

#include "stats/verdict.h"

static double percent(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

static void append_percent(bl_str *s, double value, int digits)
{
    bl_str_printf(s, fabs(value) < 0.5 * pow(10, -digits) ? "%.*f" : "%+.*f", digits,
                  fabs(value) < 0.5 * pow(10, -digits) ? 0.0 : value);
}

static void append_range(bl_str *s, const bl_interval *i, int digits)
{
    append_percent(s, percent(i->low), digits);
    bl_str_append(s, " to ");
    append_percent(s, percent(i->high), digits);
    bl_str_printf(s, " %%, level %.4g %%", 100 * i->level);
}

/* "+0.31 % time per sample (interval -0.20 to +0.82 %, level 99 %, 10 blocks)" */
static void append_estimate(bl_str *s, const bl_verdict *v, bool per_run)
{
    const bl_interval *i = &v->contrast.log_ratio;
    if (i->n == 0) {
        bl_str_append(s, "no block gave figures of both");
        return;
    }
    int digits = i->has_interval && percent(i->high) - percent(i->low) > 2 ? 1 : 2;
    append_percent(s, percent(i->estimate), digits);
    bl_str_append(s, per_run ? " % time a run (" : " % time per sample (");
    if (i->has_interval) {
        bl_str_append(s, "interval ");
        append_range(s, i, digits);
        bl_str_append(s, ", ");
    }
    bl_str_printf(s, "%zu block%s)", i->n, i->n == 1 ? "" : "s");
}

static void append_what_it_takes(bl_str *s, const bl_verdict *v, const bl_verdict_rule *rule)
{
    const bl_interval *i = &v->contrast.log_ratio;
    if (v->more_blocks > 0)
        bl_str_printf(s, "; about %zu more block%s would decide%s", v->more_blocks, v->more_blocks == 1 ? "" : "s",
                      v->beyond_looks ? ", more than the last look takes" : "");
    else if (i->n < 2)
        bl_str_printf(s, "; it takes at least %zu blocks with figures of both", bl_signed_rank_min_n(i->level_wanted));
    else
        bl_str_printf(s, "; it lies too near the margin of %g %% for more blocks to decide", 100 * rule->margin);
    if (v->equivalence.reaches_level) {
        double least = fmax(percent(v->equivalence.high), percent(-v->equivalence.low));
        bl_str_printf(s, "; the difference is below %.2g %%, as far as these blocks tell", ceil(least * 100) / 100);
    }
}

void bl_verdict_sentence(const bl_verdict *v, const char *a, const char *b, bool per_run, const bl_verdict_rule *rule,
                         bl_str *out)
{
    double margin = 100 * rule->margin;
    bl_str_printf(out, "%s against %s: ", b, a);
    switch (v->kind) {
    case BL_VERDICT_DIFFERENT:
        bl_str_printf(out,
                      "different, %s by more than %g %%: ", v->contrast.log_ratio.estimate > 0 ? "slower" : "faster",
                      margin);
        append_estimate(out, v, per_run);
        break;
    case BL_VERDICT_NO_PRACTICAL_DIFFERENCE:
        bl_str_printf(out, "no practical difference%s: ", v->small_but_real ? ", though a small real one" : "");
        append_estimate(out, v, per_run);
        bl_str_printf(out, "; two one-sided tests keep it within %g %% (interval ", margin);
        append_range(out, &v->equivalence, 2);
        bl_str_append_c(out, ')');
        break;
    default:
        bl_str_append(out, "inconclusive: ");
        append_estimate(out, v, per_run);
        append_what_it_takes(out, v, rule);
        break;
    }
    if (v->contrast.disagree)
        bl_str_append(out, "; Student's interval over the same blocks disagrees: they are skewed, or hold outliers");
    bl_str_append_c(out, '.');
}
