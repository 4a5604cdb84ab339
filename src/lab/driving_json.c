/* Settings to and from the store. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/driving_parts.h"

static int no_memory(bl_error *err)
{
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the settings");
}

static int take_rules(const json_t *value, bl_driving *driving, bl_error *err)
{
    bl_str_append(&driving->rules_text, json_is_string(value) ? json_string_value(value) : "");
    if (driving->rules_text.failed)
        return no_memory(err);
    return bl_rules_add_text(driving->rules, bl_str_text(&driving->rules_text), "the experiment's rules", err);
}

static int take_flag(const json_t *value, bool *out, bl_error *err)
{
    *out = json_is_true(value);
    return json_is_boolean(value) ? BL_OK : BL_FAIL(err, BL_ERR_FORMAT, "a setting of the experiment makes no sense");
}

static int take_progress(const json_t *value, bl_driving *driving, bl_error *err)
{
    return take_flag(value, &driving->progress, err);
}

static int take_progress_samples(const json_t *value, bl_driving *driving, bl_error *err)
{
    return take_flag(value, &driving->progress_samples, err);
}

static int take_pty(const json_t *value, bl_driving *driving, bl_error *err)
{
    return take_flag(value, &driving->pty, err);
}

static int take_texts(const json_t *value, bl_strv *out, bl_error *err)
{
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *text = json_string_value(json_array_get(value, i));
        if (bl_strv_push(out, text ? text : "") != BL_OK)
            return no_memory(err);
    }
    return BL_OK;
}

static int take_regexes(const json_t *value, bl_driving *driving, bl_error *err)
{
    return take_texts(value, &driving->progress_regexes, err);
}

static int take_metric_regexes(const json_t *value, bl_driving *driving, bl_error *err)
{
    return take_texts(value, &driving->metric_regexes, err);
}

static int take_silence(const json_t *value, bl_driving *driving, bl_error *err)
{
    driving->silence_s = json_number_value(value);
    return BL_OK;
}

static int take_memory_limit(const json_t *value, bl_driving *driving, bl_error *err)
{
    driving->memory_limit_b = (uint64_t)json_integer_value(value);
    return BL_OK;
}

static int take_turn_steps(const json_t *value, bl_driving *driving, bl_error *err)
{
    driving->turn_steps = json_integer_value(value);
    return driving->turn_steps >= 1 && driving->turn_steps <= BL_TURN_STEPS_MAX
               ? BL_OK
               : BL_FAIL(err, BL_ERR_FORMAT, "the experiment's turns make no sense");
}

static int take_until(const json_t *value, bl_driving *driving, bl_error *err)
{
    const char *text = json_string_value(value);
    return text && bl_target_parse(text, &driving->until)
               ? BL_OK
               : BL_FAIL(err, BL_ERR_FORMAT, "the experiment's target makes no sense");
}

/* Of experiments from before there were other targets than losses. */
static int take_until_loss(const json_t *value, bl_driving *driving, bl_error *err)
{
    driving->until = (bl_target){.name = "loss", .value = json_number_value(value), .falls = true};
    return BL_OK;
}

static int take_losing(const json_t *value, bl_driving *driving, bl_error *err)
{
    driving->losing = json_number_value(value);
    return BL_OK;
}

static int take_setup(const json_t *value, bl_driving *driving, bl_error *err)
{
    return bl_driving_copy(json_string_value(value), &driving->setup, err);
}

static int take_prepare(const json_t *value, bl_driving *driving, bl_error *err)
{
    return bl_driving_copy(json_string_value(value), &driving->prepare, err);
}

static int take_cleanup(const json_t *value, bl_driving *driving, bl_error *err)
{
    return bl_driving_copy(json_string_value(value), &driving->cleanup, err);
}

static int take_search(const json_t *value, bl_driving *driving, bl_error *err)
{
    const json_t *budget = json_object_get(value, "budget_b");
    driving->search = (bl_largest_limits){.min = json_integer_value(json_object_get(value, "min")),
                                          .max = json_integer_value(json_object_get(value, "max")),
                                          .multiple = json_integer_value(json_object_get(value, "multiple_of")),
                                          .budget_b = json_is_number(budget) ? json_number_value(budget) : NAN,
                                          .headroom = json_number_value(json_object_get(value, "headroom"))};
    return bl_largest_first(&driving->search) > 0 ? BL_OK
                                                  : BL_FAIL(err, BL_ERR_FORMAT, "the search's limits make no sense");
}

static const struct {
    const char *name;

    int (*take)(const json_t *, bl_driving *, bl_error *);
} members[] = {
    {"rules", take_rules},
    {"progress", take_progress},
    {"progress_regexes", take_regexes},
    {"progress_samples", take_progress_samples},
    {"metric_regexes", take_metric_regexes},
    {"pty", take_pty},
    {"silence_s", take_silence},
    {"memory_limit_b", take_memory_limit},
    {"turn_steps", take_turn_steps},
    {"until", take_until},
    {"until_loss", take_until_loss},
    {"stop_losing", take_losing},
    {"setup", take_setup},
    {"prepare", take_prepare},
    {"cleanup", take_cleanup},
    {"search", take_search},
};

int bl_driving_from_json(const char *json, bl_driving *driving, bl_error *err)
{
    int code = bl_driving_begin(driving, err);
    json_t *object = json ? json_loads(json, JSON_REJECT_DUPLICATES, NULL) : json_object();
    if (code == BL_OK && !json_is_object(object))
        code = BL_FAIL(err, BL_ERR_FORMAT, "the experiment's settings cannot be read");
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        size_t i = 0;
        while (i < BL_ARRAY_LEN(members) && strcmp(members[i].name, name) != 0)
            i++;
        if (code == BL_OK && i == BL_ARRAY_LEN(members))
            code = BL_FAIL(err, BL_ERR_FORMAT, "the experiment was begun with '%s', which this batchlab does not know",
                           name);
        if (code == BL_OK)
            code = members[i].take(value, driving, err);
    }
    json_decref(object);
    return code == BL_OK ? bl_driving_make_formats(driving, err) : code;
}

static int set_search(const bl_largest_limits *s, json_t *object)
{
    if (s->max == 0)
        return 0;
    return json_object_set_new(object, "search",
                               json_pack("{s:I, s:I, s:I, s:o, s:f}", "min", (json_int_t)s->min, "max",
                                         (json_int_t)s->max, "multiple_of", (json_int_t)s->multiple, "budget_b",
                                         isfinite(s->budget_b) ? json_real(s->budget_b) : json_null(), "headroom",
                                         s->headroom));
}

bool bl_driving_is_search(const char *json)
{
    json_t *object = json ? json_loads(json, 0, NULL) : NULL;
    bool is = json_object_get(object, "search") != NULL;
    json_decref(object);
    return is;
}

static int set_surroundings(const bl_driving *driving, json_t *object)
{
    const struct {
        const char *name, *text;
    } commands[] = {{"setup", driving->setup}, {"prepare", driving->prepare}, {"cleanup", driving->cleanup}};
    int bad = 0;
    if (driving->silence_s > 0)
        bad |= json_object_set_new(object, "silence_s", json_real(driving->silence_s));
    if (driving->turn_steps > 0)
        bad |= json_object_set_new(object, "turn_steps", json_integer((json_int_t)driving->turn_steps));
    if (driving->memory_limit_b > 0)
        bad |= json_object_set_new(object, "memory_limit_b", json_integer((json_int_t)driving->memory_limit_b));
    if (driving->until.name[0])
        bad |=
            json_object_set_new(object, "until", json_sprintf("%s=%.17g", driving->until.name, driving->until.value));
    if (driving->losing > 0)
        bad |= json_object_set_new(object, "stop_losing", json_real(driving->losing));
    for (size_t i = 0; i < BL_ARRAY_LEN(commands); i++)
        if (commands[i].text)
            bad |= json_object_set_new(object, commands[i].name, json_string(commands[i].text));
    return bad;
}

static int set_texts(const bl_strv *texts, const char *name, json_t *object)
{
    if (texts->len == 0)
        return 0;
    int bad = 0;
    json_t *array = json_array();
    for (size_t i = 0; i < texts->len; i++)
        bad |= json_array_append_new(array, json_string(texts->items[i]));
    return bad | json_object_set_new(object, name, array);
}

/* NULL where a text is no UTF-8. Only what is not the default, so that an experiment's settings stay readable. */
static json_t *make_object(const bl_driving *driving)
{
    json_t *object = json_object();
    int bad = 0;
    if (driving->rules_text.len > 0)
        bad |= json_object_set_new(object, "rules", json_string(driving->rules_text.data));
    if (!driving->progress)
        bad |= json_object_set_new(object, "progress", json_false());
    bad |= set_texts(&driving->progress_regexes, "progress_regexes", object);
    bad |= set_texts(&driving->metric_regexes, "metric_regexes", object);
    if (driving->progress_samples)
        bad |= json_object_set_new(object, "progress_samples", json_true());
    if (driving->pty)
        bad |= json_object_set_new(object, "pty", json_true());
    bad |= set_surroundings(driving, object);
    bad |= set_search(&driving->search, object);
    if (bad) {
        json_decref(object);
        return NULL;
    }
    return object;
}

int bl_driving_to_json(const bl_driving *driving, bl_str *out, bl_error *err)
{
    json_t *object = make_object(driving);
    if (!object)
        return BL_FAIL(err, BL_ERR_USAGE, "patterns, rules and commands must be UTF-8, since they are stored as JSON");
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(object);
    if (!text)
        return no_memory(err);
    bl_str_append(out, text);
    free(text);
    return out->failed ? no_memory(err) : BL_OK;
}
