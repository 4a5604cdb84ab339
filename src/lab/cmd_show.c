#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "lab/commands.h"
#include "lab/show.h"
#include "lab/stored_command.h"
#include "lab/sweep_options.h"

int bl_cmd_show(bl_lab *lab, int argc, char **argv)
{
    const char *db = BL_SWEEP_DB;
    bool details = false, json = false;
    const bl_option options[] = {
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &db, 0, 0},
        {BL_OPT_FLAG, 'a', "all", NULL, "Also the settings, the machine and every trial.", &details, 0, 0},
        {BL_OPT_FLAG, 0, "json", NULL, "All of it as JSON (raw steps: batchlab export).", &json, 0, 0},
    };
    const bl_command command = {
        .program = "batchlab",
        .name = "show",
        .summary = "Shows an experiment's table, plot and verdict.",
        .usage = "[ID] [options]",
        .details = "ID is a number from batchlab list; without it, or as 'latest', the newest experiment is shown. "
                   "All figures are computed anew from the raw steps.",
        .examples = "  batchlab show             # the newest experiment\n"
                    "  batchlab show 3 --all     # everything known of experiment 3\n"
                    "  batchlab show 3 --json | jq '.cases[].samples_per_s'\n",
        .options = options,
        .n_options = BL_ARRAY_LEN(options),
    };
    bl_error err = {0};
    bl_stored_command stored;
    bl_str text;
    bl_str_init(&text);
    int code = bl_stored_command_begin(&command, argc, argv, &db, BL_STORE_READ, true, "latest", &stored, &err);
    if (code == BL_OK && stored.store) {
        bl_report_style style = bl_show_style(STDOUT_FILENO);
        bl_show_form form = json ? BL_SHOW_JSON : details ? BL_SHOW_DETAILS : BL_SHOW_TEXT;
        code = bl_show_make(stored.store, stored.id, form, &style, &text, &err);
    }
    if (code == BL_OK)
        fputs(bl_str_text(&text), stdout);
    bl_str_clear(&text);
    bl_stored_command_clear(&stored);
    return code == BL_OK ? 0 : bl_log_error(&err);
}
