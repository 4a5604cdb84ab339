/* Closed forms for the batch size of a whole training, where a step takes a + b B seconds (fit.h) and the target
 * S_min (1 + Bc / B) steps (steps_fit.h). The time is their product,
 *     t(B) = S_min (1 + Bc / B) (a + b B) = S_min (a + b Bc + b B + a Bc / B),
 * whose least is where b B = a Bc / B. Energy, and money, have the same form with their own a and b. Units are the
 * caller's. Arguments are positive; a or b may be 0. */
#ifndef BL_STATS_BEST_BATCH_H
#define BL_STATS_BEST_BATCH_H

typedef struct bl_step_cost {
    double fixed, per_sample; /* a, b */
} bl_step_cost;

/* B* = sqrt(Bc a / b): between the machine's knee a / b and the data's Bc, at their geometric mean. INFINITY where b is
 * 0, 0 where a is. */
double bl_best_batch(const bl_step_cost *step, double critical);
/* t(B*) = S_min (sqrt(a) + sqrt(b Bc))^2. */
double bl_best_batch_time(const bl_step_cost *step, double min_steps, double critical);
/* t(r B*) / t(B*) - 1 = (r + 1 / r - 2) sqrt(a b Bc) / (sqrt(a) + sqrt(b Bc))^2: what being wrong by a factor r in the
 * batch size costs, at most (r + 1 / r - 2) / 4. A factor f in Bc is sqrt(f) in B*. */
double bl_batch_regret(const bl_step_cost *step, double critical, double r);

/* Samples that the smallest batches need over those that B needs: 1 / (1 + B / Bc). */
double bl_sample_efficiency(double batch, double critical);
/* The largest B with such an efficiency, which lies in (0, 1]: Bc (1 / e - 1). */
double bl_batch_of_efficiency(double efficiency, double critical);

#endif
