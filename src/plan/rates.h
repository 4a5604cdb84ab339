/* Where to look for the learning rate of another batch size. These are centres of a grid and nothing more: what each
 * rule assumes (a quadratic loss for one, noise that dominates for the other) holds only roughly. */
#ifndef BL_PLAN_RATES_H
#define BL_PLAN_RATES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum bl_rate_rule {
    BL_RATE_SGD, /* with momentum or without: e(B) = e_max / (1 + Bc / B) (McCandlish et al., arXiv:1812.06162,
                  * eq. 2.8): in proportion to B far below Bc, constant far above */
    BL_RATE_ADAM /* and AdamW: in proportion to sqrt(B) (Malladi et al., arXiv:2205.10287) where noise dominates, B < Bc
                  */
} bl_rate_rule;

/* "sgd", "adam", "adamw"; false for others. */
bool bl_rate_rule_from_name(const char *name, bl_rate_rule *out);
/* The centre at `batch`, where `known_rate` suits `known_batch`. critical, Bc, may be INFINITY: not known, all noise.
 */
double bl_rate_centre(bl_rate_rule rule, double known_rate, double known_batch, double batch, double critical);
/* Whether the rule's assumption holds at this size: Adam's does below Bc only. */
bool bl_rate_rule_holds(bl_rate_rule rule, double batch, double critical);
/* Adam's averages over the same samples: 1 - beta in proportion to the batch size; not below 0. */
double bl_beta_centre(double known_beta, double known_batch, double batch);
/* n rates half an octave (a factor sqrt(2)) apart, ascending, around the centre; of an even number the half that is
 * left over lies above. */
void bl_rate_grid(double centre, size_t n, double *out);

#endif
