/* How an ending is judged, and what programs print when memory is out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "trial/outcome.h"

static void names_go_both_ways(void **state)
{
    for (int i = BL_OUTCOME_OK; i <= BL_OUTCOME_INVALID; i++) {
        bl_outcome back;
        assert_true(bl_outcome_from_name(bl_outcome_name((bl_outcome)i), &back));
        assert_int_equal(back, i);
    }
    bl_outcome back;
    assert_false(bl_outcome_from_name("okay", &back));
    assert_string_equal(bl_outcome_name(BL_OUTCOME_OUT_OF_MEMORY), "out_of_memory");
}

static void memory_messages_are_known_and_others_are_not(void **state)
{
    static const struct {
        bl_memory_message kind;
        const char *text;
    } rows[] = {
        {BL_MEMORY_DEVICE, "x\ntorch.OutOfMemoryError: CUDA out of memory.\n"},
        {BL_MEMORY_DEVICE, "[CUDA ERROR] at file a.cu:9:\nout of memory"},
        {BL_MEMORY_NONE, "[CUDA ERROR] at file a.cu:9:\ninvalid argument"},
        {BL_MEMORY_HOST, "Traceback:\n  x = MemoryErrors\nMemoryError"},
        {BL_MEMORY_HOST, "MemoryError: Unable to allocate"},
        {BL_MEMORY_NONE, "raise MyMemoryError\n"},
        {BL_MEMORY_SHARED, "This might be caused by insufficient shared memory (shm)."},
        {BL_MEMORY_NONE, "Segmentation fault"},
        {BL_MEMORY_NONE, "out of memory is a state of mind"},
        {BL_MEMORY_NONE, ""},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(rows); i++)
        if (bl_outcome_find_memory_message(rows[i].text) != rows[i].kind)
            fail_msg("%s", rows[i].text);
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

static void the_collected_messages_are_classed_rightly(void **state)
{
    char path[4096], line[4096];
    snprintf(path, sizeof path, "%s/../shared/cases/out-of-memory.tsv", getenv("BATCHLAB_SOURCE_ROOT"));
    FILE *file = fopen(path, "r");
    if (!file)
        skip();
    int rows = 0;
    while (fgets(line, sizeof line, file)) {
        char *class = line, *source = strchr(line, '\t');
        if (line[0] == '#' || !source)
            continue;
        *source++ = '\0';
        char *text = strchr(source, '\t');
        assert_non_null(text);
        *text++ = '\0';
        text[strcspn(text, "\n")] = '\0';
        unescape(text);
        bl_memory_message wanted = strcmp(class, "device_oom") == 0 ? BL_MEMORY_DEVICE
                                   : strcmp(class, "host_oom") == 0 ? BL_MEMORY_HOST
                                   : strcmp(class, "shm") == 0      ? BL_MEMORY_SHARED
                                                                    : BL_MEMORY_NONE;
        if (bl_outcome_find_memory_message(text) != wanted)
            fail_msg("%s (%s): %s", source, class, text);
        rows++;
    }
    fclose(file);
    assert_true(rows > 20);
}

typedef struct judged {
    bl_outcome outcome;
    char reason[400];
} judged;

static judged judge(const bl_ending *ending, const char *markers_text, const char *output)
{
    bl_markers m;
    bl_markers_init(&m);
    bl_markers_feed(&m, markers_text, strlen(markers_text));
    bl_markers_end(&m);
    bl_str reason;
    bl_str_init(&reason);
    judged out = {.outcome = bl_outcome_decide(ending, &m, output, &reason)};
    snprintf(out.reason, sizeof out.reason, "%s", bl_str_text(&reason));
    assert_null(strchr(out.reason, '\n'));
    bl_str_clear(&reason);
    bl_markers_clear(&m);
    return out;
}

#define STEP  "{\"type\":\"step\",\"samples\":8,\"t_ns\":10}\n"
#define HELLO "{\"type\":\"hello\",\"batch\":8}\n"

static void endings_are_judged(void **state)
{
    static const struct {
        bl_ending ending;
        const char *markers, *output;
        bl_outcome outcome;
    } rows[] = {
        {{.exit_status = 0}, "", "", BL_OUTCOME_OK},
        {{.exit_status = 0}, STEP, "Allocator ran out of memory trying to allocate", BL_OUTCOME_OK},
        {{.exit_status = 0}, STEP, "CUDA out of memory", BL_OUTCOME_OK}, /* it coped */
        {{.exit_status = 0, .batch = 8}, HELLO STEP, "", BL_OUTCOME_OK},
        {{.exit_status = 0, .batch = 9}, HELLO STEP, "", BL_OUTCOME_INVALID},
        {{.exit_status = 0}, HELLO, "", BL_OUTCOME_INVALID},
        {{.exit_status = 0}, "hello\n", "", BL_OUTCOME_INVALID},
        {{.exit_status = 1}, HELLO STEP, "", BL_OUTCOME_CRASHED},
        {{.exit_status = 1}, "", "MemoryError", BL_OUTCOME_OUT_OF_MEMORY},
        {{.exit_status = 137}, "", "", BL_OUTCOME_CRASHED},
        {{.exit_status = -1, .exit_signal = 9}, "", "std::bad_alloc", BL_OUTCOME_OUT_OF_MEMORY},
        {{.exit_status = -1, .exit_signal = 15, .step_budget = true}, STEP, "", BL_OUTCOME_OK},
        {{.exit_status = 1, .time_budget = true}, STEP, "KeyboardInterrupt", BL_OUTCOME_OK},
        {{.exit_status = -1, .exit_signal = 15, .time_budget = true},
         "{\"type\":\"ready\",\"t_ns\":1}",
         "",
         BL_OUTCOME_TIMED_OUT},
        {{.exit_status = -1, .exit_signal = 15, .setup_limit = true}, "", "", BL_OUTCOME_TIMED_OUT},
        {{.exit_status = 0, .interrupted = true}, STEP, "", BL_OUTCOME_INTERRUPTED},
        {{.exit_status = 1}, "{\"type\":\"oom\"}\n", "", BL_OUTCOME_OUT_OF_MEMORY},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(rows); i++) {
        judged j = judge(&rows[i].ending, rows[i].markers, rows[i].output);
        if (j.outcome != rows[i].outcome)
            fail_msg("row %zu: %s: %s", i, bl_outcome_name(j.outcome), j.reason);
        assert_int_equal(j.reason[0] == '\0', j.outcome == BL_OUTCOME_OK);
    }
}

static void the_last_line_tells_why(void **state)
{
    judged j = judge(&(bl_ending){.exit_status = 2}, "", "one\n\x1b[31mtwo\tthree\r\n \n");
    assert_string_equal(j.reason, "exit status 2:  [31mtwo three");
    char wide[1000];
    memset(wide, 'x', sizeof wide);
    memcpy(wide + 198, "\xc3\xa9\xc3\xa9", 4); /* cut between, not inside, characters */
    wide[sizeof wide - 1] = '\0';
    j = judge(&(bl_ending){.exit_status = 2}, "", wide);
    assert_true(strlen(j.reason) == strlen("exit status 2: ") + 200 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(memory_messages_are_known_and_others_are_not),
        cmocka_unit_test(the_collected_messages_are_classed_rightly),
        cmocka_unit_test(endings_are_judged),
        cmocka_unit_test(the_last_line_tells_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
