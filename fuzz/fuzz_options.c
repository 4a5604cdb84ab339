/* Lines are arguments. */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#include "base/attributes.h"
#include "base/options.h"

enum { ARGUMENTS_MAX = 64 };

typedef struct values {
    bool live;
    const char *name;
    bl_strv params;
    int64_t blocks, seed;
    double rate, time_s;
    uint64_t memory_b;
} values;

static void check_values(const values *v)
{
    FUZZ_CHECK(v->blocks >= 1 && v->blocks <= 1000);
    FUZZ_CHECK(v->time_s >= 0);
    FUZZ_CHECK(v->name != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    values v = {.name = "default", .blocks = 5};
    const bl_option options[] = {
        {.kind = BL_OPT_GROUP, .help = "Heading"},
        {BL_OPT_FLAG, 'l', "live", NULL, "A flag.", &v.live, 0, 0},
        {BL_OPT_STRING, 'b', "batch", "LIST", "A text.", &v.name, 0, 0},
        {BL_OPT_STRINGS, 'p', "param", "NAME=LIST", "Texts.", &v.params, 0, 0},
        {BL_OPT_INT, 'n', "blocks", "N", "A number.", &v.blocks, 1, 1000},
        {BL_OPT_INT, 0, "seed", "N", "Any number.", &v.seed, 0, 0},
        {BL_OPT_FLOAT, 0, "rate", "X", "A real number.", &v.rate, 0, 0},
        {BL_OPT_DURATION, 't', "time", "DURATION", "A time.", &v.time_s, 0, 0},
        {BL_OPT_SIZE, 0, "memory", "SIZE", "A size.", &v.memory_b, 0, 0},
    };
    const bl_command command = {
        .program = "fuzz", .usage = "", .summary = "", .options = options, .n_options = BL_ARRAY_LEN(options)};
    char *text = malloc(size + 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    char program[] = "fuzz";
    char *argv[ARGUMENTS_MAX + 1] = {program};
    int argc = 1;
    for (char *rest = text; rest != NULL && argc < ARGUMENTS_MAX;)
        argv[argc++] = strsep(&rest, "\n");

    bl_options_result result;
    bl_error err = {0};
    int rc = bl_options_parse(&command, argc, argv, &result, &err);
    FUZZ_CHECK(rc == BL_OK || (rc == BL_ERR_USAGE && err.message[0] != '\0'));
    check_values(&v);
    if (rc == BL_OK) {
        FUZZ_CHECK(result.operands.len + (size_t)result.n_rest < (size_t)argc);
        FUZZ_CHECK((result.rest == NULL) == (result.n_rest == 0) || result.rest[0] == NULL);
    }
    bl_options_result_clear(&result);
    bl_strv_clear(&v.params);
    free(text);
    return 0;
}
