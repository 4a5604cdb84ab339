#include "lab/record.h"

#include <math.h>
#include <string.h>

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static double value_of(const bl_measured *m)
{
    return m->known ? m->value : NAN;
}

static int copy_said(const bl_trial_result *result, bl_arena *arena, bl_trial_record *out)
{
    const bl_markers *m = &result->markers;
    out->steps = bl_arena_alloc(arena, result->n_steps, sizeof *out->steps);
    out->memory = bl_arena_alloc(arena, m->n_memory, sizeof *out->memory);
    out->metrics = bl_arena_alloc(arena, m->n_metrics, sizeof *out->metrics);
    out->noise = bl_arena_alloc(arena, m->n_noise, sizeof *out->noise);
    out->points = bl_arena_alloc(arena, m->n_points, sizeof *out->points);
    if (!out->steps || !out->memory || !out->metrics || !out->noise || !out->points)
        return BL_ERR_NOMEM;
    for (size_t i = 0; i < result->n_steps; i++) {
        const bl_step *step = &result->steps[i];
        out->steps[i] = (bl_stored_step){.samples = step->samples,
                                         .end_ns = step->end_ns,
                                         .time_ns = step->time_ns,
                                         .wait_ns = step->wait_ns,
                                         .loss = step->loss};
    }
    for (size_t i = 0; i < m->n_memory; i++)
        out->memory[i] = (bl_named_value){.name = m->memory[i].kind, .value = (double)m->memory[i].bytes};
    for (size_t i = 0; i < m->n_metrics; i++)
        out->metrics[i] =
            (bl_named_value){.name = m->metrics[i].name, .value = m->metrics[i].value, .t_ns = m->metrics[i].t_ns};
    for (size_t i = 0; i < m->n_points; i++)
        out->points[i] = (bl_stored_point){.name = m->metrics[m->points[i].metric].name,
                                           .after_steps = m->points[i].after_steps,
                                           .value = m->points[i].value,
                                           .t_ns = m->points[i].t_ns};
    out->n_points = m->n_points;
    for (size_t i = 0; i < m->n_noise; i++)
        out->noise[i] = (bl_stored_noise){.after_steps = m->noise[i].after_steps,
                                          .norms = m->noise[i].norms,
                                          .scaled = m->noise[i].scaled,
                                          .t_ns = m->noise[i].t_ns};
    out->n_noise = m->n_noise;
    out->n_steps = result->n_steps;
    out->n_memory = m->n_memory;
    out->n_metrics = m->n_metrics;
    return BL_OK;
}

static int copy_evidence(const bl_evidence *evidence, bl_arena *arena, bl_trial_record *out)
{
    out->evidence = bl_arena_alloc(arena, evidence->n, sizeof *out->evidence);
    if (!out->evidence)
        return BL_ERR_NOMEM;
    for (size_t i = 0; i < evidence->n; i++)
        out->evidence[i] = (bl_stored_evidence){.source = evidence->items[i].source,
                                                .text = evidence->items[i].text,
                                                .decided = evidence->items[i].decided};
    out->n_evidence = evidence->n;
    return BL_OK;
}

int bl_record_make(const bl_trial_result *result, const bl_plan_entry *entry, double run_samples, bl_arena *arena,
                   bl_trial_record *out, bl_error *err)
{
    const bl_markers *m = &result->markers;
    *out = (bl_trial_record){
        .case_index = entry->case_index,
        .block = entry->block,
        .position = entry->position,
        .predecessor = entry->predecessor == BL_PLAN_NO_CASE ? -1 : (int64_t)entry->predecessor,
        .outcome = bl_outcome_name(result->decision.outcome),
        .reason = or_null(bl_str_text(&result->decision.reason)),
        .started_ns = result->started_wall_ns,
        .wall_s = result->wall_s,
        .user_s = value_of(&result->user_s),
        .system_s = value_of(&result->system_s),
        .cpu_note = result->user_s.reason,
        .peak_memory_b = value_of(&result->peak_memory_b),
        .memory_note = result->peak_memory_b.known ? result->peak_memory_b.source : result->peak_memory_b.reason,
        .exit_status = result->exit_status,
        .exit_signal = result->exit_signal,
        .ended_by_budget = result->ended_by_budget,
        .step_source = bl_step_source_name(result->step_source),
        .step_note = or_null(bl_str_text(&result->step_note)),
        .memory_kind = bl_memory_kind_name(result->decision.memory),
        .phase = or_null(result->phase),
        .run_samples = run_samples,
        .program = or_null(m->program),
        .program_version = or_null(m->program_version),
        .precision = or_null(m->precision),
        .ranks = m->ranks,
        .output_tail = bl_str_text(&result->output_tail),
    };
    if (copy_said(result, arena, out) != BL_OK || copy_evidence(&result->decision.evidence, arena, out) != BL_OK)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for a trial's %zu steps", result->n_steps);
    return BL_OK;
}
