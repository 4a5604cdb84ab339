/* batchlab's own JSON: what report/json.c writes, and docs/schema/experiment.json describes. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/import_parts.h"

typedef struct reader {
    const bl_import_file *file;
    bl_arena *arena;
    bl_error *err;
    int code;
    char where[64]; /* "trial 7: " */
} reader;

static void fail(reader *r, const char *name, const char *what)
{
    if (r->code == BL_OK)
        r->code = BL_FAIL(r->err, BL_ERR_FORMAT, "%s: %s\"%s\" %s", r->file->name, r->where, name, what);
}

static void *take(reader *r, size_t count, size_t size)
{
    void *block = bl_arena_alloc(r->arena, count > 0 ? count : 1, size);
    if (!block && r->code == BL_OK)
        r->code = bl_import_no_memory(r->file, r->err);
    return block;
}

static const char *keep(reader *r, const char *text)
{
    char *copy = bl_arena_strdup(r->arena, text);
    if (!copy && r->code == BL_OK)
        r->code = bl_import_no_memory(r->file, r->err);
    return copy ? copy : "";
}

/* NULL for null and for what is missing. */
static const char *get_text(reader *r, const json_t *o, const char *name)
{
    const json_t *value = json_object_get(o, name);
    if (!value || json_is_null(value))
        return NULL;
    if (json_is_string(value))
        return keep(r, json_string_value(value));
    fail(r, name, "is no text");
    return NULL;
}

static const char *must_text(reader *r, const json_t *o, const char *name)
{
    const char *text = get_text(r, o, name);
    if (!text)
        fail(r, name, "is missing");
    return text ? text : "";
}

static double get_real(reader *r, const json_t *o, const char *name)
{
    const json_t *value = json_object_get(o, name);
    if (!value || json_is_null(value))
        return NAN;
    if (!json_is_number(value))
        fail(r, name, "is no number");
    return json_number_value(value);
}

static int64_t get_int(reader *r, const json_t *o, const char *name, int64_t missing)
{
    const json_t *value = json_object_get(o, name);
    if (!value || json_is_null(value))
        return missing;
    if (!json_is_integer(value))
        fail(r, name, "is no whole number");
    return json_integer_value(value);
}

static int64_t get_int_from(reader *r, const json_t *o, const char *name, int64_t least, int64_t most)
{
    int64_t value = get_int(r, o, name, INT64_MIN);
    if (value < least || value > most)
        fail(r, name, "is missing or out of range");
    return value;
}

static const json_t *get_array(reader *r, const json_t *o, const char *name)
{
    const json_t *value = json_object_get(o, name);
    if (!json_is_array(value))
        fail(r, name, "is no array");
    return value;
}

/* ---- settings ---- */

static void read_factors(reader *r, const json_t *o, bl_experiment *e)
{
    const json_t *array = get_array(r, o, "factors");
    size_t n = json_array_size(array);
    e->factors = take(r, n, sizeof *e->factors);
    for (size_t f = 0; r->code == BL_OK && f < n; f++) {
        const json_t *factor = json_array_get(array, f), *values = get_array(r, factor, "values");
        bl_stored_factor *out = &e->factors[e->n_factors++];
        out->name = must_text(r, factor, "name");
        out->values = take(r, json_array_size(values), sizeof *out->values);
        for (size_t v = 0; r->code == BL_OK && v < json_array_size(values); v++) {
            const char *text = json_string_value(json_array_get(values, v));
            if (!text)
                fail(r, "values", "holds what is no text");
            else
                bl_import_add_value(out, keep(r, text));
        }
    }
}

static void read_command(reader *r, const json_t *o, bl_experiment *e)
{
    const json_t *array = get_array(r, o, "command");
    e->command = take(r, json_array_size(array) + 1, sizeof *e->command);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(array); i++) { /* null: it was no UTF-8 */
        const char *text = json_string_value(json_array_get(array, i));
        char *copy = bl_arena_strdup(r->arena, text ? text : "?");
        if (!copy)
            r->code = bl_import_no_memory(r->file, r->err);
        e->command[e->n_command++] = copy;
    }
}

static void read_comparison(reader *r, const json_t *o, bl_comparison *out)
{
    const json_t *comparison = json_object_get(o, "comparison");
    *out = (bl_comparison){.confidence = NAN, .budget_s = NAN};
    if (!comparison || json_is_null(comparison))
        return;
    const json_t *pairs = get_array(r, comparison, "pairs");
    out->confidence = get_real(r, comparison, "confidence");
    out->budget_s = get_real(r, comparison, "budget_s");
    if (!(out->confidence > 0 && out->confidence < 1))
        fail(r, "confidence", "is not between 0 and 1");
    out->pairs = take(r, json_array_size(pairs), sizeof *out->pairs);
    for (size_t p = 0; r->code == BL_OK && p < json_array_size(pairs); p++) {
        const json_t *pair = json_array_get(pairs, p);
        int64_t a = json_integer_value(json_array_get(pair, 0)), b = json_integer_value(json_array_get(pair, 1));
        if (json_array_size(pair) != 2 || a < 0 || b < 0 || a == b)
            fail(r, "pairs", "holds what is no pair");
        out->pairs[out->n_pairs++] = (bl_stored_pair){(size_t)a, (size_t)b};
    }
}

static const char *dump(reader *r, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    const char *copy = keep(r, text ? text : "{}");
    free(text);
    return copy;
}

static void read_settings(reader *r, const json_t *o, bl_experiment *e)
{
    if (!json_is_object(o))
        fail(r, "experiment", "is missing");
    e->name = get_text(r, o, "name");
    e->workload = must_text(r, o, "workload");
    const char *state = get_text(r, o, "state");
    e->state = state && strcmp(state, "finished") == 0 ? BL_EXPERIMENT_FINISHED : BL_EXPERIMENT_INTERRUPTED;
    e->created_ns = get_int_from(r, o, "created_ns", 0, INT64_MAX);
    e->version = must_text(r, o, "batchlab_version");
    e->cwd = must_text(r, o, "cwd");
    e->git_revision = get_text(r, o, "git_revision");
    e->shell = json_is_true(json_object_get(o, "shell"));
    e->batch_from_env = json_is_true(json_object_get(o, "batch_from_env"));
    e->samples = get_text(r, o, "samples");
    e->blocks = get_int_from(r, o, "blocks", 1, BL_IMPORT_BLOCKS_MAX);
    e->steps = get_int_from(r, o, "steps", 0, INT64_MAX);
    e->warmup = get_int_from(r, o, "warmup", 0, INT64_MAX);
    e->seed = get_int(r, o, "seed", 0);
    e->time_s = get_real(r, o, "time_s");
    e->setup_s = get_real(r, o, "setup_s");
    e->margin = get_real(r, o, "margin");
    if (isnan(e->time_s) || isnan(e->setup_s))
        fail(r, "time_s, setup_s", "are missing");
    const json_t *driving = json_object_get(o, "driving");
    e->driving = json_is_object(driving) ? dump(r, driving) : NULL;
    read_command(r, o, e);
    read_factors(r, o, e);
    read_comparison(r, o, &e->comparison);
}

static void read_environment(reader *r, const json_t *root, bl_environment *out)
{
    const json_t *array = get_array(r, root, "environment");
    out->items = take(r, json_array_size(array), sizeof *out->items);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(array); i++) {
        const json_t *o = json_array_get(array, i);
        out->items[out->len++] = (bl_environment_item){.name = must_text(r, o, "name"),
                                                       .value = get_text(r, o, "value"),
                                                       .source = must_text(r, o, "source"),
                                                       .reason = get_text(r, o, "reason"),
                                                       .sitting = get_int(r, o, "sitting", 0)};
    }
}

/* ---- trials ---- */

static size_t read_case(reader *r, const bl_experiment *e, const json_t *o, const char *name)
{
    const json_t *factors = json_object_get(o, name);
    const char *values[16];
    for (size_t f = 0; f < e->n_factors && f < BL_ARRAY_LEN(values); f++) {
        values[f] = json_string_value(json_object_get(factors, e->factors[f].name));
        if (!values[f]) {
            fail(r, name, "lacks the value of a factor");
            return 0;
        }
    }
    size_t c = e->n_factors <= BL_ARRAY_LEN(values) ? bl_import_find_case(e, values) : SIZE_MAX;
    if (c == SIZE_MAX)
        fail(r, name, "are those of no case");
    return c;
}

static void read_steps(reader *r, const json_t *o, bl_trial_record *t)
{
    const json_t *array = json_object_get(o, "steps");
    size_t n = json_array_size(array);
    if (get_int(r, o, "n_steps", 0) != (int64_t)n) {
        fail(r, "steps", "are not all there");
        bl_error_remedy(r->err, "export it with its steps: batchlab export ID --format json");
        return;
    }
    t->steps = take(r, n, sizeof *t->steps);
    for (size_t i = 0; r->code == BL_OK && i < n; i++) {
        const json_t *step = json_array_get(array, i);
        t->steps[t->n_steps++] = (bl_stored_step){.samples = get_int_from(r, step, "samples", 1, INT64_MAX),
                                                  .end_ns = get_int(r, step, "end_ns", 0),
                                                  .time_ns = get_int(r, step, "time_ns", 0),
                                                  .wait_ns = get_int(r, step, "wait_ns", -1),
                                                  .loss = get_real(r, step, "loss")};
    }
}

static bl_named_value *read_values(reader *r, const json_t *o, const char *name, size_t *n)
{
    json_t *object = json_object_get(o, name), *value;
    const char *key;
    bl_named_value *out = take(r, json_object_size(object), sizeof *out);
    json_object_foreach(object, key, value)
    {
        if (r->code != BL_OK)
            break;
        out[(*n)++] =
            (bl_named_value){.name = keep(r, key), .value = json_is_number(value) ? json_number_value(value) : NAN};
    }
    return out;
}

static void read_evidence(reader *r, const json_t *o, bl_trial_record *t)
{
    const json_t *array = json_object_get(o, "evidence");
    t->evidence = take(r, json_array_size(array), sizeof *t->evidence);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        t->evidence[t->n_evidence++] = (bl_stored_evidence){.source = must_text(r, item, "source"),
                                                            .text = must_text(r, item, "text"),
                                                            .decided = json_is_true(json_object_get(item, "decided"))};
    }
}

/* Squared norms of gradients over batches of two sizes. */
static void read_noise(reader *r, const json_t *o, bl_trial_record *t)
{
    const json_t *array = json_object_get(o, "gradient_noise");
    t->noise = take(r, json_array_size(array), sizeof *t->noise);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        bl_stored_noise *n = &t->noise[t->n_noise++];
        *n = (bl_stored_noise){.after_steps = get_int_from(r, item, "after_steps", 0, INT64_MAX),
                               .norms = {.small_n = get_real(r, item, "small"),
                                         .big_n = get_real(r, item, "big"),
                                         .small_sq = get_real(r, item, "small_sq"),
                                         .big_sq = get_real(r, item, "big_sq")},
                               .scaled = json_is_true(json_object_get(item, "scaled")),
                               .t_ns = get_int(r, item, "t_ns", 0)};
        if (!(n->norms.small_n > 0 && n->norms.big_n > n->norms.small_n && n->norms.small_sq >= 0 &&
              n->norms.big_sq >= 0))
            fail(r, "gradient_noise", "holds numbers that make no sense");
    }
}

static void read_trial(reader *r, const bl_experiment *e, const json_t *o, bl_trial_record *t)
{
    *t = bl_import_trial();
    t->case_index = read_case(r, e, o, "factors");
    t->block = (size_t)get_int_from(r, o, "block", 1, e->blocks) - 1;
    t->position = (size_t)get_int_from(r, o, "position", 1, BL_IMPORT_CASES_MAX) - 1;
    if (json_is_object(json_object_get(o, "predecessor")))
        t->predecessor = (int64_t)read_case(r, e, o, "predecessor");
    t->outcome = must_text(r, o, "outcome");
    t->reason = get_text(r, o, "reason");
    t->started_ns = get_int_from(r, o, "started_ns", 0, INT64_MAX);
    t->wall_s = get_real(r, o, "wall_s");
    t->user_s = get_real(r, o, "user_s");
    t->system_s = get_real(r, o, "system_s");
    t->cpu_note = get_text(r, o, "cpu_note");
    t->peak_memory_b = get_real(r, o, "peak_memory_b");
    t->memory_note = get_text(r, o, "memory_note");
    int64_t status = get_int(r, o, "exit_status", -1), signal = get_int(r, o, "exit_signal", 0);
    if (status < -1 || status > 255 || signal < 0 || signal > 255)
        fail(r, "exit_status", "is out of range");
    t->exit_status = (int)status;
    t->exit_signal = (int)signal;
    t->ended_by_budget = json_is_true(json_object_get(o, "ended_by_budget"));
    t->run_samples = get_real(r, o, "run_samples");
    t->step_source = must_text(r, o, "step_source");
    t->step_note = get_text(r, o, "step_note");
    t->memory_kind = get_text(r, o, "memory_kind");
    t->phase = get_text(r, o, "phase");
    t->program = get_text(r, o, "program");
    t->program_version = get_text(r, o, "program_version");
    t->precision = get_text(r, o, "precision");
    t->ranks = get_int(r, o, "ranks", 0);
    t->output_tail = get_text(r, o, "output_tail");
    t->memory = read_values(r, o, "memory", &t->n_memory);
    t->metrics = read_values(r, o, "metrics", &t->n_metrics);
    read_evidence(r, o, t);
    read_noise(r, o, t);
    read_steps(r, o, t);
}

static void read_root(reader *r, const json_t *root, bl_experiment *e)
{
    const char *format = get_text(r, root, "format");
    if (!format || strcmp(format, "batchlab experiment") != 0)
        fail(r, "format", "is not \"batchlab experiment\"");
    if (r->code != BL_OK) {
        bl_error_remedy(r->err, "batchlab import reads what batchlab export --format json and hyperfine --export-json "
                                "write, and CSV");
        return;
    }
    get_int_from(r, root, "format_version", 1, 1);
    read_settings(r, json_object_get(root, "experiment"), e);
    read_environment(r, root, &e->environment);
    if (r->code == BL_OK)
        r->code = bl_import_check(r->file, e, r->err);
    const json_t *trials = r->code == BL_OK ? get_array(r, root, "trials") : NULL;
    e->trials = take(r, json_array_size(trials), sizeof *e->trials);
    for (size_t i = 0; r->code == BL_OK && i < json_array_size(trials); i++) {
        snprintf(r->where, sizeof r->where, "trial %zu: ", i + 1);
        read_trial(r, e, json_array_get(trials, i), &e->trials[e->n_trials++]);
    }
}

int bl_import_json(const bl_import_file *file, bl_arena *arena, bl_experiment *out, bl_error *err)
{
    json_error_t error;
    reader r = {.file = file, .arena = arena, .err = err};
    json_t *root = json_loads(file->text, 0, &error);
    *out = (bl_experiment){0};
    if (!root)
        return BL_FAIL(err, BL_ERR_FORMAT, "%s:%d: %s", file->name, error.line, error.text);
    read_root(&r, root, out);
    json_decref(root);
    return r.code == BL_OK ? bl_import_check(file, out, err) : r.code;
}
