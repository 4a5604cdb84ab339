#include "stats/verdict.h"

#include <math.h>
#include <string.h>

#include "stats/dist.h"

void bl_verdict_rule_init(bl_verdict_rule *rule)
{
    *rule = (bl_verdict_rule){.margin = 0.01, .confidence = 0.95, .looks = {10, 20, 30, 40, 60}, .n_looks = 5};
}

const char *bl_verdict_name(bl_verdict_kind kind)
{
    switch (kind) {
    case BL_VERDICT_DIFFERENT:
        return "different";
    case BL_VERDICT_NO_PRACTICAL_DIFFERENCE:
        return "no_practical_difference";
    default:
        return "inconclusive";
    }
}

size_t bl_verdict_next_look(const bl_verdict_rule *rule, size_t n_done)
{
    for (size_t k = 0; k < rule->n_looks; k++)
        if (rule->looks[k] > n_done)
            return rule->looks[k];
    return 0;
}

static int check_rule(const bl_verdict_rule *rule, size_t n_cases, const bl_case_pair *pairs, size_t n_pairs,
                      bl_error *err)
{
    if (!(rule->margin > 0 && rule->margin < 1))
        return BL_FAIL(err, BL_ERR_USAGE, "a margin must lie between 0 and 1 (0.01 = 1 %%), not %g", rule->margin);
    if (!(rule->confidence >= 0.5 && rule->confidence < 1))
        return BL_FAIL(err, BL_ERR_USAGE, "a confidence must lie between 50 and 100 %%, not %g",
                       100 * rule->confidence);
    if (rule->n_looks == 0 || rule->n_looks > BL_LOOKS_MAX)
        return BL_FAIL(err, BL_ERR_USAGE, "a rule has 1 to %d looks, not %zu", BL_LOOKS_MAX, rule->n_looks);
    for (size_t k = 0; k < rule->n_looks; k++)
        if (rule->looks[k] < 2 || (k > 0 && rule->looks[k] <= rule->looks[k - 1]))
            return BL_FAIL(err, BL_ERR_USAGE, "looks must ascend from at least 2 blocks");
    if (n_pairs == 0 || n_pairs > BL_VERDICT_PAIRS_MAX)
        return BL_FAIL(err, BL_ERR_USAGE, "1 to %d pairs can be judged, not %zu", BL_VERDICT_PAIRS_MAX, n_pairs);
    for (size_t i = 0; i < n_pairs; i++)
        if (pairs[i].a >= n_cases || pairs[i].b >= n_cases || pairs[i].a == pairs[i].b)
            return BL_FAIL(err, BL_ERR_USAGE, "pair %zu does not name two of the %zu cases", i, n_cases);
    return BL_OK;
}

/* What is looked at. */
typedef struct data {
    const double *y;
    size_t stride;
    const bl_verdict_rule *rule;
} data;

/* Both intervals of a pair over the first n blocks at error rate a. */
static int measure(const data *d, const bl_case_pair *pair, size_t n, double a, bl_verdict *out, bl_error *err)
{
    const double *first = d->y + pair->a * d->stride;
    const double *second = d->y + pair->b * d->stride;
    bl_contrast wider;
    int rc = bl_contrast_pair(first, second, n, 1 - a, &out->contrast, err);
    if (rc == BL_OK)
        rc = bl_contrast_pair(first, second, n, 1 - 2 * a, &wider, err);
    if (rc == BL_OK)
        out->equivalence = wider.log_ratio;
    out->blocks = n;
    return rc;
}

static void decide(bl_verdict *v, double margin)
{
    const bl_interval *i = &v->contrast.log_ratio;
    const bl_interval *e = &v->equivalence;
    double delta = log1p(margin);
    if (i->reaches_level && (i->low > delta || i->high < -delta)) {
        v->kind = BL_VERDICT_DIFFERENT;
    } else if (e->reaches_level && e->low > -delta && e->high < delta) {
        v->kind = BL_VERDICT_NO_PRACTICAL_DIFFERENCE;
        v->small_but_real = i->reaches_level && (i->low > 0 || i->high < 0);
    }
}

/* One look over the open pairs; each decision leaves the others a larger share of the error rate. */
static int look(const data *d, size_t n, const bl_case_pair *pairs, size_t n_pairs, bl_verdict *out, size_t *open,
                bl_error *err)
{
    double alpha = (1 - d->rule->confidence) / (double)d->rule->n_looks;
    for (size_t before = 0; *open > 0 && *open != before;) {
        before = *open;
        for (size_t i = 0; i < n_pairs; i++) {
            if (out[i].kind != BL_VERDICT_INCONCLUSIVE)
                continue;
            int rc = measure(d, &pairs[i], n, alpha / (double)before, &out[i], err);
            if (rc != BL_OK)
                return rc;
            decide(&out[i], d->rule->margin);
            *open -= out[i].kind != BL_VERDICT_INCONCLUSIVE;
        }
    }
    return BL_OK;
}

/* Half of the interval to be expected after n blocks, from the one had: it narrows as 1 / sqrt(n), and a little faster
 * while n is small. */
static double half_after(const bl_interval *had, double sd, double level, size_t n)
{
    double t = bl_t_quantile(0.5 + 0.5 * level, (double)(n - 1));
    if (!had->reaches_level || had->n < 3)
        return t * sd / sqrt((double)n);
    double half = 0.5 * (had->high - had->low);
    double t_had = bl_t_quantile(0.5 + 0.5 * level, (double)(had->n - 1));
    return half * t / t_had * sqrt((double)had->n / (double)n);
}

static void forecast(bl_verdict *v, const bl_verdict_rule *rule, size_t n_done)
{
    const bl_interval *i = &v->contrast.log_ratio;
    if (i->n < 2 || isnan(v->contrast.sd))
        return;
    double room = fabs(i->estimate) - log1p(rule->margin);
    const bl_interval *wanted = room > 0 ? i : &v->equivalence;
    size_t last = rule->looks[rule->n_looks - 1];
    for (size_t n = bl_verdict_next_look(rule, n_done); n <= BL_VERDICT_FAR;) {
        n = n == 0 ? (n_done > last ? n_done : last) + 10 : n;
        if (half_after(wanted, v->contrast.sd, wanted->level_wanted, n) < fabs(room) &&
            n >= bl_signed_rank_min_n(wanted->level_wanted)) {
            v->more_blocks = n - n_done;
            v->beyond_looks = n > last;
            return;
        }
        size_t next = bl_verdict_next_look(rule, n);
        n = next > 0 ? next : n + 10 * (1 + n / 200);
    }
}

int bl_verdicts_compute(const double *y, size_t n_cases, size_t stride, size_t n_done, const bl_case_pair *pairs,
                        size_t n_pairs, const bl_verdict_rule *rule, bl_verdict *out, bl_error *err)
{
    int rc = check_rule(rule, n_cases, pairs, n_pairs, err);
    if (rc != BL_OK)
        return rc;
    const data d = {y, stride, rule};
    size_t open = n_pairs;
    memset(out, 0, n_pairs * sizeof(*out));
    for (size_t k = 0; rc == BL_OK && k < rule->n_looks && rule->looks[k] <= n_done; k++)
        rc = look(&d, rule->looks[k], pairs, n_pairs, out, &open, err);
    double a = (1 - rule->confidence) / (double)(rule->n_looks * (open > 0 ? open : 1));
    for (size_t i = 0; rc == BL_OK && i < n_pairs; i++) {
        if (out[i].kind != BL_VERDICT_INCONCLUSIVE)
            continue;
        rc = measure(&d, &pairs[i], n_done, a, &out[i], err);
        if (rc == BL_OK)
            forecast(&out[i], rule, n_done);
    }
    return rc;
}
