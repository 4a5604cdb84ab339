/* batchlab-train: trains a model, says how it goes to people, and to the lab through the marker protocol. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "base/clock.h"
#include "base/log.h"
#include "batchlab_marker.h"
#include "dist/dist.h"
#include "timing/timing.h"
#include "train/data_source.h"
#include "train/detect.h"
#include "train/keeper.h"
#include "train/layers.h"
#include "train/list_models.h"
#include "train/memory_plan.h"
#include "train/noise.h"
#include "train/progress.h"
#include "train/train_log.h"
#include "train/trainer.h"

static volatile int stop; /* how many signals asked for the end */

static void ask_to_stop(int number)
{
    (void)number;
    stop = 1;
}

typedef struct session {
    bl_train_options options;
    bl_trainer trainer;
    batchlab_marker marker;
    bl_progress progress;
    bl_keeper keeper;
    bl_tally tally;
    FILE *log;
    int64_t start_ns;   /* of training, in this process */
    int64_t first_step; /* after a resumed checkpoint's */
    int64_t told_ns;    /* when the ranks' load was last marked */
    bool ending;        /* all ranks know that they are to end */
    int speaker;        /* the rank that tells of an error which all know; -1: it is this rank's own */
} session;

/* One rank ends when a signal says so, several once they agreed. */
static bool is_ending(const session *s)
{
    return s->options.ranks == 1 ? stop != 0 : s->ending;
}

/* The first failure of any rank becomes everyone's, so that none waits for another. */
static int agree(session *s, int code, bl_error *err)
{
    enum { CODES = 64 };
    if (s->options.ranks == 1)
        return code;
    int64_t first = code == BL_OK ? INT64_MAX : (int64_t)s->options.rank * CODES + code;
    int failed = bl_dist_min(s->options.dist, &first, err);
    if (failed != BL_OK || first == INT64_MAX)
        return failed;
    s->speaker = (int)(first / CODES);
    if (code == BL_OK && first % CODES != BL_ERR_INTERRUPTED)
        BL_FAIL(err, (bl_code)(first % CODES), "rank %d failed", s->speaker);
    return (int)(first % CODES);
}

static double seconds_here(const session *s)
{
    return (double)(bl_clock_ns() - s->start_ns) / BL_NS_PER_S;
}

static void say_hello(session *s)
{
    char program[96];
    snprintf(program, sizeof program, "batchlab-train %s", s->options.model->name);
    batchlab_marker_hello(&s->marker, program, BATCHLAB_VERSION, bl_precision_name(s->options.precision),
                          s->options.ranks, s->options.whole_given ? s->options.global_batch : s->options.batch);
}

static void say_set_up(session *s)
{
    const bl_exec_memory *memory = bl_exec_memory_info(s->trainer.exec);
    batchlab_marker_memory(&s->marker, "activations", (int64_t)memory->slab_b);
    batchlab_marker_memory(&s->marker, "parameters", (int64_t)memory->params_b);
    batchlab_marker_memory(&s->marker, "optimizer", (int64_t)bl_optim_bytes(s->trainer.optim));
    if (s->trainer.ema)
        batchlab_marker_memory(&s->marker, "average", (int64_t)bl_ema_bytes(s->trainer.ema));
    batchlab_marker_memory(&s->marker, "batches", (int64_t)bl_loader_bytes(s->trainer.loader));
    if (s->trainer.dataset->left_out.len > 0)
        batchlab_marker_metric(&s->marker, "files_left_out", (double)s->trainer.dataset->left_out.len);
    if (s->options.rank == 0)
        bl_train_warn_of_left_out(s->trainer.dataset);
    if (s->options.quiet)
        return;
    fprintf(stderr, "%s: %lld parameters, %lld x %lld images, batch %lld", s->options.model->name,
            (long long)bl_params_learnt(s->trainer.params), (long long)s->options.image_size,
            (long long)s->options.image_size, (long long)s->options.batch);
    if (s->options.accumulate > 1)
        fprintf(stderr, " x %lld", (long long)s->options.accumulate);
    if (s->options.ranks > 1)
        fprintf(stderr, " on each of %d ranks, %lld in all (%s%s)", s->options.ranks,
                (long long)s->options.global_batch, bl_dist_describe(s->options.dist),
                s->options.sync_batch_norm ? ", batch normalisation over all" : "");
    fprintf(stderr, "; %s\n", bl_cpu_describe());
    fprintf(stderr, "%s; memory planned: %.0f MiB for activations (%.0f without reuse)\n",
            s->trainer.dataset->description, (double)memory->slab_b / (1 << 20), (double)memory->naive_b / (1 << 20));
}

static int open_log(session *s, bl_error *err)
{
    if (!s->options.log)
        return BL_OK;
    /* What is trained again is logged again. */
    const bl_trainer *t = &s->trainer;
    int64_t keep = t->step < t->total_steps ? t->epoch : INT64_MAX;
    const char *header = "epoch,step,seconds,train_loss,samples_per_s,test_loss,test_top1";
    if (bl_train_detects(t))
        header = "epoch,step,seconds,train_loss,samples_per_s,test_loss,test_map50,test_map,train_box,"
                 "train_objectness,train_classes";
    return bl_train_log_open(s->options.log, header, s->keeper.resumed ? keep : -1, &s->log, err);
}

static void print_test(const session *s, const bl_evaluation *e)
{
    printf("  test loss %.4f", e->loss);
    if (bl_train_detects(&s->trainer))
        printf("  mAP@.5 %.2f %%  mAP@.5:.95 %.2f %%", 100 * e->map50, 100 * e->map);
    else
        printf("  top-1 %.2f %%", 100 * e->top1);
}

static void log_test(const session *s, const bl_evaluation *e)
{
    bool detects = bl_train_detects(&s->trainer);
    if (!e)
        fprintf(s->log, detects ? ",," : ",");
    else if (detects)
        fprintf(s->log, "%.6f,%.6f,%.6f", e->loss, e->map50, e->map);
    else
        fprintf(s->log, "%.6f,%.6f", e->loss, e->top1);
    for (int k = 0; detects && k < 3; k++)
        fprintf(s->log, ",%.6f", s->tally.parts_sum[k] / (double)s->tally.loss_steps);
    fprintf(s->log, "\n");
}

/* One line an epoch, to people and to the log. */
static int report_epoch(session *s, double rate, const bl_evaluation *e, bl_error *err)
{
    int64_t epoch = s->trainer.epoch + 1;
    double train_loss = s->tally.loss_steps > 0 ? s->tally.loss_sum / (double)s->tally.loss_steps : NAN;
    double seconds = s->tally.seconds + seconds_here(s);
    if (s->options.rank > 0)
        return BL_OK;
    bl_progress_erase(&s->progress);
    printf("epoch %lld  step %lld  loss %.4f  %.1f samples/s", (long long)epoch, (long long)s->trainer.step, train_loss,
           rate);
    if (s->options.ranks > 1)
        printf(" of %d ranks", s->options.ranks);
    if (e)
        print_test(s, e);
    printf("\n");
    fflush(stdout);
    if (!s->log)
        return BL_OK;
    fprintf(s->log, "%lld,%lld,%.1f,%.6f,%.2f,", (long long)epoch, (long long)s->trainer.step, seconds, train_loss,
            rate);
    log_test(s, e);
    if (fflush(s->log) != 0)
        return BL_FAIL(err, BL_ERR_IO, "'%s' cannot be written: %s", s->options.log, strerror(errno));
    return BL_OK;
}

static int evaluate(session *s, bl_evaluation *out, bl_error *err)
{
    batchlab_marker_phase(&s->marker, "eval");
    int code = bl_trainer_evaluate(&s->trainer, &stop, out, err);
    if (code == BL_OK && bl_train_detects(&s->trainer)) {
        batchlab_marker_metric(&s->marker, "map50", out->map50);
        batchlab_marker_metric(&s->marker, "map", out->map);
    } else if (code == BL_OK) {
        batchlab_marker_metric(&s->marker, "top1", out->top1);
    }
    if (code == BL_OK)
        batchlab_marker_metric(&s->marker, "test_loss", out->loss);
    batchlab_marker_phase(&s->marker, "train");
    return code == BL_OK ? bl_keeper_after_test(&s->keeper, out, err) : code;
}

static double noise_scale(const bl_gradient_norms *norms)
{
    bl_noise_parts parts[BL_NOISE_ROUNDS];
    for (int r = 0; r < BL_NOISE_ROUNDS; r++)
        if (bl_noise_parts_of(&norms[r], &parts[r], NULL) != BL_OK)
            return NAN;
    return bl_noise_ratio(parts, BL_NOISE_ROUNDS);
}

static void say_noise(session *s, const bl_noise_report *report, double seconds)
{
    for (int r = 0; r < BL_NOISE_ROUNDS; r++)
        for (int scaled = 0; scaled <= report->has_scaled; scaled++) {
            const bl_gradient_norms *n = scaled ? &report->scaled[r] : &report->plain[r];
            batchlab_marker_noise(&s->marker, (int64_t)n->small_n, (int64_t)n->big_n, n->small_sq, n->big_sq, scaled);
        }
    if (s->options.quiet)
        return;
    bl_progress_erase(&s->progress);
    fprintf(stderr, "noise scale after step %lld: %.3g samples", (long long)s->trainer.step,
            noise_scale(report->plain));
    if (report->has_scaled)
        fprintf(stderr, ", %.3g as Adam scales the gradient", noise_scale(report->scaled));
    fprintf(stderr, "; from %d x %.0f samples, %s%d%s, in %.1f s\n", BL_NOISE_ROUNDS, report->plain[0].big_n,
            report->per_sample ? "norms of each, batches of " : "micro-batches of ", report->micro,
            report->batch_norms ? " (and their statistics)" : "", seconds);
}

/* It is no step's time, nor the progress's. */
static int measure_noise(session *s, bl_error *err)
{
    const bl_trainer *t = &s->trainer;
    bl_noise_report report;
    if (s->options.noise_every == 0 || t->step % s->options.noise_every != 0 || is_ending(s))
        return BL_OK;
    batchlab_marker_phase(&s->marker, "noise");
    int64_t start_ns = bl_clock_ns();
    int code = bl_noise_measure(&s->trainer, &stop, &report, err);
    int64_t taken_ns = bl_clock_ns() - start_ns;
    s->progress.start_ns += taken_ns;
    if (code == BL_OK)
        say_noise(s, &report, (double)taken_ns / BL_NS_PER_S);
    batchlab_marker_phase(&s->marker, "train");
    return code == BL_ERR_INTERRUPTED ? BL_OK : code;
}

/* Now and then: markers are for rank 0 to write, and a few figures tell of the others. */
static void tell_load(session *s)
{
    int64_t now_ns = bl_clock_ns();
    if (s->options.ranks == 1 || s->options.rank > 0 || now_ns - s->told_ns < BL_NS_PER_S / 2)
        return;
    bl_ranks_load load = bl_ranks_load_of(s->trainer.ranks);
    double most_b = 0;
    s->told_ns = now_ns;
    batchlab_marker_metric(&s->marker, "sums_share", load.sums_share);
    batchlab_marker_metric(&s->marker, "slowest_share", load.slowest_share);
    for (int i = 0; i < load.n; i++) {
        char kind[32];
        snprintf(kind, sizeof kind, "rank_%d", i);
        most_b = load.peak_b[i] > most_b ? load.peak_b[i] : most_b;
        if (i < 16) /* the lab keeps so many kinds */
            batchlab_marker_memory(&s->marker, kind, (int64_t)load.peak_b[i]);
    }
    batchlab_marker_memory(&s->marker, "largest_rank", (int64_t)most_b);
}

static int train_epoch(session *s, bl_error *err)
{
    bl_trainer *t = &s->trainer;
    bl_train_step step;
    int64_t dropped = 0;
    s->progress.parts = bl_train_detects(t) ? step.parts : NULL;
    bl_progress_start(&s->progress);
    bl_trainer_start_epoch(t);
    while (!is_ending(s) && t->step < t->total_steps && bl_trainer_step(t, &step, err)) {
        batchlab_marker_step(&s->marker, step.n, step.loss, step.wait_ns);
        tell_load(s);
        s->ending = step.stopped;
        s->tally.loss_sum += step.loss;
        s->tally.loss_steps++;
        for (int k = 0; k < 3; k++)
            s->tally.parts_sum[k] += step.parts[k];
        dropped += step.n_dropped;
        bl_progress_step(&s->progress, t->epoch + 1, t->step, t->total_steps, step.n, step.loss);
        if (!isfinite(step.loss)) {
            BL_FAIL(err, BL_ERR_FAILED, "the loss is no number any more at step %lld", (long long)t->step);
            bl_error_remedy(err, "a lower learning rate: --lr %g", s->options.lr / 10);
            s->speaker = s->options.ranks > 1 ? 0 : -1; /* it is all ranks' loss */
        }
        if (err->code == BL_OK)
            measure_noise(s, err);
        if (err->code != BL_OK || bl_keeper_after_step(&s->keeper, seconds_here(s), err) != BL_OK)
            break;
    }
    s->progress.parts = NULL;
    if (dropped > 0 && s->options.rank == 0)
        bl_log_warn("%lld boxes of epoch %lld found no room: a batch holds %d times its images", (long long)dropped,
                    (long long)t->epoch + 1, BL_BOXES_PER_IMAGE);
    return err->code;
}

/* The test and the line of an epoch that is over, or as far as it came. */
static int finish_epoch(session *s, bl_error *err)
{
    bl_trainer *t = &s->trainer;
    double rate = bl_progress_rate(&s->progress);
    bool whole = t->batch >= t->batches_per_epoch, last = t->step >= t->total_steps;
    bool test = s->options.eval_every > 0 && t->dataset->count[BL_SPLIT_TEST] > 0 && !is_ending(s) &&
                (last || (t->epoch + 1) % s->options.eval_every == 0);
    bl_evaluation e;
    int code = test ? evaluate(s, &e, err) : BL_OK;
    bool tested = test && code == BL_OK;
    if (code == BL_ERR_INTERRUPTED) {
        s->ending = true;
        code = BL_OK;
    }
    if (code == BL_OK && s->tally.loss_steps > 0)
        code = report_epoch(s, rate, tested ? &e : NULL, err);
    /* One that is stopped before its test is tested when it is resumed. */
    if (code != BL_OK || !whole || (is_ending(s) && !tested))
        return code;
    t->epoch++;
    t->batch = 0;
    s->tally.loss_sum = 0;
    s->tally.loss_steps = 0;
    memset(s->tally.parts_sum, 0, sizeof s->tally.parts_sum);
    return bl_keeper_after_epoch(&s->keeper, seconds_here(s), err);
}

/* Fills the cache, in a phase of its own: it is no step's time. */
static int load(session *s, bl_error *err)
{
    bl_cache_report report;
    if (s->options.cache == BL_CACHE_NONE)
        return BL_OK;
    batchlab_marker_phase(&s->marker, "load");
    int64_t start_ns = bl_clock_ns();
    /* The file on the disk is the first rank's to write and the others' to find. */
    bool in_turn = s->options.ranks > 1 && s->options.cache == BL_CACHE_DISK, later = in_turn && s->options.rank > 0;
    int code = later ? agree(s, BL_OK, err) : BL_OK;
    if (code == BL_OK)
        code = bl_trainer_fill_cache(&s->trainer, &stop, &report, err);
    if (in_turn && !later)
        code = agree(s, code, err);
    code = agree(s, code, err);
    double seconds = (double)(bl_clock_ns() - start_ns) / 1e9;
    if (code != BL_OK)
        return code;
    if (report.why[0])
        bl_log_warn("--cache %s: %s", bl_cache_mode_name(s->options.cache), report.why);
    if (!s->options.quiet && report.mode != BL_CACHE_NONE)
        fprintf(stderr, "cache: %lld images, %.0f MiB, %s in %.1f s\n", (long long)report.images,
                (double)report.bytes / (1 << 20),
                report.mode != BL_CACHE_DISK ? "read into memory"
                : report.reused              ? "found on disk"
                                             : "written to disk",
                seconds);
    batchlab_marker_metric(&s->marker, "load_s", seconds);
    if (report.bytes > 0)
        batchlab_marker_memory(&s->marker, "data_cache", (int64_t)report.bytes);
    return BL_OK;
}

static int train(session *s, bl_error *err)
{
    int code = BL_OK;
    s->start_ns = bl_clock_ns();
    s->first_step = s->trainer.step;
    batchlab_marker_ready(&s->marker);
    while (code == BL_OK && !is_ending(s) && s->trainer.step < s->trainer.total_steps) {
        code = train_epoch(s, err);
        if (code == BL_OK)
            code = finish_epoch(s, err);
    }
    if (code == BL_OK)
        code = bl_keeper_end(&s->keeper, is_ending(s), seconds_here(s), err);
    bl_progress_erase(&s->progress);
    if (code == BL_OK && s->options.trace && s->options.rank == 0)
        code = bl_trace_write(bl_ranks_trace(s->trainer.ranks), s->options.trace, 0, err);
    return code;
}

static int compare_rows(const void *a, const void *b)
{
    const bl_exec_profile_row *x = a, *y = b;
    return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

/* Rows of the same op, implementation and direction together, the costliest first. */
static void print_profile(const session *s)
{
    const bl_exec_profile_row *rows;
    int n = bl_exec_profile(s->trainer.exec, &rows), n_sums = 0;
    bl_exec_profile_row *sums = bl_calloc((size_t)n, sizeof *sums);
    double total_ns = 0;
    for (int i = 0; sums && i < n; i++) {
        int k = 0;
        while (k < n_sums && (strcmp(sums[k].op, rows[i].op) != 0 || strcmp(sums[k].kernel, rows[i].kernel) != 0))
            k++;
        if (k == n_sums)
            sums[n_sums++] = (bl_exec_profile_row){.op = rows[i].op, .kernel = rows[i].kernel};
        sums[k].calls += rows[i].calls;
        sums[k].total_ns += rows[i].total_ns;
        total_ns += (double)rows[i].total_ns;
    }
    qsort(sums, (size_t)n_sums, sizeof *sums, compare_rows);
    printf("\n%-24s %-24s %8s %12s %7s\n", "op", "kernel", "calls", "ms a step", "share");
    for (int k = 0; k < n_sums; k++)
        printf("%-24s %-24s %8lld %12.2f %6.1f %%\n", sums[k].op, sums[k].kernel, (long long)sums[k].calls,
               (double)sums[k].total_ns / 1e6 / (double)(s->trainer.step - s->first_step),
               100 * (double)sums[k].total_ns / total_ns);
    free(sums);
}

static int start(session *s, bl_error *err)
{
    int code = bl_keeper_start(&s->keeper, &s->trainer, &s->tally, &s->marker, err);
    return code == BL_OK ? open_log(s, err) : code;
}

static int run(session *s, bl_error *err)
{
    size_t before_b = bl_memory_resident_b();
    bl_memory_plan plan;
    say_hello(s);
    int code = bl_keeper_check(&s->options, err);
    if (code == BL_OK)
        code = bl_trainer_init(&s->trainer, &s->options, err);
    if (code == BL_OK)
        bl_memory_plan_make(&s->trainer, before_b, &plan);
    s->trainer.stop = &stop;
    if (code == BL_OK && !s->options.memory_plan)
        code = start(s, err);
    code = agree(s, code, err);
    if (code == BL_OK && s->options.memory_plan) {
        if (s->options.rank == 0)
            bl_memory_plan_print(&s->trainer, &plan, stdout);
    } else if (code == BL_OK && (code = bl_trainer_align(&s->trainer, err)) == BL_OK) {
        say_set_up(s);
        bl_progress_init(&s->progress, s->options.quiet);
        code = load(s, err);
        if (code == BL_OK)
            code = train(s, err);
        if (code == BL_OK && !s->options.quiet)
            fprintf(stderr, "memory: %.0f MiB planned, %.0f MiB at the measured peak\n",
                    (double)plan.total_b / (1 << 20), (double)bl_memory_peak_b() / (1 << 20));
    }
    if (code == BL_OK && s->options.profile && s->trainer.step > s->first_step)
        print_profile(s);
    if (code == BL_ERR_NOMEM) {
        batchlab_marker_oom(&s->marker, 0);
        bl_error_remedy(err, "a smaller --batch-size or --image-size");
    }
    if (code == BL_OK && is_ending(s))
        code = BL_ERR_INTERRUPTED;
    else if (code == BL_OK)
        batchlab_marker_done(&s->marker);
    if (s->log)
        fclose(s->log);
    bl_keeper_clear(&s->keeper);
    bl_trainer_clear(&s->trainer);
    return code;
}

/* One rank writes markers, logs and progress. */
static void keep_quiet(session *s)
{
    s->marker.fd = -1;
    s->options.quiet = true;
    s->options.log = NULL;
    bl_log_init("batchlab-train", BL_LOG_QUIET);
}

static int start_run(session *s, bl_dist *dist, bl_error *err)
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
    return run(s, err);
}

/* An error that all ranks know of is told by one of them; one of this rank alone ends the others, who wait for it. */
static int finish(const session *s, bl_dist *dist, int code, bl_error *err)
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

int main(int argc, char **argv)
{
    bl_log_init("batchlab-train", BL_LOG_NORMAL);
    if (argc > 1 && strcmp(argv[1], "time") == 0)
        return bl_timing_main(argc - 1, argv + 1);
    session s = {0}; /* speaker 0: the command line is everyone's */
    bl_error err = {0};
    bl_dist *dist = NULL;
    batchlab_marker_open(&s.marker);
    /* Launchers close what they do not know; what MPI opens next may then get the marker's number. */
    if (s.marker.fd >= 0 && fcntl(s.marker.fd, F_GETFD) < 0)
        batchlab_marker_close(&s.marker);
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
