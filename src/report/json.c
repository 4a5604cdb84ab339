#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report/confirmation.h"
#include "report/noise_scales.h"
#include "report/report.h"
#include "report/telemetry_figures.h"
#include "report/warnings.h"

/* Missing is null. */
static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text(const char *value)
{
    return value ? json_string(value) : json_null();
}

static json_t *wall_time(int64_t ns)
{
    char out[32];
    bl_clock_format_utc(ns, out, sizeof out);
    return json_string(out);
}

static void set(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value ? value : json_null());
}

static json_t *interval(const bl_interval *i)
{
    json_t *o = json_object();
    set(o, "estimate", real(i->estimate));
    set(o, "low", real(i->has_interval ? i->low : NAN));
    set(o, "high", real(i->has_interval ? i->high : NAN));
    set(o, "level", real(i->has_interval ? i->level : NAN));
    set(o, "level_wanted", real(i->level_wanted));
    set(o, "n", json_integer((json_int_t)i->n));
    return o;
}

static json_t *factors_of(const bl_analysis *a, size_t c)
{
    json_t *o = json_object();
    for (size_t f = 0; f < a->experiment->n_factors && c < a->n_cases; f++)
        set(o, a->experiment->factors[f].name, text(bl_experiment_value(a->experiment, c, f)));
    return o;
}

static json_t *factors(const bl_experiment *e)
{
    json_t *array = json_array();
    for (size_t f = 0; f < e->n_factors; f++) {
        json_t *o = json_object(), *values = json_array();
        for (size_t v = 0; v < e->factors[f].n_values; v++)
            json_array_append_new(values, text(e->factors[f].values[v]));
        set(o, "name", text(e->factors[f].name));
        set(o, "values", values);
        json_array_append_new(array, o);
    }
    return array;
}

/* What a comparison was told to judge; cases by their number, from 0. */
static json_t *comparison(const bl_experiment *e)
{
    if (e->comparison.n_pairs == 0)
        return NULL;
    json_t *o = json_object(), *pairs = json_array();
    for (size_t p = 0; p < e->comparison.n_pairs; p++)
        json_array_append_new(
            pairs, json_pack("[II]", (json_int_t)e->comparison.pairs[p].a, (json_int_t)e->comparison.pairs[p].b));
    set(o, "confidence", real(e->comparison.confidence));
    set(o, "budget_s", real(e->comparison.budget_s));
    set(o, "pairs", pairs);
    return o;
}

static json_t *settings(const bl_experiment *e)
{
    json_t *o = json_object(), *command = json_array();
    for (size_t i = 0; i < e->n_command; i++) /* what is no UTF-8 cannot stand in JSON */
        json_array_append_new(command, json_string(e->command[i]) ?: json_null());
    set(o, "id", json_integer(e->id));
    set(o, "name", text(e->name));
    set(o, "workload", text(e->workload));
    set(o, "state", text(bl_experiment_state_name(e->state)));
    set(o, "begun", wall_time(e->created_ns));
    set(o, "created_ns", json_integer(e->created_ns));
    set(o, "batchlab_version", text(e->version));
    set(o, "command", command);
    set(o, "cwd", text(e->cwd));
    set(o, "git_revision", text(e->git_revision));
    set(o, "shell", json_boolean(e->shell));
    set(o, "batch_from_env", json_boolean(e->batch_from_env));
    set(o, "driving", e->driving ? json_loads(e->driving, 0, NULL) : NULL);
    set(o, "factors", factors(e));
    set(o, "comparison", comparison(e));
    set(o, "samples", text(e->samples));
    set(o, "blocks", json_integer(e->blocks));
    set(o, "steps", json_integer(e->steps));
    set(o, "warmup", json_integer(e->warmup));
    set(o, "seed", json_integer(e->seed));
    set(o, "time_s", real(e->time_s));
    set(o, "setup_s", real(e->setup_s));
    set(o, "margin", real(e->margin));
    return o;
}

static json_t *environment(const bl_environment *environment)
{
    json_t *array = json_array();
    for (size_t i = 0; i < environment->len; i++) {
        const bl_environment_item *item = &environment->items[i];
        json_t *o = json_object();
        set(o, "name", text(item->name));
        set(o, "value", text(item->value));
        set(o, "source", text(item->source));
        set(o, "reason", text(item->reason));
        set(o, "sitting", json_integer(item->sitting));
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *case_telemetry(const bl_analysis *a, size_t c)
{
    bl_telemetry_figure f;
    if (!bl_telemetry_figure_of_case(a, c, &f))
        return NULL;
    json_t *o = json_object();
    set(o, "cpu_cores", real(f.cpu_cores));
    set(o, "other_cores", real(f.other_cores));
    set(o, "device_busy", real(f.device_busy));
    set(o, "device_memory_b", real(f.device_memory_b));
    set(o, "power_w", real(f.power_w));
    set(o, "joules_per_sample", real(f.joules_per_sample));
    set(o, "hottest_c", real(f.hottest_c));
    set(o, "throttled", real(f.throttled));
    return o;
}

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
            json_array_append_new(values, real(s->values[k]));
        set(one, "source", text(s->source));
        set(one, "scope", text(s->scope));
        set(one, "metric", text(s->metric));
        set(one, "unit", text(s->unit));
        set(one, "reason", text(s->reason));
        set(one, "values", values);
        json_array_append_new(series, one);
    }
    set(o, "pace_hz", real(t->pace_hz));
    set(o, "cost_s", real(t->cost_s));
    set(o, "gate_s", real(t->gate_s));
    set(o, "gate_note", text(t->gate_note));
    set(o, "looks_ns", looks);
    set(o, "series", series);
    return o;
}

static json_t *case_object(const bl_analysis *a, size_t c)
{
    const bl_case_figure *figure = &a->cases[c];
    bl_interval rate = bl_interval_reciprocal(&figure->seconds);
    json_t *o = json_object();
    set(o, "factors", factors_of(a, c));
    set(o, "batch", json_integer(figure->batch));
    set(o, a->per_run ? "seconds_per_run" : "seconds_per_sample", interval(&figure->seconds));
    set(o, "samples_per_s", a->per_run ? NULL : interval(&rate));
    set(o, "step_s", real(figure->step_seconds));
    set(o, "data_wait_share", real(figure->wait_share));
    set(o, "telemetry", case_telemetry(a, c));
    set(o, "load_s", real(figure->load_seconds));
    set(o, "seconds_over_best", a->best < a->n_cases ? interval(&figure->against_best.ratio) : NULL);
    set(o, "best", json_boolean(c == a->best));
    set(o, "peak_memory_b", real(figure->peak_memory_b));
    set(o, "trials", json_integer((json_int_t)figure->n_trials));
    set(o, "trials_ok", json_integer((json_int_t)figure->n_ok));
    set(o, "trials_unsteady", json_integer((json_int_t)figure->n_unsteady));
    set(o, "outcome", text(figure->outcome));
    set(o, "reason", text(figure->reason));
    set(o, "figure_source", text(bl_figure_source_name(figure->source)));
    return o;
}

static const char *claim_name(bl_claim claim)
{
    static const char *const names[] = {"none",          "different",      "different_size_open",
                                        "no_difference", "small_but_real", "cannot_tell"};
    return (size_t)claim < BL_ARRAY_LEN(names) ? names[claim] : "none";
}

static json_t *powers_of_two(const bl_analysis *a)
{
    json_t *array = json_array();
    for (size_t g = 0; g < a->n_groups; g++) {
        const bl_neighbours *n = &a->groups[g].neighbours;
        json_t *o = json_object(), *items = json_array();
        set(o, "others", text(a->groups[g].label));
        set(o, "claim", text(claim_name(n->claim)));
        set(o, "neighbours_over_power", n->len > 0 ? interval(&n->overall.ratio) : NULL);
        set(o, "sentence", text(n->sentence));
        for (size_t i = 0; i < n->len; i++) {
            json_t *item = json_object(), *neighbours = json_array();
            for (size_t k = 0; k < n->items[i].n_neighbours; k++)
                json_array_append_new(neighbours, json_integer(n->items[i].neighbours[k]));
            set(item, "power", json_integer(n->items[i].power));
            set(item, "neighbours", neighbours);
            set(item, "claim", text(claim_name(n->items[i].claim)));
            set(item, "neighbours_over_power", interval(&n->items[i].contrast.ratio));
            json_array_append_new(items, item);
        }
        set(o, "powers", items);
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *special(const bl_analysis *a)
{
    json_t *array = json_array();
    for (size_t g = 0; g < a->n_groups; g++) {
        const bl_special *sets[] = {&a->groups[g].powers, &a->groups[g].eights};
        for (size_t k = 0; k < BL_ARRAY_LEN(sets); k++) {
            json_t *o = json_object();
            set(o, "others", text(a->groups[g].label));
            set(o, "sizes", text(k == 0 ? "powers_of_two" : "multiples_of_8"));
            set(o, "n_sizes", json_integer((json_int_t)sets[k]->n_sizes));
            set(o, "claim", text(claim_name(sets[k]->claim)));
            set(o, "special_over_curve", sets[k]->n_sizes > 0 ? interval(&sets[k]->contrast.ratio) : NULL);
            json_array_append_new(array, o);
        }
    }
    return array;
}

static json_t *knees(const bl_analysis *a)
{
    json_t *array = json_array();
    for (size_t g = 0; g < a->n_groups; g++) {
        const bl_knee *k = &a->groups[g].knee;
        if (!k->known)
            continue;
        json_t *o = json_object();
        set(o, "others", text(a->groups[g].label));
        set(o, "batch", json_integer(a->cases[k->at].batch));
        set(o, "low", k->has_limits ? json_integer(a->cases[k->low].batch) : NULL);
        set(o, "high", k->has_limits ? json_integer(a->cases[k->high].batch) : NULL);
        set(o, "level", real(k->has_limits ? k->level : NAN));
        set(o, "best", json_integer(a->cases[k->best].batch));
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *verdicts(const bl_analysis *a)
{
    json_t *array = json_array();
    for (size_t p = 0; p < a->n_pairs; p++) {
        const bl_judged_pair *pair = &a->pairs[p];
        const bl_verdict *v = &pair->verdict;
        bl_interval equivalence = bl_interval_exp(&v->equivalence);
        bl_interval t = bl_interval_exp(&v->contrast.log_ratio_t);
        bl_str sentence;
        bl_str_init(&sentence);
        bl_verdict_sentence(v, pair->a, pair->b, a->per_run, &a->rule, &sentence);
        json_t *o = json_object();
        set(o, "a", factors_of(a, pair->pair.a));
        set(o, "b", factors_of(a, pair->pair.b));
        set(o, "verdict", text(bl_verdict_name(v->kind)));
        set(o, "small_but_real", json_boolean(v->small_but_real));
        set(o, "b_over_a", interval(&v->contrast.ratio));
        set(o, "equivalence_interval", interval(&equivalence));
        set(o, "student_interval", interval(&t));
        set(o, "intervals_disagree", json_boolean(v->contrast.disagree));
        set(o, "margin", real(a->rule.margin));
        set(o, "confidence", real(a->rule.confidence));
        set(o, "blocks", json_integer((json_int_t)v->blocks));
        set(o, "more_blocks", v->more_blocks > 0 ? json_integer((json_int_t)v->more_blocks) : NULL);
        set(o, "sentence", text(bl_str_text(&sentence)));
        bl_str_clear(&sentence);
        json_array_append_new(array, o);
    }
    return array;
}

/* Of a sweep that has been confirmed, and of the comparison that does so. */
static json_t *confirmation(const bl_analysis *a)
{
    const bl_analysis *by = a->confirmed_by ? a->confirmed_by : a->experiment->comparison.confirms > 0 ? a : NULL;
    if (!by)
        return NULL;
    bl_str sentence;
    bl_str_init(&sentence);
    bl_confirmation_sentence(by, &sentence);
    json_t *o = json_object();
    set(o, "experiment", json_integer(by->experiment->id));
    set(o, "of", json_integer(by->experiment->comparison.confirms));
    set(o, "found", text(bl_confirmation_name(bl_confirmation_of(by))));
    set(o, "sentence", text(bl_str_text(&sentence)));
    set(o, "verdicts", verdicts(by));
    bl_str_clear(&sentence);
    return o;
}

static int warnings(const bl_analysis *a, json_t *o, bl_error *err)
{
    bl_strv texts;
    bl_strv_init(&texts);
    int code = bl_warnings_collect(a, &texts, err);
    json_t *array = json_array();
    for (size_t i = 0; i < texts.len; i++)
        json_array_append_new(array, text(texts.items[i]));
    set(o, "warnings", array);
    bl_strv_clear(&texts);
    return code;
}

static json_t *named_values(const bl_named_value *values, size_t n)
{
    json_t *o = json_object();
    for (size_t i = 0; i < n; i++)
        set(o, values[i].name, real(values[i].value));
    return o;
}

static json_t *noise(const bl_trial_record *t)
{
    json_t *array = json_array();
    for (size_t i = 0; i < t->n_noise; i++) {
        const bl_stored_noise *n = &t->noise[i];
        json_t *o = json_object();
        set(o, "after_steps", json_integer(n->after_steps));
        set(o, "small", real(n->norms.small_n));
        set(o, "big", real(n->norms.big_n));
        set(o, "small_sq", real(n->norms.small_sq));
        set(o, "big_sq", real(n->norms.big_sq));
        set(o, "scaled", json_boolean(n->scaled));
        set(o, "t_ns", n->t_ns > 0 ? json_integer(n->t_ns) : NULL);
        json_array_append_new(array, o);
    }
    return array;
}

static int noise_scales(const bl_analysis *a, json_t *o, bl_error *err)
{
    bl_case_noise *noises;
    size_t n;
    int code = bl_case_noises(a->experiment, &noises, &n, err);
    if (code != BL_OK || n == 0)
        return code;
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        const bl_noise_scale *s = &noises[i].scale;
        json_t *row = json_object();
        set(row, "factors", factors_of(a, noises[i].case_index));
        set(row, "after_steps", json_integer(noises[i].after_steps));
        set(row, "scaled", json_boolean(noises[i].scaled));
        set(row, "noise_scale", real(s->scale)); /* null: no bound */
        set(row, "low", real(s->low));
        set(row, "high", real(s->high));
        set(row, "level", real(s->has_interval ? s->level : NAN));
        set(row, "signal", real(s->signal));
        set(row, "noise", real(s->noise));
        set(row, "measurements", json_integer((json_int_t)s->n));
        json_array_append_new(array, row);
    }
    set(o, "noise_scales", array);
    free(noises);
    return BL_OK;
}

static json_t *steps(const bl_trial_record *t)
{
    json_t *array = json_array();
    for (size_t i = 0; t->steps && i < t->n_steps; i++) {
        const bl_stored_step *step = &t->steps[i];
        json_t *o = json_object();
        set(o, "samples", json_integer(step->samples));
        set(o, "end_ns", json_integer(step->end_ns));
        set(o, "time_ns", step->time_ns > 0 ? json_integer(step->time_ns) : NULL);
        set(o, "wait_ns", step->wait_ns >= 0 ? json_integer(step->wait_ns) : NULL);
        set(o, "loss", real(step->loss));
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *evidence(const bl_trial_record *t)
{
    json_t *array = json_array();
    for (size_t i = 0; i < t->n_evidence; i++) {
        json_t *o = json_object();
        set(o, "source", text(t->evidence[i].source));
        set(o, "text", text(t->evidence[i].text));
        set(o, "decided", json_boolean(t->evidence[i].decided));
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *trial_object(const bl_analysis *a, size_t i, bool with_steps)
{
    const bl_trial_record *t = &a->experiment->trials[i];
    const bl_trial_figure *figure = &a->trials[i];
    json_t *o = json_object();
    set(o, "id", json_integer(t->id));
    set(o, "factors", factors_of(a, t->case_index));
    set(o, "block", json_integer((json_int_t)t->block + 1));
    set(o, "position", json_integer((json_int_t)t->position + 1));
    set(o, "predecessor", t->predecessor >= 0 ? factors_of(a, (size_t)t->predecessor) : NULL);
    set(o, "outcome", text(t->outcome));
    set(o, "reason", text(t->reason));
    set(o, "started", wall_time(t->started_ns));
    set(o, "started_ns", json_integer(t->started_ns));
    set(o, a->per_run ? "seconds_per_run" : "seconds_per_sample", real(figure->seconds));
    set(o, "figure_source", text(bl_figure_source_name(figure->source)));
    set(o, "warm_up", text(figure->note));
    set(o, "step_s", real(figure->step_seconds));
    set(o, "wall_s", real(t->wall_s));
    set(o, "user_s", real(t->user_s));
    set(o, "system_s", real(t->system_s));
    set(o, "cpu_note", text(t->cpu_note));
    set(o, "peak_memory_b", real(t->peak_memory_b));
    set(o, "memory_note", text(t->memory_note));
    set(o, "exit_status", t->exit_status >= 0 ? json_integer(t->exit_status) : NULL);
    set(o, "exit_signal", t->exit_signal > 0 ? json_integer(t->exit_signal) : NULL);
    set(o, "ended_by_budget", json_boolean(t->ended_by_budget));
    set(o, "run_samples", real(t->run_samples));
    set(o, "step_source", text(t->step_source));
    set(o, "step_note", text(t->step_note));
    set(o, "memory_kind", text(t->memory_kind));
    set(o, "phase", text(t->phase));
    set(o, "evidence", evidence(t));
    set(o, "program", text(t->program));
    set(o, "program_version", text(t->program_version));
    set(o, "precision", text(t->precision));
    set(o, "ranks", t->ranks > 0 ? json_integer(t->ranks) : NULL);
    set(o, "memory", named_values(t->memory, t->n_memory));
    set(o, "metrics", named_values(t->metrics, t->n_metrics));
    if (t->n_noise > 0)
        set(o, "gradient_noise", noise(t));
    set(o, "n_steps", json_integer((json_int_t)t->n_steps));
    if (with_steps) {
        set(o, "steps", steps(t));
        set(o, "telemetry", trial_telemetry(t->telemetry));
        set(o, "output_tail", text(t->output_tail));
    }
    return o;
}

int bl_report_json(const bl_analysis *a, bool with_steps, bl_str *out, bl_error *err)
{
    json_t *o = json_object(), *cases = json_array(), *trials = json_array();
    set(o, "format", text("batchlab experiment"));
    set(o, "format_version", json_integer(BL_REPORT_JSON_VERSION));
    set(o, "experiment", settings(a->experiment));
    set(o, "environment", environment(&a->experiment->environment));
    for (size_t c = 0; c < a->n_cases; c++)
        json_array_append_new(cases, case_object(a, c));
    set(o, "cases", cases);
    if (a->n_pairs > 0)
        set(o, "verdicts", verdicts(a));
    set(o, "confirmation", confirmation(a));
    set(o, "powers_of_two", powers_of_two(a));
    set(o, "special_sizes", special(a));
    set(o, "knees", knees(a));
    for (size_t i = 0; i < a->experiment->n_trials; i++)
        json_array_append_new(trials, trial_object(a, i, with_steps));
    set(o, "trials", trials);
    int code = warnings(a, o, err);
    if (code == BL_OK)
        code = noise_scales(a, o, err);
    char *dumped = o && code == BL_OK ? json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(o);
    if (!dumped)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the JSON of experiment %lld", (long long)a->experiment->id);
    bl_str_append(out, dumped);
    bl_str_append_c(out, '\n');
    free(dumped);
    return out->failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the JSON") : BL_OK;
}
