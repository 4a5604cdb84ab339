/* One trial as JSON, with all that the store keeps of it. */
#include <jansson.h>
#include <math.h>

#include "report/json_parts.h"

static json_t *trial_telemetry(const bl_stored_telemetry *t)
{
    if (!t)
        return NULL;
    json_t *o = json_object(), *looks = json_array(), *series = json_array();
    for (size_t i = 0; i < t->n; i++)
        json_array_append_new(looks, json_integer(t->t_ns[i]));
    for (size_t i = 0; i < t->n_series; i++) {
        const bl_stored_series *s = &t->series[i];
        json_t *one = json_object(), *values = s->values ? json_array() : NULL;
        for (size_t k = 0; s->values && k < t->n; k++)
            json_array_append_new(values, bl_json_real(s->values[k]));
        bl_json_set(one, "source", bl_json_text(s->source));
        bl_json_set(one, "scope", bl_json_text(s->scope));
        bl_json_set(one, "metric", bl_json_text(s->metric));
        bl_json_set(one, "unit", bl_json_text(s->unit));
        bl_json_set(one, "counter", json_boolean(s->counter));
        bl_json_set(one, "reason", bl_json_text(s->reason));
        bl_json_set(one, "values", values);
        json_array_append_new(series, one);
    }
    bl_json_set(o, "pace_hz", bl_json_real(t->pace_hz));
    bl_json_set(o, "cost_s", bl_json_real(t->cost_s));
    bl_json_set(o, "gate_s", bl_json_real(t->gate_s));
    bl_json_set(o, "gate_note", bl_json_text(t->gate_note));
    bl_json_set(o, "looks_ns", looks);
    bl_json_set(o, "series", series);
    return o;
}

static json_t *named_values(const bl_named_value *values, size_t n)
{
    json_t *o = json_object();
    for (size_t i = 0; i < n; i++)
        bl_json_set(o, values[i].name, bl_json_real(values[i].value));
    return o;
}

/* Only of those whose moment is known. */
static json_t *times(const bl_named_value *values, size_t n)
{
    json_t *o = json_object();
    for (size_t i = 0; i < n; i++)
        if (values[i].t_ns > 0)
            bl_json_set(o, values[i].name, json_integer(values[i].t_ns));
    return o;
}

static json_t *points(const bl_trial_record *t)
{
    json_t *array = json_array();
    for (size_t i = 0; i < t->n_points; i++) {
        const bl_stored_point *point = &t->points[i];
        json_t *o = json_object();
        bl_json_set(o, "name", bl_json_text(point->name));
        bl_json_set(o, "after_steps", json_integer(point->after_steps));
        bl_json_set(o, "value", bl_json_real(point->value));
        bl_json_set(o, "t_ns", point->t_ns > 0 ? json_integer(point->t_ns) : NULL);
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *noise(const bl_trial_record *t)
{
    json_t *array = json_array();
    for (size_t i = 0; i < t->n_noise; i++) {
        const bl_stored_noise *n = &t->noise[i];
        json_t *o = json_object();
        bl_json_set(o, "after_steps", json_integer(n->after_steps));
        bl_json_set(o, "small", bl_json_real(n->norms.small_n));
        bl_json_set(o, "big", bl_json_real(n->norms.big_n));
        bl_json_set(o, "small_sq", bl_json_real(n->norms.small_sq));
        bl_json_set(o, "big_sq", bl_json_real(n->norms.big_sq));
        bl_json_set(o, "scaled", json_boolean(n->scaled));
        bl_json_set(o, "t_ns", n->t_ns > 0 ? json_integer(n->t_ns) : NULL);
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *steps(const bl_trial_record *t)
{
    json_t *array = json_array();
    for (size_t i = 0; t->steps && i < t->n_steps; i++) {
        const bl_stored_step *step = &t->steps[i];
        json_t *o = json_object();
        bl_json_set(o, "samples", json_integer(step->samples));
        bl_json_set(o, "end_ns", json_integer(step->end_ns));
        bl_json_set(o, "time_ns", step->time_ns > 0 ? json_integer(step->time_ns) : NULL);
        bl_json_set(o, "wait_ns", step->wait_ns >= 0 ? json_integer(step->wait_ns) : NULL);
        bl_json_set(o, "loss", bl_json_real(step->loss));
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *evidence(const bl_trial_record *t)
{
    json_t *array = json_array();
    for (size_t i = 0; i < t->n_evidence; i++) {
        json_t *o = json_object();
        bl_json_set(o, "source", bl_json_text(t->evidence[i].source));
        bl_json_set(o, "text", bl_json_text(t->evidence[i].text));
        bl_json_set(o, "decided", json_boolean(t->evidence[i].decided));
        json_array_append_new(array, o);
    }
    return array;
}

json_t *bl_json_trial(const bl_analysis *a, size_t i, bool with_steps)
{
    const bl_trial_record *t = &a->experiment->trials[i];
    const bl_trial_figure *figure = &a->trials[i];
    json_t *o = json_object();
    bl_json_set(o, "id", json_integer(t->id));
    bl_json_set(o, "factors", bl_json_factors_of(a, t->case_index));
    bl_json_set(o, "block", json_integer((json_int_t)t->block + 1));
    bl_json_set(o, "position", json_integer((json_int_t)t->position + 1));
    bl_json_set(o, "predecessor", t->predecessor >= 0 ? bl_json_factors_of(a, (size_t)t->predecessor) : NULL);
    bl_json_set(o, "outcome", bl_json_text(t->outcome));
    bl_json_set(o, "reason", bl_json_text(t->reason));
    bl_json_set(o, "started", bl_json_wall_time(t->started_ns));
    bl_json_set(o, "started_ns", json_integer(t->started_ns));
    bl_json_set(o, a->per_run ? "seconds_per_run" : "seconds_per_sample", bl_json_real(figure->seconds));
    bl_json_set(o, "figure_source", bl_json_text(bl_figure_source_name(figure->source)));
    bl_json_set(o, "warm_up", bl_json_text(figure->note));
    bl_json_set(o, "step_s", bl_json_real(figure->step_seconds));
    bl_json_set(o, "wall_s", bl_json_real(t->wall_s));
    bl_json_set(o, "user_s", bl_json_real(t->user_s));
    bl_json_set(o, "system_s", bl_json_real(t->system_s));
    bl_json_set(o, "cpu_note", bl_json_text(t->cpu_note));
    bl_json_set(o, "peak_memory_b", bl_json_real(t->peak_memory_b));
    bl_json_set(o, "memory_note", bl_json_text(t->memory_note));
    bl_json_set(o, "exit_status", t->exit_status >= 0 ? json_integer(t->exit_status) : NULL);
    bl_json_set(o, "exit_signal", t->exit_signal > 0 ? json_integer(t->exit_signal) : NULL);
    bl_json_set(o, "ended_by_budget", json_boolean(t->ended_by_budget));
    bl_json_set(o, "run_samples", bl_json_real(t->run_samples));
    bl_json_set(o, "step_source", bl_json_text(t->step_source));
    bl_json_set(o, "step_note", bl_json_text(t->step_note));
    bl_json_set(o, "memory_kind", bl_json_text(t->memory_kind));
    bl_json_set(o, "phase", bl_json_text(t->phase));
    bl_json_set(o, "evidence", evidence(t));
    bl_json_set(o, "program", bl_json_text(t->program));
    bl_json_set(o, "program_version", bl_json_text(t->program_version));
    bl_json_set(o, "precision", bl_json_text(t->precision));
    bl_json_set(o, "ranks", t->ranks > 0 ? json_integer(t->ranks) : NULL);
    bl_json_set(o, "memory", named_values(t->memory, t->n_memory));
    bl_json_set(o, "metrics", named_values(t->metrics, t->n_metrics));
    bl_json_set(o, "metric_times_ns", times(t->metrics, t->n_metrics));
    if (t->n_points > 0)
        bl_json_set(o, "metric_points", points(t));
    if (t->n_noise > 0)
        bl_json_set(o, "gradient_noise", noise(t));
    if (t->node) {
        bl_json_set(o, "node", bl_json_text(t->node));
        bl_json_set(o, "job_step", bl_json_text(t->job_step));
    }
    bl_json_set(o, "n_steps", json_integer((json_int_t)t->n_steps));
    if (with_steps) {
        bl_json_set(o, "steps", steps(t));
        bl_json_set(o, "telemetry", trial_telemetry(t->telemetry));
        bl_json_set(o, "output_tail", bl_json_text(t->output_tail));
    }
    return o;
}
