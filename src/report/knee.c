/* The knee: the smallest batch size that is practically as fast as the fastest. */
#include <math.h>

#include "report/analysis.h"
#include "report/format.h"

static size_t case_of(size_t group, size_t n_others, size_t size)
{
    return size * n_others + group;
}

/* Whether case c is the smallest so far of those wanted; none = n_cases. */
static bool is_smaller(const bl_analysis *a, size_t c, size_t had)
{
    return had == a->n_cases || a->cases[c].batch < a->cases[had].batch;
}

int bl_knee_compute(const bl_analysis *a, size_t group, size_t n_others, const double *y, bl_arena *arena, bl_knee *out,
                    bl_error *err)
{
    size_t n_sizes = a->n_cases / n_others, n_figures = 0, best;
    double delta = log1p(a->experiment->margin);
    *out = (bl_knee){.best = a->n_cases, .at = a->n_cases, .low = a->n_cases, .high = a->n_cases, .level = 1};
    bl_contrast *against = bl_arena_alloc(arena, n_sizes, sizeof *against);
    if (!against)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the knee");
    int code = bl_contrast_best(y, n_sizes, a->n_blocks, &best, err);
    if (code != BL_OK || best == n_sizes || a->per_run)
        return code;
    code = bl_contrast_against(y, n_sizes, a->n_blocks, best, BL_REPORT_LEVEL, against, err);
    out->best = case_of(group, n_others, best);
    for (size_t i = 0; code == BL_OK && i < n_sizes; i++) {
        const bl_interval *ratio = &against[i].log_ratio;
        size_t c = case_of(group, n_others, i);
        if (ratio->n == 0)
            continue;
        n_figures++;
        if (ratio->estimate <= delta && is_smaller(a, c, out->at))
            out->at = c;
        if (!(ratio->has_interval && ratio->low > delta) && is_smaller(a, c, out->low))
            out->low = c;
        if ((i == best || (ratio->has_interval && ratio->high <= delta)) && is_smaller(a, c, out->high))
            out->high = c;
        if (i != best && ratio->has_interval) {
            out->has_limits = true;
            out->level = fmin(out->level, ratio->level);
        }
    }
    out->known = n_figures > 1;
    return code;
}

static long long batch(const bl_analysis *a, size_t c)
{
    return (long long)a->cases[c].batch;
}

void bl_knee_sentence(const bl_analysis *a, const bl_batch_group *group, bl_str *out)
{
    const bl_knee *k = &group->knee;
    if (!k->known)
        return;
    bl_str_printf(out, "Knee: %lld is the smallest size within %g %% of the best throughput", batch(a, k->at),
                  100 * a->experiment->margin);
    if (k->at == k->best)
        bl_str_append(out, ", which is its own");
    else
        bl_str_printf(out, ", that of %lld", batch(a, k->best));
    if (k->has_limits && k->low == k->high)
        bl_str_printf(out, "; the intervals leave no other (level %.1f %%)", 100 * k->level);
    else if (k->has_limits)
        bl_str_printf(out, "; the intervals leave %lld to %lld (level %.1f %%)", batch(a, k->low), batch(a, k->high),
                      100 * k->level);
    double here = a->cases[k->at].peak_memory_b, there = a->cases[k->best].peak_memory_b;
    if (k->at != k->best && isfinite(here) && isfinite(there)) {
        char small[32], large[32];
        bl_format_bytes(here, small, sizeof small);
        bl_format_bytes(there, large, sizeof large);
        bl_str_printf(out, "; it takes %s of memory, %lld takes %s", small, batch(a, k->best), large);
    }
    bl_str_append_c(out, '.');
}
