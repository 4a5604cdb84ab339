#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/options.h"
#include "lab/commands.h"
#include "store/store.h"

static int merge_one(bl_store *from, int64_t from_id, bl_store *into, size_t *counts, bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment experiment;
    bl_store_merged what;
    int64_t id = 0;
    int code = bl_store_load(from, from_id, true, &arena, &experiment, err);
    if (code == BL_OK)
        code = bl_store_merge(into, &experiment, &id, &what, err);
    if (code == BL_OK)
        counts[what]++;
    if (code == BL_OK && what != BL_STORE_THERE)
        bl_log_note("experiment %lld %s %lld: %.200s", (long long)from_id,
                    what == BL_STORE_ADDED ? "is now" : "continues", (long long)id, experiment.workload);
    bl_arena_clear(&arena);
    return code;
}

static bool same_file(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static int merge_file(const char *path, const char *into_path, bl_store *into, size_t *counts, bl_error *err)
{
    bl_store *from = NULL;
    bl_experiment_summary *list;
    size_t n = 0;
    bl_arena arena;
    bl_arena_init(&arena);
    int code = same_file(path, into_path)
                   ? BL_FAIL(err, BL_ERR_USAGE, "'%s' and '%s' are one database", path, into_path)
                   : bl_store_open(path, BL_STORE_READ, &from, err);
    if (code == BL_OK)
        code = bl_store_list(from, &arena, &list, &n, err);
    for (size_t i = 0; code == BL_OK && i < n; i++) {
        code = merge_one(from, list[i].id, into, counts, err);
        if (code != BL_OK)
            bl_error_context(err, "experiment %lld of '%s'", (long long)list[i].id, path);
    }
    bl_store_close(from);
    bl_arena_clear(&arena);
    return code;
}

int bl_cmd_merge(bl_lab *lab, int argc, char **argv)
{
    const bl_command command = {
        .program = "batchlab",
        .name = "merge",
        .summary = "Copies the experiments of databases into another.",
        .usage = "INTO FROM...",
        .details =
            "INTO is made where it is missing. Experiments get new numbers there; one that is there already is not "
            "copied again, but gets the trials that it lacks. The others stay as they are.",
        .examples = "  batchlab merge all.db laptop.db server.db\n",
    };
    bl_error err = {0};
    bl_options_result result;
    bl_store *into = NULL;
    size_t counts[3] = {0};
    int code = bl_options_parse(&command, argc, argv, &result, &err);
    if (code != BL_OK)
        return bl_log_error(&err);
    const bl_strv *operands = &result.operands;
    if (result.help) {
        bl_options_print_help(&command, stdout);
    } else if (operands->len < 2 || result.n_rest > 0) {
        code = BL_FAIL(&err, BL_ERR_USAGE, "which databases?");
        bl_error_remedy(&err, "batchlab merge INTO.db FROM.db...");
    } else {
        code = bl_store_open(operands->items[0], BL_STORE_CREATE, &into, &err);
        for (size_t i = 1; code == BL_OK && i < operands->len; i++)
            code = merge_file(operands->items[i], operands->items[0], into, counts, &err);
        if (code == BL_OK)
            printf("%zu added, %zu extended, %zu there already\n", counts[BL_STORE_ADDED], counts[BL_STORE_EXTENDED],
                   counts[BL_STORE_THERE]);
    }
    bl_store_close(into);
    bl_options_result_clear(&result);
    return code == BL_OK ? 0 : bl_log_error(&err);
}
