#include "trial/outcome.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/attributes.h"
#include "trial/failed_rank.h"
#include "trial/outcome_memory.h"

static const char *const names[] = {
    [BL_OUTCOME_OK] = "ok",
    [BL_OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
    [BL_OUTCOME_CRASHED] = "crashed",
    [BL_OUTCOME_TIMED_OUT] = "timed_out",
    [BL_OUTCOME_INTERRUPTED] = "interrupted",
    [BL_OUTCOME_INVALID] = "invalid",
    [BL_OUTCOME_LIMIT] = "limit",
    [BL_OUTCOME_AMBIGUOUS] = "ambiguous",
};
_Static_assert(BL_ARRAY_LEN(names) == BL_OUTCOMES, "a name for each outcome");

const char *bl_outcome_name(bl_outcome outcome)
{
    return (size_t)outcome < BL_ARRAY_LEN(names) ? names[outcome] : "unknown";
}

bool bl_outcome_from_name(const char *name, bl_outcome *out)
{
    for (size_t i = 0; i < BL_ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0) {
            *out = (bl_outcome)i;
            return true;
        }
    return false;
}

const char *bl_memory_kind_name(bl_memory_kind kind)
{
    static const char *const kinds[] = {NULL, "device", "host", "shared"};
    return (size_t)kind < BL_ARRAY_LEN(kinds) ? kinds[kind] : NULL;
}

void bl_decision_init(bl_decision *decision)
{
    *decision = (bl_decision){.outcome = BL_OUTCOME_OK};
    bl_str_init(&decision->reason);
}

void bl_decision_clear(bl_decision *decision)
{
    bl_str_clear(&decision->reason);
    bl_decision_init(decision);
}

/* ---- words ---- */

static const char *memory_words(bl_memory_kind kind)
{
    switch (kind) {
    case BL_MEMORY_DEVICE:
        return "the accelerator's memory is out";
    case BL_MEMORY_HOST:
        return "the machine's memory is out";
    case BL_MEMORY_SHARED:
        return "shared memory (/dev/shm) is too small: fewer data workers, or a larger /dev/shm";
    default:
        return "memory is out";
    }
}

/* ", in phase eval after 37 steps": late failures are another thing than early ones. */
static void append_place(const bl_ending *ending, bl_str *reason)
{
    bool phase = ending->phase && ending->phase[0];
    if (phase)
        bl_str_printf(reason, ", in phase %s", ending->phase);
    if (ending->n_steps > 0)
        bl_str_printf(reason, "%s after %" PRId64 " step%s", phase ? "" : ",", ending->n_steps,
                      ending->n_steps == 1 ? "" : "s");
}

/* Control characters become blanks, and what is too long is cut. */
static void append_clean(bl_str *reason, const char *text, size_t n)
{
    enum { LINE_MAX_B = 200 };
    bool cut = n > LINE_MAX_B;
    if (cut) {
        n = LINE_MAX_B;
        while (n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80)
            n--;
    }
    bl_str_append(reason, ": ");
    for (size_t i = 0; i < n; i++)
        bl_str_append_c(reason, (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i]);
    if (cut)
        bl_str_append(reason, "...");
}

/* The last line with something on it: mostly the error itself. */
static void append_last_line(bl_str *reason, const char *output, size_t end)
{
    while (end > 0 && (unsigned char)output[end - 1] <= ' ')
        end--;
    size_t start = end;
    while (start > 0 && output[start - 1] != '\n' && output[start - 1] != '\r')
        start--;
    if (start < end)
        append_clean(reason, output + start, end - start);
}

static const char *signal_name(int number)
{
    const char *name = sigabbrev_np(number);
    return name ? name : "unknown";
}

static void name_exit(const bl_ending *ending, char *out, size_t size)
{
    if (ending->exit_signal != 0)
        snprintf(out, size, "killed by signal %d (SIG%s)", ending->exit_signal, signal_name(ending->exit_signal));
    else
        snprintf(out, size, "exit status %d", ending->exit_status);
}

/* ---- each source of evidence ---- */

static void note_markers(const bl_markers *m, bl_decision *d)
{
    if (m->oom)
        bl_evidence_add(&d->evidence, "markers", d->outcome == BL_OUTCOME_OUT_OF_MEMORY,
                        "the program says that memory is out (%" PRId64 " bytes asked for)", m->oom_b);
    if (m->any)
        bl_evidence_add(&d->evidence, "markers", false, "%zu steps%s%s, %s", m->n_steps, m->phase[0] ? ", phase " : "",
                        m->phase, m->done ? "said that it is done" : "did not say that it is done");
}

typedef struct kernel_kills {
    int64_t group, machine; /* while the trial ran; -1 not known */
} kernel_kills;

static int64_t rise(int64_t before, int64_t after)
{
    return before >= 0 && after >= before ? after - before : -1;
}

static kernel_kills count_kills(const bl_ending *e)
{
    return (kernel_kills){.group = rise(e->before.group, e->after.group),
                          .machine = rise(e->before.machine, e->after.machine)};
}

static void note_kernel(kernel_kills kills, bool decided, bl_decision *d)
{
    if (kills.group >= 0)
        bl_evidence_add(&d->evidence, "kernel", decided && kills.group > 0,
                        "%" PRId64 " out-of-memory kills in the control group meanwhile", kills.group);
    if (kills.machine >= 0)
        bl_evidence_add(&d->evidence, "kernel", decided && kills.group <= 0,
                        "%" PRId64 " out-of-memory kills on the machine meanwhile", kills.machine);
    if (kills.group < 0 && kills.machine < 0)
        bl_evidence_add(&d->evidence, "kernel", false, "its out-of-memory kills cannot be counted here");
}

static void note_exit(const bl_ending *e, bool decided, bl_decision *d)
{
    char how[80];
    name_exit(e, how, sizeof how);
    bl_evidence_add(&d->evidence, "exit", decided, "%s", how);
}

static void note_output(const bl_rule_match *match, bool decided, bl_decision *d)
{
    if (match->message != BL_MESSAGE_NONE)
        bl_evidence_add(&d->evidence, "output", decided, "%s (%s): %s", bl_message_name(match->message), match->source,
                        match->line);
    if (match->gave_up_on)
        bl_evidence_add(&d->evidence, "output", false, "the search for the rule '%.60s' was too costly and broken off",
                        match->gave_up_on);
}

static void note_rank(const char *output, size_t n, bl_decision *d)
{
    char line[200];
    long rank = bl_failed_rank(output, n, line, sizeof line);
    if (rank >= 0)
        bl_evidence_add(&d->evidence, "output", false, "rank %ld failed first: %s", rank, line);
}

static void note_progress(const bl_ending *ending, bl_decision *d)
{
    if (ending->progress_note && ending->progress_note[0])
        bl_evidence_add(&d->evidence, "progress", false, "%s", ending->progress_note);
}

/* ---- failures ---- */

static void set_outcome(bl_decision *d, bl_outcome outcome, bl_memory_kind memory, const char *words,
                        const bl_ending *ending)
{
    d->outcome = outcome;
    d->memory = memory;
    bl_str_append(&d->reason, words);
    append_place(ending, &d->reason);
}

/* 128 + 9: a shell or container around the program says so. */
static bool was_killed(const bl_ending *e)
{
    return e->exit_signal == SIGKILL || e->exit_status == 128 + SIGKILL;
}

static const struct {
    bl_message message;
    bl_outcome outcome;
    bl_memory_kind memory;
    const char *words;
} meanings[] = {
    {BL_MESSAGE_SHARED_OOM, BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_SHARED, NULL},
    {BL_MESSAGE_DEVICE_OOM, BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_DEVICE, NULL},
    {BL_MESSAGE_HOST_OOM, BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_HOST, NULL},
    {BL_MESSAGE_LIMIT, BL_OUTCOME_LIMIT, BL_MEMORY_UNKNOWN, "a size that the program cannot take"},
    {BL_MESSAGE_AMBIGUOUS, BL_OUTCOME_AMBIGUOUS, BL_MEMORY_UNKNOWN, "perhaps memory, perhaps not"},
    {BL_MESSAGE_TIMEOUT, BL_OUTCOME_TIMED_OUT, BL_MEMORY_UNKNOWN, "the program waited in vain"},
};

static bool decide_by_output(const bl_ending *ending, const bl_rule_match *match, bl_decision *d)
{
    for (size_t i = 0; i < BL_ARRAY_LEN(meanings); i++) {
        if (meanings[i].message != match->message)
            continue;
        set_outcome(d, meanings[i].outcome, meanings[i].memory,
                    meanings[i].words ? meanings[i].words : memory_words(meanings[i].memory), ending);
        append_clean(&d->reason, match->line, strlen(match->line));
        return true;
    }
    return false;
}

static void decide_by_exit(const bl_ending *ending, kernel_kills kills, const char *output, size_t n, bl_decision *d)
{
    char how[80];
    name_exit(ending, how, sizeof how);
    bool uncounted = kills.group < 0 && kills.machine < 0;
    set_outcome(d, BL_OUTCOME_CRASHED, BL_MEMORY_UNKNOWN, how, ending);
    if (was_killed(ending) && uncounted) {
        d->outcome = BL_OUTCOME_AMBIGUOUS;
        bl_str_append(&d->reason, ", perhaps by the system when memory was out");
    } else if (was_killed(ending)) {
        bl_str_append(&d->reason, ", not by the kernel for want of memory");
    } else if (ending->exit_signal == SIGBUS) {
        bl_str_append(&d->reason, ", as it happens where /dev/shm is full");
    }
    append_last_line(&d->reason, output, n);
}

static void decide_failure(const bl_ending *ending, const bl_markers *markers, const bl_rules *rules,
                           const char *output, size_t n, bl_decision *d)
{
    kernel_kills kills = count_kills(ending);
    bl_rule_match match = {.message = BL_MESSAGE_NONE};
    if (rules)
        bl_rules_match(rules, output, n, &match, NULL); /* without memory for it, as where nothing is found */
    /* A kill in our group is the cause of a failure; one anywhere on the machine only where something of ours was
     * killed, as its status or its parent's message says. */
    bool own_group = ending->memory.group_kills > 0;
    bool group = kills.group > 0 || own_group;
    bool machine = kills.machine > 0 && (was_killed(ending) || match.message == BL_MESSAGE_AMBIGUOUS);
    bool by_kernel = (group || machine) && match.message != BL_MESSAGE_DEVICE_OOM;
    bool by_output = false, by_limit = false;
    if (by_kernel)
        set_outcome(d, BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_HOST,
                    own_group && ending->memory.limit_b > 0
                        ? "the trial's limit of memory is reached: the kernel killed its processes for it"
                        : "the machine's memory is out: the kernel killed a process for it",
                    ending);
    else if ((by_limit = (match.message == BL_MESSAGE_NONE || match.message == BL_MESSAGE_CRASH) &&
                         bl_memory_near_limit(&ending->memory)))
        set_outcome(d, BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_HOST,
                    "it failed at the trial's limit of memory, without a word on it", ending);
    else if (!(by_output = decide_by_output(ending, &match, d)))
        decide_by_exit(ending, kills, output, n, d);
    note_markers(markers, d);
    note_kernel(kills, by_kernel && !own_group, d);
    bl_memory_note_kills(&ending->memory, by_kernel && own_group, &d->evidence);
    if (by_limit)
        bl_memory_note_near(&ending->memory, &d->evidence);
    note_exit(ending, !by_kernel && !by_output && !by_limit, d);
    note_output(&match, by_output, d);
    note_rank(output, n, d);
    note_progress(ending, d);
}

/* ---- ends that are none of the program's failures ---- */

/* It ended well, or we ended it: does what it said hold together? */
static void decide_success(const bl_ending *ending, const bl_markers *markers, bl_decision *d)
{
    const char *source = "markers";
    d->outcome = BL_OUTCOME_INVALID;
    if (markers->batch > 0 && ending->batch > 0 && markers->batch != ending->batch) {
        bl_str_printf(&d->reason, "batch size %lld was asked for, but the program says that it trains with %lld",
                      (long long)ending->batch, (long long)markers->batch);
    } else if (markers->failed) {
        bl_str_append(&d->reason, "there was no memory in batchlab to keep the steps");
    } else if (markers->any && markers->n_steps == 0 && ending->time_budget) {
        d->outcome = BL_OUTCOME_TIMED_OUT;
        bl_str_printf(&d->reason, "no training step within the %g s after set-up", ending->limit_s);
    } else if (markers->any && markers->n_steps == 0) {
        bl_str_append(&d->reason, "the program speaks the marker protocol and ended well, but marked no training step");
    } else if (!markers->any && markers->n_malformed > 0) {
        bl_str_printf(&d->reason, "none of the %lld lines on BATCHLAB_FD is a marker", (long long)markers->n_malformed);
    } else if (!markers->any && ending->n_steps == 0 && ending->time_budget) {
        d->outcome = BL_OUTCOME_TIMED_OUT;
        source = "progress";
        bl_str_printf(&d->reason, "no step could be timed within %g s of the first progress line", ending->limit_s);
    } else if (ending->progress_idle) {
        source = "progress";
        bl_str_append(&d->reason, "the program prints its progress and ended well, but its counter never moved");
    } else {
        d->outcome = BL_OUTCOME_OK;
    }
    if (d->outcome != BL_OUTCOME_OK)
        bl_evidence_add(&d->evidence, source, true, "%s", bl_str_text(&d->reason));
    note_exit(ending, false, d);
    note_progress(ending, d);
}

/* Where a part of a program died for want of memory, the others often wait for it for ever. */
static void decide_hang(const bl_ending *ending, const bl_markers *markers, const bl_rules *rules, const char *output,
                        size_t n, bl_decision *d)
{
    bl_rule_match match = {.message = BL_MESSAGE_NONE};
    if (rules)
        bl_rules_match(rules, output, n, &match, NULL);
    bool memory = match.message == BL_MESSAGE_SHARED_OOM || match.message == BL_MESSAGE_DEVICE_OOM ||
                  match.message == BL_MESSAGE_HOST_OOM;
    char hang[120];
    if (ending->silence)
        snprintf(hang, sizeof hang, "nothing was printed or marked for %g s", ending->limit_s);
    else
        snprintf(hang, sizeof hang, "%s within %g s", markers->any ? "no training step" : "not ended", ending->limit_s);
    if (memory) {
        decide_by_output(ending, &match, d);
    } else {
        d->outcome = BL_OUTCOME_TIMED_OUT;
        bl_str_append(&d->reason, hang);
        if (ending->silence)
            append_place(ending, &d->reason);
    }
    bl_evidence_add(&d->evidence, "lab", !memory, "ended by the lab: %s", hang);
    bl_memory_note_kills(&ending->memory, false, &d->evidence);
    note_exit(ending, false, d);
    note_output(&match, memory, d);
    note_rank(output, n, d);
    note_progress(ending, d);
}

void bl_outcome_decide(const bl_ending *ending, const bl_markers *markers, const bl_rules *rules, const char *output,
                       size_t n, bl_decision *d)
{
    bool ended_by_us = ending->step_budget || ending->time_budget;
    if (ended_by_us)
        bl_evidence_add(&d->evidence, "lab", false, "ended by the lab: the %s budget was used up",
                        ending->step_budget ? "step" : "time");
    if (ending->interrupted) {
        d->outcome = BL_OUTCOME_INTERRUPTED;
        bl_str_append(&d->reason, "stopped by the user");
        bl_evidence_add(&d->evidence, "lab", true, "stopped by the user");
        note_exit(ending, false, d);
    } else if (markers->oom) {
        set_outcome(d, BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_UNKNOWN, "the program says that memory is out", ending);
        if (markers->oom_b > 0)
            bl_str_printf(&d->reason, " (%.1f MiB asked for)", (double)markers->oom_b / (1 << 20));
        note_markers(markers, d);
        note_exit(ending, false, d);
    } else if (ending->memory.over_limit_b > 0) {
        set_outcome(d, BL_OUTCOME_OUT_OF_MEMORY, BL_MEMORY_HOST, "the trial's processes held more than its limit",
                    ending);
        bl_memory_note_over(&ending->memory, &d->evidence);
        note_exit(ending, false, d);
    } else if (ending->setup_limit || ending->silence) {
        decide_hang(ending, markers, rules, output, n, d);
    } else if (!ended_by_us && (ending->exit_signal != 0 || ending->exit_status != 0)) {
        decide_failure(ending, markers, rules, output, n, d);
    } else {
        decide_success(ending, markers, d);
    }
    bl_memory_note_limit(&ending->memory, &d->evidence);
}
