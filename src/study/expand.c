/* From a study to the command lines of one scale: variables filled in, options held against the commands' tables. */
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "base/parse.h"
#include "study/keys.h"
#include "study/study.h"
#include "study/tree.h"

enum { MAX_TEXT_B = 65536, MAX_DEPTH = 8 };

typedef struct planning {
    const bl_study *study;
    const bl_node *vars, *scale_vars;
    const bl_study_value *values;
    size_t n_values;
    const bl_study_commands *commands;
    const char *earlier[256]; /* names of the steps that were planned already */
    size_t n_earlier;
    bl_arena *arena;
    bl_error *err;
} planning;

static int no_memory(const planning *p)
{
    return BL_FAIL(p->err, BL_ERR_NOMEM, "no memory for '%s'", p->study->name);
}

#define REFUSE(p, node, ...) bl_node_fail((node), (p)->study->name, (p)->err, __VA_ARGS__)

/* ---- variables ---- */

/* The file's value of a variable: the scale's before the common one. */
static const bl_node *find_var(const planning *p, const char *name)
{
    const bl_node *node = bl_node_get(p->scale_vars, name);
    return node ? node : bl_node_get(p->vars, name);
}

static const char *find_value(const planning *p, const char *name)
{
    for (size_t i = p->n_values; i-- > 0;)
        if (strcmp(p->values[i].name, name) == 0)
            return p->values[i].value;
    return NULL;
}

static int expand(const planning *p, const bl_node *where, const char *text, int depth, bl_str *out);

static bool is_earlier(const planning *p, const char *name)
{
    for (size_t i = 0; i < p->n_earlier; i++)
        if (strcmp(p->earlier[i], name) == 0)
            return true;
    return false;
}

static int fail_unknown_variable(const planning *p, const bl_node *where, const char *name)
{
    bl_str known;
    bl_str_init(&known);
    bl_str_append(&known, "here");
    const bl_node *const both[] = {p->scale_vars, p->vars};
    for (size_t b = 0; b < BL_ARRAY_LEN(both); b++)
        for (size_t i = 0; both[b] && i < both[b]->n; i++)
            bl_str_printf(&known, ", %s", both[b]->keys[i]->text);
    REFUSE(p, where, "there is no variable '%s' in this scale", name);
    bl_error_remedy(p->err, "there are: %s", bl_str_text(&known));
    bl_str_clear(&known);
    return BL_ERR_FORMAT;
}

static int expand_name(const planning *p, const bl_node *where, const char *name, int depth, bl_str *out)
{
    if (strncmp(name, "id.", 3) == 0) {
        if (!is_earlier(p, name + 3))
            return REFUSE(p, where, "no earlier step of this scale is called '%s'", name + 3);
        bl_str_printf(out, "${%s}", name);
        return BL_OK;
    }
    const char *value = find_value(p, name);
    const bl_node *node = find_var(p, name);
    if (value) {
        bl_str_append(out, value);
        return BL_OK;
    }
    if (!node)
        return fail_unknown_variable(p, where, name);
    if (depth >= MAX_DEPTH)
        return REFUSE(p, where, "'%s' stands for itself, or variables for variables too often", name);
    if (node->kind == BL_NODE_TEXT)
        return expand(p, node, node->text, depth + 1, out);
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < node->n; i++) {
        if (i > 0)
            bl_str_append_c(out, ',');
        code = expand(p, node->items[i], node->items[i]->text, depth + 1, out);
    }
    return code;
}

static int expand(const planning *p, const bl_node *where, const char *text, int depth, bl_str *out)
{
    while (*text) {
        const char *dollar = strstr(text, "${");
        if (!dollar) {
            bl_str_append(out, text);
            break;
        }
        if (dollar > text && dollar[-1] == '$') { /* $${ is ${ itself, for a shell */
            bl_str_append_n(out, text, (size_t)(dollar - 1 - text));
            bl_str_append(out, "${");
            text = dollar + 2;
            continue;
        }
        bl_str_append_n(out, text, (size_t)(dollar - text));
        size_t n = strcspn(dollar + 2, "}");
        char name[80];
        if (dollar[2 + n] != '}' || n == 0 || n >= sizeof name)
            return REFUSE(p, where, "'${' wants a variable's name and '}'; $${ is ${ itself");
        memcpy(name, dollar + 2, n);
        name[n] = '\0';
        int code = expand_name(p, where, name, depth, out);
        if (code != BL_OK)
            return code;
        if (out->len > MAX_TEXT_B)
            return REFUSE(p, where, "this becomes too long a text");
        text = dollar + 3 + n;
    }
    return out->failed ? no_memory(p) : BL_OK;
}

/* The whole text of a node with its variables filled in, the arena's. */
static int filled(const planning *p, const bl_node *node, const char **out)
{
    bl_str text;
    bl_str_init(&text);
    int code = expand(p, node, node->text, 0, &text);
    if (code == BL_OK) {
        *out = bl_arena_strdup(p->arena, bl_str_text(&text));
        code = *out ? BL_OK : no_memory(p);
    }
    bl_str_clear(&text);
    return code;
}

static int push_filled(const planning *p, const bl_node *node, bl_strv *out)
{
    const char *text;
    int code = filled(p, node, &text);
    if (code == BL_OK && bl_strv_push(out, text) != BL_OK)
        code = no_memory(p);
    return code;
}

/* "${NAME}" and nothing else, NAME being a list that is not set from outside: the list. */
static const bl_node *whole_list(const planning *p, const bl_node *item)
{
    size_t len = strlen(item->text);
    char name[80];
    if (len < 4 || len - 3 >= sizeof name || strncmp(item->text, "${", 2) != 0 || item->text[len - 1] != '}')
        return NULL;
    memcpy(name, item->text + 2, len - 3);
    name[len - 3] = '\0';
    const bl_node *node = find_value(p, name) ? NULL : find_var(p, name);
    return node && node->kind == BL_NODE_LIST ? node : NULL;
}

static int push_list(const planning *p, const bl_node *list, bl_strv *out)
{
    int code = BL_OK;
    for (size_t i = 0; list && code == BL_OK && i < list->n; i++) {
        const bl_node *inner = whole_list(p, list->items[i]);
        for (size_t k = 0; inner && code == BL_OK && k < inner->n; k++)
            code = push_filled(p, inner->items[k], out);
        if (!inner)
            code = push_filled(p, list->items[i], out);
    }
    return code;
}

/* ---- options ---- */

static const bl_option *find_option(const bl_command *command, const char *name)
{
    for (int i = 0; i < command->n_options; i++)
        if (command->options[i].kind != BL_OPT_GROUP && command->options[i].long_name &&
            strcmp(command->options[i].long_name, name) == 0)
            return &command->options[i];
    return NULL;
}

static int fail_unknown_option(const planning *p, const bl_command *command, const bl_node *key)
{
    const char *names[128];
    size_t n = 0;
    for (int i = 0; i < command->n_options && n < BL_ARRAY_LEN(names); i++)
        if (command->options[i].kind != BL_OPT_GROUP && command->options[i].long_name)
            names[n++] = command->options[i].long_name;
    const char *nearest = bl_nearest(key->text, names, n);
    REFUSE(p, key, "batchlab %s has no option '%s'", command->name, key->text);
    if (nearest)
        bl_error_remedy(p->err, "%s", nearest);
    else
        bl_error_remedy(p->err, "batchlab %s --help lists them", command->name);
    return BL_ERR_FORMAT;
}

/* Whether a value is what the table wants, before anything runs. Ids are known only later. */
static int check_value(const planning *p, const bl_option *o, const bl_node *node, const char *value)
{
    bl_error problem = {0};
    int64_t whole;
    double number;
    uint64_t size;
    bool limited = o->min != 0 || o->max != 0;
    int code = BL_OK;
    if (o->kind == BL_OPT_INT)
        code = bl_parse_i64(value, o->long_name, limited ? o->min : INT64_MIN, limited ? o->max : INT64_MAX, &whole,
                            &problem);
    else if (o->kind == BL_OPT_FLOAT)
        code = bl_parse_f64(value, o->long_name, &number, &problem);
    else if (o->kind == BL_OPT_DURATION)
        code = bl_parse_duration(value, o->long_name, &number, &problem);
    else if (o->kind == BL_OPT_SIZE)
        code = bl_parse_size(value, o->long_name, &size, &problem);
    if (code == BL_OK)
        return BL_OK;
    REFUSE(p, node, "%s", problem.message);
    bl_error_remedy(p->err, "%s", problem.remedy);
    return BL_ERR_FORMAT;
}

static int push_option(const planning *p, const bl_option *o, const bl_node *node, const char *value, bl_strv *out)
{
    int code = check_value(p, o, node, value);
    char word[96];
    snprintf(word, sizeof word, "--%s", o->long_name);
    if (code != BL_OK)
        return code;
    if (value[0] != '-')
        return bl_strv_push(out, word) == BL_OK && bl_strv_push(out, value) == BL_OK ? BL_OK : no_memory(p);
    /* One word, lest the value be taken for an option. */
    bl_str joined;
    bl_str_init(&joined);
    bl_str_printf(&joined, "%s=%s", word, value);
    code = !joined.failed && bl_strv_push(out, bl_str_text(&joined)) == BL_OK ? BL_OK : no_memory(p);
    bl_str_clear(&joined);
    return code;
}

static int add_flag(const planning *p, const bl_option *o, const bl_node *value, bl_strv *out)
{
    const char *text = NULL;
    int code = value->kind == BL_NODE_TEXT ? filled(p, value, &text) : BL_OK;
    if (code != BL_OK)
        return code;
    const bl_node shown = {.kind = BL_NODE_TEXT, .text = text};
    bool on = false;
    if (!text || !bl_node_bool(&shown, &on))
        return REFUSE(p, value, "%s must be true or false", o->long_name);
    char word[96];
    snprintf(word, sizeof word, on ? "--%s" : "--no-%s", o->long_name);
    return bl_strv_push(out, word) == BL_OK ? BL_OK : no_memory(p);
}

/* A list is one text of its items with commas between, but for an option that may be given several times. */
static int add_list(const planning *p, const bl_option *o, const bl_node *value, bl_strv *out)
{
    bl_strv items;
    bl_strv_init(&items);
    bl_str joined;
    bl_str_init(&joined);
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < value->n; i++)
        if (value->items[i]->kind != BL_NODE_TEXT)
            code = REFUSE(p, value->items[i], "each item of %s must be a text", o->long_name);
    if (code == BL_OK && value->n == 0)
        code = REFUSE(p, value, "%s is empty", o->long_name);
    if (code == BL_OK)
        code = push_list(p, value, &items);
    for (size_t i = 0; code == BL_OK && i < items.len; i++) {
        if (o->kind == BL_OPT_STRINGS)
            code = push_option(p, o, value, items.items[i], out);
        else
            bl_str_printf(&joined, "%s%s", i ? "," : "", items.items[i]);
    }
    if (code == BL_OK && joined.failed)
        code = no_memory(p);
    if (code == BL_OK && o->kind != BL_OPT_STRINGS)
        code = push_option(p, o, value, bl_str_text(&joined), out);
    bl_str_clear(&joined);
    bl_strv_clear(&items);
    return code;
}

static int add_option(const planning *p, const bl_command *command, const bl_node *key, const bl_node *value,
                      bl_strv *out)
{
    const bl_option *o = find_option(command, key->text);
    if (!o)
        return fail_unknown_option(p, command, key);
    if (o->kind == BL_OPT_FLAG)
        return add_flag(p, o, value, out);
    if (value->kind == BL_NODE_LIST)
        return add_list(p, o, value, out);
    if (value->kind != BL_NODE_TEXT)
        return REFUSE(p, value, "%s must be a text or a list of texts", o->long_name);
    const char *text;
    int code = filled(p, value, &text);
    return code == BL_OK ? push_option(p, o, value, text, out) : code;
}

/* ---- steps ---- */

static const bl_command *find_command(const planning *p, const bl_node *node)
{
    const bl_command *command = p->commands->find(node->text, p->commands->context);
    if (command)
        return command;
    const char *nearest = bl_nearest(node->text, p->commands->names, p->commands->n_names);
    REFUSE(p, node, "a step cannot be the command '%s'", node->text);
    if (nearest)
        bl_error_remedy(p->err, "%s", nearest);
    else
        bl_error_remedy(p->err, "batchlab --help lists the commands");
    return NULL;
}

static int fill_words(const planning *p, const bl_node *step, const bl_command *command, bl_strv *words)
{
    const bl_node *options = bl_node_get(step, "options"), *run = bl_node_get(step, "run");
    int code = BL_OK;
    for (size_t i = 0; options && code == BL_OK && i < options->n; i++)
        code = add_option(p, command, options->keys[i], options->items[i], words);
    if (code == BL_OK)
        code = push_list(p, bl_node_get(step, "operands"), words);
    if (code == BL_OK && run && run->n > 0)
        code = bl_strv_push(words, "--") == BL_OK ? push_list(p, run, words) : no_memory(p);
    return code;
}

static int make_step(planning *p, const bl_node *step, bl_study_step *out)
{
    const bl_node *about = bl_node_get(step, "about"), *expects = bl_node_get(step, "expect-failures");
    const bl_command *command = find_command(p, bl_node_get(step, "command"));
    bl_strv words;
    bl_strv_init(&words);
    *out = (bl_study_step){.name = bl_node_get(step, "name")->text, .about = about ? about->text : NULL};
    int code = command ? fill_words(p, step, command, &words) : BL_ERR_FORMAT;
    if (code == BL_OK) {
        out->command = command->name;
        out->argc = words.len;
        out->argv = bl_arena_alloc(p->arena, words.len + 1, sizeof *out->argv);
        code = out->argv ? BL_OK : no_memory(p);
    }
    for (size_t i = 0; code == BL_OK && i < words.len; i++) {
        out->argv[i] = bl_arena_strdup(p->arena, words.items[i]);
        code = out->argv[i] ? BL_OK : no_memory(p);
    }
    if (expects)
        bl_node_bool(expects, &out->expect_failures);
    bl_strv_clear(&words);
    if (code == BL_OK && p->n_earlier < BL_ARRAY_LEN(p->earlier))
        p->earlier[p->n_earlier++] = out->name;
    return code;
}

static bool in_scale(const bl_node *step, const char *scale)
{
    const bl_node *scales = bl_node_get(step, "scales");
    for (size_t i = 0; scales && i < scales->n; i++)
        if (strcmp(scales->items[i]->text, scale) == 0)
            return true;
    return !scales;
}

static int check_values(const planning *p)
{
    for (size_t i = 0; i < p->n_values; i++)
        if (strcmp(p->values[i].name, "here") != 0 && !find_var(p, p->values[i].name)) {
            BL_FAIL(p->err, BL_ERR_USAGE, "'%s' has no variable '%s' to set in this scale", p->study->name,
                    p->values[i].name);
            bl_error_remedy(p->err, "see vars: and scales: in the file");
            return BL_ERR_USAGE;
        }
    return BL_OK;
}

int bl_study_plan_make(const bl_study *study, const char *scale, const bl_study_value *values, size_t n_values,
                       const bl_study_commands *commands, bl_arena *arena, bl_study_plan *out, bl_error *err)
{
    const bl_node *scales = bl_node_get(study->root, "scales"), *steps = bl_node_get(study->root, "steps");
    planning p = {.study = study,
                  .vars = bl_node_get(study->root, "vars"),
                  .scale_vars = bl_node_get(scales, scale),
                  .values = values,
                  .n_values = n_values,
                  .commands = commands,
                  .arena = arena,
                  .err = err};
    *out = (bl_study_plan){0};
    if (!p.scale_vars) {
        const char *nearest = bl_nearest(scale, study->scales, study->n_scales);
        BL_FAIL(err, BL_ERR_USAGE, "'%s' has no scale '%s'", study->name, scale);
        bl_error_remedy(err, "--scale %s", nearest ? nearest : study->scales[0]);
        return BL_ERR_USAGE;
    }
    int code = check_values(&p);
    out->steps = bl_arena_alloc(arena, steps->n, sizeof *out->steps);
    if (code == BL_OK && !out->steps)
        code = no_memory(&p);
    for (size_t i = 0; code == BL_OK && i < steps->n; i++) {
        if (!in_scale(steps->items[i], scale))
            continue;
        code = make_step(&p, steps->items[i], &out->steps[out->n_steps]);
        out->n_steps += code == BL_OK ? 1 : 0;
    }
    return code;
}

int bl_study_fill_ids(const char *word, bl_study_id *id, void *context, bl_str *out, bl_error *err)
{
    for (const char *at = word; *at;) {
        const char *start = strstr(at, "${id.");
        const char *end = start ? strchr(start, '}') : NULL;
        if (!end) {
            bl_str_append(out, at);
            break;
        }
        char name[80];
        snprintf(name, sizeof name, "%.*s", (int)(end - start - 5 < 79 ? end - start - 5 : 79), start + 5);
        long long number = id(name, context);
        if (number <= 0)
            return BL_FAIL(err, BL_ERR_FAILED, "step '%s' has stored no experiment, whose number is wanted here", name);
        bl_str_append_n(out, at, (size_t)(start - at));
        bl_str_printf(out, "%lld", number);
        at = end + 1;
    }
    return out->failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for a command line") : BL_OK;
}
