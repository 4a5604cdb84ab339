#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "lab/commands.h"
#include "lab/stored_command.h"
#include "lab/sweep_options.h"

/* Measurements cannot be had back: without a terminal to ask on, --yes is wanted. */
static int confirm(int64_t id, const char *db, bool yes, bl_error *err)
{
    if (yes)
        return BL_OK;
    if (!isatty(STDIN_FILENO)) {
        BL_FAIL(err, BL_ERR_USAGE, "experiment %lld is not deleted without being sure", (long long)id);
        bl_error_remedy(err, "batchlab delete %lld --yes", (long long)id);
        return BL_ERR_USAGE;
    }
    fprintf(stderr, "Delete experiment %lld and all its trials from %s? [y/N] ", (long long)id, db);
    fflush(stderr);
    int answer = getchar();
    return answer == 'y' || answer == 'Y' ? BL_OK : BL_FAIL(err, BL_ERR_FAILED, "nothing was deleted");
}

int bl_cmd_delete(bl_lab *lab, int argc, char **argv)
{
    const char *db = BL_SWEEP_DB;
    bool yes = false;
    const bl_option options[] = {
        {BL_OPT_FLAG, 'y', "yes", NULL, "Do not ask.", &yes, 0, 0},
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &db, 0, 0},
    };
    const bl_command command = {
        .program = "batchlab",
        .name = "delete",
        .summary = "Deletes an experiment with all its trials.",
        .usage = "ID [options]",
        .details = "Other experiments keep their numbers; the file's free space is used again.",
        .examples = "  batchlab delete 3\n  batchlab delete latest --yes\n",
        .options = options,
        .n_options = BL_ARRAY_LEN(options),
    };
    bl_error err = {0};
    bl_stored_command stored;
    int code = bl_stored_command_begin(&command, argc, argv, &db, BL_STORE_WRITE, true, NULL, &stored, &err);
    if (code == BL_OK && stored.store)
        code = confirm(stored.id, db, yes, &err);
    if (code == BL_OK && stored.store)
        code = bl_store_delete(stored.store, stored.id, &err);
    if (code == BL_OK && stored.store)
        bl_log_note("experiment %lld was deleted", (long long)stored.id);
    bl_stored_command_clear(&stored);
    return code == BL_OK ? 0 : bl_log_error(&err);
}
