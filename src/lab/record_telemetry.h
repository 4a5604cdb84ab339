/* From what was looked at in a trial to what is stored of it. */
#ifndef BL_LAB_RECORD_TELEMETRY_H
#define BL_LAB_RECORD_TELEMETRY_H

#include "base/alloc.h"
#include "lab/thermal_gate.h"
#include "store/experiment.h"
#include "telemetry/recording.h"

/* Fills out->telemetry; NULL where there was none. Texts and values stay the recording's and the gate's. */
int bl_record_telemetry(const bl_recording *recording, const bl_gate *gate, bl_arena *arena, bl_trial_record *out,
                        bl_error *err);

#endif
