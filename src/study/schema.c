/* The JSON Schema of experiment files, out of the tables that check them. */
#include <jansson.h>
#include <stdlib.h>

#include "study/keys.h"
#include "study/study.h"

/* A text, or a number or truth that YAML reads as such: all are texts to a command line. */
static json_t *scalar(void)
{
    return json_pack("{s:[s,s,s]}", "type", "string", "number", "boolean");
}

static json_t *list_of(json_t *items)
{
    return json_pack("{s:s, s:o}", "type", "array", "items", items);
}

static json_t *word(void)
{
    return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[A-Za-z0-9_-]+$");
}

static json_t *vars(void)
{
    return json_pack("{s:[s,s], s:{s:s}, s:{s:[o,o]}}", "type", "object", "null", "propertyNames", "pattern",
                     "^[A-Za-z0-9_-]+$", "additionalProperties", "anyOf", scalar(), list_of(scalar()));
}

static json_t *object_of(const bl_key *keys, size_t n);

static json_t *value_of(const bl_key *key)
{
    switch (key->kind) {
    case BL_KEY_VERSION:
        return json_pack("{s:i}", "const", 1);
    case BL_KEY_TEXT:
        return scalar();
    case BL_KEY_WORD:
        return word();
    case BL_KEY_BOOL:
        return json_pack("{s:s}", "type", "boolean");
    case BL_KEY_WORDS:
        return list_of(scalar());
    case BL_KEY_NAMES:
        return list_of(word());
    case BL_KEY_VARS:
        return vars();
    case BL_KEY_SCALES:
        return json_pack("{s:s, s:i, s:o}", "type", "object", "minProperties", 1, "additionalProperties", vars());
    case BL_KEY_STEPS: {
        json_t *list = list_of(json_pack("{s:s}", "$ref", "#/$defs/step"));
        json_object_set_new(list, "minItems", json_integer(1));
        return list;
    }
    case BL_KEY_OPTIONS:
        break;
    }
    return json_pack("{s:s}", "type", "object"); /* more is said for each command */
}

static json_t *object_of(const bl_key *keys, size_t n)
{
    json_t *properties = json_object(), *required = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *value = value_of(&keys[i]);
        json_object_set_new(value, "description", json_string(keys[i].help));
        json_object_set_new(properties, keys[i].name, value);
        if (keys[i].required)
            json_array_append_new(required, json_string(keys[i].name));
    }
    return json_pack("{s:s, s:b, s:o, s:o}", "type", "object", "additionalProperties", 0, "required", required,
                     "properties", properties);
}

static json_t *option_value(const bl_option *o)
{
    json_t *value;
    if (o->kind == BL_OPT_FLAG)
        value = json_pack("{s:[s,s]}", "type", "boolean", "string");
    else if (o->kind == BL_OPT_INT || o->kind == BL_OPT_FLOAT)
        value = json_pack("{s:[s,s]}", "type", o->kind == BL_OPT_INT ? "integer" : "number", "string");
    else
        value = json_pack("{s:[o,o]}", "anyOf", scalar(), list_of(scalar()));
    json_object_set_new(value, "description", json_string(o->help));
    return value;
}

/* Where the command is this one, its options are these. */
static json_t *rule_of(const bl_command *command)
{
    json_t *properties = json_object();
    for (int i = 0; i < command->n_options; i++)
        if (command->options[i].kind != BL_OPT_GROUP && command->options[i].long_name)
            json_object_set_new(properties, command->options[i].long_name, option_value(&command->options[i]));
    return json_pack("{s:{s:{s:{s:s}}}, s:{s:{s:{s:s, s:b, s:o}}}}", "if", "properties", "command", "const",
                     command->name, "then", "properties", "options", "type", "object", "additionalProperties", 0,
                     "properties", properties);
}

int bl_study_schema(const bl_study_commands *commands, bl_str *out, bl_error *err)
{
    json_t *names = json_array(), *rules = json_array();
    for (size_t i = 0; i < commands->n_names; i++) {
        const bl_command *command = commands->find(commands->names[i], commands->context);
        json_array_append_new(names, json_string(commands->names[i]));
        if (command)
            json_array_append_new(rules, rule_of(command));
    }
    json_t *step = object_of(bl_step_keys, bl_step_n_keys);
    json_object_set_new(json_object_get(json_object_get(step, "properties"), "command"), "enum", names);
    json_object_set_new(step, "allOf", rules);
    json_t *root = json_pack("{s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
                             "An experiment file of batchlab");
    json_t *file = object_of(bl_study_keys, bl_study_n_keys);
    json_object_update(root, file);
    json_decref(file);
    json_object_set_new(root, "$defs", json_pack("{s:o}", "step", step));
    char *text = json_dumps(root, JSON_INDENT(1));
    json_decref(root);
    if (!text)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the schema");
    bl_str_append(out, text);
    bl_str_append_c(out, '\n');
    free(text);
    return BL_OK;
}
