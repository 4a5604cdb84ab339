#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "lab/commands.h"
#include "lab/show.h"
#include "lab/tune.h"

typedef struct loaded {
    bl_experiment experiment;
    bl_analysis analysis;
} loaded;

static int load(bl_store *store, const char *id_text, bl_arena *arena, loaded *out, bl_error *err)
{
    int64_t id = 0;
    int code = bl_show_parse_id(store, id_text, &id, err);
    if (code == BL_OK)
        code = bl_store_load(store, id, true, arena, &out->experiment, err);
    if (code == BL_OK)
        code = bl_analysis_compute(&out->experiment, arena, &out->analysis, err);
    return code;
}

static int run(const bl_tune_options *o, bl_store *store, bl_str *text, bl_error *err)
{
    bl_arena arena;
    loaded timed = {0}, pilots = {0};
    bl_tune *tune = bl_calloc(1, sizeof *tune);
    bl_report_style style = bl_show_style(STDOUT_FILENO);
    bl_arena_init(&arena);
    int code = tune ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for tune");
    if (code == BL_OK)
        code = load(store, o->id, &arena, &timed, err);
    if (code == BL_OK && o->pilots)
        code = load(store, o->pilots, &arena, &pilots, err);
    if (code == BL_OK)
        code = bl_tune_compute(o, &timed.analysis, o->pilots ? &pilots.analysis : &timed.analysis, &arena, tune, err);
    if (code == BL_OK && o->json)
        code = bl_tune_json(tune, text, err);
    else if (code == BL_OK)
        bl_tune_print(tune, &style, text);
    if (code == BL_OK && text->failed)
        code = BL_FAIL(err, BL_ERR_NOMEM, "no memory for the text");
    if (tune)
        bl_tune_clear(tune);
    free(tune);
    bl_analysis_clear(&timed.analysis);
    bl_analysis_clear(&pilots.analysis);
    bl_arena_clear(&arena);
    return code;
}

int bl_cmd_tune(bl_lab *lab, int argc, char **argv)
{
    bl_error err = {0};
    bl_tune_options options;
    bl_store *store = NULL;
    bl_str text;
    bl_str_init(&text);
    int code = bl_tune_options_parse(argc, argv, &options, &err);
    if (code == BL_OK && options.help) {
        bl_tune_options_print_help(stdout);
    } else if (code == BL_OK) {
        code = bl_store_open(options.db, BL_STORE_READ, &store, &err);
        if (code == BL_OK)
            code = run(&options, store, &text, &err);
        if (code == BL_OK)
            fputs(bl_str_text(&text), stdout);
    }
    bl_store_close(store);
    bl_str_clear(&text);
    return err.code != BL_OK ? bl_log_error(&err) : bl_error_exit_status((bl_code)code);
}
