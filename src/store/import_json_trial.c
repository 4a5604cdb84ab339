/* Trials of batchlab's own JSON. */
#include <math.h>
#include <string.h>

#include "store/import_parts.h"
#include "store/import_reader.h"

static size_t read_case(bl_import_reader *r, const bl_experiment *e, const json_t *o, const char *name)
{
    const json_t *factors = json_object_get(o, name);
    const char *values[16];
    for (size_t f = 0; f < e->n_factors && f < BL_ARRAY_LEN(values); f++) {
        values[f] = json_string_value(json_object_get(factors, e->factors[f].name));
        if (!values[f]) {
            bl_import_fail(r, name, "lacks the value of a factor");
            return 0;
        }
    }
    size_t c = e->n_factors <= BL_ARRAY_LEN(values) ? bl_import_find_case(e, values) : SIZE_MAX;
    if (c == SIZE_MAX)
        bl_import_fail(r, name, "are those of no case");
    return c;
}

static void read_steps(bl_import_reader *r, const json_t *o, bl_trial_record *t)
{
    const json_t *array = json_object_get(o, "steps");
    size_t n = json_array_size(array);
    if (bl_import_int(r, o, "n_steps", 0) != (int64_t)n) {
        bl_import_fail(r, "steps", "are not all there");
        bl_error_remedy(r->err, "export it with its steps: batchlab export ID --format json");
        return;
    }
    t->steps = bl_import_take(r, n, sizeof *t->steps);
    for (size_t i = 0; r->code == BL_OK && i < n; i++) {
        const json_t *step = json_array_get(array, i);
        t->steps[t->n_steps++] = (bl_stored_step){.samples = bl_import_int_from(r, step, "samples", 1, INT64_MAX),
                                                  .end_ns = bl_import_int(r, step, "end_ns", 0),
                                                  .time_ns = bl_import_int(r, step, "time_ns", 0),
                                                  .wait_ns = bl_import_int(r, step, "wait_ns", -1),
                                                  .loss = bl_import_real(r, step, "loss")};
    }
}

static bl_named_value *read_values(bl_import_reader *r, const json_t *o, const char *name, size_t *n)
{
    json_t *object = json_object_get(o, name), *value;
    const char *key;
    bl_named_value *out = bl_import_take(r, json_object_size(object), sizeof *out);
    json_object_foreach(object, key, value)
    {
        if (r->code != BL_OK)
            break;
        out[(*n)++] = (bl_named_value){.name = bl_import_keep(r, key),
                                       .value = json_is_number(value) ? json_number_value(value) : NAN};
    }
    return out;
}

/* When metrics were told: in format 1 nobody knew. */
static void read_times(bl_import_reader *r, const json_t *o, bl_trial_record *t)
{
    const json_t *times = json_object_get(o, "metric_times_ns");
    for (size_t i = 0; r->code == BL_OK && i < t->n_metrics; i++)
        t->metrics[i].t_ns = bl_import_int(r, times, t->metrics[i].name, 0);
}

static void read_evidence(bl_import_reader *r, const json_t *o, bl_trial_record *t)
{
    const json_t *array = json_object_get(o, "evidence");
    t->evidence = bl_import_take(r, json_array_size(array), sizeof *t->evidence);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        t->evidence[t->n_evidence++] = (bl_stored_evidence){.source = bl_import_must_text(r, item, "source"),
                                                            .text = bl_import_must_text(r, item, "text"),
                                                            .decided = json_is_true(json_object_get(item, "decided"))};
    }
}

static void read_points(bl_import_reader *r, const json_t *o, bl_trial_record *t)
{
    const json_t *array = json_object_get(o, "metric_points");
    t->points = bl_import_take(r, json_array_size(array), sizeof *t->points);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        t->points[t->n_points++] =
            (bl_stored_point){.name = bl_import_must_text(r, item, "name"),
                              .after_steps = bl_import_int_from(r, item, "after_steps", 0, INT64_MAX),
                              .value = bl_import_real(r, item, "value"),
                              .t_ns = bl_import_int(r, item, "t_ns", 0)};
    }
}

/* Squared norms of gradients over batches of two sizes. */
static void read_noise(bl_import_reader *r, const json_t *o, bl_trial_record *t)
{
    const json_t *array = json_object_get(o, "gradient_noise");
    t->noise = bl_import_take(r, json_array_size(array), sizeof *t->noise);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        bl_stored_noise *n = &t->noise[t->n_noise++];
        *n = (bl_stored_noise){.after_steps = bl_import_int_from(r, item, "after_steps", 0, INT64_MAX),
                               .norms = {.small_n = bl_import_real(r, item, "small"),
                                         .big_n = bl_import_real(r, item, "big"),
                                         .small_sq = bl_import_real(r, item, "small_sq"),
                                         .big_sq = bl_import_real(r, item, "big_sq")},
                               .scaled = json_is_true(json_object_get(item, "scaled")),
                               .t_ns = bl_import_int(r, item, "t_ns", 0)};
        if (!(n->norms.small_n > 0 && n->norms.big_n > n->norms.small_n && n->norms.small_sq >= 0 &&
              n->norms.big_sq >= 0))
            bl_import_fail(r, "gradient_noise", "holds numbers that make no sense");
    }
}

/* ---- telemetry ---- */

/* Format 1 did not tell; these are all that its batchlab had. */
static bool was_counter(const char *metric)
{
    static const char *const names[] = {"cpu_time",        "stolen_time",  "throttled_time",
                                        "cpu_stall",       "memory_stall", "io_stall",
                                        "throttle_events", "energy",       "energy_integrated"};
    for (size_t i = 0; metric && i < BL_ARRAY_LEN(names); i++)
        if (strcmp(metric, names[i]) == 0)
            return true;
    return false;
}

static void read_series(bl_import_reader *r, const json_t *o, size_t n_looks, bl_stored_series *s)
{
    const json_t *values = json_object_get(o, "values"), *counter = json_object_get(o, "counter");
    *s = (bl_stored_series){.source = bl_import_must_text(r, o, "source"),
                            .scope = bl_import_text(r, o, "scope"),
                            .metric = bl_import_text(r, o, "metric"),
                            .unit = bl_import_text(r, o, "unit"),
                            .reason = bl_import_text(r, o, "reason")};
    if (r->version > 1 && !json_is_boolean(counter))
        bl_import_fail(r, "counter", "is missing");
    s->counter = r->version > 1 ? json_is_true(counter) : was_counter(s->metric);
    if (!values || json_is_null(values))
        return;
    if (json_array_size(values) != n_looks) {
        bl_import_fail(r, "values", "are not one a look");
        return;
    }
    s->values = bl_import_take(r, n_looks, sizeof *s->values);
    for (size_t i = 0; r->code == BL_OK && i < n_looks; i++) {
        const json_t *value = json_array_get(values, i);
        if (!json_is_number(value) && !json_is_null(value))
            bl_import_fail(r, "values", "hold what is no number");
        s->values[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
}

static void read_looks(bl_import_reader *r, const json_t *o, bl_stored_telemetry *out)
{
    const json_t *looks = bl_import_array(r, o, "looks_ns");
    size_t n = json_array_size(looks);
    out->t_ns = bl_import_take(r, n, sizeof *out->t_ns);
    for (; r->code == BL_OK && out->n < n; out->n++) {
        const json_t *look = json_array_get(looks, out->n);
        if (!json_is_integer(look) || (out->n > 0 && json_integer_value(look) < out->t_ns[out->n - 1]))
            bl_import_fail(r, "looks_ns", "are no times one after the other");
        else
            out->t_ns[out->n] = json_integer_value(look);
    }
}

static void read_telemetry(bl_import_reader *r, const json_t *trial, bl_trial_record *t)
{
    const json_t *o = json_object_get(trial, "telemetry");
    if (r->code != BL_OK || !o || json_is_null(o))
        return;
    const json_t *series = bl_import_array(r, o, "series");
    bl_stored_telemetry *out = bl_import_take(r, 1, sizeof *out);
    if (r->code != BL_OK)
        return;
    read_looks(r, o, out);
    out->pace_hz = bl_import_real(r, o, "pace_hz");
    out->cost_s = bl_import_real(r, o, "cost_s");
    out->gate_s = bl_import_real(r, o, "gate_s");
    out->gate_note = bl_import_text(r, o, "gate_note");
    if (!isfinite(out->pace_hz) || !isfinite(out->cost_s))
        bl_import_fail(r, "pace_hz, cost_s", "are missing");
    out->series = bl_import_take(r, json_array_size(series), sizeof *out->series);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(series); i++)
        read_series(r, json_array_get(series, i), out->n, &out->series[out->n_series++]);
    t->telemetry = out;
}

void bl_import_read_trial(bl_import_reader *r, const bl_experiment *e, const json_t *o, bl_trial_record *t)
{
    *t = bl_import_trial();
    t->case_index = read_case(r, e, o, "factors");
    t->block = (size_t)bl_import_int_from(r, o, "block", 1, e->blocks) - 1;
    t->position = (size_t)bl_import_int_from(r, o, "position", 1, BL_IMPORT_CASES_MAX) - 1;
    if (json_is_object(json_object_get(o, "predecessor")))
        t->predecessor = (int64_t)read_case(r, e, o, "predecessor");
    t->outcome = bl_import_must_text(r, o, "outcome");
    t->reason = bl_import_text(r, o, "reason");
    t->started_ns = bl_import_int_from(r, o, "started_ns", 0, INT64_MAX);
    t->wall_s = bl_import_real(r, o, "wall_s");
    t->user_s = bl_import_real(r, o, "user_s");
    t->system_s = bl_import_real(r, o, "system_s");
    t->cpu_note = bl_import_text(r, o, "cpu_note");
    t->peak_memory_b = bl_import_real(r, o, "peak_memory_b");
    t->memory_note = bl_import_text(r, o, "memory_note");
    int64_t status = bl_import_int(r, o, "exit_status", -1), signal = bl_import_int(r, o, "exit_signal", 0);
    if (status < -1 || status > 255 || signal < 0 || signal > 255)
        bl_import_fail(r, "exit_status", "is out of range");
    t->exit_status = (int)status;
    t->exit_signal = (int)signal;
    t->ended_by_budget = json_is_true(json_object_get(o, "ended_by_budget"));
    t->run_samples = bl_import_real(r, o, "run_samples");
    t->step_source = bl_import_must_text(r, o, "step_source");
    t->step_note = bl_import_text(r, o, "step_note");
    t->memory_kind = bl_import_text(r, o, "memory_kind");
    t->phase = bl_import_text(r, o, "phase");
    t->program = bl_import_text(r, o, "program");
    t->program_version = bl_import_text(r, o, "program_version");
    t->precision = bl_import_text(r, o, "precision");
    t->ranks = bl_import_int(r, o, "ranks", 0);
    t->output_tail = bl_import_text(r, o, "output_tail");
    t->node = bl_import_text(r, o, "node");
    t->job_step = bl_import_text(r, o, "job_step");
    t->memory = read_values(r, o, "memory", &t->n_memory);
    t->metrics = read_values(r, o, "metrics", &t->n_metrics);
    read_times(r, o, t);
    read_evidence(r, o, t);
    read_points(r, o, t);
    read_noise(r, o, t);
    read_steps(r, o, t);
    read_telemetry(r, o, t);
}
