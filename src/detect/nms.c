#include "detect/nms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "detect/assign.h"

const bl_nms_options bl_nms_evaluation = {
    .confidence = 0.001, .iou = 0.65, .max_detections = 300, .max_candidates = 30000};

void bl_detections_clear(bl_detections *list)
{
    free(list->at);
    *list = (bl_detections){0};
}

/* ---- the best of a list ---- */

typedef struct ranked {
    bl_detection box;
    int place; /* in the list: settles ties */
} ranked;

static int by_score(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->box.score != y->box.score)
        return x->box.score < y->box.score ? 1 : -1;
    return x->place - y->place;
}

/* Sorts the list and cuts it to its `most` best. */
static int keep_best(bl_detections *list, int most, bl_error *err)
{
    ranked *sorted = list->n > 0 ? bl_calloc((size_t)list->n, sizeof *sorted) : NULL;
    if (list->n > 0 && !sorted)
        return BL_FAIL(err, BL_ERR_NOMEM, "no memory to sort %d boxes", list->n);
    for (int i = 0; i < list->n; i++)
        sorted[i] = (ranked){list->at[i], i};
    if (sorted)
        qsort(sorted, (size_t)list->n, sizeof *sorted, by_score);
    list->n = list->n < most ? list->n : most;
    for (int i = 0; i < list->n; i++)
        list->at[i] = sorted[i].box;
    free(sorted);
    return BL_OK;
}

static int append(bl_detections *list, bl_detection box, int most, bl_error *err)
{
    int code = BL_OK;
    if (list->n >= 2 * (int64_t)most)
        code = keep_best(list, most, err);
    if (code == BL_OK && list->n == list->cap) {
        int cap = list->cap > 0 ? list->cap * 2 : 256;
        bl_detection *at = bl_realloc(list->at, (size_t)cap, sizeof *at);
        if (!at)
            return BL_FAIL(err, BL_ERR_NOMEM, "no memory for %d boxes", cap);
        list->at = at;
        list->cap = cap;
    }
    if (code == BL_OK)
        list->at[list->n++] = box;
    return code;
}

/* ---- decoding ---- */

typedef struct decoding {
    const bl_detect_spec *spec;
    const bl_nms_options *options;
    bl_detections *out;
    bl_error *err;
} decoding;

static int decode_pixel(const decoding *d, int level, int anchor, const float *channels, int64_t pixels, int row,
                        int column)
{
    double raw[4], slope[4], stride = d->spec->stride[level];
    double objectness = bl_detect_sigmoid((double)channels[4 * pixels]);
    if (!(objectness > d->options->confidence))
        return BL_OK;
    for (int k = 0; k < 4; k++)
        raw[k] = (double)channels[k * pixels];
    bl_box box = bl_detect_decode_box(raw, d->spec->anchor[level][anchor][0], d->spec->anchor[level][anchor][1], slope);
    double x = (box.x + column) * stride, y = (box.y + row) * stride;
    bl_detection found = {.x1 = (float)(x - box.w / 2),
                          .y1 = (float)(y - box.h / 2),
                          .x2 = (float)(x + box.w / 2),
                          .y2 = (float)(y + box.h / 2)};
    if (!isfinite(found.x1) || !isfinite(found.y1) || !isfinite(found.x2) || !isfinite(found.y2))
        return BL_OK;
    int code = BL_OK;
    for (int k = 0; code == BL_OK && k < d->spec->n_classes; k++) {
        double score =
            d->spec->n_classes == 1 ? objectness : objectness * bl_detect_sigmoid((double)channels[(5 + k) * pixels]);
        if (!(score > d->options->confidence))
            continue;
        found.score = (float)score;
        found.cls = k;
        code = append(d->out, found, d->options->max_candidates, d->err);
    }
    return code;
}

int bl_detect_decode(const bl_detect_spec *spec, const float *const *head, const int *h, const int *w,
                     const bl_nms_options *options, bl_detections *out, bl_error *err)
{
    decoding d = {spec, options, out, err};
    out->n = 0;
    int code = bl_detect_spec_check(spec, err);
    for (int level = 0; code == BL_OK && level < spec->n_levels; level++)
        for (int anchor = 0; anchor < BL_DETECT_ANCHORS; anchor++) {
            int64_t pixels = (int64_t)h[level] * w[level];
            const float *plane = head[level] + anchor * (5 + spec->n_classes) * pixels;
            for (int64_t i = 0; code == BL_OK && i < pixels; i++)
                code = decode_pixel(&d, level, anchor, plane + i, pixels, (int)(i / w[level]), (int)(i % w[level]));
        }
    return code == BL_OK && out->n > options->max_candidates ? keep_best(out, options->max_candidates, err) : code;
}

/* ---- suppression ---- */

static double overlap(const bl_detection *a, const bl_detection *b)
{
    double w = (double)fminf(a->x2, b->x2) - (double)fmaxf(a->x1, b->x1);
    double h = (double)fminf(a->y2, b->y2) - (double)fmaxf(a->y1, b->y1);
    double inter = w > 0 && h > 0 ? w * h : 0;
    double areas = ((double)a->x2 - (double)a->x1) * ((double)a->y2 - (double)a->y1) +
                   ((double)b->x2 - (double)b->x1) * ((double)b->y2 - (double)b->y1);
    return inter > 0 ? inter / (areas - inter) : 0;
}

int bl_nms(bl_detections *list, const bl_nms_options *options, bl_error *err)
{
    int kept = 0, code = keep_best(list, options->max_candidates, err);
    /* Only kept boxes suppress, so nothing after the last wanted one need be looked at. */
    for (int i = 0; code == BL_OK && i < list->n && kept < options->max_detections; i++) {
        bool new = true;
        for (int k = 0; new &&k < kept; k++)
            new = list->at[k].cls != list->at[i].cls || !(overlap(&list->at[k], &list->at[i]) > options->iou);
        if (new)
            list->at[kept++] = list->at[i];
    }
    list->n = code == BL_OK ? kept : list->n;
    return code;
}
