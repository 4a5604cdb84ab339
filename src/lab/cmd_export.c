#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "lab/commands.h"
#include "lab/show.h"
#include "lab/stored_command.h"
#include "lab/sweep_options.h"

static int choose_form(const char *format, bool steps, bool telemetry, bl_show_form *form, bl_error *err)
{
    if (strcmp(format, "json") == 0)
        *form = BL_SHOW_JSON_STEPS;
    else if (strcmp(format, "markdown") == 0)
        *form = BL_SHOW_MARKDOWN;
    else if (strcmp(format, "csv") == 0)
        *form = telemetry ? BL_SHOW_CSV_TELEMETRY : steps ? BL_SHOW_CSV_STEPS : BL_SHOW_CSV;
    else {
        BL_FAIL(err, BL_ERR_USAGE, "there is no format '%s'", format);
        bl_error_remedy(err, "--format csv, json or markdown");
        return BL_ERR_USAGE;
    }
    return BL_OK;
}

int bl_cmd_export(bl_lab *lab, int argc, char **argv)
{
    const char *db = BL_SWEEP_DB, *format = "csv", *output = NULL;
    bool steps = false, telemetry = false;
    const bl_option options[] = {
        {BL_OPT_STRING, 'f', "format", "FORMAT", "csv, json or markdown (default: csv).", &format, 0, 0},
        {BL_OPT_FLAG, 's', "steps", NULL, "With csv: a line for each raw step, not for each trial.", &steps, 0, 0},
        {BL_OPT_FLAG, 0, "telemetry", NULL, "With csv: a line for each value that was looked at.", &telemetry, 0, 0},
        {BL_OPT_STRING, 'o', "output", "FILE", "Write there, replacing the file as a whole (default: standard output).",
         &output, 0, 0},
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &db, 0, 0},
    };
    const bl_command command = {
        .program = "batchlab",
        .name = "export",
        .summary = "Writes an experiment as CSV, JSON or Markdown.",
        .usage = "ID [options]",
        .details = "ID is a number from batchlab list, or 'latest'. CSV has a line for each trial; JSON has "
                   "everything: settings, machine, figures, trials and their raw steps; Markdown has the table.",
        .examples = "  batchlab export 3 --format json -o sweep.json\n"
                    "  batchlab export latest --steps > steps.csv\n",
        .options = options,
        .n_options = BL_ARRAY_LEN(options),
    };
    bl_error err = {0};
    bl_stored_command stored;
    bl_show_form form = BL_SHOW_CSV;
    bl_str text;
    bl_str_init(&text);
    int code = bl_stored_command_begin(&command, argc, argv, &db, BL_STORE_READ, true, NULL, &stored, &err);
    if (code == BL_OK && stored.store)
        code = choose_form(format, steps, telemetry, &form, &err);
    if (code == BL_OK && stored.store) {
        bl_report_style style = {0};
        code = bl_show_make(stored.store, stored.id, form, &style, &text, &err);
    }
    if (code == BL_OK && stored.store && output)
        code = bl_fs_replace(output, bl_str_text(&text), text.len, &err);
    else if (code == BL_OK)
        fwrite(bl_str_text(&text), 1, text.len, stdout);
    bl_str_clear(&text);
    bl_stored_command_clear(&stored);
    return code == BL_OK ? 0 : bl_log_error(&err);
}
