/* What tune says to programs. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "lab/tune.h"
#include "report/json_parts.h"

static bool any_energy(const bl_tune *t)
{
    bool any = false;
    for (size_t i = 0; i < t->n_sizes; i++)
        any = any || isfinite(t->sizes[i].step_j);
    return any;
}

static json_t *pilots(const bl_tune *t)
{
    json_t *array = json_array();
    for (size_t i = 0; i < t->n_pilots; i++) {
        const bl_tune_pilot *p = &t->pilots[i];
        json_t *o = json_object();
        bl_json_set(o, "batch", bl_json_real(p->batch));
        bl_json_set(o, "steps", bl_json_real(p->steps));
        bl_json_set(o, "best", bl_json_text(p->best));
        bl_json_set(o, "rate", bl_json_real(p->rate));
        bl_json_set(o, "rate_at_edge", json_boolean(p->at_edge));
        bl_json_set(o, "trainings", json_integer((json_int_t)p->n));
        bl_json_set(o, "reached", json_integer((json_int_t)p->n_reached));
        bl_json_set(o, "stopped_as_losing", json_integer((json_int_t)p->n_stopped));
        json_array_append_new(array, o);
    }
    return array;
}

static json_t *fit(const bl_tune *t)
{
    const bl_steps_fit *s = &t->steps;
    static const char *const shapes[] = {[BL_STEPS_NO_FIT] = "none",
                                         [BL_STEPS_BENT] = "bent",
                                         [BL_STEPS_FLAT] = "flat",
                                         [BL_STEPS_PROPORTIONAL] = "proportional"};
    json_t *o = json_object();
    bl_json_set(o, "source", bl_json_text(t->options->noise_only ? "noise scale" : "pilots"));
    bl_json_set(o, "shape", bl_json_text(shapes[s->shape]));
    bl_json_set(o, "least_steps", t->options->noise_only ? NULL : bl_json_real(s->min_steps));
    bl_json_set(o, "critical_batch", bl_json_real(s->curve.critical));
    bl_json_set(o, "critical_low", s->has_interval ? bl_json_real(s->low.critical) : NULL);
    bl_json_set(o, "critical_high", s->has_interval ? bl_json_real(s->high.critical) : NULL);
    bl_json_set(o, "level", s->has_interval ? bl_json_real(s->level) : NULL);
    bl_json_set(o, "worst_relative", bl_json_real(s->worst_relative));
    return o;
}

static json_t *row(const bl_choice_row *r)
{
    json_t *o = json_object();
    bl_json_set(o, "batch", bl_json_real(r->batch));
    bl_json_set(o, "steps", bl_json_real(r->steps));
    bl_json_set(o, "steps_low", bl_json_real(r->steps_low));
    bl_json_set(o, "steps_high", bl_json_real(r->steps_high));
    bl_json_set(o, "samples", bl_json_real(r->samples));
    bl_json_set(o, "time_s", bl_json_real(r->time_s));
    bl_json_set(o, "time_low_s", bl_json_real(r->time_low_s));
    bl_json_set(o, "time_high_s", bl_json_real(r->time_high_s));
    bl_json_set(o, "energy_j", bl_json_real(r->energy_j));
    bl_json_set(o, "cost", bl_json_real(r->cost));
    bl_json_set(o, "memory_b", bl_json_real(r->memory_b));
    bl_json_set(o, "efficiency", bl_json_real(r->efficiency));
    bl_json_set(o, "accumulate", json_integer(r->accumulate));
    return o;
}

static json_t *table(const bl_tune *t)
{
    json_t *array = json_array();
    for (size_t i = 0; i < t->n_sizes; i++) {
        bl_choice_row r;
        if (t->sizes[i].batch < t->choice.least || t->sizes[i].batch > t->choice.largest)
            continue;
        bl_choice_row_at(&t->question, &t->choice, t->sizes[i].batch, &r);
        json_array_append_new(array, row(&r));
    }
    return array;
}

/* NULL where there is no such pick. */
static json_t *pick(const bl_pick *p)
{
    if (isnan(p->row.batch))
        return NULL;
    json_t *o = row(&p->row);
    bl_json_set(o, "low", bl_json_real(p->low));
    bl_json_set(o, "high", bl_json_real(p->high));
    bl_json_set(o, "regret", bl_json_real(p->regret));
    bl_json_set(o, "at_memory", json_boolean(p->at_memory));
    bl_json_set(o, "at_range", json_boolean(p->at_range));
    return o;
}

int bl_tune_json(const bl_tune *t, bl_str *out, bl_error *err)
{
    const bl_tune_options *o = t->options;
    bool priced = o->price_hour > 0 || o->price_kwh > 0;
    json_t *root = json_object(), *picks = json_object();
    bl_json_set(root, "target", o->noise_only ? NULL : json_sprintf("%s=%.17g", o->target.name, o->target.value));
    bl_json_set(root, "pilots", pilots(t));
    bl_json_set(root, "steps", fit(t));
    bl_json_set(root, "times_in_units_of_least_steps", json_boolean(o->noise_only));
    bl_json_set(root, "energy_reason",
                any_energy(t) ? NULL
                              : bl_json_text("no trial of the sweep has telemetry of power; see batchlab doctor"));
    bl_json_set(root, "sizes", table(t));
    bl_json_set(picks, "soonest", pick(&t->choice.soonest));
    bl_json_set(picks, "cheapest", priced ? pick(&t->choice.cheapest) : NULL);
    bl_json_set(picks, "largest", pick(&t->choice.large));
    bl_json_set(root, "picks", picks);
    bl_json_set(root, "closed_form_batch", bl_json_real(t->choice.best));
    char *text = json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    json_decref(root);
    if (!text)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the JSON");
    bl_str_printf(out, "%s\n", text);
    free(text);
    return BL_OK;
}
