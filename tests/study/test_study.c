#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "study/study.h"

static const bl_option options[] = {
    {BL_OPT_GROUP, 0, NULL, NULL, "What to measure", NULL, 0, 0},
    {BL_OPT_STRING, 'b', "batch", "LIST", "Sizes.", NULL, 0, 0},
    {BL_OPT_STRINGS, 'p', "param", "NAME=LIST", "Factors.", NULL, 0, 0},
    {BL_OPT_INT, 'n', "blocks", "N", "Blocks.", NULL, 1, 100},
    {BL_OPT_DURATION, 't', "time", "DURATION", "Time.", NULL, 0, 0},
    {BL_OPT_SIZE, 0, "memory-limit", "SIZE", "Memory.", NULL, 0, 0},
    {BL_OPT_FLOAT, 0, "price", "X", "Price.", NULL, 0, 0},
    {BL_OPT_FLAG, 0, "progress", NULL, "Bars.", NULL, 0, 0},
};
static const bl_command commands[] = {
    {.program = "batchlab", .name = "sweep", .options = options, .n_options = BL_ARRAY_LEN(options)},
    {.program = "batchlab", .name = "show", .options = options, .n_options = 1},
};
static const char *const names[] = {"sweep", "show"};

static const bl_command *find(const char *name, void *context)
{
    for (size_t i = 0; i < BL_ARRAY_LEN(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static const bl_study_commands all = {find, NULL, names, BL_ARRAY_LEN(names)};

#define HEAD "batchlab: 1\ntitle: T\nscales:\n  small: {sizes: [4, 5], n: 2}\n  full: {sizes: 8, n: 5}\n"

/* The steps' words, joined by blanks, a line a step; or the error. */
static void plan(const char *text, const char *scale, const char *set, bl_str *out, bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_study study;
    bl_study_plan steps;
    const bl_study_value values[] = {{"here", "/h"}, {"n", set}};
    bl_str_init(out);
    *err = (bl_error){0};
    int code = bl_study_parse(text, strlen(text), "f.yaml", &arena, &study, err);
    if (code == BL_OK)
        code = bl_study_plan_make(&study, scale, values, set ? 2 : 1, &all, &arena, &steps, err);
    for (size_t i = 0; code == BL_OK && i < steps.n_steps; i++) {
        bl_str_append(out, steps.steps[i].command);
        for (size_t w = 0; w < steps.steps[i].argc; w++)
            bl_str_printf(out, " %s", steps.steps[i].argv[w]);
        bl_str_append(out, "\n");
    }
    assert_int_equal(code, err->code);
    bl_arena_clear(&arena);
}

static void assert_plan(const char *text, const char *scale, const char *set, const char *wanted)
{
    bl_str out;
    bl_error err;
    plan(text, scale, set, &out, &err);
    assert_string_equal(err.message, "");
    assert_string_equal(bl_str_text(&out), wanted);
    bl_str_clear(&out);
}

static void a_step_becomes_a_command_line(void **state)
{
    static const char text[] =
        HEAD "vars:\n  script: [python3, '${here}/t.py', 'x${n}']\n  none: []\n"
             "steps:\n"
             "  - name: one\n    command: sweep\n"
             "    options: {batch: '${sizes}', param: ['a=1,2', 'b=${n}'], blocks: '${n}', progress: false}\n"
             "    run: ['${script}', '${none}', -b, '{batch}', '$${HOME}']\n"
             "  - name: two\n    command: show\n    scales: [small]\n    operands: ['${id.one}']\n";
    assert_plan(text, "small", NULL,
                "sweep --batch 4,5 --param a=1,2 --param b=2 --blocks 2 --no-progress -- python3 /h/t.py x2 -b {batch} "
                "${HOME}\n"
                "show ${id.one}\n");
    assert_plan(text, "full", NULL,
                "sweep --batch 8 --param a=1,2 --param b=5 --blocks 5 --no-progress -- python3 /h/t.py x5 -b {batch} "
                "${HOME}\n");
    assert_plan(text, "full", "7",
                "sweep --batch 8 --param a=1,2 --param b=7 --blocks 7 --no-progress -- python3 /h/t.py x7 -b {batch} "
                "${HOME}\n");
    assert_plan(HEAD "steps: [{name: a, command: sweep, options: {batch: -1, time: 2m, memory-limit: 8G, price: 0.5}}]",
                "small", NULL, "sweep --batch=-1 --time 2m --memory-limit 8G --price 0.5\n");
}

static void mistakes_are_told_by_line_and_column(void **state)
{
    static const struct {
        const char *text, *message, *remedy; /* parts of them */
    } cases[] = {
        {"a: [", "'f.yaml', line 2, column 1", ""},
        {"", "it is empty", ""},
        {"- 1", "line 1, column 1: the file must be a mapping", ""},
        {"batchlab: 2\ntitle: T\nscales: {a: }\nsteps: [{name: a, command: sweep}]",
         "line 1, column 11: this batchlab reads", ""},
        {HEAD "step: []", "line 6, column 1: the file has no key 'step'", "steps"},
        {HEAD "steps: []", "line 6, column 8: steps must be", ""},
        {HEAD, "lacks its steps", ""},
        {HEAD "title: again\nsteps: []", "line 6, column 1: 'title' was there before", ""},
        {HEAD "steps: [{command: sweep}]", "a step lacks its name", ""},
        {HEAD "steps: [{name: a b, command: sweep}]", "name must be a word", ""},
        {HEAD "steps: [{name: a, command: swep}]", "a step cannot be the command 'swep'", "sweep"},
        {HEAD "steps: [{name: a, command: sweep}, {name: a, command: sweep}]", "an earlier step has this name", ""},
        {HEAD "steps: [{name: a, command: sweep, scales: [big]}]", "there is no scale 'big'", ""},
        {HEAD "steps: [{name: a, command: sweep, options: {blcks: 1}}]",
         "line 6, column 45: batchlab sweep has no option 'blcks'", "blocks"},
        {HEAD "steps: [{name: a, command: sweep, options: {blocks: 0}}]", "line 6, column 53: blocks", ""},
        {HEAD "steps: [{name: a, command: sweep, options: {blocks: x}}]", "not a whole number", ""},
        {HEAD "steps: [{name: a, command: sweep, options: {time: 2 weeks}}]", "time", ""},
        {HEAD "steps: [{name: a, command: sweep, options: {memory-limit: lots}}]", "memory-limit", ""},
        {HEAD "steps: [{name: a, command: sweep, options: {price: dear}}]", "price", ""},
        {HEAD "steps: [{name: a, command: sweep, options: {progress: maybe}}]", "progress must be true or false", ""},
        {HEAD "steps: [{name: a, command: sweep, options: {batch: }}]", "batch must be a text", ""},
        {HEAD "steps: [{name: a, command: sweep, options: {batch: []}}]", "batch is empty", ""},
        {HEAD "steps: [{name: a, command: sweep, options: {batch: '${size}'}}]", "there is no variable 'size'",
         "here, sizes, n"},
        {HEAD "steps: [{name: a, command: sweep, options: {batch: '${sizes'}}]", "wants a variable's name", ""},
        {HEAD "steps: [{name: a, command: sweep, run: words}]", "run must be a list", "run: [one, two]"},
        {HEAD "steps: [{name: a, command: show, operands: ['${id.b}']}]", "no earlier step of this scale is called 'b'",
         ""},
        {HEAD "vars: {x: '${x}'}\nsteps: [{name: a, command: sweep, run: ['${x}']}]", "stands for itself", ""},
        {HEAD "steps: [{name: a, command: sweep, expect-failures: 3}]", "true or false", ""},
        {"batchlab: 1\ntitle: T\nscales: {}\nsteps: []", "at least one scale", ""},
        {"a: &a [1]\nb: [[[[[[[[[[[[[[[[[[*a]]]]]]]]]]]]]]]]]]", "nested too deeply", ""},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(cases); i++) {
        bl_str out;
        bl_error err;
        plan(cases[i].text, "small", NULL, &out, &err);
        if (!strstr(err.message, cases[i].message) || !strstr(err.message, "f.yaml") ||
            !strstr(err.remedy, cases[i].remedy))
            fail_msg("%s\nsays: %s (%s)\nnot: %s (%s)", cases[i].text, err.message, err.remedy, cases[i].message,
                     cases[i].remedy);
        bl_str_clear(&out);
    }
}

static void what_is_not_of_the_file_is_wrong_usage(void **state)
{
    bl_str out;
    bl_error err;
    plan(HEAD "steps: [{name: a, command: sweep}]", "smal", NULL, &out, &err);
    assert_int_equal(err.code, BL_ERR_USAGE);
    assert_string_equal(err.remedy, "--scale small");
    bl_str_clear(&out);
    plan("batchlab: 1\ntitle: T\nscales: {small: }\nsteps: [{name: a, command: sweep}]", "small", "3", &out, &err);
    assert_int_equal(err.code, BL_ERR_USAGE);
    bl_str_clear(&out);
}

/* Nine levels of nine aliases are more than memory holds. */
static void aliases_do_not_grow_without_end(void **state)
{
    bl_str text, out;
    bl_error err;
    bl_str_init(&text);
    bl_str_append(&text, "a: &a [x, x, x, x, x, x, x, x, x]\n");
    for (char c = 'b'; c < 'k'; c++) {
        bl_str_printf(&text, "%c: &%c [", c, c);
        for (int i = 0; i < 9; i++)
            bl_str_printf(&text, "%s*%c", i ? ", " : "", c - 1);
        bl_str_append(&text, "]\n");
    }
    plan(bl_str_text(&text), "small", NULL, &out, &err);
    assert_non_null(strstr(err.message, "too much for an experiment file"));
    bl_str_clear(&text);
    bl_str_clear(&out);
}

static long long id_of(const char *step, void *context)
{
    return strcmp(step, "one") == 0 ? 7 : 0;
}

static void numbers_are_filled_in(void **state)
{
    bl_str out;
    bl_error err = {0};
    bl_str_init(&out);
    assert_int_equal(bl_study_fill_ids("x${id.one}y${id.one} ${z}", id_of, NULL, &out, &err), BL_OK);
    assert_string_equal(bl_str_text(&out), "x7y7 ${z}");
    assert_int_equal(bl_study_fill_ids("${id.two}", id_of, NULL, &out, &err), BL_ERR_FAILED);
    bl_str_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_becomes_a_command_line),
        cmocka_unit_test(mistakes_are_told_by_line_and_column),
        cmocka_unit_test(what_is_not_of_the_file_is_wrong_usage),
        cmocka_unit_test(aliases_do_not_grow_without_end),
        cmocka_unit_test(numbers_are_filled_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
