/* hyperfine's --export-json: {"results": [{"command", "times": [s], "exit_codes", "memory_usage_byte", "parameters"}]}
 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/parse.h"
#include "store/import_parts.h"

static const char *const usual_names[] = {"batch", "batch_size", "batchsize", "bs", "b", "B"};

/* The parameter that is the batch size; NULL where there is none. */
static const char *batch_name(const json_t *parameters, const bl_import_options *options)
{
    if (options->batch_name)
        return json_object_get(parameters, options->batch_name) ? options->batch_name : NULL;
    for (size_t i = 0; i < BL_ARRAY_LEN(usual_names); i++)
        if (json_object_get(parameters, usual_names[i]))
            return usual_names[i];
    return NULL;
}

static int check_results(const bl_import_file *file, const json_t *results, const bl_import_options *options,
                         bl_error *err)
{
    if (!json_is_array(results) || json_array_size(results) == 0)
        return BL_FAIL(err, BL_ERR_FORMAT, "%s: it holds no results", file->name);
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i), *parameters = json_object_get(result, "parameters");
        if (json_array_size(json_object_get(result, "times")) == 0)
            return BL_FAIL(err, BL_ERR_FORMAT, "%s: result %zu has no times", file->name, i + 1);
        const char *name = batch_name(parameters, options);
        int64_t batch;
        if (!name) {
            BL_FAIL(err, BL_ERR_USAGE, "%s: result %zu tells no batch size", file->name, i + 1);
            bl_error_remedy(err,
                            "run hyperfine with a parameter for it, such as -L batch 32,64, or name the one that is "
                            "it with --batch-name");
            return BL_ERR_USAGE;
        }
        const char *value = json_string_value(json_object_get(parameters, name));
        if (!value || bl_parse_i64(value, "batch", 1, INT64_MAX, &batch, NULL) != BL_OK)
            return BL_FAIL(err, BL_ERR_FORMAT, "%s: result %zu: its %s is no batch size", file->name, i + 1, name);
    }
    return BL_OK;
}

/* batch, and whatever other parameters the first result has. */
static int make_factors(const bl_import_file *file, json_t *results, const bl_import_options *options, bl_arena *arena,
                        bl_experiment *e, bl_error *err)
{
    size_t n = json_array_size(results);
    json_t *parameters = json_object_get(json_array_get(results, 0), "parameters"), *value;
    const char *batch = batch_name(parameters, options), *key;
    e->factors = bl_arena_alloc(arena, json_object_size(parameters), sizeof *e->factors);
    if (!e->factors)
        return bl_import_no_memory(file, err);
    e->factors[e->n_factors++].name = "batch";
    json_object_foreach(parameters, key, value) if (strcmp(key, batch) != 0) e->factors[e->n_factors++].name =
        bl_arena_strdup(arena, key);
    for (size_t f = 0; f < e->n_factors; f++) {
        bl_stored_factor *factor = &e->factors[f];
        factor->values = bl_arena_alloc(arena, n, sizeof *factor->values);
        if (!factor->name || !factor->values)
            return bl_import_no_memory(file, err);
        for (size_t i = 0; i < n; i++) {
            const json_t *own = json_object_get(json_array_get(results, i), "parameters");
            const char *text =
                json_string_value(json_object_get(own, f == 0 ? batch_name(own, options) : factor->name));
            char *copy = text ? bl_arena_strdup(arena, text) : NULL;
            if (!text)
                return BL_FAIL(err, BL_ERR_FORMAT, "%s: result %zu lacks the parameter %s", file->name, i + 1,
                               factor->name);
            if (!copy)
                return bl_import_no_memory(file, err);
            bl_import_add_value(factor, copy);
        }
    }
    return BL_OK;
}

static size_t case_of(const bl_experiment *e, const json_t *result, const bl_import_options *options)
{
    const json_t *own = json_object_get(result, "parameters");
    const char *values[16];
    for (size_t f = 0; f < e->n_factors; f++)
        values[f] = json_string_value(json_object_get(own, f == 0 ? batch_name(own, options) : e->factors[f].name));
    return bl_import_find_case(e, values);
}

static int add_runs(const bl_import_file *file, const json_t *result, size_t c, bl_experiment *e, int64_t *now_ns,
                    bl_error *err)
{
    const json_t *times = json_object_get(result, "times"), *codes = json_object_get(result, "exit_codes");
    const json_t *memory = json_object_get(result, "memory_usage_byte");
    for (size_t i = 0; i < e->n_trials; i++)
        if (e->trials[i].case_index == c) {
            BL_FAIL(err, BL_ERR_USAGE, "%s: two of its commands have the same parameters", file->name);
            bl_error_remedy(err, "export them into files of their own, and import these");
            return BL_ERR_USAGE;
        }
    for (size_t i = 0; i < json_array_size(times); i++) {
        bl_trial_record *t = &e->trials[e->n_trials++];
        const json_t *code = json_array_get(codes, i), *bytes = json_array_get(memory, i);
        *t = bl_import_trial();
        t->case_index = c;
        t->block = i;
        t->wall_s = json_number_value(json_array_get(times, i));
        if (!json_is_number(json_array_get(times, i)) || !(t->wall_s > 0) || t->wall_s > 1e8)
            return BL_FAIL(err, BL_ERR_FORMAT, "%s: a time is not above 0", file->name);
        t->started_ns = *now_ns;
        *now_ns += (int64_t)(t->wall_s * 1e9);
        t->cpu_note = "not told for each run";
        t->peak_memory_b = json_is_number(bytes) && json_number_value(bytes) > 0 ? json_number_value(bytes) : NAN;
        t->memory_note = isnan(t->peak_memory_b) ? "not told" : "as hyperfine measured it";
        if (json_is_integer(code) && json_integer_value(code) >= 0 && json_integer_value(code) < 256)
            t->exit_status = (int)json_integer_value(code);
        else if (codes)
            t->exit_status = -1; /* a signal */
        t->outcome = t->exit_status != 0 ? "crashed" : "ok";
        t->reason = t->exit_status != 0 ? "hyperfine tells a failure" : NULL;
    }
    return BL_OK;
}

static int read_results(const bl_import_file *file, json_t *results, const bl_import_options *options, bl_arena *arena,
                        bl_experiment *out, bl_error *err)
{
    int code = check_results(file, results, options, err);
    if (code == BL_OK)
        code = bl_import_begin(file, options, "hyperfine's JSON",
                               "all runs of a command came one after another, not in shuffled blocks: run N of each is "
                               "taken as block N, and a drift of the machine would look like a difference; times of "
                               "day are not known",
                               arena, out, err);
    if (code == BL_OK)
        code = make_factors(file, results, options, arena, out, err);
    if (code == BL_OK)
        code = bl_import_check(file, out, err); /* at most 16 factors, before cases are looked for */
    size_t n = 0;
    for (size_t i = 0; code == BL_OK && i < json_array_size(results); i++) {
        size_t runs = json_array_size(json_object_get(json_array_get(results, i), "times"));
        n += runs;
        out->blocks = (int64_t)runs > out->blocks ? (int64_t)runs : out->blocks;
    }
    out->trials = code == BL_OK ? bl_arena_alloc(arena, n, sizeof *out->trials) : NULL;
    if (code == BL_OK && !out->trials)
        code = bl_import_no_memory(file, err);
    int64_t now_ns = options->now_ns;
    for (size_t i = 0; code == BL_OK && i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        code = add_runs(file, result, case_of(out, result, options), out, &now_ns, err);
    }
    return code == BL_OK ? bl_import_check(file, out, err) : code;
}

int bl_import_hyperfine(const bl_import_file *file, const bl_import_options *options, bl_arena *arena,
                        bl_experiment *out, bl_error *err)
{
    json_error_t error;
    json_t *root = json_loads(file->text, 0, &error);
    *out = (bl_experiment){0};
    if (!root)
        return BL_FAIL(err, BL_ERR_FORMAT, "%s:%d: %s", file->name, error.line, error.text);
    int code = read_results(file, json_object_get(root, "results"), options, arena, out, err);
    json_decref(root);
    return code;
}
