/* An exponential moving average of what a network holds: of parameters and running statistics alike, as timm's and
 * YOLO's are; counters are copied. Testing with it is steadier than with the last step's weights. */
#ifndef BL_OPTIM_EMA_H
#define BL_OPTIM_EMA_H

#include "base/error.h"
#include "graph/params.h"

typedef struct bl_ema bl_ema;

typedef struct bl_ema_options {
    double decay; /* in [0, 1): mean = d mean + (1 - d) value after each step */
    int64_t ramp; /* d = decay * (1 - exp(-n / ramp)) at the n-th update, n from 1: the first values fade soon. 0: d =
                     decay */
} bl_ema_options;

/* Starts with the values that stand in the table, which must be allocated and outlives it. */
int bl_ema_new(bl_params *params, const bl_ema_options *options, bl_ema **out, bl_error *err);
void bl_ema_free(bl_ema *ema);
/* Starts anew with the table's present values. */
void bl_ema_restart(bl_ema *ema);
/* To be called after each step, while the table holds its own values. */
void bl_ema_update(bl_ema *ema);
/* Exchanges the averages with the table's values, which evaluation reads; a second call puts both back. */
void bl_ema_swap(bl_ema *ema);
size_t bl_ema_bytes(const bl_ema *ema);

/* What a checkpoint holds: the averages by the table's entries (buffers too), and the number of updates done. */
float *bl_ema_value(bl_ema *ema, int index);
float *bl_ema_slab(bl_ema *ema); /* laid out as the table's value slab, bl_params_whole_count floats */
int64_t bl_ema_updates(const bl_ema *ema);
void bl_ema_set_updates(bl_ema *ema, int64_t updates);

#endif
