#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "lab/begin.h"
#include "lab/commands.h"
#include "lab/interrupt.h"
#include "lab/max.h"
#include "lab/max_options.h"
#include "lab/max_report.h"
#include "lab/show.h"

static int print_result(const bl_max_options *o, bl_store *store, int64_t id, bool *answered, bl_error *err)
{
    bl_arena arena;
    bl_arena_init(&arena);
    bl_experiment e;
    bl_str text;
    bl_str_init(&text);
    bl_report_style style = bl_show_style(STDOUT_FILENO);
    int code = bl_store_load(store, id, true, &arena, &e, err);
    if (code == BL_OK)
        code = bl_max_report(&e, o->sweep.json, &style, &text, err);
    if (code == BL_OK)
        code = bl_max_answered(&e, answered, err);
    if (code == BL_OK)
        fputs(bl_str_text(&text), stdout);
    bl_str_clear(&text);
    bl_arena_clear(&arena);
    return code;
}

static int run(const bl_max_options *o, const bl_lab *lab, bl_sweep_spec *spec, bl_store *store, bl_error *err)
{
    const bl_sweep_options *s = &o->sweep;
    bl_live live;
    bl_live_init(&live, s->quiet);
    int64_t id = 0;
    int code = bl_begin(s, "max", store, spec, NULL, &id, err);
    if (code != BL_OK)
        return code;
    bl_interrupt_install();
    bl_str line;
    bl_str_init(&line);
    bl_str_printf(&line, "experiment %lld in %s%s: the largest batch of %s", (long long)id, s->db,
                  s->resume ? ", resumed" : "", spec->workload);
    bl_live_say(&live, bl_str_text(&line));
    bl_str_clear(&line);
    const bl_max max = {.spec = spec,
                        .store = store,
                        .id = id,
                        .launcher = lab->launcher,
                        .live = &live,
                        .keep_logs = s->keep_logs,
                        .keep_outdir = s->keep_outdir,
                        .verbose = s->verbose};
    bool interrupted, answered = false;
    size_t n_ran;
    code = bl_max_run(&max, &interrupted, &n_ran, err);
    bl_live_erase(&live);
    if (n_ran == 0 && !s->resume && code != BL_OK) {
        bl_store_delete(store, id, NULL); /* not one probe: it would only be in the way */
        return code;
    }
    bl_live_say(&live, "");
    bl_error report_error = {0};
    int printed = print_result(o, store, id, &answered, code == BL_OK ? err : &report_error);
    code = code == BL_OK ? printed : code;
    if (code != BL_OK)
        return code;
    return interrupted ? BL_ERR_INTERRUPTED : answered ? BL_OK : BL_ERR_FAILED;
}

int bl_cmd_max(bl_lab *lab, int argc, char **argv)
{
    bl_error err = {0};
    bl_max_options o;
    bl_sweep_spec spec = {0};
    bl_store *store = NULL;
    int code = bl_max_options_parse(argc, argv, &o, &err);
    if (code == BL_OK && o.help) {
        bl_max_options_print_help(stdout);
    } else if (code == BL_OK) {
        bl_begin_log(&o.sweep);
        if (!o.sweep.resume)
            code = bl_max_spec(&o, lab->program, &spec, &err);
        if (code == BL_OK)
            code = bl_store_open(o.sweep.db, o.sweep.resume ? BL_STORE_WRITE : BL_STORE_CREATE, &store, &err);
        if (code == BL_OK)
            code = run(&o, lab, &spec, store, &err);
    }
    bl_store_close(store);
    bl_sweep_spec_clear(&spec);
    bl_max_options_clear(&o);
    return err.code != BL_OK ? bl_log_error(&err) : bl_error_exit_status((bl_code)code);
}
