#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/options.h"
#include "lab/commands.h"
#include "lab/page_file.h"
#include "lab/show.h"
#include "lab/sweep_options.h"
#include "plan/target.h"

enum { EXPERIMENTS_MAX = 32 };

static int find_ids(bl_store *store, const bl_strv *operands, int64_t *ids, size_t *n, bl_error *err)
{
    if (operands->len > EXPERIMENTS_MAX)
        return BL_FAIL(err, BL_ERR_USAGE, "%zu experiments are more than the %d that one page shows", operands->len,
                       EXPERIMENTS_MAX);
    int code = BL_OK;
    for (*n = 0; code == BL_OK && *n < operands->len; (*n)++)
        code = bl_show_parse_id(store, operands->items[*n], &ids[*n], err);
    if (operands->len == 0) {
        code = bl_store_latest(store, false, &ids[0], err);
        *n = 1;
    }
    return code;
}

static int write_file(const char *db, const bl_strv *operands, const char *picture, const bl_target *target,
                      const char *output, bl_error *err)
{
    bl_store *store = NULL;
    int64_t ids[EXPERIMENTS_MAX];
    size_t n = 0;
    bl_str path;
    bl_str_init(&path);
    if (output)
        bl_str_append(&path, output);
    else
        bl_str_printf(&path, "%s%s", picture ? picture : "report", picture ? ".svg" : ".html");
    int code = path.failed ? BL_FAIL(err, BL_ERR_NOMEM, "no memory for the file's name") : BL_OK;
    if (code == BL_OK)
        code = bl_store_open(db, BL_STORE_READ, &store, err);
    if (code == BL_OK)
        code = find_ids(store, operands, ids, &n, err);
    if (code == BL_OK)
        code = picture ? bl_picture_file_write(store, ids, n, picture, target, bl_str_text(&path), err)
                       : bl_page_file_write(store, ids, n, 0, target, bl_str_text(&path), err);
    if (code == BL_OK)
        bl_log_note("wrote %s", bl_str_text(&path));
    bl_store_close(store);
    bl_str_clear(&path);
    return code;
}

int bl_cmd_report(bl_lab *lab, int argc, char **argv)
{
    const char *db = BL_SWEEP_DB, *output = NULL, *picture = NULL, *target_text = NULL;
    bl_target target;
    const bl_option options[] = {
        {BL_OPT_STRING, 'o', "output", "FILE",
         "Write there, replacing the file as a whole (default: report.html, or the picture's name).", &output, 0, 0},
        {BL_OPT_STRING, 0, "picture", "NAME",
         "Write one picture alone, as SVG (or PNG or PDF where FILE ends so and gnuplot is there): " BL_PICTURES ".",
         &picture, 0, 0},
        {BL_OPT_STRING, 't', "target", "TARGET",
         "loss=0.25, or a metric, top1=0.6: shows how many steps, and how long, trials took to it (default: what "
         "--until "
         "was).",
         &target_text, 0, 0},
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &db, 0, 0},
    };
    const bl_command command = {
        .program = "batchlab",
        .name = "report",
        .summary = "Writes a web page, or a picture, about experiments.",
        .usage = "[ID...] [options]",
        .details = "IDs are numbers from batchlab list; without one, or as 'latest', the newest. Several experiments "
                   "overlay. The page is one file that needs no network.",
        .examples = "  batchlab report                     # report.html about the newest experiment\n"
                    "  batchlab report 3 4 -o both.html    # two machines, side by side\n"
                    "  batchlab report 3 --picture throughput -o throughput.svg\n"
                    "  batchlab report 3 --picture memory -o memory.png    # by gnuplot\n"
                    "  batchlab report 3 --target loss=0.25\n",
        .options = options,
        .n_options = BL_ARRAY_LEN(options),
    };
    bl_error err = {0};
    bl_options_result result;
    int code = bl_options_parse(&command, argc, argv, &result, &err);
    if (code != BL_OK)
        return bl_log_error(&err);
    if (result.help) {
        bl_options_print_help(&command, stdout);
    } else if (result.n_rest > 0) {
        code = BL_FAIL(&err, BL_ERR_USAGE, "'%s' is one argument too many", result.rest[0]);
        bl_error_remedy(&err, "batchlab report --help");
    } else if (target_text && !bl_target_parse(target_text, &target)) {
        code = BL_FAIL(&err, BL_ERR_USAGE, "--target '%s' is no target", target_text);
        bl_error_remedy(&err, "--target loss=0.25, or top1=0.6");
    } else {
        code = write_file(db, &result.operands, picture, target_text ? &target : NULL, output, &err);
    }
    bl_options_result_clear(&result);
    return code == BL_OK ? 0 : bl_log_error(&err);
}
