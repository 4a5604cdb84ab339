/* Before each trial: waits until processors and devices are as cool as at the sweep's start. */
#ifndef BL_LAB_THERMAL_GATE_H
#define BL_LAB_THERMAL_GATE_H

#include "lab/live.h"
#include "telemetry/telemetry.h"

typedef struct bl_gate {
    bl_telemetry *telemetry; /* NULL: it never waits */
    double limit_c, start_c; /* NaN: not given; not known yet */
    double waited_s;         /* before the last trial; NaN where no temperature can be read */
    char note[120];          /* on that; "" */
} bl_gate;

/* max_c: NaN lets it go by the start's temperature. */
void bl_gate_init(bl_gate *gate, bl_telemetry *telemetry, double max_c);
/* Bounded, and ended by an interrupt. Says so where it waits for more than a moment. */
void bl_gate_wait(bl_gate *gate, bl_live *live);

#endif
