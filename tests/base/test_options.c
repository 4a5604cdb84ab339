#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"

typedef struct values {
    bool live, quiet;
    const char *db;
    bl_strv params;
    int64_t blocks, seed;
    double rate, time_s;
    uint64_t memory_b;
} values;

static values v;
static bl_options_result result;
static bl_error err;

static const bl_option options[] = {
    {.kind = BL_OPT_GROUP, .help = "What to measure"},
    {BL_OPT_FLAG, 'l', "live", NULL, "Show a live line.", &v.live, 0, 0},
    {BL_OPT_FLAG, 'q', "quiet", NULL, "Say less.", &v.quiet, 0, 0},
    {BL_OPT_STRING, 0, "db", "FILE", "The database.", &v.db, 0, 0},
    {BL_OPT_STRINGS, 'p', "param", "NAME=LIST", "A further factor; may be given several times.", &v.params, 0, 0},
    {BL_OPT_INT, 'n', "blocks", "N", "Blocks (default: 5).", &v.blocks, 1, 1000},
    {BL_OPT_INT, 0, "seed", "N", "Seed.", &v.seed, 0, 0},
    {BL_OPT_FLOAT, 0, "rate", "X", "Learning rate.", &v.rate, 0, 0},
    {BL_OPT_DURATION, 't', "time", "DURATION", "Time budget.", &v.time_s, 0, 0},
    {BL_OPT_SIZE, 0, "memory", "SIZE", "Memory limit.", &v.memory_b, 0, 0},
    {BL_OPT_FLAG, 0, "no-color", NULL, "A flag that is called no- itself.", &v.quiet, 0, 0},
};

static const bl_command command = {
    .program = "prog",
    .name = "sweep",
    .summary = "Sweeps.",
    .usage = "[options] -- COMMAND...",
    .details = "One paragraph that is long enough to be broken at the eightieth column, because it goes on and on.",
    .examples = "  prog sweep  # sweeps\n",
    .options = options,
    .n_options = BL_ARRAY_LEN(options),
};

static int reset(void **state)
{
    bl_strv_clear(&v.params);
    bl_options_result_clear(&result);
    bl_error_clear(&err);
    v = (values){.db = "default.db", .blocks = 5};
    return 0;
}

/* argv[0] and the NULL at the end come by themselves; the parser writes to none of them. */
#define PARSE(...) parse((const char *const[]){"prog", __VA_ARGS__, NULL})

static int parse(const char *const *argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    return bl_options_parse(&command, argc, (char **)(uintptr_t)argv, &result, &err);
}

static void test_every_kind(void **state)
{
    int rc = PARSE("-l", "--db", "a.db", "-p", "a=1", "--param=b=2", "-n8", "--seed", "-3", "--rate", "0.1",
                   "--time=2m", "op1", "--memory", "8G", "--", "-n", "x");
    assert_int_equal(rc, BL_OK);
    assert_true(v.live);
    assert_string_equal(v.db, "a.db");
    assert_int_equal(v.params.len, 2);
    assert_string_equal(v.params.items[0], "a=1");
    assert_string_equal(v.params.items[1], "b=2");
    assert_int_equal(v.blocks, 8);
    assert_int_equal(v.seed, -3);
    assert_true(v.rate == 0.1);
    assert_true(v.time_s == 120);
    assert_true(v.memory_b == 8ull << 30);
    assert_int_equal(result.operands.len, 1);
    assert_string_equal(result.operands.items[0], "op1");
    assert_int_equal(result.n_rest, 2);
    assert_string_equal(result.rest[0], "-n");
    assert_null(result.rest[2]);
    assert_false(result.help);
}

static void test_nothing_given_keeps_the_defaults(void **state)
{
    assert_int_equal(parse((const char *const[]){"prog", NULL}), BL_OK);
    assert_string_equal(v.db, "default.db");
    assert_int_equal(v.blocks, 5);
    assert_null(result.rest);
    assert_int_equal(result.operands.len, 0);
    assert_int_equal(PARSE("--"), BL_OK);
    assert_non_null(result.rest); /* "--" with nothing after it is told from no "--" */
    assert_int_equal(result.n_rest, 0);
}

static void test_flags(void **state)
{
    assert_int_equal(PARSE("-lq"), BL_OK);
    assert_true(v.live && v.quiet);
    assert_int_equal(PARSE("--no-live"), BL_OK);
    assert_false(v.live);
    v.quiet = false;
    assert_int_equal(PARSE("--no-color"), BL_OK);
    assert_true(v.quiet);
    assert_int_equal(PARSE("-ln", "7"), BL_OK);
    assert_int_equal(v.blocks, 7);
    assert_int_equal(PARSE("-"), BL_OK); /* by custom a file name: standard input */
    assert_string_equal(result.operands.items[0], "-");
}

static void test_help_is_always_there(void **state)
{
    assert_int_equal(PARSE("-h"), BL_OK);
    assert_true(result.help);
    assert_int_equal(PARSE("--help"), BL_OK);
    assert_true(result.help);
    assert_int_equal(PARSE("--", "--help"), BL_OK);
    assert_false(result.help);
}

static void refuse(int rc, const char *message, const char *remedy)
{
    assert_int_equal(rc, BL_ERR_USAGE);
    assert_non_null(strstr(err.message, message));
    assert_non_null(strstr(err.remedy, remedy));
    assert_int_equal(result.operands.len, 0);
    bl_error_clear(&err);
}

static void test_mistakes(void **state)
{
    refuse(PARSE("--blokcs", "5"), "unknown option '--blokcs'", "--blocks");
    refuse(PARSE("operand", "--rat=1"), "unknown option '--rat=1'", "--rate");
    refuse(PARSE("--completely-different"), "unknown option", "prog sweep --help");
    refuse(PARSE("-x"), "unknown option '-x'", "--help");
    refuse(PARSE("-lx"), "unknown option '-lx'", "");
    refuse(PARSE("--block", "5"), "unknown option '--block'", "--blocks"); /* no abbreviations */
    refuse(PARSE("--blocks"), "--blocks wants a value", "--blocks N");
    refuse(PARSE("-n"), "-n wants a value", "-n N");
    refuse(PARSE("--blocks", "--", "cmd"), "--blocks wants a value", "");
    refuse(PARSE("--live=yes"), "--live takes no value", "");
    refuse(PARSE("--no-db"), "unknown option", "");
    refuse(PARSE("--blocks", "0"), "--blocks '0' must lie between 1 and 1000", "");
    refuse(PARSE("-n1001"), "-n '1001' must lie", "");
    refuse(PARSE("--seed", "8x"), "--seed '8x'", "");
    refuse(PARSE("--rate", "fast"), "--rate 'fast'", "");
    refuse(PARSE("--time", "5 parsec"), "--time", "90s");
    refuse(PARSE("--memory=lots"), "--memory", "8G");
    refuse(PARSE("--=5"), "unknown option", "");
    refuse(PARSE("--seed="), "--seed ''", "");
    assert_int_equal(v.blocks, 5); /* nothing half taken */
}

static void test_out_of_memory(void **state)
{
    for (int fail_at = 0; fail_at < 2; fail_at++) {
        test_alloc_fail_after(fail_at);
        int rc = PARSE("operand");
        test_alloc_restore();
        assert_int_equal(rc, BL_ERR_NOMEM);
        bl_error_clear(&err);
        test_alloc_fail_after(fail_at);
        rc = PARSE("-p", "a=1");
        test_alloc_restore();
        assert_int_equal(rc, BL_ERR_NOMEM);
        bl_error_clear(&err);
    }
}

static char *help_text(const bl_command *c)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    bl_options_print_help(c, file);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *text = calloc(size + 1, 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, file), size);
    fclose(file);
    return text;
}

static void test_help_text(void **state)
{
    char *text = help_text(&command);
    assert_int_equal(memcmp(text, "usage: prog sweep [options] -- COMMAND...\n\nSweeps.\n", 50), 0);
    for (size_t i = 0; i < BL_ARRAY_LEN(options); i++) {
        if (options[i].long_name) {
            char name[64];
            snprintf(name, sizeof name, "--%s", options[i].long_name);
            assert_non_null(strstr(text, name));
        }
        assert_non_null(strstr(text, options[i].kind == BL_OPT_GROUP ? "What to measure:"
                                     : options[i].value              ? options[i].value
                                                                     : "--"));
    }
    assert_non_null(strstr(text, "-n, --blocks N"));
    assert_non_null(strstr(text, "-h, --help"));
    assert_non_null(strstr(text, "Examples:\n  prog sweep  # sweeps\n"));
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        assert_true(len <= 80);
        line += len + (line[len] == '\n');
    }
    free(text);
    bl_command bare = {.program = "prog", .summary = "Does.", .usage = "FILE"};
    text = help_text(&bare);
    assert_string_equal(text, "usage: prog FILE\n\nDoes.\n\nOptions:\n  -h, --help                Show this help.\n");
    free(text);
}

static void remember(const bl_command *c, void *context)
{
    *(const bl_command **)context = c;
}

static void test_a_reader_takes_the_table(void **state)
{
    const bl_command *seen = NULL;
    bl_options_read_help(remember, &seen);
    char *text = help_text(&command);
    bl_options_read_help(NULL, NULL);
    assert_ptr_equal(seen, &command);
    assert_string_equal(text, "");
    free(text);
    text = help_text(&command);
    assert_true(strlen(text) > 0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_kind, reset, reset),
        cmocka_unit_test_setup_teardown(test_nothing_given_keeps_the_defaults, reset, reset),
        cmocka_unit_test_setup_teardown(test_flags, reset, reset),
        cmocka_unit_test_setup_teardown(test_help_is_always_there, reset, reset),
        cmocka_unit_test_setup_teardown(test_mistakes, reset, reset),
        cmocka_unit_test_setup_teardown(test_out_of_memory, reset, reset),
        cmocka_unit_test_setup_teardown(test_help_text, reset, reset),
        cmocka_unit_test_setup_teardown(test_a_reader_takes_the_table, reset, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
