/* What an experiment's trials say together, as JSON. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "report/confirmation.h"
#include "report/json_parts.h"
#include "report/noise_scales.h"
#include "report/telemetry_figures.h"
#include "report/warnings.h"

static json_t *case_telemetry(const bl_analysis *a, size_t c)
{
    bl_telemetry_figure f;
    if (!bl_telemetry_figure_of_case(a, c, &f))
        return NULL;
    json_t *o = json_object();
    bl_json_set(o, "cpu_cores", bl_json_real(f.cpu_cores));
    bl_json_set(o, "other_cores", bl_json_real(f.other_cores));
    bl_json_set(o, "device_busy", bl_json_real(f.device_busy));
    bl_json_set(o, "device_memory_b", bl_json_real(f.device_memory_b));
    bl_json_set(o, "power_w", bl_json_real(f.power_w));
    bl_json_set(o, "joules_per_sample", bl_json_real(f.joules_per_sample));
    bl_json_set(o, "hottest_c", bl_json_real(f.hottest_c));
    bl_json_set(o, "throttled", bl_json_real(f.throttled));
    return o;
}

json_t *bl_json_case(const bl_analysis *a, size_t c)
{
    const bl_case_figure *figure = &a->cases[c];
    bl_interval rate = bl_interval_reciprocal(&figure->seconds);
    json_t *o = json_object();
    bl_json_set(o, "factors", bl_json_factors_of(a, c));
    bl_json_set(o, "batch", json_integer(figure->batch));
    bl_json_set(o, a->per_run ? "seconds_per_run" : "seconds_per_sample", bl_json_interval(&figure->seconds));
    bl_json_set(o, "samples_per_s", a->per_run ? NULL : bl_json_interval(&rate));
    bl_json_set(o, "step_s", bl_json_real(figure->step_seconds));
    bl_json_set(o, "data_wait_share", bl_json_real(figure->wait_share));
    bl_json_set(o, "telemetry", case_telemetry(a, c));
    bl_json_set(o, "load_s", bl_json_real(figure->load_seconds));
    bl_json_set(o, "seconds_over_best", a->best < a->n_cases ? bl_json_interval(&figure->against_best.ratio) : NULL);
    bl_json_set(o, "best", json_boolean(c == a->best));
    bl_json_set(o, "peak_memory_b", bl_json_real(figure->peak_memory_b));
    bl_json_set(o, "trials", json_integer((json_int_t)figure->n_trials));
    bl_json_set(o, "trials_ok", json_integer((json_int_t)figure->n_ok));
    bl_json_set(o, "trials_unsteady", json_integer((json_int_t)figure->n_unsteady));
    bl_json_set(o, "outcome", bl_json_text(figure->outcome));
    bl_json_set(o, "reason", bl_json_text(figure->reason));
    bl_json_set(o, "figure_source", bl_json_text(bl_figure_source_name(figure->source)));
    return o;
}

static const char *claim_name(bl_claim claim)
{
    static const char *const names[] = {"none",          "different",      "different_size_open",
                                        "no_difference", "small_but_real", "cannot_tell"};
    return (size_t)claim < BL_ARRAY_LEN(names) ? names[claim] : "none";
}

json_t *bl_json_powers_of_two(const bl_analysis *a)
{
    json_t *array = json_array();
    for (size_t g = 0; g < a->n_groups; g++) {
        const bl_neighbours *n = &a->groups[g].neighbours;
        json_t *o = json_object(), *items = json_array();
        bl_json_set(o, "others", bl_json_text(a->groups[g].label));
        bl_json_set(o, "claim", bl_json_text(claim_name(n->claim)));
        bl_json_set(o, "neighbours_over_power", n->len > 0 ? bl_json_interval(&n->overall.ratio) : NULL);
        bl_json_set(o, "sentence", bl_json_text(n->sentence));
        for (size_t i = 0; i < n->len; i++) {
            json_t *item = json_object(), *neighbours = json_array();
            for (size_t k = 0; k < n->items[i].n_neighbours; k++)
                json_array_append_new(neighbours, json_integer(n->items[i].neighbours[k]));
            bl_json_set(item, "power", json_integer(n->items[i].power));
            bl_json_set(item, "neighbours", neighbours);
            bl_json_set(item, "claim", bl_json_text(claim_name(n->items[i].claim)));
            bl_json_set(item, "neighbours_over_power", bl_json_interval(&n->items[i].contrast.ratio));
            json_array_append_new(items, item);
        }
        bl_json_set(o, "powers", items);
        json_array_append_new(array, o);
    }
    return array;
}

json_t *bl_json_special(const bl_analysis *a)
{
    json_t *array = json_array();
    for (size_t g = 0; g < a->n_groups; g++) {
        const bl_special *sets[] = {&a->groups[g].powers, &a->groups[g].eights};
        for (size_t k = 0; k < BL_ARRAY_LEN(sets); k++) {
            json_t *o = json_object();
            bl_json_set(o, "others", bl_json_text(a->groups[g].label));
            bl_json_set(o, "sizes", bl_json_text(k == 0 ? "powers_of_two" : "multiples_of_8"));
            bl_json_set(o, "n_sizes", json_integer((json_int_t)sets[k]->n_sizes));
            bl_json_set(o, "claim", bl_json_text(claim_name(sets[k]->claim)));
            bl_json_set(o, "special_over_curve",
                        sets[k]->n_sizes > 0 ? bl_json_interval(&sets[k]->contrast.ratio) : NULL);
            json_array_append_new(array, o);
        }
    }
    return array;
}

json_t *bl_json_knees(const bl_analysis *a)
{
    json_t *array = json_array();
    for (size_t g = 0; g < a->n_groups; g++) {
        const bl_knee *k = &a->groups[g].knee;
        if (!k->known)
            continue;
        json_t *o = json_object();
        bl_json_set(o, "others", bl_json_text(a->groups[g].label));
        bl_json_set(o, "batch", json_integer(a->cases[k->at].batch));
        bl_json_set(o, "low", k->has_limits ? json_integer(a->cases[k->low].batch) : NULL);
        bl_json_set(o, "high", k->has_limits ? json_integer(a->cases[k->high].batch) : NULL);
        bl_json_set(o, "level", bl_json_real(k->has_limits ? k->level : NAN));
        bl_json_set(o, "best", json_integer(a->cases[k->best].batch));
        json_array_append_new(array, o);
    }
    return array;
}

json_t *bl_json_verdicts(const bl_analysis *a)
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
        bl_json_set(o, "a", bl_json_factors_of(a, pair->pair.a));
        bl_json_set(o, "b", bl_json_factors_of(a, pair->pair.b));
        bl_json_set(o, "verdict", bl_json_text(bl_verdict_name(v->kind)));
        bl_json_set(o, "small_but_real", json_boolean(v->small_but_real));
        bl_json_set(o, "b_over_a", bl_json_interval(&v->contrast.ratio));
        bl_json_set(o, "equivalence_interval", bl_json_interval(&equivalence));
        bl_json_set(o, "student_interval", bl_json_interval(&t));
        bl_json_set(o, "intervals_disagree", json_boolean(v->contrast.disagree));
        bl_json_set(o, "margin", bl_json_real(a->rule.margin));
        bl_json_set(o, "confidence", bl_json_real(a->rule.confidence));
        bl_json_set(o, "blocks", json_integer((json_int_t)v->blocks));
        bl_json_set(o, "more_blocks", v->more_blocks > 0 ? json_integer((json_int_t)v->more_blocks) : NULL);
        bl_json_set(o, "sentence", bl_json_text(bl_str_text(&sentence)));
        bl_str_clear(&sentence);
        json_array_append_new(array, o);
    }
    return array;
}

/* Of a sweep that has been confirmed, and of the comparison that does so. */
json_t *bl_json_confirmation(const bl_analysis *a)
{
    const bl_analysis *by = a->confirmed_by ? a->confirmed_by : a->experiment->comparison.confirms > 0 ? a : NULL;
    if (!by)
        return NULL;
    bl_str sentence;
    bl_str_init(&sentence);
    bl_confirmation_sentence(by, &sentence);
    json_t *o = json_object();
    bl_json_set(o, "experiment", json_integer(by->experiment->id));
    bl_json_set(o, "of", json_integer(by->experiment->comparison.confirms));
    bl_json_set(o, "found", bl_json_text(bl_confirmation_name(bl_confirmation_of(by))));
    bl_json_set(o, "sentence", bl_json_text(bl_str_text(&sentence)));
    bl_json_set(o, "verdicts", bl_json_verdicts(by));
    bl_str_clear(&sentence);
    return o;
}

int bl_json_warnings(const bl_analysis *a, json_t *o, bl_error *err)
{
    bl_strv texts;
    bl_strv_init(&texts);
    int code = bl_warnings_collect(a, &texts, err);
    json_t *array = json_array();
    for (size_t i = 0; i < texts.len; i++)
        json_array_append_new(array, bl_json_text(texts.items[i]));
    bl_json_set(o, "warnings", array);
    bl_strv_clear(&texts);
    return code;
}

int bl_json_noise_scales(const bl_analysis *a, json_t *o, bl_error *err)
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
        bl_json_set(row, "factors", bl_json_factors_of(a, noises[i].case_index));
        bl_json_set(row, "after_steps", json_integer(noises[i].after_steps));
        bl_json_set(row, "scaled", json_boolean(noises[i].scaled));
        bl_json_set(row, "noise_scale", bl_json_real(s->scale)); /* null: no bound */
        bl_json_set(row, "low", bl_json_real(s->low));
        bl_json_set(row, "high", bl_json_real(s->high));
        bl_json_set(row, "level", bl_json_real(s->has_interval ? s->level : NAN));
        bl_json_set(row, "signal", bl_json_real(s->signal));
        bl_json_set(row, "noise", bl_json_real(s->noise));
        bl_json_set(row, "measurements", json_integer((json_int_t)s->n));
        json_array_append_new(array, row);
    }
    bl_json_set(o, "noise_scales", array);
    free(noises);
    return BL_OK;
}
