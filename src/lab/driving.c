#include "lab/driving.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "lab/driving_parts.h"
#include "lab/losing.h"

#define RULES_MAX_B        (1 << 20)
#define MEMORY_LIMIT_MIN_B (1 << 20)

void bl_driving_clear(bl_driving *driving)
{
    bl_str_clear(&driving->rules_text);
    bl_rules_free(driving->rules);
    driving->rules = NULL;
    bl_strv_clear(&driving->progress_regexes);
    bl_progress_formats_free(driving->formats);
    driving->formats = NULL;
    bl_strv_clear(&driving->metric_regexes);
    bl_metric_patterns_free(driving->metrics);
    driving->metrics = NULL;
    free(driving->setup);
    free(driving->prepare);
    free(driving->cleanup);
    driving->setup = driving->prepare = driving->cleanup = NULL;
}

void bl_driving_options_init(bl_driving_options *options)
{
    *options = (bl_driving_options){.progress = true, .silence_s = -1, .losing = -1};
}

void bl_driving_options_clear(bl_driving_options *options)
{
    bl_strv_clear(&options->oom_patterns);
    bl_strv_clear(&options->progress_regexes);
    bl_strv_clear(&options->metric_regexes);
}

int bl_driving_begin(bl_driving *driving, bl_error *err)
{
    *driving = (bl_driving){.progress = true};
    bl_str_init(&driving->rules_text);
    bl_strv_init(&driving->progress_regexes);
    bl_strv_init(&driving->metric_regexes);
    return bl_rules_new(true, &driving->rules, err);
}

static int no_memory(bl_error *err)
{
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the settings");
}

/* ---- rules ---- */

static int add_oom_pattern(const char *pattern, bl_driving *driving, bl_error *err)
{
    if (strchr(pattern, '\n'))
        return BL_FAIL(err, BL_ERR_USAGE,
                       "--oom-pattern: a pattern is one line; write \\n for the end of a line in it");
    bl_str_printf(&driving->rules_text, "device_oom %s\n", pattern);
    return bl_rules_add(driving->rules, BL_MESSAGE_DEVICE_OOM, pattern, "--oom-pattern", err);
}

static int read_rules(const char *path, bl_driving *driving, bl_error *err)
{
    char *text = NULL;
    size_t n = 0;
    int code = bl_fs_read(path, RULES_MAX_B, &text, &n, err);
    if (code != BL_OK) {
        bl_error_context(err, "--rules");
        return code;
    }
    if (strlen(text) != n)
        code = BL_FAIL(err, BL_ERR_FORMAT, "--rules '%s' is no text: it holds zero bytes", path);
    else
        code = bl_rules_add_text(driving->rules, text, path, err);
    bl_str_printf(&driving->rules_text, "%s%s", text, n > 0 && text[n - 1] != '\n' ? "\n" : "");
    free(text);
    return code;
}

/* ---- progress ---- */

int bl_driving_make_formats(bl_driving *driving, bl_error *err)
{
    int code = driving->progress ? bl_progress_formats_new(&driving->progress_regexes, driving->progress_samples,
                                                           &driving->formats, err)
                                 : BL_OK;
    return code == BL_OK ? bl_metric_patterns_new(&driving->metric_regexes, &driving->metrics, err) : code;
}

static int copy_texts(const bl_strv *from, bl_strv *to, bl_error *err)
{
    for (size_t i = 0; i < from->len; i++)
        if (bl_strv_push(to, from->items[i]) != BL_OK)
            return no_memory(err);
    return BL_OK;
}

static int take_progress_options(const bl_driving_options *o, bl_driving *driving, bl_error *err)
{
    const char *unit = o->progress_unit;
    if (unit && strcmp(unit, "steps") != 0 && strcmp(unit, "samples") != 0) {
        BL_FAIL(err, BL_ERR_USAGE, "--progress-unit '%s' is neither steps nor samples", unit);
        bl_error_remedy(err, "--progress-unit samples, where the program's counter counts samples");
        return BL_ERR_USAGE;
    }
    if (!o->progress && (unit || o->progress_regexes.len > 0))
        return BL_FAIL(err, BL_ERR_USAGE, "--no-progress and %s exclude each other",
                       unit ? "--progress-unit" : "--progress-regex");
    driving->progress = o->progress;
    driving->progress_samples = unit && strcmp(unit, "samples") == 0;
    int code = copy_texts(&o->progress_regexes, &driving->progress_regexes, err);
    if (code == BL_OK)
        code = copy_texts(&o->metric_regexes, &driving->metric_regexes, err);
    return code == BL_OK ? bl_driving_make_formats(driving, err) : code;
}

/* ---- limits, and what stands around a trial ---- */

int bl_driving_copy(const char *text, char **out, bl_error *err)
{
    *out = text ? bl_strdup(text) : NULL;
    return text && !*out ? no_memory(err) : BL_OK;
}

static int take_target(const bl_driving_options *o, bl_driving *driving, bl_error *err)
{
    if (o->until && !bl_target_parse(o->until, &driving->until)) {
        BL_FAIL(err, BL_ERR_USAGE, "--until '%s' is no target", o->until);
        bl_error_remedy(err, "--until loss=0.25, or top1=0.6");
        return BL_ERR_USAGE;
    }
    if (o->losing > 0 && !(o->losing > 1 && isfinite(o->losing))) {
        BL_FAIL(err, BL_ERR_USAGE, "--stop-losing: a training has not lost before it took more steps than others");
        bl_error_remedy(err, "--stop-losing 2, or 0: stop none");
        return BL_ERR_USAGE;
    }
    if (o->losing > 0 && !o->until) {
        BL_FAIL(err, BL_ERR_USAGE, "--stop-losing goes with --until only");
        bl_error_remedy(err, "--until loss=0.25");
        return BL_ERR_USAGE;
    }
    driving->losing = !o->until ? 0 : o->losing >= 0 ? o->losing : BL_LOSING_FACTOR;
    return BL_OK;
}

static int take_surroundings(const bl_driving_options *o, bl_driving *driving, bl_error *err)
{
    if (o->silence_s == 0) {
        BL_FAIL(err, BL_ERR_USAGE, "--silence-timeout must be longer than 0");
        bl_error_remedy(err, "leave it out, and silence ends no trial");
        return BL_ERR_USAGE;
    }
    if (o->memory_limit_b > 0 && o->memory_limit_b < MEMORY_LIMIT_MIN_B) {
        BL_FAIL(err, BL_ERR_USAGE, "--memory-limit: no program starts within %llu bytes",
                (unsigned long long)o->memory_limit_b);
        bl_error_remedy(err, "--memory-limit 8G");
        return BL_ERR_USAGE;
    }
    driving->silence_s = o->silence_s > 0 ? o->silence_s : 0;
    driving->memory_limit_b = o->memory_limit_b;
    driving->turn_steps = o->turn_steps;
    int code = bl_driving_copy(o->setup, &driving->setup, err);
    if (code == BL_OK)
        code = bl_driving_copy(o->prepare, &driving->prepare, err);
    return code == BL_OK ? bl_driving_copy(o->cleanup, &driving->cleanup, err) : code;
}

int bl_driving_from_options(const bl_driving_options *o, bl_driving *driving, bl_error *err)
{
    int code = bl_driving_begin(driving, err);
    for (size_t i = 0; code == BL_OK && i < o->oom_patterns.len; i++)
        code = add_oom_pattern(o->oom_patterns.items[i], driving, err);
    if (code == BL_OK && o->rules_file)
        code = read_rules(o->rules_file, driving, err);
    driving->pty = o->pty;
    if (code == BL_OK)
        code = take_progress_options(o, driving, err);
    if (code == BL_OK)
        code = take_target(o, driving, err);
    if (code == BL_OK)
        code = take_surroundings(o, driving, err);
    return code == BL_OK && driving->rules_text.failed ? no_memory(err) : code;
}
