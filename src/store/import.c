#include "store/import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "store/import_parts.h"

static const char *after_blanks(const char *text)
{
    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0)
        text += 3;
    return text + strspn(text, " \t\r\n");
}

bl_import_kind bl_import_recognize(const char *text)
{
    text = after_blanks(text);
    if (*text == '{') /* hyperfine's one object holds "results" and nothing else */
        return strncmp(after_blanks(text + 1), "\"results\"", 9) == 0 ? BL_IMPORT_HYPERFINE : BL_IMPORT_JSON;
    size_t line = strcspn(text, "\r\n");
    if (strncmp(text, "trial,block,position,", 21) == 0)
        return BL_IMPORT_TRIALS;
    return memchr(text, ',', line) ? BL_IMPORT_LOG : BL_IMPORT_NONE;
}

int bl_import_no_memory(const bl_import_file *file, bl_error *err)
{
    return BL_FAIL(err, BL_ERR_NOMEM, "no memory for what '%s' holds", file->name);
}

int bl_import_begin(const bl_import_file *file, const bl_import_options *options, const char *what, const char *note,
                    bl_arena *arena, bl_experiment *out, bl_error *err)
{
    bl_environment_item *item = bl_arena_alloc(arena, 1, sizeof *item);
    char **command = bl_arena_alloc(arena, 1, sizeof *command); /* none: nobody can go on with it */
    const char *name = bl_arena_strdup(arena, file->name);
    char *workload = bl_arena_printf(arena, "imported: %s", file->name);
    char *value = bl_arena_printf(arena, "%s: %s", what, note);
    if (!item || !command || !workload || !value || !name)
        return bl_import_no_memory(file, err);
    *item = (bl_environment_item){.name = "imported", .value = value, .source = name};
    *out = (bl_experiment){.workload = workload,
                           .state = BL_EXPERIMENT_FINISHED,
                           .created_ns = options->now_ns,
                           .version = BATCHLAB_VERSION,
                           .command = command,
                           .cwd = "",
                           .blocks = 1,
                           .warmup = options->warmup,
                           .margin = 0.01,
                           .comparison = {.confidence = NAN, .budget_s = NAN},
                           .environment = {item, 1}};
    return BL_OK;
}

bl_trial_record bl_import_trial(void)
{
    return (bl_trial_record){.predecessor = -1,
                             .outcome = "ok",
                             .wall_s = NAN,
                             .user_s = NAN,
                             .system_s = NAN,
                             .peak_memory_b = NAN,
                             .step_source = "none",
                             .run_samples = NAN};
}

size_t bl_import_find_case(const bl_experiment *e, const char *const *values)
{
    size_t c = 0;
    for (size_t f = 0; f < e->n_factors; f++) {
        const bl_stored_factor *factor = &e->factors[f];
        size_t v = 0;
        while (v < factor->n_values && strcmp(factor->values[v], values[f]) != 0)
            v++;
        if (v == factor->n_values)
            return SIZE_MAX;
        c = c * factor->n_values + v;
    }
    return c;
}

void bl_import_add_value(bl_stored_factor *factor, const char *value)
{
    for (size_t v = 0; v < factor->n_values; v++)
        if (strcmp(factor->values[v], value) == 0)
            return;
    factor->values[factor->n_values++] = value;
}

bool bl_import_parse_utc(const char *text, int64_t *ns)
{
    static const char shape[] = "0000-00-00T00:00:00Z";
    int number[6] = {0}, at = 0;
    for (size_t i = 0; i < sizeof shape; i++) { /* the end too */
        if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
            return false;
        if (shape[i] == '0')
            number[at] = 10 * number[at] + (text[i] - '0');
        else
            at += at < 5;
    }
    struct tm tm = {.tm_year = number[0] - 1900,
                    .tm_mon = number[1] - 1,
                    .tm_mday = number[2],
                    .tm_hour = number[3],
                    .tm_min = number[4],
                    .tm_sec = number[5]};
    if (number[0] < 1970 || number[0] > 2250 || number[1] < 1 || number[1] > 12)
        return false;
    *ns = (int64_t)timegm(&tm) * BL_NS_PER_S;
    return true;
}

/* ---- the check ---- */

static bool is_one_of(const char *text, const char *const *names, size_t n)
{
    for (size_t i = 0; text && i < n; i++)
        if (strcmp(text, names[i]) == 0)
            return true;
    return false;
}

static const char *const outcomes[] = {"ok",          "out_of_memory", "crashed", "timed_out",
                                       "interrupted", "invalid",       "limit",   "ambiguous"};
static const char *const step_sources[] = {"markers", "progress", "none"};
static const char *const memory_kinds[] = {"device", "host", "shared"};

static const char *trial_fault(const bl_experiment *e, const bl_trial_record *t)
{
    if (t->case_index >= bl_experiment_n_cases(e) || t->predecessor >= (int64_t)bl_experiment_n_cases(e))
        return "it is of no case";
    if (t->block >= (size_t)e->blocks)
        return "its block is beyond the last";
    if (!is_one_of(t->outcome, outcomes, BL_ARRAY_LEN(outcomes)))
        return "its outcome is none of those that batchlab knows";
    if (!is_one_of(t->step_source, step_sources, BL_ARRAY_LEN(step_sources)))
        return "its steps have an unknown source";
    if (t->memory_kind && !is_one_of(t->memory_kind, memory_kinds, BL_ARRAY_LEN(memory_kinds)))
        return "its kind of memory is unknown";
    if (t->started_ns < 0 || t->ranks < 0)
        return "one of its numbers is negative";
    for (size_t i = 0; i < t->n_steps; i++)
        if (t->steps[i].samples <= 0 || t->steps[i].time_ns < 0)
            return "a step has no samples, or a negative time";
    return NULL;
}

static int check_cases(const bl_import_file *file, const bl_experiment *e, bl_error *err)
{
    size_t cases = 1;
    if (e->n_factors == 0 || e->n_factors > 16)
        return BL_FAIL(err, BL_ERR_FORMAT, "%s: %zu factors are not from 1 to 16", file->name, e->n_factors);
    for (size_t f = 0; f < e->n_factors; f++) {
        if (e->factors[f].n_values == 0 || e->factors[f].n_values > BL_IMPORT_CASES_MAX ||
            (cases *= e->factors[f].n_values) > BL_IMPORT_CASES_MAX)
            return BL_FAIL(err, BL_ERR_FORMAT, "%s: the factors' values make no case, or more than %d", file->name,
                           BL_IMPORT_CASES_MAX);
        for (size_t other = 0; other < f; other++)
            if (strcmp(e->factors[other].name, e->factors[f].name) == 0)
                return BL_FAIL(err, BL_ERR_FORMAT, "%s: two factors have the name '%s'", file->name,
                               e->factors[f].name);
    }
    if (strcmp(e->factors[0].name, "batch") != 0)
        return BL_FAIL(err, BL_ERR_FORMAT, "%s: the first factor is '%s', not batch", file->name, e->factors[0].name);
    for (size_t p = 0; p < e->comparison.n_pairs; p++)
        if (e->comparison.pairs[p].a >= cases || e->comparison.pairs[p].b >= cases)
            return BL_FAIL(err, BL_ERR_FORMAT, "%s: it compares cases that it does not have", file->name);
    return BL_OK;
}

/* A case has one trial a block, but for those that were interrupted. */
static int check_once(const bl_import_file *file, const bl_experiment *e, bl_error *err)
{
    size_t cases = bl_experiment_n_cases(e);
    unsigned char *seen = bl_calloc(cases * (size_t)e->blocks / 8 + 1, 1);
    if (!seen)
        return bl_import_no_memory(file, err);
    int code = BL_OK;
    for (size_t i = 0; code == BL_OK && i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        size_t at = t->block * cases + t->case_index;
        if (strcmp(t->outcome, "interrupted") == 0)
            continue;
        if (seen[at / 8] >> at % 8 & 1)
            code = BL_FAIL(err, BL_ERR_FORMAT, "%s: trial %zu: its case and block had one before", file->name, i + 1);
        seen[at / 8] |= (unsigned char)(1 << at % 8);
    }
    free(seen);
    return code;
}

int bl_import_check(const bl_import_file *file, const bl_experiment *e, bl_error *err)
{
    int code = check_cases(file, e, err);
    if (code == BL_OK && (e->blocks < 1 || e->blocks > BL_IMPORT_BLOCKS_MAX || e->steps < 0 || e->warmup < 0 ||
                          !(e->margin > 0) || !isfinite(e->margin)))
        code = BL_FAIL(err, BL_ERR_FORMAT, "%s: blocks, steps, warm-up or margin are out of range", file->name);
    if (code == BL_OK && bl_experiment_n_cases(e) * (size_t)e->blocks > BL_IMPORT_TRIALS_MAX)
        code = BL_FAIL(err, BL_ERR_FORMAT, "%s: its cases and blocks make more than %d trials", file->name,
                       BL_IMPORT_TRIALS_MAX);
    for (size_t i = 0; code == BL_OK && i < e->n_trials; i++) {
        const char *fault = trial_fault(e, &e->trials[i]);
        if (fault)
            code = BL_FAIL(err, BL_ERR_FORMAT, "%s: trial %zu: %s", file->name, i + 1, fault);
    }
    return code == BL_OK && e->n_trials > 0 ? check_once(file, e, err) : code;
}
