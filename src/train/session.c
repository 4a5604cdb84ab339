#include "train/session.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "dist/dist.h"
#include "train/detect.h"
#include "train/memory_plan.h"

/* One rank ends when a signal says so, several once they agreed. */
static bool is_ending(const bl_session *s)
{
    return s->options.ranks == 1 ? *s->stop != 0 : s->ending;
}

/* The first failure of any rank becomes everyone's, so that none waits for another. */
static int agree(bl_session *s, int code, bl_error *err)
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

static int evaluate(bl_session *s, bl_evaluation *out, bl_error *err)
{
    batchlab_marker_phase(&s->marker, "eval");
    int code = bl_trainer_evaluate(&s->trainer, s->stop, out, err);
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

/* It is no step's time, nor the progress's. */
static int measure_noise(bl_session *s, bl_error *err)
{
    const bl_trainer *t = &s->trainer;
    bl_noise_report report;
    if (s->options.noise_every == 0 || t->step % s->options.noise_every != 0 || is_ending(s))
        return BL_OK;
    batchlab_marker_phase(&s->marker, "noise");
    int64_t start_ns = bl_clock_ns();
    int code = bl_noise_measure(&s->trainer, s->stop, &report, err);
    int64_t taken_ns = bl_clock_ns() - start_ns;
    s->progress.start_ns += taken_ns;
    if (code == BL_OK)
        bl_session_say_noise(s, &report, (double)taken_ns / BL_NS_PER_S);
    batchlab_marker_phase(&s->marker, "train");
    return code == BL_ERR_INTERRUPTED ? BL_OK : code;
}

static int train_epoch(bl_session *s, bl_error *err)
{
    bl_trainer *t = &s->trainer;
    bl_train_step step;
    int64_t dropped = 0;
    s->progress.parts = bl_train_detects(t) ? step.parts : NULL;
    bl_progress_start(&s->progress);
    bl_trainer_start_epoch(t);
    while (!is_ending(s) && t->step < t->total_steps && bl_trainer_step(t, &step, err)) {
        batchlab_marker_step(&s->marker, step.n, step.loss, step.wait_ns);
        bl_session_tell_load(s);
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
        if (err->code != BL_OK || bl_keeper_after_step(&s->keeper, bl_session_seconds(s), err) != BL_OK)
            break;
    }
    s->progress.parts = NULL;
    if (dropped > 0 && s->options.rank == 0)
        bl_log_warn("%lld boxes of epoch %lld found no room: a batch holds %d times its images", (long long)dropped,
                    (long long)t->epoch + 1, BL_BOXES_PER_IMAGE);
    return err->code;
}

/* The test and the line of an epoch that is over, or as far as it came. */
static int finish_epoch(bl_session *s, bl_error *err)
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
        code = bl_session_say_epoch(s, rate, tested ? &e : NULL, err);
    /* One that is stopped before its test is tested when it is resumed. */
    if (code != BL_OK || !whole || (is_ending(s) && !tested))
        return code;
    t->epoch++;
    t->batch = 0;
    s->tally.loss_sum = 0;
    s->tally.loss_steps = 0;
    memset(s->tally.parts_sum, 0, sizeof s->tally.parts_sum);
    return bl_keeper_after_epoch(&s->keeper, bl_session_seconds(s), err);
}

/* Fills the cache, in a phase of its own: it is no step's time. */
static int load(bl_session *s, bl_error *err)
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
        code = bl_trainer_fill_cache(&s->trainer, s->stop, &report, err);
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

static int train(bl_session *s, bl_error *err)
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
        code = bl_keeper_end(&s->keeper, is_ending(s), bl_session_seconds(s), err);
    bl_progress_erase(&s->progress);
    if (code == BL_OK && s->options.trace && s->options.rank == 0)
        code = bl_trace_write(bl_ranks_trace(s->trainer.ranks), s->options.trace, 0, err);
    return code;
}

static int start(bl_session *s, bl_error *err)
{
    int code = bl_keeper_start(&s->keeper, &s->trainer, &s->tally, &s->marker, err);
    return code == BL_OK ? bl_session_open_log(s, err) : code;
}

int bl_session_run(bl_session *s, bl_error *err)
{
    size_t before_b = bl_memory_resident_b();
    bl_memory_plan plan;
    bl_session_say_hello(s);
    int code = bl_keeper_check(&s->options, err);
    if (code == BL_OK)
        code = bl_trainer_init(&s->trainer, &s->options, err);
    if (code == BL_OK)
        bl_memory_plan_make(&s->trainer, before_b, &plan);
    s->trainer.stop = s->stop;
    if (code == BL_OK && !s->options.memory_plan)
        code = start(s, err);
    code = agree(s, code, err);
    if (code == BL_OK && s->options.memory_plan) {
        if (s->options.rank == 0)
            bl_memory_plan_print(&s->trainer, &plan, stdout);
    } else if (code == BL_OK && (code = bl_trainer_align(&s->trainer, err)) == BL_OK) {
        bl_session_say_set_up(s);
        bl_progress_init(&s->progress, s->options.quiet);
        code = load(s, err);
        if (code == BL_OK)
            code = train(s, err);
        if (code == BL_OK && !s->options.quiet)
            fprintf(stderr, "memory: %.0f MiB planned, %.0f MiB at the measured peak\n",
                    (double)plan.total_b / (1 << 20), (double)bl_memory_peak_b() / (1 << 20));
    }
    if (code == BL_OK && s->options.profile && s->trainer.step > s->first_step)
        bl_session_print_profile(s);
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
