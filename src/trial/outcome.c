#include "trial/outcome.h"

#include <signal.h>
#include <string.h>

#include "base/attributes.h"

static const char *const names[] = {
    [BL_OUTCOME_OK] = "ok",
    [BL_OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
    [BL_OUTCOME_CRASHED] = "crashed",
    [BL_OUTCOME_TIMED_OUT] = "timed_out",
    [BL_OUTCOME_INTERRUPTED] = "interrupted",
    [BL_OUTCOME_INVALID] = "invalid",
};

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

/* What programs print when memory is out. A second text, where there is one, must follow the first within a few
 * lines: alone, either may mean something else. Earlier rows win. */
static const struct {
    bl_memory_message kind;
    const char *text, *then;
} memory_messages[] = {
    {BL_MEMORY_SHARED, "insufficient shared memory", NULL},
    {BL_MEMORY_SHARED, "unable to open shared memory object", "No space left on device"},
    {BL_MEMORY_HOST, "DefaultCPUAllocator: can't allocate memory", NULL},
    {BL_MEMORY_HOST, "DefaultCPUAllocator: not enough memory", NULL},
    {BL_MEMORY_HOST, "std::bad_alloc", NULL},
    {BL_MEMORY_HOST, "is killed by signal: Killed", NULL}, /* a data-loader worker */
    {BL_MEMORY_HOST, "cgroup out of memory", NULL},
    {BL_MEMORY_HOST, "oom-kill event", NULL},
    {BL_MEMORY_HOST, "oom_kill event", NULL},
    {BL_MEMORY_HOST, "Cannot allocate memory", NULL},
    {BL_MEMORY_DEVICE, "OutOfMemoryError", NULL},
    {BL_MEMORY_DEVICE, "CUDA out of memory", NULL},
    {BL_MEMORY_DEVICE, "CUDA error: out of memory", NULL},
    {BL_MEMORY_DEVICE, "CUDA Error: out of memory", NULL},
    {BL_MEMORY_DEVICE, "CUDA driver error: out of memory", NULL},
    {BL_MEMORY_DEVICE, "HIP out of memory", NULL},
    {BL_MEMORY_DEVICE, "HIP error: out of memory", NULL},
    {BL_MEMORY_DEVICE, "MPS backend out of memory", NULL},
    {BL_MEMORY_DEVICE, "XPU out of memory", NULL},
    {BL_MEMORY_DEVICE, "CUDNN_STATUS_ALLOC_FAILED", NULL},
    {BL_MEMORY_DEVICE, "CUBLAS_STATUS_ALLOC_FAILED", NULL},
    {BL_MEMORY_DEVICE, "OOM when allocating tensor", NULL},
    {BL_MEMORY_DEVICE, "RESOURCE_EXHAUSTED: Out of memory", NULL},
    {BL_MEMORY_DEVICE, "cudaMalloc failed: out of memory", NULL},
    {BL_MEMORY_DEVICE, "[CUDA ERROR]", "out of memory"},
    /* What remains to cuDNN when every algorithm's workspace is too large. */
    {BL_MEMORY_DEVICE, "Unable to find a valid cuDNN algorithm", NULL},
    {BL_MEMORY_DEVICE, "Failed to allocate device memory", NULL},
};

#define THEN_WITHIN_B 200

static bool has_message(const char *output, const char *text, const char *then)
{
    for (const char *at = strstr(output, text); at; at = strstr(at + 1, text)) {
        if (!then)
            return true;
        const char *next = strstr(at + strlen(text), then);
        if (next && next - at < THEN_WITHIN_B)
            return true;
    }
    return false;
}

/* Python names the exception at the start of the traceback's last line. */
static bool has_memory_error(const char *output)
{
    static const char name[] = "MemoryError";
    for (const char *at = strstr(output, name); at; at = strstr(at + 1, name)) {
        bool starts_line = at == output || at[-1] == '\n';
        char next = at[sizeof name - 1];
        if (starts_line && (next == '\0' || next == '\n' || next == '\r' || next == ':'))
            return true;
    }
    return strstr(output, "numpy.core._exceptions._ArrayMemoryError") != NULL ||
           strstr(output, "numpy._core._exceptions._ArrayMemoryError") != NULL;
}

bl_memory_message bl_outcome_find_memory_message(const char *output)
{
    for (size_t i = 0; i < BL_ARRAY_LEN(memory_messages); i++)
        if (has_message(output, memory_messages[i].text, memory_messages[i].then))
            return memory_messages[i].kind;
    return has_memory_error(output) ? BL_MEMORY_HOST : BL_MEMORY_NONE;
}

static const char *memory_words(bl_memory_message message)
{
    switch (message) {
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

/* The last line with something on it: mostly the error itself. Control characters become blanks. */
static void append_last_line(bl_str *reason, const char *output)
{
    enum { LINE_MAX_B = 200 };
    size_t end = strlen(output);
    while (end > 0 && (unsigned char)output[end - 1] <= ' ')
        end--;
    size_t start = end;
    while (start > 0 && output[start - 1] != '\n' && output[start - 1] != '\r')
        start--;
    if (start == end)
        return;
    bool cut = end - start > LINE_MAX_B;
    if (cut) {
        end = start + LINE_MAX_B;
        while (end > start && ((unsigned char)output[end] & 0xC0) == 0x80)
            end--;
    }
    bl_str_append(reason, ": ");
    for (size_t i = start; i < end; i++)
        bl_str_append_c(reason, (unsigned char)output[i] < ' ' || output[i] == 0x7f ? ' ' : output[i]);
    if (cut)
        bl_str_append(reason, "...");
}

static const char *signal_name(int number)
{
    const char *name = sigabbrev_np(number);
    return name ? name : "unknown";
}

static bl_outcome decide_failure(const bl_ending *ending, const char *output, bl_str *reason)
{
    bl_memory_message message = bl_outcome_find_memory_message(output);
    if (message != BL_MEMORY_NONE) {
        bl_str_append(reason, memory_words(message));
        append_last_line(reason, output);
        return BL_OUTCOME_OUT_OF_MEMORY;
    }
    if (ending->exit_signal != 0)
        bl_str_printf(reason, "killed by signal %d (SIG%s)", ending->exit_signal, signal_name(ending->exit_signal));
    else
        bl_str_printf(reason, "exit status %d", ending->exit_status);
    /* 128 + 9: a shell or container around the program says so. */
    if (ending->exit_signal == SIGKILL || ending->exit_status == 128 + SIGKILL)
        bl_str_append(reason, ", perhaps by the system when memory was out");
    append_last_line(reason, output);
    return BL_OUTCOME_CRASHED;
}

/* It ended well, or we ended it: does what it said hold together? */
static bl_outcome decide_success(const bl_ending *ending, const bl_markers *markers, bl_str *reason)
{
    if (markers->batch > 0 && ending->batch > 0 && markers->batch != ending->batch) {
        bl_str_printf(reason, "batch size %lld was asked for, but the program says that it trains with %lld",
                      (long long)ending->batch, (long long)markers->batch);
        return BL_OUTCOME_INVALID;
    }
    if (markers->failed) {
        bl_str_append(reason, "there was no memory in batchlab to keep the steps");
        return BL_OUTCOME_INVALID;
    }
    if (markers->any && markers->n_steps == 0 && ending->time_budget) {
        bl_str_printf(reason, "no training step within the %g s after set-up", ending->limit_s);
        return BL_OUTCOME_TIMED_OUT;
    }
    if (markers->any && markers->n_steps == 0) {
        bl_str_append(reason, "the program speaks the marker protocol and ended well, but marked no training step");
        return BL_OUTCOME_INVALID;
    }
    if (!markers->any && markers->n_malformed > 0) {
        bl_str_printf(reason, "none of the %lld lines on BATCHLAB_FD is a marker", (long long)markers->n_malformed);
        return BL_OUTCOME_INVALID;
    }
    return BL_OUTCOME_OK;
}

bl_outcome bl_outcome_decide(const bl_ending *ending, const bl_markers *markers, const char *output, bl_str *reason)
{
    if (ending->interrupted) {
        bl_str_append(reason, "stopped by the user");
        return BL_OUTCOME_INTERRUPTED;
    }
    if (markers->oom) {
        bl_str_append(reason, "the program says that memory is out");
        if (markers->oom_b > 0)
            bl_str_printf(reason, " (%.1f MiB asked for)", (double)markers->oom_b / (1 << 20));
        return BL_OUTCOME_OUT_OF_MEMORY;
    }
    if (ending->setup_limit) {
        bl_str_printf(reason, "%s within %g s", markers->any ? "no training step" : "not ended", ending->limit_s);
        return BL_OUTCOME_TIMED_OUT;
    }
    bool ended_by_us = ending->step_budget || ending->time_budget;
    if (!ended_by_us && (ending->exit_signal != 0 || ending->exit_status != 0))
        return decide_failure(ending, output, reason);
    return decide_success(ending, markers, reason);
}
