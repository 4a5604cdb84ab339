/* A file to import, as whatever it seems to be: what comes out can be stored, or an error says why not. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "store/import.h"

static void check(const bl_experiment *e)
{
    size_t cases = bl_experiment_n_cases(e);
    FUZZ_CHECK(cases >= 1 && cases <= BL_IMPORT_CASES_MAX && e->blocks >= 1 && e->blocks <= BL_IMPORT_BLOCKS_MAX);
    FUZZ_CHECK(e->margin > 0 && e->workload && e->version && e->cwd);
    for (size_t c = 0; c < cases; c++)
        FUZZ_CHECK(bl_experiment_value(e, c, 0));
    for (size_t i = 0; i < e->n_trials; i++) {
        const bl_trial_record *t = &e->trials[i];
        FUZZ_CHECK(t->case_index < cases && t->block < (size_t)e->blocks && t->outcome && t->step_source);
        FUZZ_CHECK(t->n_steps == 0 || t->steps);
        for (size_t k = 0; k < t->n_steps; k++)
            FUZZ_CHECK(t->steps[k].samples > 0 && t->steps[k].time_ns >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    /* The steps of a CSV of trials follow an empty line with a form feed. */
    char *second = strstr(text, "\n\f\n");
    if (second) {
        *second = '\0';
        second += 3;
    }
    const bl_import_options options = {.now_ns = 1700000000000000000, .warmup = 1, .row_samples = size % 3 ? NAN : 100};
    bl_import_file files[2] = {{.name = "file", .text = text, .batch = size % 2 ? 32 : 0},
                               {.name = "second", .text = second}};
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment e;
    bl_error err = {0};
    int code = BL_ERR_FORMAT;
    switch (bl_import_recognize(text)) {
    case BL_IMPORT_JSON:
        code = bl_import_json(&files[0], &arena, &e, &err);
        break;
    case BL_IMPORT_HYPERFINE:
        code = bl_import_hyperfine(&files[0], &options, &arena, &e, &err);
        break;
    case BL_IMPORT_TRIALS:
        code = bl_import_trials(&files[0], second ? &files[1] : NULL, &options, &arena, &e, &err);
        break;
    case BL_IMPORT_LOG:
        code = bl_import_logs(files, second ? 2 : 1, &options, &arena, &e, &err);
        break;
    default:
        err.message[0] = '!';
        break;
    }
    FUZZ_CHECK(code == BL_OK || code == BL_ERR_FORMAT || code == BL_ERR_USAGE);
    FUZZ_CHECK((code == BL_OK) == (err.message[0] == '\0'));
    if (code == BL_OK)
        check(&e);
    bl_arena_clear(&arena);
    free(text);
    return 0;
}
