/* Verdicts over blocks, one a declared pair of cases, by a rule that was fixed beforehand: looks at stated numbers of
 * blocks only, the error rate shared out among looks and pairs.
 *
 * At a look, a pair of cases has the interval of d = ln y_b - ln y_a (contrast.h) at level 1 - a and the one at level
 * 1 - 2 a, with a = alpha / (looks * pairs still open). With delta = ln(1 + margin):
 *   different                 the 1 - a interval lies outside +-delta;
 *   no practical difference   the 1 - 2 a interval lies inside +-delta (two one-sided tests at a each: Schuirmann
 *                             1987), "small but real" where the 1 - a interval excludes 0;
 *   otherwise the pair stays open, and after the last block it is inconclusive.
 * alpha / looks is Bonferroni's share of each look; dividing by the pairs still open, anew after each decision, is
 * Holm's step-down (Scand. J. Stat. 6, 1979) over the looks (Maurer & Bretz, Stat. Biopharm. Res. 5, 2013). The chance
 * that any verdict is wrong is then at most about alpha. A verdict once given stands: nothing here keeps a state, the
 * looks are replayed from the blocks, so a stopped and resumed experiment decides as an uninterrupted one would. */
#ifndef BL_STATS_VERDICT_H
#define BL_STATS_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"
#include "stats/contrast.h"

#define BL_LOOKS_MAX         8
#define BL_VERDICT_PAIRS_MAX 64

typedef struct bl_verdict_rule {
    double margin;              /* 0.01: differences below 1 % are of no practical importance */
    double confidence;          /* 1 - alpha, over all looks and pairs */
    size_t looks[BL_LOOKS_MAX]; /* ascending numbers of blocks */
    size_t n_looks;
} bl_verdict_rule;

/* Margin 1 %, confidence 95 %, looks after 10, 20, 30, 40 and 60 blocks. */
void bl_verdict_rule_init(bl_verdict_rule *rule);

typedef struct bl_case_pair {
    size_t a, b; /* b is judged against a */
} bl_case_pair;

typedef enum bl_verdict_kind {
    BL_VERDICT_INCONCLUSIVE, /* or not decided yet */
    BL_VERDICT_DIFFERENT,
    BL_VERDICT_NO_PRACTICAL_DIFFERENCE
} bl_verdict_kind;

typedef struct bl_verdict {
    bl_verdict_kind kind;
    bool small_but_real;     /* with no practical difference: the interval excludes 0 */
    bl_contrast contrast;    /* at level 1 - a: over the blocks of the look that decided, else over all so far */
    bl_interval equivalence; /* the same estimate at level 1 - 2 a, of logarithms */
    size_t blocks;           /* run when decided, or so far */
    size_t more_blocks; /* where open: about so many further blocks, to the end of a look, would decide; 0: not to be
                         * known, or more than BL_VERDICT_FAR in all */
    bool beyond_looks;  /* more_blocks ends after the last look: this experiment would not take it */
} bl_verdict;

#define BL_VERDICT_FAR 10000

/* y as in contrast.h, case c in block b at y[c * stride + b]; the first n_done blocks are used. out[n_pairs].
 * BL_ERR_USAGE for a rule or a pair that makes no sense. */
int bl_verdicts_compute(const double *y, size_t n_cases, size_t stride, size_t n_done, const bl_case_pair *pairs,
                        size_t n_pairs, const bl_verdict_rule *rule, bl_verdict *out, bl_error *err);
/* After n_done blocks: the blocks at which the next look falls due; 0 after the last one. */
size_t bl_verdict_next_look(const bl_verdict_rule *rule, size_t n_done);

const char *bl_verdict_name(bl_verdict_kind kind); /* "different", "no_practical_difference", "inconclusive" */
/* One sentence: who against whom, the verdict, the estimate with interval, level and blocks, and for an open pair what
 * it would take. per_run: the figures are seconds a run. */
void bl_verdict_sentence(const bl_verdict *verdict, const char *a, const char *b, bool per_run,
                         const bl_verdict_rule *rule, bl_str *out);

#endif
