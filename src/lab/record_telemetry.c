#include "lab/record_telemetry.h"

int bl_record_telemetry(const bl_recording *r, const bl_gate *gate, bl_arena *arena, bl_trial_record *out,
                        bl_error *err)
{
    out->telemetry = NULL;
    if (r->pace_hz <= 0)
        return BL_OK;
    bl_stored_telemetry *t = bl_arena_alloc(arena, 1, sizeof *t);
    bl_stored_series *series = bl_arena_alloc(arena, r->n_series + r->n_sources, sizeof *series);
    if (!t || !series)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a trial's telemetry");
    *t = (bl_stored_telemetry){.t_ns = r->t_ns,
                               .n = r->n,
                               .series = series,
                               .pace_hz = r->pace_hz,
                               .cost_s = r->cost_s,
                               .gate_s = gate->waited_s,
                               .gate_note = gate->note[0] ? gate->note : NULL};
    for (size_t i = 0; i < r->n_series; i++) {
        const bl_recorded_series *one = &r->series[i];
        const bl_metric_info *info = bl_metric_get(one->about.metric);
        series[t->n_series++] = (bl_stored_series){.metric = info->name,
                                                   .unit = info->unit,
                                                   .counter = info->counter,
                                                   .source = one->about.source,
                                                   .scope = one->about.scope,
                                                   .reason = one->about.reason[0] ? one->about.reason : NULL,
                                                   .values = one->n_present > 0 ? one->values : NULL};
    }
    for (size_t i = 0; i < r->n_sources; i++)
        if (!r->sources[i].available)
            series[t->n_series++] = (bl_stored_series){.source = r->sources[i].name, .reason = r->sources[i].reason};
    out->telemetry = t;
    return BL_OK;
}
