/* From the raw steps of one trial to its figure: seconds per sample once warm. A trial is one replicate: its steps
 * feed this figure and are never replicates themselves. */
#ifndef BL_STATS_STEADY_H
#define BL_STATS_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef enum bl_steady_quality {
    BL_STEADY_NONE,    /* no steps: no figure                                                              */
    BL_STEADY_SHORT,   /* too few steps to search for the end of the warm-up: only the fixed cut was made  */
    BL_STEADY_OK,      /* searched, and a steady tail found                                                */
    BL_STEADY_UNSTEADY /* searched, and no steady tail found: no figure                                    */
} bl_steady_quality;

typedef struct bl_steady_options {
    size_t drop_first;   /* steps dropped always (default 3), but never more than half of the series        */
    double tolerance;    /* a stretch whose median lies within this of the last stretch's is at its level (0.01) */
    double significance; /* of a change point (0.01)                                                        */
    uint64_t seed;       /* of the permutation test (1)                                                     */
} bl_steady_options;

typedef struct bl_steady {
    bl_steady_quality quality;
    double seconds_per_sample;         /* sum of step times / sum of samples over the steady steps; NaN where quality
                                        * is NONE or UNSTEADY                                                */
    double overall_seconds_per_sample; /* the same over all steps after the fixed cut, steady or not; NaN for NONE */
    double seconds;                    /* sum of the step times used */
    double samples;                    /* sum of the samples used    */
    double step_seconds;               /* median of the step times used, for "ms a step"; NaN where none     */
    size_t n_steps;                    /* steps given                */
    size_t first_steady;               /* index of the first step used; n_steps where none                   */
    size_t n_steady;                   /* steps used                 */
    char note[160];                    /* one plain clause for the report: "warm after 12 of 200 steps"      */
} bl_steady;

void bl_steady_options_init(bl_steady_options *options);

/* dt_s[i] > 0 is the time of step i in seconds, samples[i] > 0 its samples. options may be NULL.
 *
 * The fixed cut drops min(drop_first, n / 2) steps: of 1 step none, of 2 or 3 one, of 4 or 5 two, from 6 on three.
 * Where fewer than BL_STEADY_SEARCH_MIN steps are left, all of them are used and the quality is SHORT.
 * Otherwise the change points of log(seconds per sample) part the rest into stretches. The warm-up ends with the
 * first stretch at the last one's level; everything from there on is used, a slow spell in the middle included,
 * as it belongs to what training takes. Where the stretches at that level hold less than a quarter of the rest,
 * the series has no steady tail. Longer series are condensed to BL_STEADY_SEARCH_MAX medians for the search only.
 * BL_ERR_USAGE where a value is not finite and positive. */
#define BL_STEADY_SEARCH_MIN 12
#define BL_STEADY_SEARCH_MAX 240
int bl_steady_from_steps(const double *dt_s, const double *samples, size_t n, const bl_steady_options *options,
                         bl_steady *out, bl_error *err);

const char *bl_steady_quality_name(bl_steady_quality quality); /* "none", "short", "ok", "unsteady" */

#endif
