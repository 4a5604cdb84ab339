/* The text of an experiment file, planned in each of its scales. */
#include "fuzz.h"

#include <string.h>

#include "base/attributes.h"
#include "study/study.h"

static const bl_option options[] = {
    {BL_OPT_STRING, 'b', "batch", "LIST", "Sizes.", NULL, 0, 0},
    {BL_OPT_STRINGS, 'p', "param", "NAME=LIST", "Factors.", NULL, 0, 0},
    {BL_OPT_INT, 'n', "blocks", "N", "Blocks.", NULL, 1, 100},
    {BL_OPT_FLAG, 0, "progress", NULL, "Bars.", NULL, 0, 0},
};
static const bl_command sweep = {
    .program = "batchlab", .name = "sweep", .options = options, .n_options = BL_ARRAY_LEN(options)};
static const char *const names[] = {"sweep"};

static const bl_command *find(const char *name, void *context)
{
    return strcmp(name, "sweep") == 0 ? &sweep : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bl_study_commands commands = {find, NULL, names, 1};
    const bl_study_value here = {"here", "."};
    bl_arena arena;
    bl_arena_init(&arena);
    bl_study study;
    bl_error err = {0};
    int code = bl_study_parse((const char *)data, size, "f.yaml", &arena, &study, &err);
    FUZZ_CHECK(code == BL_OK || code == BL_ERR_NOMEM || (code == BL_ERR_FORMAT && strstr(err.message, "f.yaml")));
    for (size_t s = 0; code == BL_OK && s < study.n_scales; s++) {
        bl_study_plan plan;
        bl_error problem = {0};
        int planned = bl_study_plan_make(&study, study.scales[s], &here, 1, &commands, &arena, &plan, &problem);
        FUZZ_CHECK(planned == BL_OK || planned == BL_ERR_NOMEM || planned == BL_ERR_FORMAT);
        FUZZ_CHECK(planned != BL_ERR_FORMAT || strstr(problem.message, "line "));
        for (size_t i = 0; planned == BL_OK && i < plan.n_steps; i++)
            for (size_t w = 0; w < plan.steps[i].argc; w++)
                FUZZ_CHECK(plan.steps[i].argv[w] != NULL);
    }
    bl_arena_clear(&arena);
    return 0;
}
