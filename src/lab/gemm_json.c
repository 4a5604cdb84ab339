#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "lab/gemm.h"

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static void set_interval(json_t *object, const char *name, const char *low, const char *high, const bl_interval *i)
{
    json_object_set_new(object, name, real_or_null(i->estimate));
    json_object_set_new(object, low, real_or_null(i->has_interval ? i->low : NAN));
    json_object_set_new(object, high, real_or_null(i->has_interval ? i->high : NAN));
}

static json_t *case_json(const bl_gemm_row *r, const char *outcome)
{
    json_t *object = json_object();
    json_object_set_new(object, r->layer ? "layer" : "label", json_string(r->name));
    json_object_set_new(object, "batch", json_integer(r->batch));
    if (r->layer) {
        json_object_set_new(object, "role", json_string(bl_role_word(r->layer->role)));
        json_object_set_new(object, "count", json_integer(r->layer->count));
    } else {
        json_object_set_new(object, "m", json_real(r->product.m));
        json_object_set_new(object, "n", json_real(r->product.n));
        json_object_set_new(object, "k", json_real(r->product.k));
    }
    json_object_set_new(object, "flop_per_byte", json_real(r->intensity));
    set_interval(object, "gflops", "gflops_low", "gflops_high", &r->gflops);
    set_interval(object, "seconds", "seconds_low", "seconds_high", &r->seconds);
    json_object_set_new(object, "outcome", json_string(outcome));
    return object;
}

static json_t *sum_json(const bl_gemm_sum *s)
{
    json_t *object = json_object(), *roles = json_object();
    json_object_set_new(object, "batch", json_integer(s->batch));
    json_object_set_new(object, "flop", json_real(s->flop));
    set_interval(object, "seconds", "seconds_low", "seconds_high", &s->seconds);
    for (int role = 0; role < BL_N_ROLES; role++)
        json_object_set_new(roles, bl_role_word((bl_role)role), real_or_null(s->by_role_s[role]));
    json_object_set_new(object, "seconds_by_role", roles);
    /* Time a sample over that of the best size. */
    bl_interval none = {.estimate = NAN};
    set_interval(object, "time_ratio", "time_ratio_low", "time_ratio_high",
                 s->against_best.n_pairs > 0 ? &s->against_best.ratio : &none);
    return object;
}

int bl_gemm_json(const bl_analysis *a, const bl_gemm_figures *f, const bl_gemm_roofs *roofs, bl_str *out, bl_error *err)
{
    json_t *cases = json_array(), *sums = json_array(), *root = json_object();
    for (size_t i = 0; i < a->n_cases; i++)
        json_array_append_new(cases, case_json(&f->rows[i], a->cases[i].outcome));
    for (size_t i = 0; i < f->n_sums; i++)
        json_array_append_new(sums, sum_json(&f->sums[i]));
    json_object_set_new(root, "experiment", json_integer(a->experiment->id));
    json_object_set_new(root, "peak_gflops", real_or_null(roofs->peak_gflops));
    json_object_set_new(root, "bandwidth_gb_s", real_or_null(roofs->bandwidth_gb_s));
    json_object_set_new(root, "cases", cases);
    if (f->n_sums > 0)
        json_object_set_new(root, "sums", sums);
    else
        json_decref(sums);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for JSON");
    bl_str_append(out, text);
    bl_str_append(out, "\n");
    free(text);
    return BL_OK;
}
