#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/log.h"
#include "lab/begin.h"
#include "lab/commands.h"
#include "lab/confirm.h"
#include "lab/interrupt.h"
#include "lab/page_file.h"
#include "lab/show.h"
#include "lab/sweep.h"
#include "lab/sweep_options.h"
#include "lab/sweep_spec.h"

static void say_start(const bl_sweep_options *o, const bl_sweep_spec *spec, int64_t id, bl_live *live)
{
    bl_str line;
    bl_str_init(&line);
    size_t n_cases = bl_factors_n_cases(&spec->factors);
    bl_str_printf(&line, "experiment %lld in %s%s: %s", (long long)id, o->db, o->resume ? ", resumed" : "",
                  spec->workload);
    bl_live_say(live, bl_str_text(&line));
    bl_str_reset(&line);
    bl_str_printf(&line, "%zu case%s x %lld block%s = %zu trials; shuffled with seed %lld", n_cases,
                  n_cases == 1 ? "" : "s", (long long)spec->blocks, spec->blocks == 1 ? "" : "s",
                  n_cases * (size_t)spec->blocks, (long long)spec->seed);
    bl_live_say(live, bl_str_text(&line));
    bl_str_clear(&line);
}

/* The result goes to stdout, whatever became of the sweep: what was measured is there. */
static int print_result(const bl_sweep_options *o, bl_store *store, int64_t id, bl_error *err)
{
    bl_report_style style = bl_show_style(STDOUT_FILENO);
    bl_str text;
    bl_str_init(&text);
    int code = bl_show_make(store, id, o->json ? BL_SHOW_JSON : BL_SHOW_TEXT, &style, &text, err);
    if (code == BL_OK)
        fputs(bl_str_text(&text), stdout);
    bl_str_clear(&text);
    return code;
}

/* resumable: what an interrupt hit, the sweep or its confirmation. */
static void say_end(const bl_sweep_options *o, int64_t id, int64_t resumable, const bl_sweep_outcome *outcome,
                    bl_live *live)
{
    char line[256];
    if (outcome->interrupted) {
        snprintf(line, sizeof line,
                 "interrupted; all that was measured is kept. Go on with: batchlab %s --resume %lld%s%s",
                 resumable == id ? "sweep" : "compare", (long long)resumable,
                 strcmp(o->db, BL_SWEEP_DB) ? " --db " : "", strcmp(o->db, BL_SWEEP_DB) ? o->db : "");
        bl_live_say(live, line);
    } else if (!o->json) {
        snprintf(line, sizeof line, "see it again: batchlab show %lld%s%s   as data: batchlab export %lld --format csv",
                 (long long)id, strcmp(o->db, BL_SWEEP_DB) ? " --db " : "", strcmp(o->db, BL_SWEEP_DB) ? o->db : "",
                 (long long)id);
        bl_live_say(live, line);
    }
}

/* *id: the sweep's, then the comparison's. */
static int confirm(const bl_sweep_options *o, const bl_lab *lab, bl_store *store, int64_t *id, bl_live *live,
                   bl_sweep_outcome *outcome, bl_error *err)
{
    bl_confirm request = {.options = o,
                          .store = store,
                          .launcher = lab->launcher,
                          .live = live,
                          .sweep_id = *id,
                          .confidence = 0.95,
                          .budget_s = -1};
    bl_sweep_outcome more;
    bl_live_say(live, "");
    int code = bl_confirm_run(&request, id, &more, err);
    outcome->interrupted = more.interrupted;
    outcome->n_failed += more.n_failed;
    return code;
}

static int run(const bl_sweep_options *o, const bl_lab *lab, bl_sweep_spec *spec, bl_store *store, bl_error *err)
{
    bl_live live;
    bl_live_init(&live, o->quiet);
    int64_t id = 0;
    int code = bl_begin(o, "sweep", store, spec, NULL, &id, err);
    if (code != BL_OK)
        return code;
    bl_interrupt_install();
    say_start(o, spec, id, &live);
    bl_sweep sweep = bl_begin_sweep(o, spec, store, id, lab->launcher, &live);
    bl_sweep_outcome outcome;
    int64_t resumable = id;
    code = bl_sweep_run(&sweep, &outcome, err);
    bl_live_erase(&live);
    if (code == BL_OK && o->confirm && !outcome.interrupted)
        code = confirm(o, lab, store, &resumable, &live, &outcome, err);
    if (outcome.n_ran == 0 && !o->resume && code != BL_OK) {
        /* Not one trial: an experiment without any would only be in the way. */
        bl_store_delete(store, id, NULL);
        return code;
    }
    if (o->live && code == BL_OK) /* the last one is not loaded again and again */
        code = bl_page_file_write(store, &id, 1, 0, NULL, o->live, err);
    if (outcome.n_ran > 0 || o->resume) {
        bl_live_say(&live, "");
        bl_error report_error = {0};
        int printed = print_result(o, store, id, code == BL_OK ? err : &report_error);
        code = code == BL_OK ? printed : code;
    }
    if (code == BL_OK)
        say_end(o, id, resumable, &outcome, &live);
    if (code == BL_OK && outcome.interrupted)
        return BL_ERR_INTERRUPTED;
    return code == BL_OK && outcome.n_failed > 0 ? BL_ERR_FAILED : code;
}

int bl_cmd_sweep(bl_lab *lab, int argc, char **argv)
{
    bl_error err = {0};
    bl_sweep_options options;
    int code = bl_sweep_options_parse(argc, argv, &options, &err);
    if (code == BL_OK && options.help) {
        bl_sweep_options_print_help(stdout);
        bl_sweep_options_clear(&options);
        return 0;
    }
    bl_sweep_spec spec = {0};
    bl_store *store = NULL;
    if (code == BL_OK)
        bl_begin_log(&options);
    if (code == BL_OK && options.live)
        code = bl_fs_check_replace(options.live, &err);
    if (code == BL_OK && !options.resume)
        code = bl_sweep_spec_from_options(&options, lab->program, &spec, &err);
    if (code == BL_OK)
        code = bl_store_open(options.db, options.resume ? BL_STORE_WRITE : BL_STORE_CREATE, &store, &err);
    if (code == BL_OK)
        code = run(&options, lab, &spec, store, &err);
    bl_store_close(store);
    bl_sweep_spec_clear(&spec);
    bl_sweep_options_clear(&options);
    /* A trial that failed and a sweep that was stopped were told already; only the exit status is left to say. */
    return err.code != BL_OK ? bl_log_error(&err) : bl_error_exit_status((bl_code)code);
}
