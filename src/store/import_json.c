/* batchlab's own JSON: what report/json.c writes, and docs/schema/experiment.json describes. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/import_parts.h"
#include "store/import_reader.h"

/* The newest that is read, and all before it: 1 told no times of metrics, no links to confirmations, and not which
 * series of telemetry count up. */
#define BL_IMPORT_JSON_VERSION 2

static void read_factors(bl_import_reader *r, const json_t *o, bl_experiment *e)
{
    const json_t *array = bl_import_array(r, o, "factors");
    size_t n = json_array_size(array);
    e->factors = bl_import_take(r, n, sizeof *e->factors);
    for (size_t f = 0; r->code == BL_OK && f < n; f++) {
        const json_t *factor = json_array_get(array, f), *values = bl_import_array(r, factor, "values");
        bl_stored_factor *out = &e->factors[e->n_factors++];
        out->name = bl_import_must_text(r, factor, "name");
        out->values = bl_import_take(r, json_array_size(values), sizeof *out->values);
        for (size_t v = 0; r->code == BL_OK && v < json_array_size(values); v++) {
            const char *text = json_string_value(json_array_get(values, v));
            if (!text)
                bl_import_fail(r, "values", "holds what is no text");
            else
                bl_import_add_value(out, bl_import_keep(r, text));
        }
    }
}

static void read_command(bl_import_reader *r, const json_t *o, bl_experiment *e)
{
    const json_t *array = bl_import_array(r, o, "command");
    e->command = bl_import_take(r, json_array_size(array) + 1, sizeof *e->command);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(array); i++) { /* null: it was no UTF-8 */
        const char *text = json_string_value(json_array_get(array, i));
        char *copy = bl_arena_strdup(r->arena, text ? text : "?");
        if (!copy)
            r->code = bl_import_no_memory(r->file, r->err);
        e->command[e->n_command++] = copy;
    }
}

/* An experiment's name whatever its number: none in format 1, and where there is none. */
static bl_experiment_key read_key(bl_import_reader *r, const json_t *o, const char *name)
{
    const json_t *key = json_object_get(o, name);
    if (!key || json_is_null(key))
        return (bl_experiment_key){0};
    return (bl_experiment_key){bl_import_int_from(r, key, "created_ns", 1, INT64_MAX),
                               bl_import_int_from(r, key, "seed", INT64_MIN + 1, INT64_MAX)};
}

static void read_comparison(bl_import_reader *r, const json_t *o, bl_comparison *out)
{
    const json_t *comparison = json_object_get(o, "comparison");
    *out = (bl_comparison){.confidence = NAN, .budget_s = NAN};
    if (!comparison || json_is_null(comparison))
        return;
    const json_t *pairs = bl_import_array(r, comparison, "pairs");
    out->confidence = bl_import_real(r, comparison, "confidence");
    out->budget_s = bl_import_real(r, comparison, "budget_s");
    out->confirms_key = read_key(r, comparison, "confirms");
    if (!(out->confidence > 0 && out->confidence < 1))
        bl_import_fail(r, "confidence", "is not between 0 and 1");
    out->pairs = bl_import_take(r, json_array_size(pairs), sizeof *out->pairs);
    for (size_t p = 0; r->code == BL_OK && p < json_array_size(pairs); p++) {
        const json_t *pair = json_array_get(pairs, p);
        int64_t a = json_integer_value(json_array_get(pair, 0)), b = json_integer_value(json_array_get(pair, 1));
        if (json_array_size(pair) != 2 || a < 0 || b < 0 || a == b)
            bl_import_fail(r, "pairs", "holds what is no pair");
        out->pairs[out->n_pairs++] = (bl_stored_pair){(size_t)a, (size_t)b};
    }
}

static const char *dump(bl_import_reader *r, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    const char *copy = bl_import_keep(r, text ? text : "{}");
    free(text);
    return copy;
}

static void read_settings(bl_import_reader *r, const json_t *o, bl_experiment *e)
{
    if (!json_is_object(o))
        bl_import_fail(r, "experiment", "is missing");
    e->name = bl_import_text(r, o, "name");
    e->workload = bl_import_must_text(r, o, "workload");
    const char *state = bl_import_text(r, o, "state");
    e->state = state && strcmp(state, "finished") == 0 ? BL_EXPERIMENT_FINISHED : BL_EXPERIMENT_INTERRUPTED;
    e->created_ns = bl_import_int_from(r, o, "created_ns", 0, INT64_MAX);
    e->version = bl_import_must_text(r, o, "batchlab_version");
    e->cwd = bl_import_must_text(r, o, "cwd");
    e->git_revision = bl_import_text(r, o, "git_revision");
    e->shell = json_is_true(json_object_get(o, "shell"));
    e->batch_from_env = json_is_true(json_object_get(o, "batch_from_env"));
    e->samples = bl_import_text(r, o, "samples");
    e->blocks = bl_import_int_from(r, o, "blocks", 1, BL_IMPORT_BLOCKS_MAX);
    e->steps = bl_import_int_from(r, o, "steps", 0, INT64_MAX);
    e->warmup = bl_import_int_from(r, o, "warmup", 0, INT64_MAX);
    e->seed = bl_import_int(r, o, "seed", 0);
    e->time_s = bl_import_real(r, o, "time_s");
    e->setup_s = bl_import_real(r, o, "setup_s");
    e->margin = bl_import_real(r, o, "margin");
    if (isnan(e->time_s) || isnan(e->setup_s))
        bl_import_fail(r, "time_s, setup_s", "are missing");
    const json_t *driving = json_object_get(o, "driving");
    e->driving = json_is_object(driving) ? dump(r, driving) : NULL;
    read_command(r, o, e);
    read_factors(r, o, e);
    read_comparison(r, o, &e->comparison);
    e->confirmed_by = read_key(r, o, "confirmed_by");
}

static void read_environment(bl_import_reader *r, const json_t *root, bl_environment *out)
{
    const json_t *array = bl_import_array(r, root, "environment");
    out->items = bl_import_take(r, json_array_size(array), sizeof *out->items);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(array); i++) {
        const json_t *o = json_array_get(array, i);
        out->items[out->len++] = (bl_environment_item){.name = bl_import_must_text(r, o, "name"),
                                                       .value = bl_import_text(r, o, "value"),
                                                       .source = bl_import_must_text(r, o, "source"),
                                                       .reason = bl_import_text(r, o, "reason"),
                                                       .sitting = bl_import_int(r, o, "sitting", 0)};
    }
}

static void read_root(bl_import_reader *r, const json_t *root, bl_experiment *e)
{
    const char *format = bl_import_text(r, root, "format");
    if (!format || strcmp(format, "batchlab experiment") != 0)
        bl_import_fail(r, "format", "is not \"batchlab experiment\"");
    if (r->code != BL_OK) {
        bl_error_remedy(r->err, "batchlab import reads what batchlab export --format json and hyperfine --export-json "
                                "write, and CSV");
        return;
    }
    r->version = bl_import_int_from(r, root, "format_version", 1, BL_IMPORT_JSON_VERSION);
    read_settings(r, json_object_get(root, "experiment"), e);
    read_environment(r, root, &e->environment);
    if (r->code == BL_OK)
        r->code = bl_import_check(r->file, e, r->err);
    const json_t *trials = r->code == BL_OK ? bl_import_array(r, root, "trials") : NULL;
    e->trials = bl_import_take(r, json_array_size(trials), sizeof *e->trials);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(trials); i++) {
        snprintf(r->where, sizeof r->where, "trial %zu: ", i + 1);
        bl_import_read_trial(r, e, json_array_get(trials, i), &e->trials[e->n_trials++]);
    }
}

int bl_import_json(const bl_import_file *file, bl_arena *arena, bl_experiment *out, bl_error *err)
{
    json_error_t error;
    bl_import_reader r = {.file = file, .arena = arena, .err = err};
    json_t *root = json_loads(file->text, 0, &error);
    *out = (bl_experiment){0};
    if (!root)
        return BL_FAIL(err, BL_ERR_FORMAT, "%s:%d: %s", file->name, error.line, error.text);
    read_root(&r, root, out);
    json_decref(root);
    return r.code == BL_OK ? bl_import_check(file, out, err) : r.code;
}
