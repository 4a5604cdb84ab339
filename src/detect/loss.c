#include "detect/loss.h"

#include <math.h>
#include <string.h>

#include "detect/assign.h"
#include "tensor/shape.h"

#define AUXILIARY_WEIGHT 0.25

typedef struct work {
    const bl_detect_loss_setup *setup;
    const bl_detect_batch *batch;
    bl_detect_assign assign;
    double *objectness; /* targets of one level: (n, 3, h, w) */
    double parts[3];    /* before the gains */
} work;

bl_detect_gains bl_detect_default_gains(const bl_detect_spec *spec, int image_size)
{
    double levels = 3.0 / spec->n_levels, size = image_size / 640.0;
    return (bl_detect_gains){
        .box = 0.05 * levels, .objectness = 0.7 * size * size * levels, .classes = 0.3 * spec->n_classes / 80 * levels};
}

int bl_detect_spec_check(const bl_detect_spec *spec, bl_error *err)
{
    bool ok = spec->n_classes >= 1 && spec->n_classes <= 1 << 20 && spec->n_levels >= 1 &&
              spec->n_levels <= BL_DETECT_MAX_LEVELS;
    for (int i = 0; ok && i < spec->n_levels; i++) {
        ok = spec->stride[i] >= 1 && spec->stride[i] <= 1 << 16;
        for (int a = 0; ok && a < BL_DETECT_ANCHORS; a++)
            ok = spec->anchor[i][a][0] > 0 && spec->anchor[i][a][1] > 0;
    }
    return ok ? BL_OK : BL_FAIL(err, BL_ERR_INTERNAL, "a detector's specification is not valid");
}

int bl_detect_batch_check(const bl_detect_spec *spec, const bl_detect_batch *batch, bl_error *err)
{
    int code = bl_detect_spec_check(spec, err);
    if (code != BL_OK)
        return code;
    if (batch->n < 1 || batch->n_targets < 0 ||
        (batch->n_heads != spec->n_levels && !(spec->auxiliary && batch->n_heads == 2 * spec->n_levels)))
        return BL_FAIL(err, BL_ERR_INTERNAL, "%d heads of %d images do not fit a detector of %d levels", batch->n_heads,
                       batch->n, spec->n_levels);
    for (int i = 0; i < spec->n_levels; i++)
        if (batch->h[i] < 1 || batch->w[i] < 1 ||
            (int64_t)batch->h[i] * spec->stride[i] != (int64_t)batch->h[0] * spec->stride[0] ||
            (int64_t)batch->w[i] * spec->stride[i] != (int64_t)batch->w[0] * spec->stride[0])
            return BL_FAIL(err, BL_ERR_INTERNAL,
                           "level %d of a detector is %d x %d pixels, which its stride does not explain", i,
                           batch->h[i], batch->w[i]);
    return BL_OK;
}

static int64_t cells_of(const bl_detect_batch *batch, int level)
{
    return (int64_t)batch->n * BL_DETECT_ANCHORS * batch->h[level] * batch->w[level];
}

/* Cells of the largest level: the targets of objectness. */
static int64_t most_cells(const bl_detect_spec *spec, const bl_detect_batch *batch)
{
    int64_t most = 0;
    for (int i = 0; i < spec->n_levels; i++)
        most = cells_of(batch, i) > most ? cells_of(batch, i) : most;
    return most;
}

int bl_detect_loss_scratch_b(const bl_detect_loss_setup *setup, const bl_detect_batch *batch, size_t *bytes,
                             bl_error *err)
{
    bl_detect_assign assign;
    size_t cells_b, assign_b;
    if (!bl_detect_assign_carve(&setup->spec, batch->n_targets, &assign, NULL, &assign_b) ||
        !bl_size_mul((size_t)most_cells(&setup->spec, batch), sizeof(double), &cells_b) ||
        !bl_size_add(cells_b, assign_b, bytes))
        return BL_FAIL(err, BL_ERR_NOMEM, "%lld targets are too many", (long long)batch->n_targets);
    return BL_OK;
}

/* The truth in the level's grid units, relative to the pixel. */
static bl_box truth_at(const work *w, const bl_detect_match *m)
{
    bl_box box = w->assign.truths[m->truth].box;
    double gw = w->batch->w[m->level], gh = w->batch->h[m->level];
    return (bl_box){box.x * gw - m->column, box.y * gh - m->row, box.w * gw, box.h * gh};
}

/* Box and class terms of one matched prediction; `share` is its part of the level's mean, times the head's weight. */
static void matched_terms(work *w, int head, const bl_detect_match *m, double share)
{
    const bl_detect_spec *spec = &w->setup->spec;
    const bl_detect_batch *batch = w->batch;
    int64_t pixels = (int64_t)batch->h[m->level] * batch->w[m->level];
    int64_t index = bl_detect_index(spec, batch, m->level, m->image, m->anchor, 0, m->row, m->column);
    double raw[4], slope[4], stride = spec->stride[m->level];
    for (int k = 0; k < 4; k++)
        raw[k] = bl_detect_read(batch, batch->head[head], index + k * pixels);
    const float *anchor = spec->anchor[m->level][m->anchor];
    bl_box box = bl_detect_decode_box(raw, anchor[0], anchor[1], slope), truth = truth_at(w, m);
    box.w /= stride;
    box.h /= stride;
    slope[2] /= stride;
    slope[3] /= stride;
    bl_ciou ciou = bl_box_ciou(&box, &truth);
    w->parts[0] += (1 - ciou.value) * share;
    int64_t cell =
        (((int64_t)m->image * BL_DETECT_ANCHORS + m->anchor) * batch->h[m->level] + m->row) * batch->w[m->level] +
        m->column;
    w->objectness[cell] = ciou.value < 0 ? 0 : ciou.value;
    void *grad = batch->grad[head];
    for (int k = 0; grad && k < 4; k++)
        bl_detect_add(batch, grad, index + k * pixels, -ciou.d[k] * slope[k] * share * w->setup->gains.box * batch->n);
    double each = share / spec->n_classes, half = w->setup->label_smoothing / 2;
    for (int k = 0; spec->n_classes > 1 && k < spec->n_classes; k++) {
        double target = k == w->assign.truths[m->truth].cls ? 1 - half : half;
        double x = bl_detect_read(batch, batch->head[head], index + (5 + k) * pixels);
        w->parts[2] += (bl_detect_softplus(x) - x * target) * each;
        if (grad)
            bl_detect_add(batch, grad, index + (5 + k) * pixels,
                          (bl_detect_sigmoid(x) - target) * each * w->setup->gains.classes * batch->n);
    }
}

/* Over every cell: `share` is one cell's part of the mean, times the weights of level and head. */
static void objectness_term(work *w, int head, int level, double share)
{
    const bl_detect_batch *batch = w->batch;
    int64_t pixels = (int64_t)batch->h[level] * batch->w[level];
    double sum = 0, scale = share * w->setup->gains.objectness * batch->n;
    for (int64_t plane = 0; plane < (int64_t)batch->n * BL_DETECT_ANCHORS; plane++) {
        int64_t index = (plane * (5 + w->setup->spec.n_classes) + 4) * pixels;
        const double *target = w->objectness + plane * pixels;
        for (int64_t i = 0; i < pixels; i++) {
            double x = bl_detect_read(batch, batch->head[head], index + i);
            double e = exp(-fabs(x)), s = (x >= 0 ? 1 : e) / (1 + e);
            sum += fmax(x, 0) + log1p(e) - x * target[i];
            if (batch->grad[head])
                bl_detect_add(batch, batch->grad[head], index + i, (s - target[i]) * scale);
        }
    }
    w->parts[1] += sum * share;
}

static void head_terms(work *w, int head, double weight)
{
    static const double balance[2][BL_DETECT_MAX_LEVELS] = {{4, 1, 0.25, 0.06}, {4, 1, 0.4, 0}};
    const bl_detect_spec *spec = &w->setup->spec;
    const bl_detect_batch *batch = w->batch;
    int level = head % spec->n_levels, n = 0;
    int64_t cells = cells_of(batch, level);
    memset(w->objectness, 0, (size_t)cells * sizeof *w->objectness);
    if (batch->grad[head])
        memset(batch->grad[head], 0,
               (size_t)cells * (size_t)(5 + spec->n_classes) * (batch->wide ? sizeof(double) : sizeof(float)));
    for (int i = 0; i < w->assign.n_matches; i++)
        n += w->assign.matches[i].level == level;
    for (int i = 0; i < w->assign.n_matches; i++)
        if (w->assign.matches[i].level == level)
            matched_terms(w, head, &w->assign.matches[i], weight / n);
    objectness_term(w, head, level, weight * balance[spec->n_levels == 3][level] / (double)cells);
}

int bl_detect_loss(const bl_detect_loss_setup *setup, const bl_detect_batch *batch, void *scratch,
                   bl_detect_losses *out, bl_error *err)
{
    work w = {.setup = setup, .batch = batch};
    size_t total, bytes;
    int code = bl_detect_batch_check(&setup->spec, batch, err);
    if (code == BL_OK)
        code = bl_detect_loss_scratch_b(setup, batch, &total, err);
    if (code != BL_OK || !bl_detect_assign_carve(&setup->spec, batch->n_targets, &w.assign, scratch, &bytes))
        return code;
    w.objectness = (double *)(void *)((char *)scratch + bytes);
    bl_detect_read_targets(&setup->spec, batch, &w.assign);
    bl_detect_assign_run(&setup->spec, batch, false, &w.assign);
    *out = (bl_detect_losses){.n_matches = w.assign.n_matches};
    for (int i = 0; i < setup->spec.n_levels; i++)
        head_terms(&w, i, 1);
    if (batch->n_heads > setup->spec.n_levels) {
        bl_detect_assign_run(&setup->spec, batch, true, &w.assign);
        for (int i = setup->spec.n_levels; i < batch->n_heads; i++)
            head_terms(&w, i, AUXILIARY_WEIGHT);
    }
    const double gains[3] = {setup->gains.box, setup->gains.objectness, setup->gains.classes};
    for (int k = 0; k < 3; k++) {
        out->parts[k] = w.parts[k] * gains[k];
        out->loss += out->parts[k] * batch->n;
    }
    return BL_OK;
}
