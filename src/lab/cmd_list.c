#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "lab/commands.h"
#include "lab/show.h"
#include "lab/stored_command.h"
#include "lab/sweep_options.h"
#include "report/format.h"

static const char *state_words(const bl_experiment_summary *e)
{
    return e->state == BL_EXPERIMENT_RUNNING && !e->held ? "broken off" : bl_experiment_state_name(e->state);
}

static void print_table(const bl_experiment_summary *items, size_t n, bl_str *out)
{
    bl_report_style style = bl_show_style(STDOUT_FILENO);
    static const char *const headings[] = {"id", "begun", "state", "trials", "ok", "name", "workload"};
    bl_grid grid;
    bl_grid_init(&grid, BL_ARRAY_LEN(headings), "rllrrll");
    for (size_t i = 0; i < BL_ARRAY_LEN(headings); i++)
        bl_grid_add(&grid, headings[i]);
    for (size_t i = 0; i < n; i++) {
        const bl_experiment_summary *e = &items[i];
        char cell[64];
        snprintf(cell, sizeof cell, "%lld", (long long)e->id);
        bl_grid_add(&grid, cell);
        bl_clock_format_utc(e->created_ns, cell, sizeof cell);
        bl_grid_add(&grid, cell);
        bl_grid_add(&grid, state_words(e));
        snprintf(cell, sizeof cell, "%lld/%lld", (long long)e->n_done, (long long)(e->n_cases * e->blocks));
        bl_grid_add(&grid, cell);
        snprintf(cell, sizeof cell, "%lld", (long long)e->n_ok);
        bl_grid_add(&grid, cell);
        bl_grid_add(&grid, e->name ? e->name : "");
        bl_str workload;
        bl_str_init(&workload);
        bl_format_clean(e->workload, 60, &workload);
        bl_grid_add(&grid, bl_str_text(&workload));
        bl_str_clear(&workload);
    }
    bl_grid_print(&grid, &style, 0, out);
    bl_grid_clear(&grid);
}

static int print_json(const bl_experiment_summary *items, size_t n, bl_str *out, bl_error *err)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        const bl_experiment_summary *e = &items[i];
        char begun[32];
        bl_clock_format_utc(e->created_ns, begun, sizeof begun);
        json_array_append_new(array, json_pack("{s:I, s:s?, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I}", "id",
                                               (json_int_t)e->id, "name", e->name, "workload", e->workload, "begun",
                                               begun, "state", bl_experiment_state_name(e->state), "held", (int)e->held,
                                               "cases", (json_int_t)e->n_cases, "blocks", (json_int_t)e->blocks,
                                               "trials_done", (json_int_t)e->n_done, "trials_ok", (json_int_t)e->n_ok));
    }
    char *text = json_dumps(array, JSON_INDENT(2));
    json_decref(array);
    if (!text)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory for the list");
    bl_str_append(out, text);
    bl_str_append_c(out, '\n');
    free(text);
    return BL_OK;
}

int bl_cmd_list(bl_lab *lab, int argc, char **argv)
{
    const char *db = BL_SWEEP_DB;
    bool json = false;
    const bl_option options[] = {
        {BL_OPT_STRING, 0, "db", "FILE", "The database of experiments (default: batchlab.db).", &db, 0, 0},
        {BL_OPT_FLAG, 0, "json", NULL, "As JSON.", &json, 0, 0},
    };
    const bl_command command = {
        .program = "batchlab",
        .name = "list",
        .summary = "Lists the stored experiments.",
        .usage = "[options]",
        .examples = "  batchlab list\n  batchlab list --db other.db --json\n",
        .options = options,
        .n_options = BL_ARRAY_LEN(options),
    };
    bl_error err = {0};
    bl_stored_command stored;
    bl_arena arena;
    bl_arena_init(&arena);
    bl_str text;
    bl_str_init(&text);
    bl_experiment_summary *items = NULL;
    size_t n = 0;
    int code = bl_stored_command_begin(&command, argc, argv, &db, BL_STORE_READ, false, NULL, &stored, &err);
    if (code == BL_OK && stored.store)
        code = bl_store_list(stored.store, &arena, &items, &n, &err);
    if (code == BL_OK && stored.store && json)
        code = print_json(items, n, &text, &err);
    else if (code == BL_OK && n > 0)
        print_table(items, n, &text);
    else if (code == BL_OK && stored.store)
        bl_log_note("'%s' holds no experiments", db);
    if (code == BL_OK)
        fputs(bl_str_text(&text), stdout);
    bl_str_clear(&text);
    bl_arena_clear(&arena);
    bl_stored_command_clear(&stored);
    return code == BL_OK ? 0 : bl_log_error(&err);
}
