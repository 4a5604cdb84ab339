#include "lab/sweep_spec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/fs.h"
#include "lab/hooks.h"
#include "plan/batch_list.h"
#include "plan/blocks.h"
#include "plan/template.h"
#include "plan/words.h"

#define TRAINER "batchlab-train"

void bl_sweep_spec_clear(bl_sweep_spec *spec)
{
    bl_factors_clear(&spec->factors);
    bl_strv_clear(&spec->command);
    free(spec->workload);
    free(spec->name);
    free(spec->samples);
    free(spec->cwd);
    bl_driving_clear(&spec->driving);
    spec->workload = spec->name = spec->samples = spec->cwd = NULL;
}

static int no_memory(bl_error *err)
{
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the sweep's settings");
}

static int copy_text(const char *text, char **out, bl_error *err)
{
    *out = text ? bl_strdup(text) : NULL;
    return text && !*out ? no_memory(err) : BL_OK;
}

static int64_t given(int64_t value, int64_t otherwise)
{
    return value == BL_SWEEP_NOT_GIVEN ? otherwise : value;
}

/* ---- the built-in trainer ---- */

/* Beside this program, in the build tree's other folder, or else left to PATH. */
void bl_sweep_find_trainer(const char *program, bl_str *out)
{
    static const char *const places[] = {"/" TRAINER, "/../train/" TRAINER};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        n = snprintf(self, sizeof self, "%s", program);
    self[n < (ssize_t)sizeof self ? n : (ssize_t)sizeof self - 1] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; slash && i < BL_ARRAY_LEN(places); i++) {
        *slash = '\0';
        bl_str_reset(out);
        bl_str_printf(out, "%s%s", self, places[i]);
        if (access(bl_str_text(out), X_OK) == 0)
            return;
    }
    bl_str_reset(out);
    bl_str_append(out, TRAINER);
}

/* Braces in what the user gave must not be read as placeholders. */
static int push_literal(bl_strv *v, const char *text)
{
    bl_str escaped;
    bl_str_init(&escaped);
    for (; *text; text++) {
        bl_str_append_c(&escaped, *text);
        if (*text == '{' || *text == '}')
            bl_str_append_c(&escaped, *text);
    }
    int code = escaped.failed ? BL_ERR_NOMEM : bl_strv_push(v, bl_str_text(&escaped));
    bl_str_clear(&escaped);
    return code;
}

static int make_model_command(const bl_sweep_options *o, const char *program, bl_sweep_spec *spec, bl_error *err)
{
    bl_str trainer;
    bl_str_init(&trainer);
    bl_sweep_find_trainer(program, &trainer);
    int code = trainer.failed ? BL_ERR_NOMEM : push_literal(&spec->command, bl_str_text(&trainer));
    bl_str_clear(&trainer);
    if (code == BL_OK)
        code = push_literal(&spec->command, o->model);
    /* Not its one epoch but the trial's budget ends it; what the user says after -- comes later and wins. */
    static const char *const words[] = {"--batch-size", "{batch}", "--epochs", "1000000"};
    for (size_t i = 0; code == BL_OK && i < BL_ARRAY_LEN(words); i++)
        code = bl_strv_push(&spec->command, words[i]);
    if (code == BL_OK && o->data) {
        code = bl_strv_push(&spec->command, "--data");
        /* The trainer runs in this very folder, so a relative one stays right. */
        if (code == BL_OK)
            code = push_literal(&spec->command, o->data);
    }
    for (int i = 0; code == BL_OK && i < o->n_command; i++)
        code = bl_strv_push(&spec->command, o->command[i]);
    return code == BL_OK ? code : no_memory(err);
}

/* ---- from the options ---- */

static int make_factors(const bl_sweep_options *o, bl_sweep_spec *spec, bl_error *err)
{
    int code;
    if (o->batches) {
        bl_batch_list list;
        code = bl_batch_list_parse(o->batches, &list, err);
        if (code != BL_OK)
            return code;
        code = bl_factors_add_batch(&spec->factors, &list, err);
        bl_batch_list_clear(&list);
    } else {
        code = bl_factors_add_no_batch(&spec->factors, err);
    }
    for (size_t i = 0; code == BL_OK && i < o->params.len; i++)
        code = bl_factors_add_param(&spec->factors, o->params.items[i], err);
    return code;
}

/* Its words come first; placeholders work in them. */
static int push_launcher(const char *launcher, bl_sweep_spec *spec, bl_error *err)
{
    bl_strv words;
    int code = launcher ? bl_words_split(launcher, &words, err) : BL_OK;
    if (code != BL_OK)
        bl_error_context(err, "--launcher");
    if (!launcher || code != BL_OK)
        return code;
    for (size_t i = 0; code == BL_OK && i < words.len; i++)
        code = bl_strv_push(&spec->command, words.items[i]);
    bl_strv_clear(&words);
    return code == BL_OK ? code : no_memory(err);
}

static int make_command(const bl_sweep_options *o, const char *program, bl_sweep_spec *spec, bl_error *err)
{
    int code = push_launcher(o->launcher, spec, err);
    if (code != BL_OK)
        return code;
    if (o->model)
        return make_model_command(o, program, spec, err);
    for (int i = 0; i < o->n_command; i++)
        if (bl_strv_push(&spec->command, o->command[i]) != BL_OK)
            return no_memory(err);
    return BL_OK;
}

static int make_workload(const bl_sweep_options *o, bl_sweep_spec *spec, bl_error *err)
{
    bl_str text;
    bl_str_init(&text);
    if (o->model)
        bl_str_printf(&text, "%s%s%s%s%s", o->model, o->data ? " on " : "", o->data ? o->data : "",
                      o->launcher ? " by " : "", o->launcher ? o->launcher : "");
    for (size_t i = 0; !o->model && i < spec->command.len; i++)
        bl_str_printf(&text, "%s%s", i ? " " : "", spec->command.items[i]);
    spec->workload = bl_str_take(&text);
    return spec->workload ? BL_OK : no_memory(err);
}

/* Without a batch size, {batch} would silently become nothing. */
static int check_command(const bl_sweep_options *o, const bl_sweep_spec *spec, bl_error *err)
{
    for (size_t i = 0; !o->batches && i < spec->command.len; i++) {
        const char *text = spec->command.items[i], *at = strstr(text, "{batch}");
        if (!at || (at > text && at[-1] == '{'))
            continue;
        BL_FAIL(err, BL_ERR_USAGE, "the command holds {batch}, but no batch size was given");
        bl_error_remedy(err, "-b 128");
        return BL_ERR_USAGE;
    }
    return bl_template_check(spec->command.items, spec->command.len, o->driving.prepare, &spec->factors,
                             spec->batch_from_env || !o->batches, err);
}

static int check_samples(const bl_sweep_spec *spec, bl_error *err)
{
    double samples;
    int code = BL_OK;
    for (size_t c = 0; spec->samples && code == BL_OK && c < bl_factors_n_cases(&spec->factors); c++)
        code = bl_template_number(spec->samples, &spec->factors, c, &samples, err);
    return code;
}

int bl_sweep_spec_from_options(const bl_sweep_options *o, const char *program, bl_sweep_spec *spec, bl_error *err)
{
    *spec = (bl_sweep_spec){.shell = o->shell,
                            .batch_from_env = o->batch_from_env,
                            .blocks = given(o->blocks, BL_SWEEP_BLOCKS),
                            .steps = given(o->steps, BL_SWEEP_STEPS),
                            .warmup = given(o->warmup, BL_SWEEP_WARMUP),
                            .seed = o->seed,
                            .time_s = o->time_s < 0 ? BL_SWEEP_TIME_S : o->time_s,
                            .setup_s = o->setup_s < 0 ? BL_SWEEP_SETUP_S : o->setup_s,
                            .margin = o->margin};
    bl_factors_init(&spec->factors);
    bl_strv_init(&spec->command);
    int code = bl_driving_from_options(&o->driving, &spec->driving, err);
    if (code == BL_OK)
        code = make_factors(o, spec, err);
    if (code == BL_OK)
        code = make_command(o, program, spec, err);
    if (code == BL_OK)
        code = make_workload(o, spec, err);
    if (code == BL_OK)
        code = copy_text(o->name, &spec->name, err);
    if (code == BL_OK)
        code = copy_text(o->samples, &spec->samples, err);
    if (code == BL_OK)
        code = check_command(o, spec, err);
    if (code == BL_OK)
        code = check_samples(spec, err);
    if (code == BL_OK)
        code = bl_hooks_check(spec, err);
    if (code == BL_OK && o->labels)
        code = bl_factors_add_param(&spec->factors, o->labels, err);
    if (code == BL_OK && !(spec->cwd = getcwd(NULL, 0)))
        code = BL_FAIL(err, BL_ERR_ENV, "the present folder cannot be named: %s", strerror(errno));
    uint64_t seed = 0;
    if (code == BL_OK && spec->seed == BL_SWEEP_NOT_GIVEN) {
        code = bl_plan_fresh_seed(&seed, err);
        spec->seed = (int64_t)seed;
    }
    return code;
}

/* ---- to and from the store ---- */

int bl_sweep_spec_from_experiment(const bl_experiment *e, bl_sweep_spec *spec, bl_error *err)
{
    *spec = (bl_sweep_spec){.shell = e->shell,
                            .batch_from_env = e->batch_from_env,
                            .blocks = e->blocks,
                            .steps = e->steps,
                            .warmup = e->warmup,
                            .seed = e->seed,
                            .time_s = e->time_s,
                            .setup_s = e->setup_s,
                            .margin = e->margin};
    bl_factors_init(&spec->factors);
    bl_strv_init(&spec->command);
    if (e->n_factors == 0 || e->n_factors > BL_FACTORS_MAX || bl_experiment_n_cases(e) > BL_CASES_MAX ||
        e->n_command == 0)
        return BL_FAIL(err, BL_ERR_FORMAT, "experiment %lld is not one that this batchlab can go on with",
                       (long long)e->id);
    int code = bl_driving_from_json(e->driving, &spec->driving, err);
    for (size_t f = 0; code == BL_OK && f < e->n_factors; f++) {
        bl_factor *factor = &spec->factors.items[f];
        bl_strv_init(&factor->values);
        spec->factors.len = f + 1;
        code = copy_text(e->factors[f].name, &factor->name, err);
        for (size_t v = 0; code == BL_OK && v < e->factors[f].n_values; v++)
            if (bl_strv_push(&factor->values, e->factors[f].values[v]) != BL_OK)
                code = no_memory(err);
    }
    for (size_t i = 0; code == BL_OK && i < e->n_command; i++)
        if (bl_strv_push(&spec->command, e->command[i]) != BL_OK)
            code = no_memory(err);
    if (code == BL_OK)
        code = copy_text(e->workload, &spec->workload, err);
    if (code == BL_OK)
        code = copy_text(e->name, &spec->name, err);
    if (code == BL_OK)
        code = copy_text(e->samples, &spec->samples, err);
    if (code == BL_OK)
        code = copy_text(e->cwd, &spec->cwd, err);
    return code;
}

int bl_sweep_spec_to_experiment(const bl_sweep_spec *spec, bl_arena *arena, bl_experiment *out, bl_error *err)
{
    *out = (bl_experiment){.name = spec->name,
                           .workload = spec->workload,
                           .command = spec->command.items,
                           .n_command = spec->command.len,
                           .cwd = spec->cwd,
                           .shell = spec->shell,
                           .batch_from_env = spec->batch_from_env,
                           .samples = spec->samples,
                           .blocks = spec->blocks,
                           .steps = spec->steps,
                           .warmup = spec->warmup,
                           .seed = spec->seed,
                           .time_s = spec->time_s,
                           .setup_s = spec->setup_s,
                           .margin = spec->margin,
                           .n_factors = spec->factors.len};
    out->factors = bl_arena_alloc(arena, out->n_factors, sizeof *out->factors);
    for (size_t f = 0; out->factors && f < out->n_factors; f++) {
        const bl_factor *factor = &spec->factors.items[f];
        bl_stored_factor *stored = &out->factors[f];
        stored->name = factor->name;
        stored->n_values = factor->values.len;
        stored->values = bl_arena_alloc(arena, factor->values.len, sizeof *stored->values);
        if (!stored->values)
            return no_memory(err);
        for (size_t v = 0; v < factor->values.len; v++)
            stored->values[v] = factor->values.items[v];
    }
    if (!out->factors)
        return no_memory(err);
    bl_str driving;
    bl_str_init(&driving);
    int code = bl_driving_to_json(&spec->driving, &driving, err);
    if (code == BL_OK && !(out->driving = bl_arena_strdup(arena, bl_str_text(&driving))))
        code = no_memory(err);
    bl_str_clear(&driving);
    return code;
}

int bl_sweep_spec_argv(const bl_sweep_spec *spec, const bl_factors *factors, size_t case_index, bl_strv *out,
                       bl_error *err)
{
    char *const *argv = spec->command.items;
    return spec->shell ? bl_template_shell_argv(argv, spec->command.len, factors, case_index, out, err)
                       : bl_template_argv(argv, spec->command.len, factors, case_index, out, err);
}
