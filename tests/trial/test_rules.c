/* What failing programs print, and what the rules make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "messages.h"

static bl_rules *rules;

static int set_up(void **state)
{
    return bl_rules_new(true, &rules, NULL);
}

static int tear_down(void **state)
{
    bl_rules_free(rules);
    return 0;
}

static bl_rule_match match(const char *text)
{
    bl_rule_match m;
    assert_int_equal(bl_rules_match(rules, text, strlen(text), &m, NULL), BL_OK);
    return m;
}

static void known_messages_are_classed(void **state)
{
    int wrong = 0;
    for (size_t i = 0; i < n_message_cases; i++) {
        bl_rule_match m = match(message_cases[i].text);
        if (m.message != message_cases[i].message) {
            print_error("%s, not %s: %s\n", bl_message_name(m.message), bl_message_name(message_cases[i].message),
                        message_cases[i].text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* \n in the table stands for a newline. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool newline = from[0] == '\\' && from[1] == 'n';
        *to++ = newline ? '\n' : *from;
        from += newline;
    }
    *to = '\0';
}

/* The classes of the collection are called as ours; a timeout there is ours too. */
static void collected_messages_are_classed(void **state)
{
    char path[4096], line[4096];
    snprintf(path, sizeof path, "%s/../shared/cases/out-of-memory.tsv", getenv("BATCHLAB_SOURCE_ROOT"));
    FILE *file = fopen(path, "r");
    if (!file)
        skip();
    int rows = 0, wrong = 0;
    while (fgets(line, sizeof line, file)) {
        char *source = strchr(line, '\t');
        if (line[0] == '#' || !source)
            continue;
        *source++ = '\0';
        char *text = strchr(source, '\t');
        assert_non_null(text);
        *text++ = '\0';
        text[strcspn(text, "\n")] = '\0';
        unescape(text);
        const char *got = bl_message_name(match(text).message);
        if (strcmp(got, line) != 0) {
            print_error("%s, not %s: %s\n", got, line, text);
            wrong++;
        }
        rows++;
    }
    fclose(file);
    assert_int_equal(wrong, 0);
    assert_true(rows > 20);
}

static void the_line_is_told_without_colours(void **state)
{
    bl_rule_match m = match("epoch 1\r\n\x1b[31mRuntimeError: \x1b[1mCUDA out of memory.\x1b[0m Tried\nbye\n");
    assert_int_equal(m.message, BL_MESSAGE_DEVICE_OOM);
    assert_string_equal(m.line, "RuntimeError: CUDA out of memory. Tried");
    m = match("x\n[CUDA ERROR] at file a.cu:9:\n  out of memory\n");
    assert_string_equal(m.line, "out of memory");
}

static void memory_counts_more_than_what_follows_from_it(void **state)
{
    assert_int_equal(
        match("RuntimeError: CUDA out of memory.\nWatchdog caught collective operation timeout\nSegmentation "
              "fault\n")
            .message,
        BL_MESSAGE_DEVICE_OOM);
    assert_int_equal(match("RuntimeError: CUDNN_STATUS_EXECUTION_FAILED\nAborted (core dumped)\n").message,
                     BL_MESSAGE_AMBIGUOUS);
    assert_int_equal(match("illegal memory access\nCUDNN_STATUS_EXECUTION_FAILED\n").message, BL_MESSAGE_CRASH);
}

static void a_harmless_line_hides_only_itself(void **state)
{
    static const char harmless[] = "GPU ran out of memory: CUDA out of memory. The caller indicates that this is not a "
                                   "failure\n";
    assert_int_equal(match(harmless).message, BL_MESSAGE_NONE);
    bl_str text;
    bl_str_init(&text);
    bl_str_append(&text, harmless);
    bl_str_append(&text, "CUDA out of memory. Tried to allocate\n");
    assert_int_equal(match(bl_str_text(&text)).message, BL_MESSAGE_DEVICE_OOM);
    bl_str_clear(&text);
}

static void rules_of_the_user_come_first(void **state)
{
    assert_int_equal(match("FOO-17: tiles exhausted").message, BL_MESSAGE_NONE);
    assert_int_equal(bl_rules_add_text(rules,
                                       "# ours\n\n  device_oom\tFOO-\\d+: tiles exhausted  \r\n"
                                       "none CUDA out of memory, but who cares\n"
                                       "crash std::bad_alloc",
                                       "file", NULL),
                     BL_OK);
    assert_int_equal(match("FOO-17: tiles exhausted").message, BL_MESSAGE_DEVICE_OOM);
    assert_string_equal(match("FOO-17: tiles exhausted").source, "file, line 3");
    assert_int_equal(match("CUDA out of memory, but who cares").message, BL_MESSAGE_NONE);
    assert_int_equal(match("std::bad_alloc").message, BL_MESSAGE_CRASH);
}

static void bad_rules_are_named(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"device_oom (", "r.txt, line 1"}, {"\n\nhost_oom [a", "line 3"}, {"memory x", "'memory' is no class"},
        {"device_oom", "empty"},           {"none \t ", "empty"},         {"crash (*UTF)x", "line 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bl_error err = {0};
        assert_int_equal(bl_rules_add_text(rules, rows[i].text, "r.txt", &err), BL_ERR_USAGE);
        if (!strstr(err.message, rows[i].words))
            fail_msg("'%s' does not say '%s'", err.message, rows[i].words);
    }
}

static void a_costly_pattern_is_broken_off_and_told(void **state)
{
    assert_int_equal(bl_rules_add(rules, BL_MESSAGE_DEVICE_OOM, "(?:a+)+b$|(?:a|aa)+c", "costly", NULL), BL_OK);
    bl_str text;
    bl_str_init(&text);
    for (int i = 0; i < 60000; i++)
        bl_str_append_c(&text, i % 500 == 499 ? '\n' : 'a');
    bl_str_append(&text, "\nstd::bad_alloc\n");
    bl_rule_match m = match(bl_str_text(&text));
    assert_int_equal(m.message, BL_MESSAGE_HOST_OOM);
    assert_non_null(m.gave_up_on);
    bl_str_clear(&text);
}

static void any_bytes_will_do(void **state)
{
    char text[3000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7919 % 251);
    memcpy(text + 2900, "\xff\xfeHIP out of memory\xc3", 20);
    bl_rule_match m;
    assert_int_equal(bl_rules_match(rules, text, sizeof text, &m, NULL), BL_OK);
    assert_int_equal(m.message, BL_MESSAGE_DEVICE_OOM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(known_messages_are_classed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(collected_messages_are_classed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_line_is_told_without_colours, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_counts_more_than_what_follows_from_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_harmless_line_hides_only_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rules_of_the_user_come_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_rules_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_costly_pattern_is_broken_off_and_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_bytes_will_do, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
