#include "stats/resolution.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "stats/gather.h"
#include "stats/rng.h"

enum { DRAWS = 400, FEWEST = 5 };

/* Values of an ascending series at share p, its upper neighbour: a chance is not to be overstated. */
static double upper_quantile(const double *sorted, size_t n, double p)
{
    size_t at = (size_t)ceil(p * (double)n);
    return sorted[at == 0 ? 0 : at > n ? n - 1 : at - 1];
}

static int draw_look(const double *centred, size_t n, size_t blocks, double a, double power, bl_rng *rng,
                     double *scratch, bl_resolution *out, bl_error *err)
{
    double *found = scratch, *equal = scratch + DRAWS, *x = scratch + 2 * (size_t)DRAWS;
    *out = (bl_resolution){.blocks = blocks, .difference = NAN, .margin = NAN};
    for (size_t r = 0; r < DRAWS; r++) {
        for (size_t i = 0; i < blocks; i++) {
            double value = centred[bl_rng_below(rng, n)];
            x[i] = bl_rng_next(rng) >> 63 ? value : -value;
        }
        bl_interval wide, narrow;
        int rc = bl_hodges_lehmann(x, blocks, 1 - a, &wide, err);
        if (rc == BL_OK)
            rc = bl_hodges_lehmann(x, blocks, 1 - 2 * a, &narrow, err);
        if (rc != BL_OK)
            return rc;
        if (!wide.reaches_level)
            return BL_OK;
        found[r] = -wide.low; /* a true difference above this would have put the interval above 0 */
        equal[r] = fmax(-narrow.low, narrow.high);
    }
    bl_median_in_place(found, DRAWS); /* sorts */
    bl_median_in_place(equal, DRAWS);
    out->difference = expm1(upper_quantile(found, DRAWS, power));
    out->margin = expm1(upper_quantile(equal, DRAWS, power));
    return BL_OK;
}

int bl_resolution_compute(const double *d, size_t n, const bl_verdict_rule *rule, double power, uint64_t seed,
                          bl_resolution *out, bl_error *err)
{
    for (size_t k = 0; k < rule->n_looks; k++)
        out[k] = (bl_resolution){.blocks = rule->looks[k], .difference = NAN, .margin = NAN};
    if (!(power > 0 && power < 1))
        return BL_FAIL(err, BL_ERR_USAGE, "a chance must lie between 0 and 1, not %g", power);
    bl_interval centre;
    double *used = NULL;
    size_t m = 0;
    int rc = bl_gather_finite(d, n, &used, &m, err);
    if (rc == BL_OK)
        rc = bl_hodges_lehmann(used, m, 0.95, &centre, err);
    size_t most = rule->looks[rule->n_looks - 1];
    double *scratch = bl_calloc(2 * (size_t)DRAWS + most, sizeof(*scratch));
    if (rc == BL_OK && scratch == NULL)
        rc = BL_FAIL(err, BL_ERR_NOMEM, "no memory to draw experiments of %zu blocks", most);
    if (rc == BL_OK && m >= FEWEST) {
        bl_rng rng;
        bl_rng_init(&rng, seed, m);
        /* Centring takes one degree of freedom from the spread. */
        for (size_t i = 0; i < m; i++)
            used[i] = (used[i] - centre.estimate) * sqrt((double)m / (double)(m - 1));
        double a = (1 - rule->confidence) / (double)rule->n_looks;
        for (size_t k = 0; rc == BL_OK && k < rule->n_looks; k++)
            rc = draw_look(used, m, rule->looks[k], a, power, &rng, scratch, &out[k], err);
    }
    free(scratch);
    free(used);
    return rc;
}
