/* batchlab-train: trains a model, says how it goes to people, and to the lab through the marker protocol. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/help_pages.h"
#include "base/log.h"
#include "dist/dist.h"
#include "timing/timing.h"
#include "train/data_source.h"
#include "train/layers.h"
#include "train/list_models.h"
#include "train/session.h"

static volatile int stop; /* how many signals asked for the end */

static void ask_to_stop(int number)
{
    (void)number;
    stop = 1;
}

/* One rank writes markers, logs and progress. */
static void keep_quiet(bl_session *s)
{
    batchlab_marker_close(&s->marker);
    s->options.quiet = true;
    s->options.log = NULL;
    bl_log_init("batchlab-train", BL_LOG_QUIET);
}

static int start_run(bl_session *s, bl_dist *dist, bl_error *err)
{
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART | SA_RESETHAND};
    int code = bl_train_options_share(&s->options, dist, err);
    if (code != BL_OK)
        return code;
    sigaction(SIGTERM, &action, NULL); /* a second one ends it at once */
    sigaction(SIGINT, &action, NULL);
    if (s->options.rank > 0)
        keep_quiet(s);
    s->speaker = -1;
    return bl_session_run(s, err);
}

/* An error that all ranks know of is told by one of them; one of this rank alone ends the others, who wait for it. */
static int finish(const bl_session *s, bl_dist *dist, int code, bl_error *err)
{
    int rank = bl_dist_rank(dist), ranks = bl_dist_ranks(dist), status = bl_error_exit_status((bl_code)code);
    bool own = ranks > 1 && err->code != BL_OK && s->speaker < 0;
    if (own)
        bl_error_context(err, "rank %d of %d", rank, ranks);
    if (err->code != BL_OK && (own || ranks == 1 || s->speaker == rank))
        status = bl_log_error(err);
    if (own)
        bl_dist_abort(dist, status);
    else
        bl_dist_close(dist);
    return status;
}

static int print_entry(void *context, size_t i)
{
    char name[] = "time", help[] = "--help";
    char *argv[] = {name, help, NULL};
    (void)context;
    if (i == 0)
        return bl_timing_main(2, argv);
    bl_train_options_print_help(stdout);
    return 0;
}

/* help --man, help --completion SHELL */
static int print_pages(int argc, char **argv)
{
    static const bl_help_entry entries[] = {{"time", "time a product of matrices, over and over"},
                                            {NULL, "train a model"}}; /* the last: any other word is a model */
    bl_error err = {0};
    const bl_help_program program = {
        .name = "batchlab-train",
        .version = BATCHLAB_VERSION,
        .summary = "train an image classifier or a detector on the processor",
        .see_also = "batchlab(1)",
        .words = "batchlab-train list 2>/dev/null | sed -e 1d -e 's/ .*//'",
        .entries = entries,
        .n_entries = 2,
        .print = print_entry,
    };
    return bl_help_pages_print(&program, argc, argv, stdout, &err) == BL_OK ? 0 : bl_log_error(&err);
}

int main(int argc, char **argv)
{
    bl_log_init("batchlab-train", BL_LOG_NORMAL);
    if (argc > 2 && strcmp(argv[1], "help") == 0)
        return print_pages(argc - 1, argv + 1);
    if (argc > 1 && strcmp(argv[1], "time") == 0)
        return bl_timing_main(argc - 1, argv + 1);
    bl_session s = {.stop = &stop}; /* speaker 0: the command line is everyone's */
    bl_error err = {0};
    bl_dist *dist = NULL;
    batchlab_marker_open(&s.marker); /* before MPI opens files, which may get the descriptor's number */
    int code = bl_dist_open(&dist, &err);
    if (code != BL_OK)
        return bl_log_error(&err);
    code = bl_train_options_parse(argc, argv, &s.options, &err);
    bool first = bl_dist_rank(dist) == 0;
    if (code == BL_OK && s.options.help) {
        if (first)
            bl_train_options_print_help(stdout);
    } else if (code == BL_OK && s.options.list_models) {
        code = first ? bl_train_list_models(&err) : BL_OK;
    } else if (code == BL_OK && s.options.layers) {
        code = first ? bl_layers_print(&s.options, stdout, &err) : BL_OK;
    } else if (code == BL_OK && s.options.list_skipped) {
        code = first ? bl_train_list_skipped(&s.options, stdout, &err) : BL_OK;
    } else if (code == BL_OK) {
        code = start_run(&s, dist, &err);
    }
    int status = finish(&s, dist, code, &err);
    bl_train_options_clear(&s.options);
    return status;
}
