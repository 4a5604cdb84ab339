#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "dist/dist.h"
#include "train/data_source.h"
#include "train/detect.h"
#include "train/session.h"
#include "train/train_log.h"

double bl_session_seconds(const bl_session *s)
{
    return (double)(bl_clock_ns() - s->start_ns) / BL_NS_PER_S;
}

void bl_session_say_hello(bl_session *s)
{
    char program[96];
    snprintf(program, sizeof program, "batchlab-train %s", s->options.model->name);
    batchlab_marker_hello(&s->marker, program, BATCHLAB_VERSION, bl_precision_name(s->options.precision),
                          s->options.ranks, s->options.whole_given ? s->options.global_batch : s->options.batch);
}

void bl_session_say_set_up(bl_session *s)
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

int bl_session_open_log(bl_session *s, bl_error *err)
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

static void print_test(const bl_session *s, const bl_evaluation *e)
{
    printf("  test loss %.4f", e->loss);
    if (bl_train_detects(&s->trainer))
        printf("  mAP@.5 %.2f %%  mAP@.5:.95 %.2f %%", 100 * e->map50, 100 * e->map);
    else
        printf("  top-1 %.2f %%", 100 * e->top1);
}

static void log_test(const bl_session *s, const bl_evaluation *e)
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
int bl_session_say_epoch(bl_session *s, double rate, const bl_evaluation *e, bl_error *err)
{
    int64_t epoch = s->trainer.epoch + 1;
    double train_loss = s->tally.loss_steps > 0 ? s->tally.loss_sum / (double)s->tally.loss_steps : NAN;
    double seconds = s->tally.seconds + bl_session_seconds(s);
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

static double noise_scale(const bl_gradient_norms *norms)
{
    bl_noise_parts parts[BL_NOISE_ROUNDS];
    for (int r = 0; r < BL_NOISE_ROUNDS; r++)
        if (bl_noise_parts_of(&norms[r], &parts[r], NULL) != BL_OK)
            return NAN;
    return bl_noise_ratio(parts, BL_NOISE_ROUNDS);
}

void bl_session_say_noise(bl_session *s, const bl_noise_report *report, double seconds)
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

/* Now and then: markers are for rank 0 to write, and a few figures tell of the others. */
void bl_session_tell_load(bl_session *s)
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

static int compare_rows(const void *a, const void *b)
{
    const bl_exec_profile_row *x = a, *y = b;
    return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

/* Rows of the same op, implementation and direction together, the costliest first. */
void bl_session_print_profile(const bl_session *s)
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
