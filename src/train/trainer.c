#include "train/trainer.h"

#include <stdlib.h>

#include "backend/cpu/cpu.h"
#include "base/alloc.h"

/* Larger batches would only take memory: in evaluation mode the results do not depend on it. */
#define EVAL_BATCH_MAX 64

static int open_data(bl_trainer *t, bl_error *err)
{
    const bl_train_options *o = t->options;
    int64_t classes = o->classes > 0 ? o->classes : 10;
    int code = o->data ? bl_folder_open(o->data, &t->dataset, err)
                       : bl_synthetic_open((int)classes, o->train_samples, o->test_samples, (uint64_t)o->seed,
                                           &t->dataset, err);
    if (code != BL_OK)
        return code;
    t->n_classes = o->classes > 0 ? (int)o->classes : t->dataset->n_classes;
    if (t->n_classes < t->dataset->n_classes)
        return BL_FAIL(err, BL_ERR_USAGE, "--classes %d, but the data have %d classes", t->n_classes,
                       t->dataset->n_classes);
    if (o->batch > t->dataset->count[BL_SPLIT_TRAIN]) {
        BL_FAIL(err, BL_ERR_USAGE, "batch size %lld is larger than the data set of %lld images", (long long)o->batch,
                (long long)t->dataset->count[BL_SPLIT_TRAIN]);
        bl_error_remedy(err, "choose a batch size of at most %lld", (long long)t->dataset->count[BL_SPLIT_TRAIN]);
        return BL_ERR_USAGE;
    }
    return BL_OK;
}

static int make_exec(bl_trainer *t, bl_mode mode, int batch, bl_exec **out, bl_error *err)
{
    const bl_train_options *o = t->options;
    int size = (int)o->image_size;
    bl_graph *graph = NULL;
    int code = bl_graph_new(t->params, mode, &graph, err);
    if (code != BL_OK)
        return code;
    bl_value images = bl_build_input(graph, "images", BL_F32, BL_SHAPE4(batch, 3, size, size));
    bl_value labels = bl_build_input(graph, "labels", BL_I32, BL_SHAPE1(batch));
    bl_value logits = o->model->build(graph, images, t->n_classes);
    if (mode == BL_MODE_EVAL)
        bl_build_output(graph, "logits", logits);
    /* Testing reports the plain loss, so that runs with and without smoothing compare. */
    bl_build_softmax_cross_entropy(graph, logits, labels, mode == BL_MODE_TRAIN ? (float)o->label_smoothing : 0);
    bl_exec_options options = {.n_threads = (int)o->threads,
                               .profile = o->profile && mode == BL_MODE_TRAIN,
                               .recompute = o->recompute,

                               .seed = (uint64_t)o->seed};
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
                                 .seed = (uint64_t)o->seed};
    int code = bl_loader_new(t->dataset, &options, &t->loader, err);
    if (code != BL_OK)
        return code;
    t->steps_per_epoch = bl_loader_batches(t->loader);
    t->total_steps = o->epochs > INT64_MAX / t->steps_per_epoch ? INT64_MAX : o->epochs * t->steps_per_epoch;
    if (o->steps > 0 && o->steps < t->total_steps)
        t->total_steps = o->steps;
    t->schedule = (bl_schedule){
        .kind = o->schedule, .peak = o->lr, .warmup_steps = o->warmup_steps, .total_steps = t->total_steps};
    return BL_OK;
}

int bl_trainer_init(bl_trainer *t, const bl_train_options *options, bl_error *err)
{
    *t = (bl_trainer){.options = options};
    int code = open_data(t, err);
    if (code == BL_OK)
        code = bl_params_new(&t->params, err);
    if (code == BL_OK)
        code = make_exec(t, BL_MODE_TRAIN, (int)options->batch, &t->exec, err);
    if (code == BL_OK)
        code = bl_params_init(t->params, (uint64_t)options->seed, err);
    if (code == BL_OK)
        code = bl_optim_new(t->params, &options->optim, &t->optim, err);
    if (code == BL_OK)
        code = make_loader(t, err);
    return code;
}

void bl_trainer_clear(bl_trainer *t)
{
    bl_loader_free(t->loader);
    bl_optim_free(t->optim);
    bl_exec_free(t->exec);
    bl_params_free(t->params);
    bl_dataset_free(t->dataset);
    *t = (bl_trainer){0};
}

static int run_batch(bl_exec *exec, const bl_batch *batch, float *loss, bl_error *err)
{
    int code = bl_exec_bind(exec, "images", batch->images, err);
    if (code == BL_OK)
        code = bl_exec_bind(exec, "labels", batch->labels, err);
    if (code == BL_OK)
        code = bl_exec_run(exec, err);
    return code == BL_OK ? bl_exec_read(exec, "loss", loss, 1, err) : code;
}

void bl_trainer_start_epoch(bl_trainer *t)
{
    bl_loader_start_within(t->loader, t->epoch, t->batch);
}

bool bl_trainer_step(bl_trainer *t, bl_train_step *out, bl_error *err)
{
    bl_batch batch;
    float loss;
    if (!bl_loader_next(t->loader, &batch, err) || run_batch(t->exec, &batch, &loss, err) != BL_OK)
        return false;
    bl_optim_rates rates = bl_optim_rates_of(bl_schedule_rate(&t->schedule, t->step));
    bl_optim_step(t->optim, &rates);
    t->step++;
    t->batch++;
    *out = (bl_train_step){.n = batch.n, .loss = (double)loss, .wait_ns = batch.wait_ns};
    return true;
}

static int64_t count_hits(const float *logits, const int32_t *labels, int n, int n_classes)
{
    int64_t hits = 0;
    for (int i = 0; i < n; i++) {
        const float *row = logits + (size_t)i * (size_t)n_classes;
        int largest = 0;
        for (int k = 1; k < n_classes; k++)
            if (row[k] > row[largest])
                largest = k;
        hits += labels[i] == largest;
    }
    return hits;
}

static int evaluate_all(bl_exec *exec, bl_loader *loader, int batch_size, int n_classes, const volatile int *stop,
                        bl_evaluation *out, bl_error *err)
{
    size_t n_logits = (size_t)batch_size * (size_t)n_classes;
    float *logits = bl_calloc(n_logits, sizeof *logits);
    int code = logits ? BL_OK : BL_FAIL(err, BL_ERR_NOMEM, "no memory to evaluate");
    double loss_sum = 0;
    int64_t hits = 0;
    bl_batch batch;
    bl_loader_start_epoch(loader, 0);
    while (code == BL_OK && bl_loader_next(loader, &batch, err)) {
        float loss;
        code = run_batch(exec, &batch, &loss, err);
        if (code == BL_OK)
            code = bl_exec_read(exec, "logits", logits, (int64_t)n_logits, err);
        if (code == BL_OK && stop && *stop)
            code = BL_ERR_INTERRUPTED;
        if (code != BL_OK)
            break;
        loss_sum += (double)loss * batch.n;
        hits += count_hits(logits, batch.labels, batch.n, n_classes);
        out->n += batch.n;
    }
    if (code == BL_OK && err && err->code != BL_OK)
        code = err->code;
    out->top1 = out->n > 0 ? (double)hits / (double)out->n : 0;
    out->loss = out->n > 0 ? loss_sum / (double)out->n : 0;
    free(logits);
    return code;
}

int bl_trainer_evaluate(bl_trainer *t, const volatile int *stop, bl_evaluation *out, bl_error *err)
{
    const bl_train_options *o = t->options;
    bl_exec *exec = NULL;
    bl_loader *loader = NULL;
    bl_loader_options options = {.split = BL_SPLIT_TEST,
                                 .batch = o->batch < EVAL_BATCH_MAX ? (int)o->batch : EVAL_BATCH_MAX,
                                 .size = (int)o->image_size,
                                 .augment = BL_AUGMENT_NONE,
                                 .n_workers = (int)o->workers,
                                 .seed = (uint64_t)o->seed};
    *out = (bl_evaluation){0};
    /* Made anew each time: kept, its memory would count against every training step. */
    int code = make_exec(t, BL_MODE_EVAL, options.batch, &exec, err);
    if (code == BL_OK)
        code = bl_loader_new(t->dataset, &options, &loader, err);
    if (code == BL_OK)
        code = evaluate_all(exec, loader, options.batch, t->n_classes, stop, out, err);
    bl_loader_free(loader);
    bl_exec_free(exec);
    return code;
}
