/* How an ending is judged: each source of evidence, and which one counts more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "trial/failed_rank.h"
#include "trial/outcome.h"

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

static void names_go_both_ways(void **state)
{
    for (int i = 0; i < BL_OUTCOMES; i++) {
        bl_outcome back;
        assert_true(bl_outcome_from_name(bl_outcome_name((bl_outcome)i), &back));
        assert_int_equal(back, i);
    }
    bl_outcome back;
    assert_false(bl_outcome_from_name("okay", &back));
    assert_string_equal(bl_outcome_name(BL_OUTCOME_OUT_OF_MEMORY), "out_of_memory");
}

typedef struct judged {
    bl_outcome outcome;
    bl_memory_kind memory;
    char reason[500];
    bl_evidence evidence;
} judged;

static judged judge(const bl_ending *ending, const char *markers_text, const char *output)
{
    bl_markers m;
    bl_markers_init(&m);
    bl_markers_feed(&m, markers_text, strlen(markers_text));
    bl_markers_end(&m);
    bl_decision d;
    bl_decision_init(&d);
    bl_outcome_decide(ending, &m, rules, output, strlen(output), &d);
    judged out = {.outcome = d.outcome, .memory = d.memory, .evidence = d.evidence};
    snprintf(out.reason, sizeof out.reason, "%s", bl_str_text(&d.reason));
    assert_null(strchr(out.reason, '\n'));
    bl_decision_clear(&d);
    bl_markers_clear(&m);
    return out;
}

#define STEP  "{\"type\":\"step\",\"samples\":8,\"t_ns\":10}\n"
#define HELLO "{\"type\":\"hello\",\"batch\":8}\n"
#define OOM   "{\"type\":\"oom\"}\n"

#define UNCOUNTED .before = {-1, -1}, .after = {-1, -1}
#define NO_KILL   .before = {-1, 4}, .after = {-1, 4}
#define KILL      .before = {-1, 4}, .after = {-1, 5}
#define OUR_KILL  .before = {0, 4}, .after = {1, 5}

static void endings_are_judged(void **state)
{
    static const struct {
        bl_ending ending;
        const char *markers, *output;
        bl_outcome outcome;
        bl_memory_kind memory;
    } rows[] = {
        {{UNCOUNTED}, "", "", BL_OUTCOME_OK, 0},
        /* Words that look like it in a run that ends well. */
        {{UNCOUNTED}, STEP, "Allocator ran out of memory trying to allocate", BL_OUTCOME_OK, 0},
        {{UNCOUNTED}, STEP, "CUDA out of memory", BL_OUTCOME_OK, 0},
        {{OUR_KILL}, STEP, "CUDA out of memory", BL_OUTCOME_OK, 0},
        {{UNCOUNTED, .batch = 8}, HELLO STEP, "", BL_OUTCOME_OK, 0},
        {{UNCOUNTED, .batch = 9}, HELLO STEP, "", BL_OUTCOME_INVALID, 0},
        {{UNCOUNTED}, HELLO, "", BL_OUTCOME_INVALID, 0},
        {{UNCOUNTED}, "hello\n", "", BL_OUTCOME_INVALID, 0},
        {{UNCOUNTED, .exit_status = 1}, HELLO STEP, "", BL_OUTCOME_CRASHED, 0},
        {{UNCOUNTED, .exit_status = 1}, "", "MemoryError", BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_HOST},
        {{UNCOUNTED, .exit_status = 1}, "", "CUDA out of memory", BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_DEVICE},
        {{UNCOUNTED, .exit_status = 1}, "", "insufficient shared memory", BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_SHARED},
        {{UNCOUNTED, .exit_status = 1}, "", "invalid configuration argument", BL_OUTCOME_LIMIT, 0},
        {{UNCOUNTED, .exit_status = 1}, "", "CUDNN_STATUS_EXECUTION_FAILED", BL_OUTCOME_AMBIGUOUS, 0},
        {{UNCOUNTED, .exit_status = 1}, "", "Watchdog caught collective operation timeout", BL_OUTCOME_TIMED_OUT, 0},
        {{UNCOUNTED, .exit_status = 139}, "", "Segmentation fault", BL_OUTCOME_CRASHED, 0},
        {{UNCOUNTED, .exit_status = -1, .exit_signal = 11}, "", "", BL_OUTCOME_CRASHED, 0},
        /* Killed, and the kernel's counts. */
        {{UNCOUNTED, .exit_status = 137}, "", "", BL_OUTCOME_AMBIGUOUS, 0},
        {{NO_KILL, .exit_status = 137}, "", "", BL_OUTCOME_CRASHED, 0},
        {{NO_KILL, .exit_status = -1, .exit_signal = 9}, "", "", BL_OUTCOME_CRASHED, 0},
        {{KILL, .exit_status = -1, .exit_signal = 9}, "", "", BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_HOST},
        {{KILL, .exit_status = 1},
         "",
         "Signal 9 (SIGKILL) received by PID 3",
         BL_OUTCOME_OUT_OF_MEMORY,
         BL_MEMORY_HOST},
        {{KILL, .exit_status = 1}, "", "KeyError", BL_OUTCOME_CRASHED, 0}, /* another's process was killed */
        {{OUR_KILL, .exit_status = 1}, "", "KeyError", BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_HOST},
        {{OUR_KILL, .exit_status = 1}, "", "CUDA out of memory", BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_DEVICE},
        {{UNCOUNTED, .exit_status = -1, .exit_signal = 9},
         "",
         "std::bad_alloc",
         BL_OUTCOME_OUT_OF_MEMORY,
         BL_MEMORY_HOST},
        /* What the lab did counts more than how the program took it. */
        {{UNCOUNTED, .exit_status = -1, .exit_signal = 15, .step_budget = true}, STEP, "", BL_OUTCOME_OK, 0},
        {{UNCOUNTED, .exit_status = 1, .time_budget = true}, STEP, "KeyboardInterrupt", BL_OUTCOME_OK, 0},
        {{UNCOUNTED, .exit_status = -1, .exit_signal = 15, .time_budget = true},
         "{\"type\":\"ready\",\"t_ns\":1}",
         "",
         BL_OUTCOME_TIMED_OUT,
         0},
        {{UNCOUNTED, .exit_status = -1, .exit_signal = 15, .setup_limit = true}, "", "", BL_OUTCOME_TIMED_OUT, 0},
        {{UNCOUNTED, .interrupted = true}, STEP, "", BL_OUTCOME_INTERRUPTED, 0},
        {{UNCOUNTED, .interrupted = true, .exit_status = 1}, OOM, "CUDA out of memory", BL_OUTCOME_INTERRUPTED, 0},
        {{UNCOUNTED, .exit_status = 1}, OOM, "invalid configuration argument", BL_OUTCOME_OUT_OF_MEMORY, 0},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(rows); i++) {
        judged j = judge(&rows[i].ending, rows[i].markers, rows[i].output);
        if (j.outcome != rows[i].outcome || j.memory != rows[i].memory)
            fail_msg("row %zu: %s: %s", i, bl_outcome_name(j.outcome), j.reason);
        assert_int_equal(j.reason[0] == '\0', j.outcome == BL_OUTCOME_OK);
        size_t n_decided = 0;
        for (size_t k = 0; k < j.evidence.n; k++)
            n_decided += j.evidence.items[k].decided;
        if (n_decided != (j.outcome == BL_OUTCOME_OK ? 0 : 1))
            fail_msg("row %zu: %zu sources decided", i, n_decided);
    }
}

static void evidence_stands_in_the_order_of_trust(void **state)
{
    judged j = judge(&(bl_ending){OUR_KILL, .exit_status = 1}, HELLO STEP, "CUDNN_STATUS_EXECUTION_FAILED");
    static const char *const sources[] = {"markers", "kernel", "kernel", "exit", "output"};
    assert_int_equal(j.evidence.n, BL_ARRAY_LEN(sources));
    for (size_t i = 0; i < BL_ARRAY_LEN(sources); i++) {
        assert_string_equal(j.evidence.items[i].source, sources[i]);
        assert_int_equal(j.evidence.items[i].decided, i == 1);
    }
}

static void a_late_failure_keeps_its_place(void **state)
{
    judged j = judge(&(bl_ending){UNCOUNTED, .exit_status = 1, .phase = "eval", .n_steps = 37}, HELLO STEP,
                     "RuntimeError: HIP out of memory. Tried\n");
    assert_string_equal(j.reason,
                        "the accelerator's memory is out, in phase eval after 37 steps: RuntimeError: HIP out of "
                        "memory. Tried");
    j = judge(&(bl_ending){UNCOUNTED, .exit_status = 1, .phase = "", .n_steps = 1}, "", "x");
    assert_string_equal(j.reason, "exit status 1, after 1 step: x");
}

static void the_last_line_tells_why(void **state)
{
    judged j = judge(&(bl_ending){UNCOUNTED, .exit_status = 2}, "", "one\n\x1b[31mtwo\tthree\r\n \n");
    assert_string_equal(j.reason, "exit status 2:  [31mtwo three");
    char wide[1000];
    memset(wide, 'x', sizeof wide);
    memcpy(wide + 198, "\xc3\xa9\xc3\xa9", 4); /* cut between, not inside, characters */
    wide[sizeof wide - 1] = '\0';
    j = judge(&(bl_ending){UNCOUNTED, .exit_status = 2}, "", wide);
    assert_true(strlen(j.reason) == strlen("exit status 2: ") + 200 + 3);
}

static void the_rank_that_failed_is_named(void **state)
{
    static const struct {
        const char *output;
        long rank;
        const char *line;
    } cases[] = {
        {"x\nmpirun noticed that process rank 3 with PID 0 on node vm exited on signal 9 (Killed).\n", 3,
         "mpirun noticed that process rank 3 with PID 0 on node vm exited on signal 9 (Killed)."},
        {"mpirun detected that one or more processes exited with non-zero status, thus causing\n"
         "the job to be terminated. The first process to do so was:\n\n  Process name: [[57434,1],12]\n"
         "  Exit code:    1\n",
         12, "Process name: [[57434,1],12]"},
        {"MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nwith errorcode 3.\n", 0,
         "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD"},
        {"batchlab-train: error: rank 1 of 4: 'a/0.png' is damaged\nMPI_ABORT was invoked on rank 2 in", 1,
         "batchlab-train: error: rank 1 of 4: 'a/0.png' is damaged"},
        {"srun: error: node-7: task 5: Out Of Memory\n", 5, "srun: error: node-7: task 5: Out Of Memory"},
        {"  rank      : 2 (local_rank: 2)\n  exitcode  : 1 (pid: 12)\n", 2, "rank      : 2 (local_rank: 2)"},
        {"process rank of PID\nrank 3\nProcess name: [[1,1],", -1, ""},
        {"process rank 99999999999999999999 with PID", -1, ""},
        {"", -1, ""},
    };
    for (size_t i = 0; i < BL_ARRAY_LEN(cases); i++) {
        char line[200] = "", cut[6];
        size_t n = strlen(cases[i].output);
        assert_int_equal(bl_failed_rank(cases[i].output, n, line, sizeof line), cases[i].rank);
        assert_string_equal(line, cases[i].line);
        if (cases[i].rank >= 0) {
            bl_failed_rank(cases[i].output, n, cut, sizeof cut);
            assert_true(strlen(cut) == 5 && strncmp(cut, line, 5) == 0);
        }
        for (size_t k = 0; k < n; k++) /* cut anywhere */
            bl_failed_rank(cases[i].output, k, line, sizeof line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(endings_are_judged),
        cmocka_unit_test(evidence_stands_in_the_order_of_trust),
        cmocka_unit_test(a_late_failure_keeps_its_place),
        cmocka_unit_test(the_last_line_tells_why),
        cmocka_unit_test(the_rank_that_failed_is_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
