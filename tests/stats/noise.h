/* Noise as machines make it, for the simulations: two or more cases, shuffled blocks; a trial's figure is its true
 * seconds per sample times the noise of its moment. */
#ifndef BL_TESTS_STATS_NOISE_H
#define BL_TESTS_STATS_NOISE_H

#include <stddef.h>

#include "stats/rng.h"

#define SIGMA 0.005 /* a trial's own noise */
enum { NOISE_CASES_MAX = 5, NOISE_BLOCKS_MAX = 60 };

typedef enum scenario { IID, DRIFT, JUMP, AR1, OUTLIERS, HEAVY_TAILS, WARM_UP, MIXED, N_SCENARIOS } scenario;

extern const char *const scenario_names[N_SCENARIOS];

/* ln of the noise of each of n trials in the order they ran. */
void draw_noise(scenario s, bl_rng *rng, size_t n, double *out);
/* One experiment: case c slower by the factor exp(effects[c]); its figure in block b goes to y[c * n_blocks + b]. */
void draw_experiment(scenario s, bl_rng *rng, size_t n_cases, size_t n_blocks, const double *effects, double *y);

#endif
