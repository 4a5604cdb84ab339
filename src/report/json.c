#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "report/json_parts.h"
#include "report/report.h"

/* Missing is null. */
json_t *bl_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *bl_json_text(const char *value)
{
    return value ? json_string(value) : json_null();
}

json_t *bl_json_wall_time(int64_t ns)
{
    char out[32];
    bl_clock_format_utc(ns, out, sizeof out);
    return json_string(out);
}

void bl_json_set(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value ? value : json_null());
}

json_t *bl_json_interval(const bl_interval *i)
{
    json_t *o = json_object();
    bl_json_set(o, "estimate", bl_json_real(i->estimate));
    bl_json_set(o, "low", bl_json_real(i->has_interval ? i->low : NAN));
    bl_json_set(o, "high", bl_json_real(i->has_interval ? i->high : NAN));
    bl_json_set(o, "level", bl_json_real(i->has_interval ? i->level : NAN));
    bl_json_set(o, "level_wanted", bl_json_real(i->level_wanted));
    bl_json_set(o, "n", json_integer((json_int_t)i->n));
    return o;
}

json_t *bl_json_factors_of(const bl_analysis *a, size_t c)
{
    json_t *o = json_object();
    for (size_t f = 0; f < a->experiment->n_factors && c < a->n_cases; f++)
        bl_json_set(o, a->experiment->factors[f].name, bl_json_text(bl_experiment_value(a->experiment, c, f)));
    return o;
}

static json_t *factors(const bl_experiment *e)
{
    json_t *array = json_array();
    for (size_t f = 0; f < e->n_factors; f++) {
        json_t *o = json_object(), *values = json_array();
        for (size_t v = 0; v < e->factors[f].n_values; v++)
            json_array_append_new(values, bl_json_text(e->factors[f].values[v]));
        bl_json_set(o, "name", bl_json_text(e->factors[f].name));
        bl_json_set(o, "values", values);
        json_array_append_new(array, o);
    }
    return array;
}

/* Numbers of experiments are their database's; this holds in all. */
static json_t *key(const bl_experiment_key *k)
{
    if (k->created_ns == 0)
        return NULL;
    json_t *o = json_object();
    bl_json_set(o, "created_ns", json_integer(k->created_ns));
    bl_json_set(o, "seed", json_integer(k->seed));
    return o;
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
    bl_json_set(o, "confidence", bl_json_real(e->comparison.confidence));
    bl_json_set(o, "budget_s", bl_json_real(e->comparison.budget_s));
    bl_json_set(o, "pairs", pairs);
    bl_json_set(o, "confirms", key(&e->comparison.confirms_key));
    return o;
}

static json_t *settings(const bl_experiment *e)
{
    json_t *o = json_object(), *command = json_array();
    for (size_t i = 0; i < e->n_command; i++) /* what is no UTF-8 cannot stand in JSON */
        json_array_append_new(command, json_string(e->command[i]) ?: json_null());
    bl_json_set(o, "id", json_integer(e->id));
    bl_json_set(o, "name", bl_json_text(e->name));
    bl_json_set(o, "workload", bl_json_text(e->workload));
    bl_json_set(o, "state", bl_json_text(bl_experiment_state_name(e->state)));
    bl_json_set(o, "begun", bl_json_wall_time(e->created_ns));
    bl_json_set(o, "created_ns", json_integer(e->created_ns));
    bl_json_set(o, "batchlab_version", bl_json_text(e->version));
    bl_json_set(o, "command", command);
    bl_json_set(o, "cwd", bl_json_text(e->cwd));
    bl_json_set(o, "git_revision", bl_json_text(e->git_revision));
    bl_json_set(o, "shell", json_boolean(e->shell));
    bl_json_set(o, "batch_from_env", json_boolean(e->batch_from_env));
    bl_json_set(o, "driving", e->driving ? json_loads(e->driving, 0, NULL) : NULL);
    bl_json_set(o, "factors", factors(e));
    bl_json_set(o, "comparison", comparison(e));
    bl_json_set(o, "confirmed_by", key(&e->confirmed_by));
    bl_json_set(o, "samples", bl_json_text(e->samples));
    bl_json_set(o, "blocks", json_integer(e->blocks));
    bl_json_set(o, "steps", json_integer(e->steps));
    bl_json_set(o, "warmup", json_integer(e->warmup));
    bl_json_set(o, "seed", json_integer(e->seed));
    bl_json_set(o, "time_s", bl_json_real(e->time_s));
    bl_json_set(o, "setup_s", bl_json_real(e->setup_s));
    bl_json_set(o, "margin", bl_json_real(e->margin));
    return o;
}

static json_t *environment(const bl_environment *environment)
{
    json_t *array = json_array();
    for (size_t i = 0; i < environment->len; i++) {
        const bl_environment_item *item = &environment->items[i];
        json_t *o = json_object();
        bl_json_set(o, "name", bl_json_text(item->name));
        bl_json_set(o, "value", bl_json_text(item->value));
        bl_json_set(o, "source", bl_json_text(item->source));
        bl_json_set(o, "reason", bl_json_text(item->reason));
        bl_json_set(o, "sitting", json_integer(item->sitting));
        json_array_append_new(array, o);
    }
    return array;
}

int bl_report_json(const bl_analysis *a, bool with_steps, bl_str *out, bl_error *err)
{
    json_t *o = json_object(), *cases = json_array(), *trials = json_array();
    bl_json_set(o, "format", bl_json_text("batchlab experiment"));
    bl_json_set(o, "format_version", json_integer(BL_REPORT_JSON_VERSION));
    bl_json_set(o, "experiment", settings(a->experiment));
    bl_json_set(o, "environment", environment(&a->experiment->environment));
    for (size_t c = 0; c < a->n_cases; c++)
        json_array_append_new(cases, bl_json_case(a, c));
    bl_json_set(o, "cases", cases);
    if (a->n_pairs > 0)
        bl_json_set(o, "verdicts", bl_json_verdicts(a));
    bl_json_set(o, "confirmation", bl_json_confirmation(a));
    bl_json_set(o, "powers_of_two", bl_json_powers_of_two(a));
    bl_json_set(o, "special_sizes", bl_json_special(a));
    bl_json_set(o, "knees", bl_json_knees(a));
    for (size_t i = 0; i < a->experiment->n_trials; i++)
        json_array_append_new(trials, bl_json_trial(a, i, with_steps));
    bl_json_set(o, "trials", trials);
    int code = bl_json_warnings(a, o, err);
    if (code == BL_OK)
        code = bl_json_noise_scales(a, o, err);
    char *dumped = o && code == BL_OK ? json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(o);
    if (!dumped)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the JSON of experiment %lld", (long long)a->experiment->id);
    bl_str_append(out, dumped);
    bl_str_append_c(out, '\n');
    free(dumped);
    return out->failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the JSON") : BL_OK;
}
