#include "train/trainer.h"

#include <stdlib.h>

#include "backend/cpu/cpu.h"
#include "base/alloc.h"
#include "train/classify.h"
#include "train/data_source.h"
#include "train/detect.h"

/* Larger batches would only take memory: in evaluation mode the results do not depend on it. */
#define EVAL_BATCH_MAX 64

static int open_data(bl_trainer *t, bl_error *err)
{
    const bl_train_options *o = t->options;
    int code = bl_train_open_data(o, &t->dataset, err);
    if (code != BL_OK)
        return code;
    t->n_classes = o->classes > 0 ? (int)o->classes : t->dataset->n_classes;
    if (t->n_classes < t->dataset->n_classes)
        return BL_FAIL(err, BL_ERR_USAGE, "--classes %d, but the data have %d classes", t->n_classes,
                       t->dataset->n_classes);
    if (o->global_batch > t->dataset->count[BL_SPLIT_TRAIN]) {
        BL_FAIL(err, BL_ERR_USAGE, "batch size %lld is larger than the data set of %lld images",
                (long long)o->global_batch, (long long)t->dataset->count[BL_SPLIT_TRAIN]);
        bl_error_remedy(err, "choose a batch size of at most %lld", (long long)t->dataset->count[BL_SPLIT_TRAIN]);
        return BL_ERR_USAGE;
    }
    int64_t most = t->dataset->count[BL_SPLIT_TRAIN] / o->global_batch;
    if (o->accumulate > most) {
        BL_FAIL(err, BL_ERR_USAGE, "%lld batches of %lld are more than the data set of %lld images",
                (long long)o->accumulate, (long long)o->global_batch, (long long)t->dataset->count[BL_SPLIT_TRAIN]);
        bl_error_remedy(err, "--accumulate %lld", (long long)most);
        return BL_ERR_USAGE;
    }
    return BL_OK;
}

static void build_classifier(const bl_trainer *t, bl_graph *graph, bl_value images, bl_mode mode, int batch)
{
    bl_value labels = bl_build_input(graph, "labels", BL_I32, BL_SHAPE1(batch));
    bl_value logits = t->options->model->build(graph, images, t->n_classes);
    if (mode == BL_MODE_EVAL)
        bl_build_output(graph, "logits", logits);
    /* Testing reports the plain loss, so that runs with and without smoothing or mixing compare. */
    float smoothing = mode == BL_MODE_TRAIN ? (float)t->options->label_smoothing : 0;
    if (mode == BL_MODE_TRAIN && t->options->ranks > 1)
        bl_build_input(graph, "loss_gradient", BL_F32, BL_SHAPE1(1));
    if (mode == BL_MODE_TRAIN && t->others) {
        bl_value others = bl_build_input(graph, "others", BL_I32, BL_SHAPE1(batch));
        bl_value share = bl_build_input(graph, "share", BL_F32, BL_SHAPE1(1));
        bl_build_mixed_cross_entropy(graph, logits, labels, others, share, smoothing);
    } else {
        bl_build_softmax_cross_entropy(graph, logits, labels, smoothing);
    }
}

int bl_trainer_make_exec(bl_trainer *t, bl_mode mode, int batch, bl_exec **out, bl_error *err)
{
    const bl_train_options *o = t->options;
    int size = (int)o->image_size;
    bl_graph *graph = NULL;
    int code = bl_graph_new(t->params, mode, &graph, err);
    if (code != BL_OK)
        return code;
    bl_value images = bl_build_input(graph, "images", BL_F32, BL_SHAPE4(batch, 3, size, size));
    if (bl_train_detects(t))
        bl_train_build_detector(t, graph, images, mode, batch);
    else
        build_classifier(t, graph, images, mode, batch);
    int64_t first_sample = 0;
    bl_loader_share(o->global_batch, o->ranks, o->rank, &first_sample);
    bl_exec_options options = {.n_threads = (int)o->threads,
                               .profile = o->profile && mode == BL_MODE_TRAIN,
                               .precision = o->precision,
                               .recompute = o->recompute,
                               .seed = (uint64_t)o->seed,
                               .first_sample = first_sample,
                               .joint = mode == BL_MODE_TRAIN && t->joint.sum ? &t->joint : NULL};
    return bl_exec_new(&bl_backend_cpu, graph, &options, out, err);
}

static int make_loader(bl_trainer *t, bl_error *err)
{
    const bl_train_options *o = t->options;
    bl_loader_options options = {.split = BL_SPLIT_TRAIN,
                                 .batch = (int)o->batch,
                                 .size = (int)o->image_size,
                                 .augment = o->augment,
                                 .shuffle = true,
                                 .drop_last = o->drop_last,
                                 .n_workers = (int)o->workers,
                                 .prefetch = (int)o->prefetch,
                                 .seed = (uint64_t)o->seed,
                                 .boxes_per_image = BL_BOXES_PER_IMAGE,
                                 .ranks = o->ranks,
                                 .rank = o->rank,
                                 .whole_batch = (int)o->global_batch};
    int code = bl_loader_new(t->dataset, &options, &t->loader, err);
    if (code != BL_OK)
        return code;
    int64_t batches = bl_loader_batches(t->loader);
    t->steps_per_epoch = (o->drop_last ? batches : batches + o->accumulate - 1) / o->accumulate;
    /* Too few batches for a whole step are left out as an unfilled batch is. */
    t->batches_per_epoch = o->drop_last ? t->steps_per_epoch * o->accumulate : batches;
    t->total_steps = o->epochs > INT64_MAX / t->steps_per_epoch ? INT64_MAX : o->epochs * t->steps_per_epoch;
    if (o->steps > 0 && o->steps < t->total_steps)
        t->total_steps = o->steps;
    return BL_OK;
}

static void make_schedule(bl_trainer *t)
{
    const bl_train_options *o = t->options;
    bool by_epochs = o->warmup_epochs > 0;
    t->schedule = (bl_schedule){.kind = o->schedule,
                                .peak = bl_train_options_peak_rate(o),
                                .floor = o->min_lr,
                                .warmup_factor = o->warmup_factor,
                                .warmup_steps = by_epochs ? o->warmup_epochs * t->steps_per_epoch : o->warmup_steps,
                                .total_steps = t->total_steps,
                                .steps_per_epoch = t->steps_per_epoch,
                                .drop_every = o->lr_step_epochs,
                                .milestones = o->milestones,
                                .n_milestones = o->n_milestones,
                                .gamma = o->lr_gamma};
    if (o->nominal_batch > 0) {
        t->nominal = bl_nominal_make(o->nominal_batch, o->global_batch, t->schedule.warmup_steps, t->steps_per_epoch,
                                     o->optim.momentum);
        t->schedule.warmup_steps = 0;
    }
}

int bl_trainer_fill_cache(bl_trainer *t, const volatile int *stop, bl_cache_report *report, bl_error *err)
{
    const bl_train_options *o = t->options;
    bl_view view = {.size = (int)o->image_size, .augment = o->augment};
    bl_cache_options options = {.mode = o->cache,
                                .limit_b = o->cache_limit_b,
                                .splits = {true, o->eval_every > 0},
                                .views = {view, {.size = view.size}},
                                .n_threads = o->threads > 0 ? (int)o->threads : bl_cpu_allowed_threads(),
                                .stop = stop};
    return bl_cache_fill(t->dataset, &options, report, err);
}

static int make_optim(bl_trainer *t, bl_error *err)
{
    const bl_train_options *o = t->options;
    bl_optim_options optim = o->optim;
    optim.accumulate = o->accumulate > 1 || o->nominal_batch > 0;
    if (o->nominal_batch > 0)
        optim.weight_decay = bl_nominal_decay(&t->nominal, optim.weight_decay);
    int code = bl_optim_new(t->params, &optim, &t->optim, err);
    if (code == BL_OK && o->ema_decay > 0)
        code = bl_ema_new(t->params, &(bl_ema_options){.decay = o->ema_decay, .ramp = o->ema_ramp}, &t->ema, err);
    return code;
}

/* Before the training graph is made, which has inputs for it. */
static int make_mix(bl_trainer *t, bl_error *err)
{
    const bl_train_options *o = t->options;
    t->mix = (bl_mix_options){.mixup = o->mixup, .cutmix = o->cutmix, .seed = (uint64_t)o->seed};
    if (o->mixup == 0 && o->cutmix == 0)
        return BL_OK;
    t->others = bl_calloc((size_t)o->batch, sizeof *t->others);
    return t->others ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory for %lld labels", (long long)o->batch);
}

static int make_training_exec(bl_trainer *t, bl_error *err)
{
    const bl_train_options *o = t->options;
    bool joint = o->ranks > 1 && o->sync_batch_norm;
    t->joint_ranks.dist = o->dist;
    if (joint)
        t->joint = (bl_joint){
            .context = &t->joint_ranks, .sum = bl_ranks_joint_sum, .parts = (double)o->global_batch / (double)o->batch};
    int code = bl_trainer_make_exec(t, BL_MODE_TRAIN, (int)o->batch, &t->exec, err);
    if (code == BL_OK && (o->ranks > 1 || o->trace))
        code =
            bl_ranks_new(o->dist, t->exec, t->params, joint ? &t->joint_ranks : NULL, o->trace != NULL, &t->ranks, err);
    if (code == BL_OK && o->ranks > 1 && !bl_train_detects(t))
        code = bl_exec_bind(t->exec, "loss_gradient", bl_ranks_loss_gradient(t->ranks), err);
    if (code == BL_OK && t->others)
        code = bl_exec_bind(t->exec, "others", t->others, err);
    if (code == BL_OK && t->others)
        code = bl_exec_bind(t->exec, "share", &t->share, err);
    return code;
}

int bl_trainer_init(bl_trainer *t, const bl_train_options *options, bl_error *err)
{
    *t = (bl_trainer){.options = options};
    int code = open_data(t, err);
    if (code == BL_OK)
        code = bl_params_new(&t->params, err);
    if (code == BL_OK)
        code = make_mix(t, err);
    if (code == BL_OK)
        code = make_training_exec(t, err);
    if (code == BL_OK)
        code = bl_params_init(t->params, (uint64_t)options->seed, err);
    if (code == BL_OK)
        code = make_loader(t, err);
    if (code != BL_OK)
        return code;
    make_schedule(t);
    return make_optim(t, err);
}

void bl_trainer_clear(bl_trainer *t)
{
    bl_loader_free(t->loader);
    bl_ema_free(t->ema);
    bl_optim_free(t->optim);
    free(t->others);
    bl_exec_free(t->exec);
    bl_ranks_free(t->ranks);
    bl_params_free(t->params);
    bl_dataset_free(t->dataset);
    *t = (bl_trainer){0};
}

void bl_trainer_start_epoch(bl_trainer *t)
{
    bl_loader_start_within(t->loader, t->epoch, t->batch);
}

/* A detector's loss is its parts' sum times the number of images, as YOLOv7 has it; what is said is the mean. */
static int take_parts(const bl_trainer *t, bl_train_step *out, float *loss, bl_error *err)
{
    float parts[3];
    int code = bl_exec_read(t->exec, "loss_parts", parts, 3, err);
    for (int k = 0; code == BL_OK && k < 3; k++)
        out->parts[k] += (double)parts[k] / (double)t->options->accumulate;
    *loss /= (float)t->options->batch;
    return code;
}

/* Batch k of a step, mixed; false at the epoch's end, or with *err set. */
static bool next_batch(bl_trainer *t, int64_t k, bl_batch *out, bl_error *err)
{
    int size = (int)t->options->image_size;
    if (t->batch + k >= t->batches_per_epoch || !bl_loader_next(t->loader, out, err))
        return false;
    if (t->others) {
        bl_mix mix = bl_mix_draw(&t->mix, size, t->epoch, t->batch + k);
        bl_mix_apply(&mix, out->n, size, out->images, out->labels, t->others);
        t->share = mix.share;
    }
    return true;
}

/* Runs one of a step's batches and takes its loss and gradients in; the gradients are then those of all ranks. */
static int take_batch(bl_trainer *t, const bl_batch *batch, bl_train_step *out, bl_error *err)
{
    float loss;
    if (t->ranks)
        bl_ranks_begin(t->ranks, batch->n, batch->n_whole);
    int code = bl_train_run_batch(t->exec, batch, &loss, err);
    if (code == BL_OK && t->ranks)
        code = bl_ranks_finish(t->ranks, err);
    if (code == BL_OK && bl_train_detects(t))
        code = take_parts(t, out, &loss, err);
    if (code != BL_OK)
        return code;
    if (t->options->nominal_batch > 0)
        bl_optim_accumulate(t->optim, 1);
    else if (t->options->accumulate > 1)
        bl_optim_accumulate(t->optim, batch->n_whole);
    out->n += batch->n;
    out->n_dropped += batch->n_dropped;
    out->wait_ns += batch->wait_ns;
    out->loss += (double)loss * batch->n;
    return BL_OK;
}

/* With the gradients of so many batches; a nominal batch may want more of them first. */
static void update(bl_trainer *t, int64_t batches)
{
    bl_optim_rates rates = bl_optim_rates_of(bl_schedule_rate(&t->schedule, t->step));
    if (bl_train_detects(t))
        rates.grad_scale = (double)batches; /* their losses are sums over samples */
    if (t->options->nominal_batch > 0 && !bl_nominal_due(&t->nominal, t->step, &rates))
        return;
    bl_optim_step(t->optim, &rates);
    if (t->ema)
        bl_ema_update(t->ema);
}

/* Losses and counts of all ranks, and whether one of them is to stop. */
static int join_step(const bl_trainer *t, bl_train_step *out, bl_error *err)
{
    const bl_train_options *o = t->options;
    double share = (double)o->batch / (double)o->global_batch;
    double sums[BL_RANKS_JOINED] = {out->n,
                                    out->loss,
                                    out->n_dropped,
                                    out->stopped,
                                    out->parts[0] * share,
                                    out->parts[1] * share,
                                    out->parts[2] * share};
    int code = bl_ranks_join(t->ranks, sums, 7, err);
    out->n = (int)sums[0];
    out->loss = sums[1];
    out->n_dropped = (int)sums[2];
    out->stopped = sums[3] > 0;
    for (int k = 0; k < 3; k++)
        out->parts[k] = sums[4 + k];
    return code;
}

int bl_trainer_align(bl_trainer *t, bl_error *err)
{
    bl_dist *dist = t->options->dist;
    if (t->options->ranks == 1)
        return BL_OK;
    int64_t least = t->step, most = -t->step;
    int code = bl_ranks_align(t->ranks, err);
    if (code == BL_OK)
        code = bl_dist_min(dist, &least, err);
    if (code == BL_OK)
        code = bl_dist_min(dist, &most, err);
    if (code == BL_OK && (least != t->step || -most != t->step))
        code = BL_FAIL(err, BL_ERR_USAGE,
                       "rank %d stands at step %lld, but others at %lld: is the checkpoint where all can read it?",
                       t->options->rank, (long long)t->step, (long long)(least != t->step ? least : -most));
    if (code == BL_OK)
        code = bl_dist_broadcast(dist, bl_params_value_slab(t->params), bl_params_whole_count(t->params), err);
    bl_params_touch(t->params);
    return code;
}

bool bl_trainer_step(bl_trainer *t, bl_train_step *out, bl_error *err)
{
    bl_batch batch;
    int64_t k = 0;
    *out = (bl_train_step){0};
    for (; k < t->options->accumulate && next_batch(t, k, &batch, err); k++)
        if (take_batch(t, &batch, out, err) != BL_OK)
            return false;
    if (k == 0 || (err && err->code != BL_OK))
        return false;
    out->stopped = t->stop && *t->stop;
    if (t->options->ranks > 1 && join_step(t, out, err) != BL_OK)
        return false;
    update(t, k);
    t->step++;
    t->batch += k;
    out->loss /= out->n;
    return true;
}

/* Running statistics are each rank's own until here, unless batch normalisation is synchronised. */
static int share_statistics(bl_trainer *t, bl_error *err)
{
    int64_t learnt = bl_params_slab_count(t->params), whole = bl_params_whole_count(t->params);
    int code = bl_dist_broadcast(t->options->dist, bl_params_value_slab(t->params) + learnt, whole - learnt, err);
    bl_params_touch(t->params);
    return code;
}

/* A classifier's test is shared out among the ranks; a detector's, whose score wants all boxes in one place, is made by
 * each of them. */
static int test_with(bl_trainer *t, bl_exec *exec, bl_loader *loader, int batch, const volatile int *stop,
                     bl_evaluation *out, bl_error *err)
{
    int code = t->options->ranks > 1 ? share_statistics(t, err) : BL_OK;
    if (code != BL_OK)
        return code;
    return bl_train_detects(t) ? bl_train_evaluate_detector(t, exec, loader, batch, stop, out, err)
                               : bl_train_evaluate_classifier(t, exec, loader, batch, stop, out, err);
}

int bl_trainer_evaluate(bl_trainer *t, const volatile int *stop, bl_evaluation *out, bl_error *err)
{
    const bl_train_options *o = t->options;
    bl_exec *exec = NULL;
    bl_loader *loader = NULL;
    int64_t largest = (o->global_batch + o->ranks - 1) / o->ranks; /* rank 0's: the same on all */
    bl_loader_options options = {.split = BL_SPLIT_TEST,
                                 .batch = largest < EVAL_BATCH_MAX ? (int)largest : EVAL_BATCH_MAX,
                                 .size = (int)o->image_size,
                                 .augment = BL_AUGMENT_NONE,
                                 .n_workers = (int)o->workers,
                                 .seed = (uint64_t)o->seed,
                                 .boxes_per_image = BL_BOXES_PER_IMAGE};
    if (!bl_train_detects(t)) {
        options.ranks = o->ranks;
        options.rank = o->rank;
        options.whole_batch = options.batch * o->ranks;
    }
    *out = (bl_evaluation){0};
    /* Made anew each time: kept, its memory would count against every training step. */
    int code = bl_trainer_make_exec(t, BL_MODE_EVAL, options.batch, &exec, err);
    if (code == BL_OK)
        code = bl_loader_new(t->dataset, &options, &loader, err);
    if (t->ema)
        bl_ema_swap(t->ema);
    if (code == BL_OK)
        code = test_with(t, exec, loader, options.batch, stop, out, err);
    if (t->ema)
        bl_ema_swap(t->ema);
    bl_loader_free(loader);
    bl_exec_free(exec);
    return code;
}
