#include "train/detect.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "detect/map.h"

static const char *const head_names[BL_DETECT_MAX_LEVELS] = {"head0", "head1", "head2", "head3"};

bool bl_train_detects(const bl_trainer *t)
{
    return t->options->model->task == BL_TASK_DETECT;
}

void bl_train_build_detector(bl_trainer *t, bl_graph *graph, bl_value images, bl_mode mode, int batch)
{
    bl_detector_heads heads = {0};
    t->options->model->build_detector(graph, images, t->n_classes, &heads);
    if (graph->error.code != BL_OK)
        return;
    t->detect = (bl_detect_loss_setup){.spec = heads.spec,
                                       .gains = bl_detect_default_gains(&heads.spec, (int)t->options->image_size),
                                       .label_smoothing = t->options->label_smoothing};
    int n = heads.spec.n_levels;
    if (mode == BL_MODE_EVAL) {
        for (int i = 0; i < n; i++)
            bl_build_output(graph, head_names[i], heads.head[i]);
        return;
    }
    bl_value targets =
        bl_build_input(graph, "targets", BL_F32, BL_SHAPE2((int64_t)batch * BL_BOXES_PER_IMAGE, BL_DETECT_TARGET_COLS));
    bl_value all[BL_DETECT_MAX_HEADS];
    for (int i = 0; i < n; i++) {
        all[i] = heads.head[i];
        all[n + i] = heads.aux[i];
    }
    bl_build_detection_loss(graph, all, heads.spec.auxiliary ? 2 * n : n, targets, &t->detect);
}

/* One evaluation's memory. */
typedef struct testing {
    const bl_detect_loss_setup *setup;
    int side[BL_DETECT_MAX_LEVELS];      /* of the levels' maps */
    size_t floats[BL_DETECT_MAX_LEVELS]; /* of one image's map */
    float *head[BL_DETECT_MAX_LEVELS];   /* a batch's */
    double *loss_scratch;
    bl_detections found;
    bl_truth *truths;
    bl_map *map;
} testing;

static void clear_testing(testing *t)
{
    for (int i = 0; i < BL_DETECT_MAX_LEVELS; i++)
        free(t->head[i]);
    free(t->loss_scratch);
    free(t->truths);
    bl_detections_clear(&t->found);
    bl_map_free(t->map);
}

/* The loss of the first n images, whose maps are in t->head. */
static bl_detect_batch loss_batch(const testing *t, int n, const float *targets, int64_t n_targets)
{
    bl_detect_batch b = {.n = n, .n_heads = t->setup->spec.n_levels, .targets = targets, .n_targets = n_targets};
    for (int i = 0; i < b.n_heads; i++) {
        b.h[i] = b.w[i] = t->side[i];
        b.head[i] = t->head[i];
    }
    return b;
}

static int init_testing(testing *t, const bl_trainer *trainer, int batch, bl_error *err)
{
    const bl_detect_spec *spec = &trainer->detect.spec;
    size_t room = (size_t)batch * BL_BOXES_PER_IMAGE, scratch_b = 0;
    bool ok = true;
    *t = (testing){.setup = &trainer->detect};
    for (int i = 0; ok && i < spec->n_levels; i++) {
        t->side[i] = (int)trainer->options->image_size / spec->stride[i];
        t->floats[i] =
            (size_t)BL_DETECT_ANCHORS * (size_t)(5 + spec->n_classes) * (size_t)t->side[i] * (size_t)t->side[i];
        t->head[i] = bl_calloc((size_t)batch * t->floats[i], sizeof *t->head[i]);
        ok = t->head[i] != NULL;
    }
    bl_detect_batch b = loss_batch(t, batch, NULL, (int64_t)room);
    int code = bl_detect_loss_scratch_b(t->setup, &b, &scratch_b, err);
    if (code != BL_OK)
        return code;
    t->loss_scratch = bl_calloc(scratch_b / sizeof(double) + 1, sizeof *t->loss_scratch);
    t->truths = bl_calloc(room, sizeof *t->truths);
    if (!ok || !t->loss_scratch || !t->truths)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to evaluate");
    return bl_map_new(spec->n_classes, &t->map, err);
}

static float within(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

/* What lies beside the picture is no part of it. */
static void clip(bl_detections *list, const float frame[4])
{
    for (int i = 0; i < list->n; i++) {
        bl_detection *d = &list->at[i];
        d->x1 = within(d->x1, frame[0], frame[2]);
        d->y1 = within(d->y1, frame[1], frame[3]);
        d->x2 = within(d->x2, frame[0], frame[2]);
        d->y2 = within(d->y2, frame[1], frame[3]);
    }
}

/* The boxes of image i in input pixels; *row goes on to the next image's. */
static int take_truths(testing *t, const bl_batch *batch, int i, float size, int *row)
{
    int n = 0;
    for (; *row < batch->n_targets; ++*row) {
        const float *r = batch->targets + (size_t)*row * BL_DETECT_TARGET_COLS;
        if ((int)r[0] != i)
            break;
        t->truths[n++] = (bl_truth){.x1 = (r[2] - r[4] / 2) * size,
                                    .y1 = (r[3] - r[5] / 2) * size,
                                    .x2 = (r[2] + r[4] / 2) * size,
                                    .y2 = (r[3] + r[5] / 2) * size,
                                    .cls = (int)r[1]};
    }
    return n;
}

static int test_batch(testing *t, const bl_trainer *trainer, const bl_batch *batch, double *loss, bl_error *err)
{
    const bl_detect_spec *spec = &t->setup->spec;
    bl_detect_batch b = loss_batch(t, batch->n, batch->targets, batch->n_targets);
    bl_detect_losses losses;
    int row = 0, code = bl_detect_loss(t->setup, &b, t->loss_scratch, &losses, err);
    *loss = code == BL_OK ? losses.loss / batch->n : NAN;
    for (int i = 0; code == BL_OK && i < batch->n; i++) {
        const float *head[BL_DETECT_MAX_LEVELS];
        for (int k = 0; k < spec->n_levels; k++)
            head[k] = t->head[k] + (size_t)i * t->floats[k];
        code = bl_detect_decode(spec, head, t->side, t->side, &bl_nms_evaluation, &t->found, err);
        if (code == BL_OK)
            code = bl_nms(&t->found, &bl_nms_evaluation, err);
        if (code != BL_OK)
            return code;
        clip(&t->found, batch->frames + 4 * i);
        int n_truths = take_truths(t, batch, i, (float)trainer->options->image_size, &row);
        code = bl_map_add(t->map, t->truths, n_truths, t->found.at, t->found.n, err);
    }
    return code;
}

static int run_batch(const testing *t, bl_exec *exec, const bl_batch *batch, int size, bl_error *err)
{
    int code = bl_exec_bind(exec, "images", batch->images, err);
    if (code == BL_OK)
        code = bl_exec_run(exec, err);
    for (int k = 0; code == BL_OK && k < t->setup->spec.n_levels; k++)
        code = bl_exec_read(exec, head_names[k], t->head[k], (int64_t)((size_t)size * t->floats[k]), err);
    return code;
}

int bl_train_evaluate_detector(bl_trainer *trainer, bl_exec *exec, bl_loader *loader, int size,
                               const volatile int *stop, bl_evaluation *out, bl_error *err)
{
    testing t;
    bl_batch batch;
    bl_map_result result = {.map50 = NAN, .map = NAN};
    double loss_sum = 0;
    double interrupted = 0;
    int code = init_testing(&t, trainer, size, err);
    bl_loader_start_epoch(loader, 0);
    while (code == BL_OK && interrupted == 0 && bl_loader_next(loader, &batch, err)) {
        double loss = 0;
        code = run_batch(&t, exec, &batch, size, err);
        if (code == BL_OK)
            code = test_batch(&t, trainer, &batch, &loss, err);
        loss_sum += loss * batch.n;
        out->n += batch.n;
        interrupted = stop && *stop;
    }
    if (code == BL_OK && err && err->code != BL_OK)
        code = err->code;
    if (code == BL_OK && trainer->options->ranks > 1)
        code = bl_dist_sum(trainer->options->dist, &interrupted, 1, err);
    if (code == BL_OK && interrupted > 0)
        code = BL_ERR_INTERRUPTED;
    if (code == BL_OK)
        code = bl_map_compute(t.map, &result, NULL, err);
    out->loss = out->n > 0 ? loss_sum / (double)out->n : 0;
    out->map50 = result.map50;
    out->map = result.map;
    clear_testing(&t);
    return code;
}
