#include "lab/hooks.h"

#include <stdlib.h>
#include <string.h>

#include "lab/interrupt.h"
#include "plan/template.h"
#include "plan/words.h"
#include "trial/trial.h"

/* Quoting is understood before values are put in, so that a value never becomes two words. */
static int make_argv(const char *text, const bl_factors *factors, size_t c, bool shell, bl_strv *out, bl_error *err)
{
    if (shell) {
        char *const one[] = {(char *)text, NULL};
        return bl_template_shell_argv(one, 1, factors, c, out, err);
    }
    bl_strv words;
    int code = bl_words_split(text, &words, err);
    if (code != BL_OK) {
        bl_strv_init(out);
        return code;
    }
    code = bl_template_argv(words.items, words.len, factors, c, out, err);
    bl_strv_clear(&words);
    return code;
}

static int check_one(const char *option, const char *text, const bl_factors *factors, bool shell, bl_error *err)
{
    if (!text)
        return BL_OK;
    bl_strv argv;
    int code = make_argv(text, factors, 0, shell, &argv, err);
    bl_strv_clear(&argv);
    if (code != BL_OK)
        bl_error_context(err, "%s", option);
    return code;
}

int bl_hooks_check(const bl_sweep_spec *spec, bl_error *err)
{
    const bl_factors none = {.len = 0};
    int code = check_one("--setup", spec->driving.setup, &none, spec->shell, err);
    if (code == BL_OK)
        code = check_one("--prepare", spec->driving.prepare, &spec->factors, spec->shell, err);
    if (code == BL_OK)
        code = check_one("--cleanup", spec->driving.cleanup, &spec->factors, spec->shell, err);
    return code;
}

/* The last line that it printed: mostly the reason. */
static void append_last_line(const char *output, bl_error *err)
{
    char line[160] = "";
    for (const char *at = output; *at;) {
        size_t n = strcspn(at, "\n");
        if (strspn(at, " \t\r") < n) {
            size_t kept = n < sizeof line - 1 ? n : sizeof line - 1;
            memcpy(line, at, kept);
            line[kept] = '\0';
        }
        at += n + (at[n] == '\n');
    }
    if (line[0])
        bl_error_remedy(err, "see what it printed last: %s", line);
}

static int judge(const bl_hook *hook, const bl_trial_result *result, bl_error *err)
{
    if (result->decision.outcome == BL_OUTCOME_INTERRUPTED)
        return BL_FAIL(err, BL_ERR_INTERRUPTED, "%s was broken off", hook->option);
    if (result->exit_status == 0)
        return BL_OK;
    if (result->exit_signal)
        BL_FAIL(err, BL_ERR_FAILED, "%s was ended by signal %d: %s", hook->option, result->exit_signal, hook->text);
    else
        BL_FAIL(err, BL_ERR_FAILED, "%s ended with exit status %d: %s", hook->option, result->exit_status, hook->text);
    append_last_line(bl_str_text(&result->output_tail), err);
    return BL_ERR_FAILED;
}

int bl_hook_run(bl_launcher *launcher, const bl_sweep_spec *spec, const bl_hook *hook, bl_error *err)
{
    if (!hook->text)
        return BL_OK;
    bl_strv argv;
    int code = make_argv(hook->text, hook->factors, hook->case_index, spec->shell, &argv, err);
    if (code == BL_OK) {
        const char *batch = hook->factors->len > 0 ? bl_factors_value(hook->factors, hook->case_index, 0) : NULL;
        bl_trial_spec trial = {.argv = argv.items,
                               .cwd = spec->cwd,
                               .env = hook->env,
                               .batch = batch ? strtoll(batch, NULL, 10) : 0,
                               .trial = hook->trial,
                               .log_fd = hook->log_fd,
                               .interrupt = &bl_interrupt_count,
                               .interrupts_before = (int)bl_interrupt_count};
        bl_trial_result result;
        code = bl_trial_run(launcher, &trial, &result, err);
        if (code != BL_OK)
            bl_error_context(err, "%s", hook->option);
        else
            code = judge(hook, &result, err);
        bl_trial_result_clear(&result);
    }
    bl_strv_clear(&argv);
    return code;
}

int bl_hook_run_setup(bl_launcher *launcher, const bl_sweep_spec *spec, bl_error *err)
{
    const bl_factors none = {.len = 0};
    const bl_hook hook = {.option = "--setup", .text = spec->driving.setup, .factors = &none, .log_fd = -1};
    return bl_hook_run(launcher, spec, &hook, err);
}
